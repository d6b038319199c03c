"""What notebooks and scripts use, through `import snap`: training, and the results of runs."""
