# What a run on a cluster needs besides the plugin: a check, and the end of an earlier submission.

from snakemake.exceptions import WorkflowError

from snap import slurm


def check_arrays():
    """Stop a run whose jobs the plugin would lose.

    With job arrays, version 2.8.0 forgets jobs that were ready but not all admitted at once, and
    waits for them forever (its issue 473).
    """
    if workflow.local_exec:
        return
    arrays = getattr(workflow.executor_settings, "array_jobs", None) or ""
    jobs = [job.rule.name for job in workflow.dag.needrun_jobs() if not job.is_local]
    if not {*jobs, "all"} & {name.strip() for name in arrays.split(",")}:
        return
    rate = workflow.scheduling_settings.max_jobs_per_timespan
    if len(jobs) > min(workflow.nodes, rate.max_jobs):
        raise WorkflowError(
            f"job arrays need all jobs admitted at once, and there are {len(jobs)}: give"
            f" --jobs {len(jobs)} --max-jobs-per-timespan {len(jobs)}/1s or more, or do without"
            " arrays: --slurm-array-jobs none"
        )


def slurm_name():
    """The name that the plugin gives to all SLURM jobs of this run; None where there are none."""
    remote = [job for job in workflow.dag.needrun_jobs() if not job.is_local]
    if workflow.local_exec or not remote:
        return None
    return getattr(workflow.scheduler.get_executor(remote[0]), "run_uuid", None)


def cancel_earlier_submission(plan):
    """End the SLURM jobs that a Snakemake which was killed has left behind.

    This run holds the lock, so nobody waits for them; they would train what this run trains.
    """
    try:
        earlier = json.loads(plan.read_text()).get("slurm")
    except (OSError, ValueError):
        return
    if earlier is not None and (count := slurm.cancel(earlier)):
        print(f"{PLAN.run}: cancelled {count} SLURM jobs left behind", file=sys.stderr)
