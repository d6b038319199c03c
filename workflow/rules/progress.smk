# Progress: one line every 20 seconds where the run was started, and a plan for `snap status`.

import logging
import signal

from snap.pipeline import status


include: "slurm.smk"


def training_jobs():
    """Every job that trains, for the progress report."""
    due = {file for job in workflow.dag.needrun_jobs() for file in job.output}
    patterns = {
        "search": SEARCH,
        "iid": IID,
        "sequential": SEQUENTIAL,
        "ladder": LADDER,
        "portrait": PORTRAIT,
    }
    for stage in STAGES:
        for work in work_of(PLAN, stage):
            output = patterns[stage].format(**work)
            yield {
                "stage": stage,
                "due": output in due,
                "output": output,
                "benchmark": benchmark_of(output),
                "ledger": ledger_of(output),
                "trials": work["trials"],
                "cost": work["cost"],
            }


def show_from(level):
    """Keep Snakemake's terminal output to what is so grave; its log file has the rest.

    `quiet` in a profile would not do: it hides the errors of jobs as well.
    """
    if workflow.output_settings.verbose or workflow.output_settings.printshellcmds:
        return
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.setLevel(level)


def stop(*_):
    """On Ctrl-C every job that is running fails, which is no news."""
    show_from(logging.CRITICAL)
    raise KeyboardInterrupt


def look_for_jobs_when_one_ends():
    """Without Snakemake's own limit of 100 new jobs a second, unless a user has set another.

    For its sake every job that ends adds one more look at all that is ready, every second, until the
    run is over: after 165 jobs that took a fifth of a core.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


PLAN_FILE = Path(RUN) / "plan.json"
ANNOUNCER = status.Announcer(PLAN_FILE)


onstart:
    refuse_arrays()
    cancel_earlier_submission(PLAN_FILE)
    cores = workflow.cores if workflow.local_exec else None
    jobs = list(training_jobs())
    print(status.announcement(core_hours(PLAN), cores), file=sys.stderr)
    status.write_plan(PLAN_FILE, PLAN.run, cores, jobs, slurm_name())
    show_from(logging.WARNING)
    look_for_jobs_when_one_ends()
    signal.signal(signal.SIGINT, stop)
    ANNOUNCER.start()


onsuccess:
    ANNOUNCER.stop()


onerror:
    ANNOUNCER.stop()
