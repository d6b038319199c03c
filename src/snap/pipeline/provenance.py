"""Where a run's results come from: config, software, machine, commit and cost."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from snap.files import write_atomically
from snap.pipeline.costs import costs
from snap.pipeline.reduced import words
from snap.trial import SEMANTICS

PACKAGES = {
    "snap": "snap-plasticity",
    "numpy": "numpy",
    "numba": "numba",
    "torch": "torch",
    "snakemake": "snakemake",
    "pandas": "pandas",
    "matplotlib": "matplotlib",
}
RESTORED = "restored.json"  # in the folder of a run: where its restored trials come from


def write(config: Mapping[str, Any], plan: Path, folder: Path, output: Path) -> None:
    """Write what `collect` finds."""
    found = collect(config, plan, folder)
    write_atomically(output, json.dumps(found, indent=1, ensure_ascii=False).encode())


def collect(config: Mapping[str, Any], plan: Path, folder: Path) -> dict[str, Any]:
    """All that is known about a run; None for what this machine does not tell.

    `plan` is the run's plan.json, `folder` the folder whose commit is meant.
    """
    now = datetime.datetime.now(datetime.UTC)
    return {
        "run": str(config.get("run", plan.parent.name)),
        "reduced": words(config),
        "date": now.isoformat(timespec="seconds"),
        "semantics": SEMANTICS,
        "git": _commit(folder),
        "versions": {"python": platform.python_version()} | _versions(),
        "platform": platform.platform(),
        "hardware": {"cpu": _cpu(Path("/proc/cpuinfo")), "cores": _cores(), "memory": _memory()},
        "costs": _costs(plan),
        "restored": read_restored(plan.parent),
        "config": dict(config),
    }


def _versions() -> dict[str, str | None]:
    """Versions from the packages' metadata: importing torch to ask would take seconds."""
    found: dict[str, str | None] = {}
    for name, distribution in PACKAGES.items():
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _cpu(cpuinfo: Path) -> str | None:
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return platform.processor() or None
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or None


def _cores() -> int | None:
    """Cores this process may use, which on a cluster are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _memory() -> int | None:
    """Bytes of memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _commit(folder: Path) -> dict[str, Any] | None:
    """The commit and whether files differ from it; None without git or outside a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain")
    if commit is None or changes is None:
        return None
    return {"commit": commit, "changed": bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def read_restored(run: Path) -> list[dict[str, Any]]:
    """The same, but for the config, of the published runs whose trials this one started from."""
    try:
        found: list[dict[str, Any]] = json.loads((run / RESTORED).read_text())
    except FileNotFoundError:
        return []
    return found


def _costs(plan: Path) -> dict[str, Any] | None:
    """What each stage trained and took, and the run as a whole; None for a run without a plan.

    Wall time is that of the latest run of each job, core time all training ever done for them.
    """
    try:
        found = costs(plan)
    except (OSError, ValueError, KeyError):
        return None
    stages = {
        name: {
            "jobs": round(stage["jobs"]),
            "trials": round(stage["trials"]),
            "trained": round(stage["trained"]),
            "reused": round(stage["trials"] - stage["trained"]),
            "diverged": round(stage["diverged"]),
            "wall_seconds": stage["job_seconds"],
            "core_seconds": stage["ever_trained_seconds"],
        }
        for name, stage in found["stages"].items()
    }
    whole = {key: found[key] for key in ("wall_seconds", "core_seconds", "training_seconds")}
    return {"stages": stages, **whole}
