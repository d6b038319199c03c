"""From a configuration to tidy tables: the plan of a run, its jobs, and the store of trials.

Reading order: plan.py (the cells, jobs and trials of a configuration), specs.py (the specification
of each job), jobs.py (what each job does), rows.py (what it writes). The pipeline is independent of
Snakemake.
"""
