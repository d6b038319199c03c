"""The provenance of a run's results: config, software, machine, commit and cost."""

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

from snap.errors import SnapError
from snap.files import read_result, write_result
from snap.pipeline import shapes
from snap.pipeline.costs import costs
from snap.pipeline.reduced import words
from snap.pipeline.resources import memory
from snap.pipeline.shapes import check
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
RESTORED = "restored.json"  # file in a run's folder: where its restored trials come from


def write(provenance: Mapping[str, Any], output: Path) -> None:
    """Write the result of `collect` as JSON."""
    write_result(output, json.dumps(provenance, indent=1, ensure_ascii=False).encode())


def collect(config: Mapping[str, Any], plan_file: Path, folder: Path) -> dict[str, Any]:
    """Return the provenance of a run; values that this machine does not provide are None.

    `plan_file` is the run's plan.json. `folder` is in the git repository whose commit is recorded.
    """
    now = datetime.datetime.now(datetime.UTC)
    return {
        "run": str(config.get("run", plan_file.parent.name)),
        "reduced": words(config),
        "date": now.isoformat(timespec="seconds"),
        "semantics": SEMANTICS,
        "git": _commit(folder),
        "versions": {"python": platform.python_version()} | _versions(),
        "platform": platform.platform(),
        "hardware": {"cpu": _cpu(Path("/proc/cpuinfo")), "cores": _cores(), "memory": memory()},
        "costs": _costs(plan_file),
        "restored": read_restored(plan_file.parent),
        "config": dict(config),
    }


def _versions() -> dict[str, str | None]:
    """Versions from the packages' metadata: importing torch would take seconds."""
    versions: dict[str, str | None] = {}
    for name, distribution in PACKAGES.items():
        try:
            versions[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _cpu(cpuinfo: Path) -> str | None:
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or None


def _cores() -> int | None:
    """The number of cores this process may use; on a cluster, fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


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
            ["git", "-C", str(folder), *arguments], capture_output=True, check=False
        )
    except OSError:
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None


def read_restored(run: Path) -> list[dict[str, Any]]:
    """The provenance, without the config, of the published runs that this run was restored from."""
    path = run / RESTORED
    if not path.exists():
        return []
    text = read_result(path)
    try:
        restored: list[dict[str, Any]] = json.loads(text)
        check(restored, shapes.RESTORED, "it")
    except (ValueError, RecursionError):
        raise SnapError(
            f"{path} is not the account of restored runs: remove it, and repeat snap restore"
        ) from None
    return restored


def _costs(plan_file: Path) -> dict[str, Any] | None:
    """The trials and times of each stage and of the whole run; None for a run without a plan.

    `trained` and `reused` are those of the last run of each job. A stage's `core_seconds` are all
    training that its jobs did in this run, its `wall_seconds` the time of their last runs, several
    of which may have run at once. Runs that were restored are not included: snap.pipeline.spending
    adds them.
    """
    if not plan_file.exists():
        return None
    spent = costs(plan_file)
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
        for name, stage in spent["stages"].items()
    }
    whole = {key: spent[key] for key in ("wall_seconds", "core_seconds", "training_seconds")}
    return {"stages": stages, **whole}
