# Additions to the SLURM plugin: reject job arrays, and cancel the jobs of a killed run.

from snakemake.exceptions import WorkflowError

from snap.pipeline import slurm


def refuse_arrays():
    """Raise an error if the plugin's job arrays are enabled.

    In version 2.8.0 every task of an array treats the output of the first task as its own. A task
    deletes that output if it fails, and fails if it finishes first (issue 447 of the plugin). Jobs
    that exceed the limit of --jobs are never submitted (issue 473).
    """
    if getattr(workflow.executor_settings, "array_jobs", None):
        raise WorkflowError(
            "job arrays lose results in version 2.8.0 of snakemake-executor-plugin-slurm:"
            " remove --slurm-array-jobs"
        )


def slurm_name():
    """The name that the plugin gives to all SLURM jobs of this run; None if it submits none."""
    remote = [job for job in workflow.dag.needrun_jobs() if not job.is_local]
    if workflow.local_exec or not remote:
        return None
    return getattr(workflow.scheduler.get_executor(remote[0]), "run_uuid", None)


def cancel_earlier_submission(plan_file):
    """Cancel the SLURM jobs that a killed Snakemake has left in the queue.

    This run holds the lock, so no other run needs them. They would train the same trials as this run.
    """
    try:
        earlier = json.loads(plan_file.read_text()).get("slurm")
    except (OSError, ValueError):
        return
    try:
        count = slurm.cancel(earlier) if earlier is not None else 0
    except SnapError as error:
        raise WorkflowError(str(error)) from None
    if count:
        print(
            f"{PLAN.run}: cancelled SLURM jobs left by the killed run: {count}",
            file=sys.stderr,
        )
