# What a run on a cluster needs besides the plugin: a check, and the end of an earlier submission.

from snakemake.exceptions import WorkflowError

from snap.pipeline import slurm


def refuse_arrays():
    """Stop before the plugin's job arrays do harm.

    In version 2.8.0 each task of an array takes the output of the first for its own: it deletes it
    when it fails, and fails when it is the faster (its issue 447). And jobs that --jobs does not
    admit all at once are never submitted (its issue 473).
    """
    if getattr(workflow.executor_settings, "array_jobs", None):
        raise WorkflowError(
            "job arrays lose results in version 2.8.0 of snakemake-executor-plugin-slurm:"
            " do without --slurm-array-jobs"
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
    try:
        count = slurm.cancel(earlier) if earlier is not None else 0
    except SnapError as error:
        raise WorkflowError(str(error)) from None
    if count:
        print(
            f"{PLAN.run}: SLURM jobs left behind, now ended: {count}", file=sys.stderr
        )
