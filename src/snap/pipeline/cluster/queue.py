"""The SLURM jobs of a run, which share one name: their states, why they wait, and their end."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.pipeline.cluster.slurm import ask, seconds

# Of a job that is waiting, running or about to do so again.
ACTIVE = frozenset(
    """PENDING RUNNING SUSPENDED CONFIGURING COMPLETING STOPPED RESIZING SIGNALING STAGE_OUT
    REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD POWER_UP_NODE UPDATE_DB""".split()
)
FAILED = frozenset(
    """BOOT_FAIL CANCELLED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT REVOKED
    LAUNCH_FAILED RECONFIG_FAIL""".split()
)
# SLURM starts a job again after these, if it may. Its accounting keeps the old state for a while.
PERHAPS_AGAIN = frozenset({"NODE_FAIL", "PREEMPTED"})
LOST = "LOST"  # our word for a job that SLURM no longer knows

# Reasons to wait that end by themselves. All others are told to the user.
PASSING = re.compile(
    r"None|Priority|Resources|BeginTime|Dependency|Cleaning|Prolog|Licenses|Reservation"
    r"|JobArrayTaskLimit|.*RunMinutes.*"
    # Limits on what runs at once; a budget of minutes that is used up is not one of them.
    r"|(?!.*Minutes).*(Grp|PerUser|PerAccount|PerAcct|MaxJobs|MaxSubmit).*"
)
PATIENCE = 60  # seconds that a state between waiting, running and the end may take
GRACE = 180  # seconds after which a job that SLURM does not know counts as lost


@dataclass(frozen=True)
class Fate:
    """What became of a job: it is active, has succeeded, or has failed."""

    state: str
    active: bool = False

    @property
    def succeeded(self) -> bool:
        return self.state == "COMPLETED"


@dataclass
class Watch:
    """What SLURM says about the jobs of a run, remembered between questions."""

    name: str
    accounting: bool  # whether to ask sacct about the jobs that squeue no longer lists
    clusters: str = ""
    clock: Callable[[], float] = time.time
    silent_since: float | None = None  # since when SLURM has not answered
    accounting_silent_since: float | None = None  # since when sacct has not, although it is needed
    missing_since: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, dict[str, Any]] = field(default_factory=dict)  # for a lasting reason
    unknown: dict[str, str] = field(default_factory=dict)  # states that are in neither list
    counts: dict[str, int] = field(default_factory=dict)

    def look(self, jobs: Iterable[str]) -> dict[str, Fate]:
        """The fate of each job. Without an answer, all are still active."""
        jobs, now = list(jobs), self.clock()
        listed = self._listed()
        ended = self._ended() if listed is None or not listed.keys() >= set(jobs) else {}
        if listed is None and ended is None:
            self.silent_since = self.silent_since or now
            return {job: Fate("", active=True) for job in jobs}
        self.silent_since = None if listed is not None else self.silent_since or now
        silent = listed is not None and ended is None
        self.accounting_silent_since = (self.accounting_silent_since or now) if silent else None
        fates = {job: self._fate(job, listed, ended, now) for job in jobs}
        if listed is not None:
            self._note_reasons({job: listed[job] for job in jobs if job in listed}, now)
        self.unknown = {
            job: fate.state
            for job, fate in fates.items()
            if fate.active and fate.state and fate.state not in ACTIVE
        }
        return fates

    def _fate(
        self,
        job: str,
        listed: Mapping[str, tuple[str, str]] | None,
        ended: Mapping[str, str] | None,
        now: float,
    ) -> Fate:
        if listed is not None and job in listed:
            self.missing_since.pop(job, None)
            state = listed[job][0]
            return Fate(state, active=state != "COMPLETED" and state not in FAILED)
        state = (ended or {}).get(job, "")
        if listed is None:  # the controller is away; accounting may lag behind it
            final = state == "COMPLETED" or state in FAILED - PERHAPS_AGAIN
            return Fate(state, active=not final)
        if state == "COMPLETED" or state in FAILED:
            return Fate(state)
        if ended is None:  # nobody who answers knows of it
            return Fate(state, active=True)
        since = self.missing_since.setdefault(job, now)
        return Fate(state, active=True) if now - since < GRACE else Fate(LOST)

    def _listed(self) -> dict[str, tuple[str, str]] | None:
        """State and reason of each job that the controller still knows."""
        command = ["squeue", "--noheader", "--states=all", f"--name={self.name}"]
        if self.clusters:
            command.append(f"--clusters={self.clusters}")
        lines = ask(*command, "--format=%i|%T|%r")
        if lines is None:
            return None
        rows = (line.split("|", 2) for line in lines)
        return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}

    def _ended(self) -> dict[str, str] | None:
        """The state of each job according to accounting."""
        if not self.accounting:
            return None if self.silent_since else {}
        start = time.strftime("%Y-%m-%d", time.localtime(self.clock() - 14 * 86_400))
        query = f"--name={self.name} --starttime={start} --clusters=all --format=JobIDRaw,State"
        lines = ask("sacct", "--allocations", "--parsable2", "--noheader", *query.split())
        if lines is None:
            return None
        rows = (line.split("|") for line in lines)
        return {row[0]: first_word(row[1]) for row in rows if len(row) == 2}

    def _note_reasons(self, listed: Mapping[str, tuple[str, str]], now: float) -> None:
        waiting: dict[str, dict[str, Any]] = {}
        counts: dict[str, int] = {}
        for job, (state, reason) in listed.items():
            kind = "waiting" if state == "PENDING" else "running" if state in ACTIVE else ""
            if kind:
                counts[kind] = counts.get(kind, 0) + 1
            if state not in ("PENDING", "RUNNING", *FAILED, "COMPLETED"):
                reason = state  # normal for some seconds: COMPLETING, CONFIGURING, SUSPENDED, …
            if state != "RUNNING" and kind and not PASSING.fullmatch(reason):
                known = self.waiting.get(job, {})
                since = known["since"] if known.get("reason") == reason else now
                waiting[job] = {"reason": reason, "since": since}
        self.waiting, self.counts = waiting, counts


def first_word(state: str) -> str:
    """The state without what sacct adds to it: `CANCELLED by 5001`, `CANCELLED+`."""
    return state.split()[0].rstrip("+") if state.split() else ""


def core_seconds(name: str) -> dict[str, float]:
    """The core seconds allocated so far to each job of this name, including failed jobs.

    For a job that SLURM requeued, only the time since its last start counts. SLURM forgets a job
    some minutes after its end (MinJobAge), so call this regularly. If SLURM does not answer, the
    result is empty.
    """
    allocated = {}
    for line in _queue(name, "%i|%C|%M", "--states=all") or ():
        job, cores, used = line.split("|")
        if (spent := seconds(used) or 0) > 0:
            allocated[job] = spent * int(cores)
    return allocated


def is_running(job: str) -> bool | None:
    """Whether SLURM says that a job is running or will run again; None if it does not answer."""
    lines = ask("squeue", "--noheader", f"--jobs={job}", "--format=%T")
    if lines is None:  # squeue fails for a job that it has forgotten
        return None if ask("squeue", "--noheader", "--me", "--format=%i") is None else False
    return bool(lines)


def cancel(name: str, patience: float = 60) -> int:
    """Cancel the jobs of this name, wait until they have ended, and return how many there were.

    Running jobs are killed with SIGKILL: on SIGTERM, Snakemake inside a job would delete the
    results that it was about to report.
    """
    waiting = _left(name)
    if not waiting:
        return 0
    for how in (["--signal=KILL", "--full"], []):  # the second cancels pending jobs
        subprocess.run(["scancel", "--quiet", *how, f"--name={name}"], check=False)
    deadline = time.monotonic() + patience
    while left := _left(name):
        if time.monotonic() > deadline:
            raise SnapError(
                f"SLURM jobs of an earlier run could not be cancelled: {', '.join(left)}"
            )
        time.sleep(0.5)
    return len(waiting)


def _left(name: str) -> list[str]:
    jobs = _queue(name, "%i")
    if jobs is None:
        raise SnapError("SLURM does not say whether jobs of an earlier run are left: try again")
    return jobs


def _queue(name: str, form: str, *options: str) -> list[str] | None:
    """One line per job or array task; None if SLURM does not answer."""
    return ask("squeue", "--noheader", "--array", f"--name={name}", f"--format={form}", *options)


def state_file(run_folder: Path) -> Path:
    """Where a run on a cluster says what it waits for."""
    return run_folder / "queue.json"


def read_state(run_folder: Path) -> dict[str, Any]:
    """What a run on a cluster waits for; empty if it has not said, or has ended."""
    try:
        found = json.loads(state_file(run_folder).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def words(state: Mapping[str, Any]) -> list[str]:
    """What a run waits for that will not end by itself, one clause each."""
    found = []
    if state.get("silent_since"):
        found.append(f"SLURM has not answered since {clock(state['silent_since'])}, waiting for it")
    if since := state.get("accounting_silent_since"):
        found.append(f"SLURM's accounting (sacct) has not answered since {clock(since)}")
    if refused := state.get("refused"):
        found.append(f"SLURM has refused jobs since {clock(refused['since'])} ({refused['why']})")
    for job, one in state.get("waiting", {}).items():
        if one["reason"] in ACTIVE and state["at"] - one["since"] < PATIENCE:
            continue
        what = f" ({one['what']})" if one.get("what") else ""
        since = clock(one["since"])
        found.append(f"SLURM job {job}{what} has been waiting since {since}: {one['reason']}")
    for job, name in state.get("unknown", {}).items():
        found.append(f"SLURM job {job} is in the state {name}, which is unknown here")
    return found


def clock(moment: float) -> str:
    """The time of day, with the date if it is not today."""
    then = time.localtime(moment)
    today = then[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", then)
