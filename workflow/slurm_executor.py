"""Changes to the SLURM plugin (snakemake-executor-plugin-slurm 2.8.0): a run never hangs.

`Mended` replaces methods of the plugin's executor for one run. The defects, with its issues:

1. sacct says `CANCELLED by 5001`. The plugin compares that with `CANCELLED`, finds no match and
   waits for ever (since its pull request 415).
2. If a status query fails, the plugin forgets all jobs and waits for ever (issue 207).
3. After a node failure the plugin excludes the node called `None assigned`, and every later
   submission fails (issue 485).
4. A job in the state PREEMPTED that SLURM does not requeue counts as running for ever.
5. A refused submission (a submit limit, a controller that does not answer) uses up a retry. Now
   it is repeated until SLURM accepts it.
6. An account that cannot be looked up, because accounting is away, fails the job. If the job is a
   group, the handler of that error fails too, and the run waits for ever.
7. Retries ask for the same again, or for more of everything. Now they ask for more memory after
   OUT_OF_MEMORY and for more time after TIMEOUT, up to what the partition has.
8. The Snakemake of a SLURM job starts a second one with srun, which takes several seconds. Now it
   runs the commands itself.

tests/test_plugin.py fails when a new version of the plugin no longer has one of the defects 1 to 4,
6 and 8. Then remove that part.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import shlex
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake.iocontainers import ResourceList

from snap.files import write_atomically
from snap.pipeline.cluster.limits import Offer, Request
from snap.pipeline.cluster.queue import Watch
from snap.pipeline.cluster.slurm import ask

# What sbatch says if it may accept the same job later. A limit other than a submit limit is not
# temporary, although the general text that follows its name speaks of the submit limit too.
TEMPORARY = re.compile(
    r"SubmitJob|MaxSubmit|temporarily|try again|timed out|Unable to contact|Connection refused"
    r"|Zero Bytes|Transport endpoint|in standby mode|authentication error|Munge",
    re.IGNORECASE,
)
OUT_OF_MEMORY = re.compile(r"slurmstepd.*(exceeded memory limit|oom.kill)", re.IGNORECASE)
FIRST_DELAY, LAST_DELAY = 5.0, 60.0  # seconds between attempts to submit


class Mended:
    """The plugin's executor for one run, with the methods that this module replaces."""

    def __init__(self, executor: Any, state_file: Path, offered: Offer) -> None:
        self.executor, self.state_file, self.offered = executor, state_file, offered
        self.interval = executor.workflow.executor_settings.init_seconds_before_status_checks
        accounting = offered.accounting and executor.get_status_command() != "squeue"
        self.watch = Watch(executor.run_uuid, accounting)
        self.causes: dict[frozenset[str], Counter[str]] = {}
        self.names: dict[str, str] = {}
        self.refused: dict[str, Any] | None = None
        self.cancelled = False
        self.delay = FIRST_DELAY
        self.stopped = threading.Event()
        self.saying = threading.Lock()
        self.original = SimpleNamespace(
            run_job=executor.run_job,
            cancel_jobs=executor.cancel_jobs,
            shutdown=executor.shutdown,
            report_submission=executor._report_job_submission_threadsafe,
            report_error=executor._report_job_error_threadsafe,
            submit_command=plugin.get_submit_command,
        )

    def install(self) -> None:
        self.executor.check_active_jobs = self.check_active_jobs
        self.executor.get_account_arg = self.get_account_arg
        self.executor.run_job = self.run_job
        self.executor.cancel_jobs = self.cancel_jobs
        self.executor.shutdown = self.shutdown
        self.executor._report_job_submission_threadsafe = self.report_submission
        self.executor._report_job_error_threadsafe = self.report_error
        plugin.get_submit_command = self.submit_command
        self.executor.additional_general_args = lambda: ""  # instead of --executor slurm-jobstep
        self.say()

    # The states of jobs

    async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
        """Report the jobs that have ended and yield the others."""
        self.executor.next_seconds_between_status_checks = self.interval
        if not active_jobs:
            return
        self.watch.clusters = ",".join(sorted(self.executor._submitted_job_clusters))
        async with self.executor.status_rate_limiter:
            fates = await asyncio.to_thread(
                self.watch.look, [info.external_jobid for info in active_jobs]
            )
        self.say()
        for info in active_jobs:
            fate = fates[info.external_jobid]
            if fate.active:
                yield info
            elif fate.succeeded:
                self.executor.report_job_success(info)
                if not self.executor.workflow.executor_settings.keep_successful_logs:
                    with suppress(OSError):
                        info.aux["slurm_logfile"].unlink()
            else:
                log = info.aux["slurm_logfile"]
                cause = "OUT_OF_MEMORY" if ran_out_of_memory(log) else fate.state
                self.causes.setdefault(key(info.job), Counter())[cause] += 1
                state = fate.state if cause == fate.state else f"{fate.state} ({cause})"
                said = f"SLURM job {info.external_jobid} ({info.job.name}) ended as {state}"
                self.executor.logger.warning(said)  # the error of a group does not contain it
                self.executor.report_job_error(info, msg=f"{said}. ", aux_logs=[str(log)])

    def say(self) -> None:
        """Write what the run waits for, for the progress line and `snap status`."""
        waiting = {
            job: {**one, "what": self.names.get(job, "")} for job, one in self.watch.waiting.items()
        }
        content = {
            "at": time.time(),
            "silent_since": self.watch.silent_since,
            "accounting_silent_since": self.watch.accounting_silent_since,
            "waiting": waiting,
            "unknown": self.watch.unknown,
            "refused": self.refused,
            "counts": self.watch.counts,
        }
        with self.saying, suppress(OSError):
            write_atomically(self.state_file, json.dumps(content).encode(), durable=False)

    # Submission

    def run_job(self, job: Any) -> None:
        """Submit a job, unless the run is ending. The plugin's handler of errors fails for groups.

        What it raises then is reported here.
        """
        if self.stopped.is_set():
            return
        try:
            self.original.run_job(job)
        except Exception as error:
            self.original.report_error(plugin.SubmittedJobInfo(job), f"not submitted: {error}")

    def get_account_arg(self, job: Any) -> Iterator[str]:
        """The account, which was checked before the run began."""
        account = job.resources.get("slurm_account")
        yield f" -A {shlex.quote(str(account))}" if account else ""

    def submit_command(
        self, job: Any, params: Any, settings: Any = None, failed_nodes: Any = None, **rest: Any
    ) -> str:
        """The command of the plugin, with what this attempt needs."""
        view = SimpleNamespace(
            threads=job.threads, resources=ResourceList(fromdict=self.needs(job))
        )
        rest |= {"settings": settings, "failed_nodes": failed_nodes}
        return str(self.original.submit_command(view, params, **rest))

    def needs(self, job: Any) -> dict[str, Any]:
        """The resources of a job, raised by the causes of its failures."""
        values = dict(job.resources.items())
        if job.is_group():  # its jobs run one after the other, and are few enough for one limit
            values["runtime"] = max(one.resources.get("runtime", 0) for one in job.jobs)
        failures = self.causes.get(key(job), Counter())
        limits = self.offered.of(str(values.get("slurm_partition") or ""))
        for name, cause, most in (
            ("runtime", "TIMEOUT", limits.minutes),
            ("mem_mb", "OUT_OF_MEMORY", limits.memory_mb),
            ("mem_mb_per_cpu", "OUT_OF_MEMORY", limits.memory_mb / job.threads),
        ):
            if values.get(name) and failures[cause]:
                values[name] = int(
                    max(values[name], min(values[name] * 2 ** failures[cause], most))
                )
        return values

    def report_submission(self, info: Any) -> None:
        self.refused, self.delay = None, FIRST_DELAY
        self.names[info.external_jobid] = info.job.name
        self.original.report_submission(info)

    def report_error(self, info: Any, msg: str) -> None:
        """Report a job that could not be submitted, or wait and submit it again."""
        why = re.match(r"SLURM sbatch failed. The error message was '(.*?)'\.\n", msg, re.DOTALL)
        if why is None or not TEMPORARY.search(why[1]):
            self.original.report_error(info, msg)
            return
        reason = " ".join(why[1].replace("sbatch: error:", "").split())
        since = self.refused["since"] if self.refused else time.time()
        self.refused = {"since": since, "why": reason}
        self.say()
        delay, self.delay = self.delay, min(2 * self.delay, LAST_DELAY)
        if not self.stopped.wait(delay):
            self.cancel_unnoticed(info.job)
            self.executor._job_submission_executor.submit(self.executor.run_job, info.job)

    def cancel_unnoticed(self, job: Any) -> None:
        """Cancel what SLURM accepted although sbatch said that it had not, as after a timeout."""
        if not job.is_group():  # only the comment of a group tells which job it is
            return
        form = f"--name={self.executor.run_uuid} --noheader --format=%i|%k".split()
        for line in ask("squeue", *form) or ():
            number, _, comment = line.partition("|")
            if comment == f"group_{job.name}" and number not in self.names:
                ask("scancel", "--quiet", number)

    # The end

    def cancel_jobs(self, active_jobs: list[Any]) -> None:
        """Cancel all jobs of the run, also those whose states are being asked for."""
        self.stopped.set()
        self.cancelled = True
        with suppress(Exception):  # SLURM does not answer; shutdown says so
            self.original.cancel_jobs(active_jobs)

    def shutdown(self) -> None:
        self.stopped.set()
        self.original.shutdown()
        # By name, because a submission that was under way may have succeeded meanwhile.
        if self.cancelled and ask("scancel", "--quiet", f"--name={self.executor.run_uuid}") is None:
            self.executor.logger.error(
                "SLURM does not answer: the next run will cancel the jobs of this one"
            )
        self.state_file.unlink(missing_ok=True)


