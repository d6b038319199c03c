"""Clear up after a Snakemake that was killed. `make` does this before it starts a run.

Its lock does not say whose it is. It is stale when no Snakemake is at work in this folder: none on
this machine, and none that a plan says was started on another and has not ended. The jobs of that
Snakemake may go on without it; they are ended, or the next run would train what they train.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from snap.errors import SnapError
from snap.pipeline import slurm

LOCKS = Path(".snakemake/locks")
SNAP_JOB = ["-m", "snap", "job"]  # after the interpreter
SILENCE = 300  # seconds after which a run on another machine is taken to be dead


def main() -> int:
    locked = any(LOCKS.glob("*"))
    holder = at_work_here(locked) or (at_work_elsewhere() if locked else None)
    if holder is not None:
        print(f"snap: error: a run is going on in this folder: {holder}", file=sys.stderr)
        return 1
    correct_future_times()
    if not locked:
        return 0
    print("snap: the last run was killed; removing its lock and going on", file=sys.stderr)
    if count := end_jobs_here():
        print(f"snap: jobs left behind, now ended: {count}", file=sys.stderr)
    for plan in plans():
        if not plan.get("slurm") or "ended" in plan:
            continue
        try:
            count = slurm.cancel(plan["slurm"])
        except SnapError as error:
            print(f"snap: error: {error}", file=sys.stderr)
            return 1
        if count:
            print(f"snap: SLURM jobs left behind, now ended: {count}", file=sys.stderr)
    shutil.rmtree(LOCKS)  # which is what snakemake --unlock does, after seconds of reading rules
    return 0


def correct_future_times() -> None:
    """Give files that claim to be from the future the present time.

    They are there when the clock was set back. Snakemake would call everything that is made from
    them out of date. What is due does not depend on times: jobs compare the content of their input.
    """
    now = time.time()
    future = [
        path
        for folder in ("results", "data")
        for path in Path(folder).rglob("*")
        if path.is_file() and path.lstat().st_mtime > now
    ]
    for path in future:
        os.utime(path, (now, now))
    if future:
        print(
            f"snap: the clock was set back: {len(future)} files were newer than now and have been"
            " given the present time",
            file=sys.stderr,
        )


def at_work_here(locked: bool) -> str | None:
    """A run of this machine that works in this folder, and since when.

    That is one which make started before this one, lock or not: there is none between its passes.
    Or it is whichever Snakemake holds the lock; not one that runs a single job.
    """
    me = psutil.Process()
    for process, command, since in processes_here():
        earlier = (since, process.pid) < (me.create_time(), me.pid)
        made = any(part.endswith("workflow/run.py") for part in command[:3])
        names = {Path(part).name for part in command[:3]}  # snakemake, or python -m snakemake
        snakemake = "snakemake" in names and "--mode" not in command
        if (made and earlier) or (snakemake and locked):
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since))
            return f"process {process.pid} on {socket.gethostname()}, since {when}"
    return None


def end_jobs_here() -> int:
    """End the jobs of this machine that work in this folder; how many there were."""
    jobs = [process for process, command, _ in processes_here() if command[1:4] == SNAP_JOB]
    for process in jobs:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(jobs, timeout=10)
    return len(jobs)


def processes_here() -> Iterator[tuple[psutil.Process, list[str], float]]:
    """The processes of this machine that work in this folder, their commands, and since when."""
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == Path.cwd():
                yield process, process.cmdline(), process.create_time()
        except psutil.Error:  # it has ended, or belongs to someone else
            continue


def at_work_elsewhere() -> str | None:
    """A run that was started on another machine, and has been heard of within minutes.

    While it is on it writes what it has taken every 20 seconds; it locks before it says a word.
    """
    locked = [path.stat().st_mtime for path in LOCKS.glob("*")]
    for plan in plans():
        if plan.get("host", socket.gethostname()) == socket.gethostname():
            continue
        signs = list(locked)
        if "ended" not in plan:
            place = Path("results") / plan["run"] / "invocations"
            signs += [plan["started"], *(path.stat().st_mtime for path in place.glob("*.json"))]
        silent = time.time() - max(signs)
        if silent < SILENCE:
            return (
                f"{plan['run']}, started on {plan['host']}, heard of {silent:.0f} s ago; if it was"
                f" killed there, try again in {SILENCE // 60} minutes"
            )
    return None


def plans() -> list[dict[str, Any]]:
    """The plans of all runs in this folder."""
    return [json.loads(path.read_text()) for path in Path("results").glob("*/plan.json")]


if __name__ == "__main__":
    sys.exit(main())
