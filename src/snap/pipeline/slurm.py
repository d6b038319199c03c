"""What SLURM knows of the jobs of a run, asked for by the name that they share."""

from __future__ import annotations

import subprocess
import time

from snap.errors import SnapError


def core_seconds(name: str) -> dict[str, float]:
    """The core seconds that each job of this name has been given so far, failed ones included.

    Of a job that SLURM itself started again, those since then.

    SLURM itself forgets a job some minutes after its end (MinJobAge), so ask now and then. Where it
    does not answer, nothing is known.
    """
    found = {}
    for line in _queue(name, "%i|%C|%M", "--states=all") or ():
        job, cores, used = line.split("|")
        if (seconds := _seconds(used)) > 0:
            found[job] = seconds * int(cores)
    return found


def cancel(name: str, patience: float = 60) -> int:
    """End the jobs of this name, and wait until they have ended. How many there were.

    Those that run are killed outright: asked to end, a Snakemake in them would delete the results
    that it was about to report.
    """
    waiting = _left(name)
    if not waiting:
        return 0
    for how in (["--signal=KILL", "--full"], []):  # the second is for those that do not run yet
        subprocess.run(["scancel", "--quiet", *how, f"--name={name}"], check=False)
    deadline = time.monotonic() + patience
    while left := _left(name):
        if time.monotonic() > deadline:
            raise SnapError(f"SLURM jobs of an earlier run do not end: {', '.join(left)}")
        time.sleep(0.5)
    return len(waiting)


def _left(name: str) -> list[str]:
    found = _queue(name, "%i")
    if found is None:
        raise SnapError("SLURM does not say whether jobs of an earlier run are left: try again")
    return found


def _queue(name: str, form: str, *options: str) -> list[str] | None:
    """A line for each job, or task of an array; None where SLURM does not answer."""
    command = ["squeue", "--noheader", "--array", f"--name={name}", f"--format={form}", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split() if done.returncode == 0 else None


def _seconds(text: str) -> float:
    """Seconds in SLURM's [days-][[hours:]minutes:]seconds."""
    days, _, rest = text.rpartition("-")
    try:
        seconds = 0
        for part in rest.split(":"):
            seconds = 60 * seconds + int(part)
        return float(seconds + 86_400 * int(days or 0))
    except ValueError:  # INVALID, of a job that has not started
        return 0.0
