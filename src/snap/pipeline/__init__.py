"""From a configuration to tidy tables: the plan of a run, its jobs, and the store of trials.

In reading order: plan.py (what a configuration asks for), specs.py (what each job is told), jobs.py
(what each job does), rows.py (what it writes). The pipeline knows nothing of Snakemake.
"""
