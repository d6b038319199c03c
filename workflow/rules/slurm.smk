# A run on a SLURM cluster: what is checked before it, and the changes to the plugin for it.

import shutil

from snakemake.exceptions import WorkflowError

from snap.pipeline.cluster import limits, queue

sys.path.append(here("workflow"))

# The training jobs in a SLURM job run one after the other. This must hold in every Snakemake that is
# started for it, and those that SLURM starts are not given the profile's limits.
if PLAN.config["core_minutes_per_job"] is not None:
    workflow.register_resource("slot", 1)

    resource_scopes:
        slot="local",


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


def slurm_jobs():
    """The jobs that go to SLURM."""
    if workflow.local_exec:
        return []
    return [job for job in workflow.dag.needrun_jobs() if not job.is_local]


def slurm_executor():
    """The plugin's executor; None if nothing goes to SLURM."""
    remote = slurm_jobs()
    executor = workflow.scheduler.get_executor(remote[0]) if remote else None
    return executor if hasattr(executor, "run_uuid") else None


def prepare_slurm(executor, plan_file):
    """Check that the cluster allows this run, then mend the plugin's executor for it."""
    from slurm_executor import Mended, request_of, request_of_rule

    dropped = [job.rule.name for job in slurm_jobs() if not job.resources.get("slot")]
    if dropped:
        raise WorkflowError(
            f"the profile's resources of {', '.join(sorted(set(dropped)))} are gone:"
            " --set-resources on the command line replaces all of them; put yours into"
            " `resources` of cluster.yaml"
        )
    offered = limits.offer()
    requests = [request_of(job) for job in slurm_jobs()]
    # The first of make's two passes has only the search. The others should not fail hours later.
    given = workflow.resource_settings.overwrite_resources
    due = {request.rule for request in requests}
    requests += [
        request_of_rule(stage, given[stage])
        for stage in STAGES
        if stage in given and stage not in due
    ]
    wrong = limits.problems(requests, offered)
    if wrong:
        raise WorkflowError(
            "\n".join(
                [
                    "this run does not fit the cluster, and nothing was submitted:",
                    *(f"  - {problem}" for problem in wrong),
                    "Correct it in cluster.yaml (docs/cluster.md).",
                ]
            )
        )
    if offered.submit_limit < workflow.nodes:
        print(
            f"{PLAN.run}: you may have {offered.submit_limit:.0f} jobs in the queue;"
            " the run submits the others as these end",
            file=sys.stderr,
        )
    write_batches(slurm_jobs())
    Mended(executor, queue.state_file(plan_file.parent), offered).install()


def cancel_earlier_submission(plan_file):
    """Cancel the SLURM jobs that a killed Snakemake has left in the queue.

    This run holds the lock, so no other run needs them. They would train the same trials as this run.
    """
    try:
        earlier = json.loads(plan_file.read_bytes()).get("slurm")
    except (OSError, ValueError):
        return
    # The results may have been copied to a machine without SLURM.
    if shutil.which("squeue") is None:
        return
    try:
        count = queue.cancel(earlier) if earlier is not None else 0
    except SnapError as error:
        raise WorkflowError(str(error)) from None
    if count:
        print(
            f"{PLAN.run}: cancelled SLURM jobs left by the killed run: {count}",
            file=sys.stderr,
        )
