"""Clear up after a Snakemake that was killed. `make` does this before it starts a run.

Its lock does not say whose it is. It is stale when no Snakemake is at work in this folder: none on
this machine, and none that a plan says was started on another and has not ended. The SLURM jobs of
that Snakemake go on without it; they are ended, or the next run would train what they train.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from snap import slurm


def main() -> int:
    locks = Path(".snakemake/locks")
    if not locks.is_dir() or not any(locks.iterdir()):
        return 0
    holder = at_work_here() or at_work_elsewhere()
    if holder is not None:
        print(f"snap: error: a run is going on in this folder: {holder}", file=sys.stderr)
        return 1
    print("snap: the last run was killed; removing its lock and going on", file=sys.stderr)
    for plan in plans():
        if plan.get("slurm") and "ended" not in plan and (count := slurm.cancel(plan["slurm"])):
            print(f"snap: SLURM jobs left behind, now ended: {count}", file=sys.stderr)
    command = [sys.executable, "-m", "snakemake", "--unlock", *sys.argv[1:]]
    return subprocess.run(command).returncode


def at_work_here() -> str | None:
    """A Snakemake of this machine that works in this folder; not one that runs a single job."""
    if not Path("/proc/self/cmdline").exists():
        return "or perhaps not, which cannot be told on this system; if not: snakemake --unlock"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            folder = (process / "cwd").readlink()
        except OSError:  # it has ended, or belongs to someone else
            continue
        names = {Path(part).name for part in command[:3]}  # snakemake, or python -m snakemake
        if folder == Path.cwd() and "snakemake" in names and "--mode" not in command:
            return f"process {process.name} on {socket.gethostname()}"
    return None


def at_work_elsewhere() -> str | None:
    """A run that was started on another machine and has not said that it ended."""
    for plan in plans():
        host = plan.get("host", socket.gethostname())
        if host != socket.gethostname() and "ended" not in plan:
            return f"{plan['run']}, started on {host}; if it is not: snakemake --unlock"
    return None


def plans() -> list[dict[str, Any]]:
    """The plans of all runs in this folder."""
    return [json.loads(path.read_text()) for path in Path("results").glob("*/plan.json")]


if __name__ == "__main__":
    sys.exit(main())
