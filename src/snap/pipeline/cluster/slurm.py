"""SLURM's commands, and the forms of time in their answers."""

from __future__ import annotations

import subprocess


def ask(*command: str, timeout: float = 60) -> list[str] | None:
    """The lines of a command's answer; None if it fails, is not there, or does not answer."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").splitlines() if done.returncode == 0 else None


def seconds(text: str) -> float | None:
    """Parse SLURM's [days-]hours:minutes:seconds or minutes:seconds; None for any other word."""
    days, _, rest = text.rpartition("-")
    try:
        total = 0
        for part in rest.split(":"):
            total = 60 * total + int(part)
        return float(total + 86_400 * int(days or 0))
    except ValueError:  # UNLIMITED, INVALID, or nothing
        return None
