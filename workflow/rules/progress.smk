# Progress: a line in the terminal every 20 seconds, and plan.json for `snap status`.

import logging
import signal

from snap.pipeline import status
from snap.pipeline.announcer import Announcer
from snap.pipeline.resources import usable_memory


include: "slurm.smk"


def training_jobs():
    """Every job that trains, for the progress report."""
    due = {file for job in workflow.dag.needrun_jobs() for file in job.output}
    for stage in STAGES:
        for output, work in works(stage).items():
            yield {
                "stage": stage,
                "due": output in due,
                "output": output,
                "benchmark": benchmark_of(output),
                "ledger": ledger_of(output),
                **work,
            }


def show_from(level):
    """Show only messages of at least this level in the terminal. Snakemake's log file has the rest.

    `quiet` in a profile is no alternative, because it also hides the errors of jobs.
    """
    if workflow.output_settings.verbose or workflow.output_settings.printshellcmds:
        return
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.setLevel(level)


def stop(*_):
    """Stop on Ctrl-C, and hide the errors of the jobs that fail because of it."""
    show_from(logging.CRITICAL)
    raise KeyboardInterrupt


def remove_default_rate_limit():
    """Remove Snakemake's default limit of 100 new jobs per second; keep a limit set by the user.

    With the limit, every finished job adds one more scan of the ready jobs per second until the run
    ends. After 165 jobs these scans took a fifth of a core.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def take_folder_lock():
    """Hold the folder's lock, which make's run.py takes before it starts Snakemake."""
    import folder_lock

    try:
        folder_lock.take()
    except SnapError as error:
        raise WorkflowError(str(error)) from None


def refuse_what_does_not_fit():
    """Refuse jobs that need more memory than this machine has, if they run here."""
    if workflow.local_exec:
        try:
            check_memory(PLANS.values(), usable_memory())
        except SnapError as error:
            raise WorkflowError(str(error)) from None


PLAN_FILE = Path("results") / MAIN / "plan.json"
ANNOUNCER = Announcer(PLAN_FILE)


onstart:
    take_folder_lock()
    refuse_arrays()
    refuse_what_does_not_fit()
    executor = slurm_executor()
    if executor is not None:
        prepare_slurm(executor, PLAN_FILE)
    cancel_earlier_submission(PLAN_FILE)
    cores = workflow.cores if workflow.local_exec else None
    jobs = list(training_jobs())
    ARGUMENTS.start()
    print(
        status.announcement(
            sum(map(core_hours, PLANS.values())),
            max(map(memory, PLANS.values())),
            cores,
        ),
        file=sys.stderr,
    )
    name = executor.run_uuid if executor is not None else None
    status.write_plan(PLAN_FILE, PLAN.run, cores, jobs, name, PLANS)
    show_from(logging.WARNING)
    remove_default_rate_limit()
    signal.signal(signal.SIGINT, stop)
    ANNOUNCER.start()


onsuccess:
    ANNOUNCER.stop()


onerror:
    ANNOUNCER.stop()
