"""Datasets: where they come from, how they are kept, and how a trial sees them."""
