"""The command line: main.py puts together what the other modules add."""