def ran_out_of_memory(log: Path) -> bool:
    """Whether SLURM has written so into the output of a job.

    Only clusters that limit memory by cgroups call the state of such a job OUT_OF_MEMORY. Others
    call it FAILED.
    """
    try:
        return OUT_OF_MEMORY.search(log.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def key(job: Any) -> frozenset[str]:
    """What identifies a job in all of its attempts."""
    return frozenset(map(str, job.output))


def request_of(job: Any) -> Request:
    """What a job asks of SLURM."""
    return _request(job.rule.name, dict(job.resources.items()), int(job.threads))


def request_of_rule(rule: str, given: Mapping[str, Any]) -> Request:
    """What the profile's resources of a rule ask of SLURM."""
    values = {}
    for name, one in given.items():
        with suppress(ValueError, SyntaxError):  # what depends on a job is left to SLURM
            values[name] = ast.literal_eval(str(getattr(one, "raw", one)))
    return _request(rule, values, 1)


def _request(rule: str, resources: Mapping[str, Any], cores: int) -> Request:
    gres = re.match(r"gpu(?::([A-Za-z_][\w.-]*))?(?::(\d+))?", str(resources.get("gres", "")))
    kind = resources.get("gpu_model") or (gres[1] if gres else "") or ""
    return Request(
        rule=rule,
        partition=str(resources.get("slurm_partition") or ""),
        account=str(resources.get("slurm_account") or ""),
        qos=str(resources.get("qos") or ""),
        constraint=str(resources.get("constraint") or ""),
        minutes=int(resources.get("runtime") or 0),
        memory_mb=int(resources.get("mem_mb") or 0),
        cores=cores,
        gpus=int(resources.get("gpu") or (gres[2] or 1 if gres else 0)),
        gpu_type=str(kind),
    )
