"""The command line. main.py combines the commands of the other modules."""
