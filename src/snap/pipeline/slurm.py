"""Query and cancel the SLURM jobs of a run, which share one name."""

from __future__ import annotations

import subprocess
import time

from snap.errors import SnapError


def core_seconds(name: str) -> dict[str, float]:
    """The core seconds allocated so far to each job of this name, including failed jobs.

    For a job that SLURM requeued, only the time since its last start counts. SLURM forgets a job
    some minutes after its end (MinJobAge), so call this regularly. If SLURM does not answer, the
    result is empty.
    """
    allocated = {}
    for line in _queue(name, "%i|%C|%M", "--states=all") or ():
        job, cores, used = line.split("|")
        if (seconds := _seconds(used)) > 0:
            allocated[job] = seconds * int(cores)
    return allocated


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
    command = ["squeue", "--noheader", "--array", f"--name={name}", f"--format={form}", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split() if done.returncode == 0 else None


def _seconds(text: str) -> float:
    """Parse SLURM's [days-][[hours:]minutes:]seconds; return 0 for an invalid time."""
    days, _, rest = text.rpartition("-")
    try:
        seconds = 0
        for part in rest.split(":"):
            seconds = 60 * seconds + int(part)
        return float(seconds + 86_400 * int(days or 0))
    except ValueError:  # a job that has not started has INVALID
        return 0.0
