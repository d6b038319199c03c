"""Clean up after a Snakemake that was killed. `make` does this before it starts a run.

Snakemake's lock does not record its owner. It is stale if no Snakemake is active in this folder:
neither on this machine nor, according to the plan files, on another. Jobs of the killed Snakemake
may still be running. They are stopped, because the next run would train the same trials.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import folder_lock
import psutil

from snap.errors import SnapError
from snap.files import BEGUN
from snap.pipeline import keeper
from snap.pipeline.alive import is_alive
from snap.pipeline.cluster import queue
from snap.pipeline.resources import slurm_job
from snap.pipeline.status import read_plan

LOCKS = Path(".snakemake/locks")
SNAP = ["-m", "snap"]  # after the interpreter
ABANDONED = 600  # seconds after which a file that was begun is not being written any more
SILENCE = 120  # seconds without activity after which a run on another machine counts as dead


def main() -> int:
    try:
        refuse(active_run_here(is_locked()))
        folder_lock.take()
        locked = is_locked()
        if locked:
            refuse(active_run_elsewhere())
    except SnapError as error:
        print(f"snap: error: {error}", file=sys.stderr)
        return 1
    if not locked:
        tidy(ABANDONED)
        return 0
    print("snap: the last run was killed; removing its lock and continuing", file=sys.stderr)
    try:
        count = stop_jobs_here()
    except SnapError as error:
        print(f"snap: error: {error}", file=sys.stderr)
        return 1
    if count:
        print(f"snap: stopped jobs left by the killed run: {count}", file=sys.stderr)
    for record in plan_records():
        if not record.get("slurm") or "ended" in record:
            continue
        try:
            count = queue.cancel(record["slurm"])
        except SnapError as error:
            print(f"snap: error: {error}", file=sys.stderr)
            return 1
        if count:
            print(f"snap: cancelled SLURM jobs left by the killed run: {count}", file=sys.stderr)
    tidy(0)
    try:  # the effect of snakemake --unlock, which takes seconds to parse the rules
        shutil.rmtree(LOCKS)
    except OSError as error:
        print(f"snap: error: {LOCKS} cannot be removed: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def refuse(holder: str | None) -> None:
    if holder is not None:
        raise SnapError(f"another run is active in this folder: {holder}")


def is_locked() -> bool:
    return any(LOCKS.glob("*"))


def tidy(age: float) -> None:
    """Remove files that a killed job has begun to write, and correct times in the future.

    A file in which nothing was written for `age` seconds is not being written any more.
    Files are dated in the future if the clock was set back. Snakemake would treat everything made
    from them as out of date. Changing times hides no change, because jobs compare the content of
    their input.
    """
    now = time.time()
    future = 0
    for folder in ("results", "data", "logs"):
        for path in Path(folder).rglob("*"):
            changed = path.lstat().st_mtime if path.is_file() else now
            if path.match(f".*{BEGUN}") and changed <= now - age:
                path.unlink(missing_ok=True)
            elif changed > now and folder != "logs":
                os.utime(path, (now, now))
                future += 1
    if future:
        print(
            f"snap: the clock was set back; {future} files dated in the future were given the"
            " present time",
            file=sys.stderr,
        )


def active_run_here(locked: bool) -> str | None:
    """Describe the run that is active in this folder on this machine, or return None.

    A run started by make before this one counts even without a lock, because there is no lock
    between its two passes. Any other Snakemake counts if the folder is locked, unless it only
    executes a single job.
    """
    me = psutil.Process()
    for process, command, since in processes_here():
        earlier = (since, process.pid) < (me.create_time(), me.pid)
        running = program(command)
        made = running.endswith("workflow/run.py")
        snakemake = Path(running).name == "snakemake" and "--mode" not in command
        if (made and earlier) or (snakemake and locked):
            return folder_lock.described(process)
    for record in plan_records() if locked else ():
        # Another user's Snakemake: its folder cannot be looked at, but it can be seen to live.
        ours = record.get("host") == socket.gethostname() and "ended" not in record
        if ours and "pid" in record and is_alive(record["pid"], record["started"]):
            return f"process {record['pid']} on {record['host']}"
    return None


def program(command: Sequence[str]) -> str:
    """The script or module that a Python process runs; nothing for other processes."""
    if not command or not re.fullmatch(r"python[\d.]*", Path(command[0]).name):
        return ""
    for place, part in enumerate(command[1:], start=1):
        if part == "-m":
            return "".join(command[place + 1 : place + 2])
        if not part.startswith("-"):
            return part
    return ""


def stop_jobs_here() -> int:
    """Kill the jobs on this machine that run in this folder and return their number."""
    jobs = [process for process, command, _ in processes_here() if is_job(process, command)]
    for process in jobs:
        with contextlib.suppress(psutil.Error):
            process.kill()
    for process in psutil.wait_procs(jobs, timeout=10)[1]:
        if is_alive(process.pid, process.create_time()):
            raise SnapError(
                f"a job of the killed run does not end: {folder_lock.described(process)}; it may"
                " wait for a disk that does not answer"
            )
    return len(jobs)


def is_job(process: psutil.Process, command: Sequence[str]) -> bool:
    """Whether a process was started by a rule of the workflow."""
    try:
        return command[1:3] == SNAP and keeper.PARENTS in process.environ()
    except psutil.Error:  # it has ended or belongs to another user
        return False


def processes_here() -> Iterator[tuple[psutil.Process, list[str], float]]:
    """The processes on this machine that run in this folder: process, command and start time."""
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == Path.cwd():
                yield process, process.cmdline(), process.create_time()
        except psutil.Error:  # the process has ended or belongs to another user
            continue


def active_run_elsewhere() -> str | None:
    """Describe the run that is active on another machine, or return None.

    An active run updates its file in invocations/ every 20 seconds. This waits until it does, or
    until it has been silent for long enough. Clocks of other machines may differ from this one, so
    what counts is whether a file changes while this looks. A run in a SLURM allocation has ended
    with it: nothing has to be waited for.
    """
    for record in plan_records():
        host = record.get("host", socket.gethostname())
        if host == socket.gethostname() or allocation_ended(record):
            continue
        signs = last_signs(record)
        age = time.time() - max(signs, default=0.0)
        left = SILENCE - max(0.0, age)
        if left > 0:
            print(
                f"snap: {record['run']} was started on {host} and active {age:.0f} s ago; waiting"
                f" up to {left:.0f} s to see whether it still is",
                file=sys.stderr,
                flush=True,
            )
        deadline = time.monotonic() + left
        while time.monotonic() < deadline:
            time.sleep(1)
            if last_signs(record) != signs:
                return f"{record['run']}, started on {host}"
    return None


def last_signs(record: dict[str, Any]) -> list[float]:
    """The times of the files that an active run changes.

    It takes the lock before it writes its first file. So the lock counts even if the plan says that
    the run has ended: another may have begun.
    """
    files = [*LOCKS.glob("*")]
    if "ended" not in record:
        folder = Path("results") / record["run"]
        files += [folder / "plan.json", *folder.glob("invocations/*.json")]
    return [path.stat().st_mtime for path in files if path.exists()]


def allocation_ended(record: dict[str, Any]) -> bool:
    """Whether a run was in a SLURM allocation that has ended, or is the one that this run is in."""
    allocation = record.get("allocation")
    if allocation is None:
        return False
    return allocation == slurm_job() or queue.is_running(allocation) is False


def plan_records() -> list[dict[str, Any]]:
    """The contents of plan.json of every run in this folder."""
    return [plan_record(path) for path in sorted(Path("results").glob("*/plan.json"))]


def plan_record(path: Path) -> dict[str, Any]:
    """The content of a plan.json. A run whose plan is damaged may be active on any machine."""
    try:
        return read_plan(path)
    except SnapError as error:
        print(f"snap: {error}", file=sys.stderr)
        return {"run": path.parent.name, "host": "another machine", "slurm": None}


if __name__ == "__main__":
    sys.exit(main())
