"""A run on a SLURM cluster: its settings, what the cluster allows, and its jobs in the queue."""
