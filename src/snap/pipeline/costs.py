"""Where the time of a run went, and what another run would cost at the same rates."""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.files import read_result
from snap.pipeline.cluster.settings import settings
from snap.pipeline.plan import Plan
from snap.pipeline.shapes import ACCOUNT, NUMBER, Every, check
from snap.pipeline.status import LEDGER, duration, ledger_of, read_plan
from snap.pipeline.work import slurm_job_names, work_of

# Final runs wait for the whole search. Portraits wait for all sequential runs, and some controls
# for those of a configuration.
PHASES = {"search": 0, "iid": 1, "sequential": 1, "ladder": 1, "portrait": 2, "control": 2}


def costs(plan_file: Path) -> dict[str, Any]:
    """The core seconds of a run: how many its cores provided, and how they were used.

    Only what was done in this folder; snap.pipeline.spending adds the runs that it continued.
    """
    content = read_plan(plan_file)
    stages: dict[str, dict[str, float]] = {}
    for job in content["jobs"]:
        stage = stages.setdefault(
            job["stage"], dict.fromkeys(("jobs", "guess", "job_seconds", *LEDGER), 0.0)
        )
        stage["jobs"] += 1
        stage["job_seconds"] += _seconds(Path(job.get("benchmark", "")))
        ledger = ledger_of(job)
        for key in LEDGER:
            stage[key] += ledger[key]
        stage["guess"] += job["cost"] * ledger["trained"] / max(job["trials"], 1)
    invocations = [_invocation(p) for p in sorted(plan_file.parent.glob("invocations/*.json"))]
    core = sum(one["seconds"] * (one["cores"] or 0) for one in invocations)
    training = sum(stage["ever_trained_seconds"] for stage in stages.values())
    drawing = sum(_seconds(path) for path in _drawing(plan_file))
    allocated = [seconds for one in invocations for seconds in one.get("allocated", {}).values()]
    if allocated:
        core += sum(allocated)
        drawing = 0.0  # done on the submitting machine, not on cores that SLURM allocated
    return {
        "run": content["run"],
        "stages": stages,
        "wall_seconds": sum(one["seconds"] for one in invocations),
        "core_seconds": core,
        "training_seconds": training,
        "drawing_seconds": drawing,
        "slurm_jobs": len(allocated),
        "outside_training": 1 - (training + drawing) / core if core else None,
    }


def _invocation(path: Path) -> dict[str, Any]:
    """The time and the cores of one start of Snakemake."""
    text = read_result(path)
    try:
        account: dict[str, Any] = json.loads(text)
        check(account, ACCOUNT, "it")
        check(account.get("allocated", {}), Every(NUMBER), "it")
        return account
    except (ValueError, RecursionError):
        raise SnapError(f"{path} is not an account of a run's time: remove it") from None


def _drawing(plan_file: Path) -> list[Path]:
    """The benchmark files of the jobs that draw figures and write the report."""
    folder = plan_file.parents[2] / "benchmarks" / plan_file.parent.name
    return [*folder.glob("figures/*.tsv"), *folder.glob("*.tsv")]


def cost_table(spent: Mapping[str, Any]) -> str:
    """The costs as a text table."""
    lines = [
        f"{spent['run']:11}{'jobs':>6}{'trials':>8}{'trained':>9}"
        f"{'in jobs, s':>12}{'training, s':>13}"
    ]
    for name, stage in spent["stages"].items():
        lines.append(
            f"{name:11}{stage['jobs']:6.0f}{stage['trials']:8.0f}{stage['trained']:9.0f}"
            f"{stage['job_seconds']:12.1f}{stage['training_seconds']:13.1f}"
        )
    if spent["slurm_jobs"]:
        lines.append(
            f"{spent['wall_seconds']:.0f} s of wall time, {spent['slurm_jobs']} SLURM jobs,"
            f" {spent['core_seconds']:.0f} core seconds allocated,"
            f" {spent['training_seconds']:.0f} of them in training:"
            f" {1 - spent['outside_training']:.1%}"
        )
    elif spent["outside_training"] is not None:
        lines.append(
            f"{spent['wall_seconds']:.0f} s of wall time, {spent['core_seconds']:.0f} core seconds,"
            f" {spent['training_seconds']:.0f} of them in training and"
            f" {spent['drawing_seconds']:.0f} in figures and the report:"
            f" {spent['outside_training']:.1%} outside both"
        )
    if "projected" in spent:
        other = spent["projected"]
        lines.append(
            f"{other['run']} at these rates: {other['core_seconds'] / 3600:.1f} core hours,"
            f" {other['outside_training']:.1%} outside training and drawing"
        )
        for cores, seconds in other["wall_seconds"].items():
            lines.append(f"  on {cores} cores at once: {duration(seconds)}")
    return "\n".join(lines)


def projected(spent: Mapping[str, Any], plan: Plan, cores: Sequence[int] = ()) -> dict[str, Any]:
    """The cost of another plan if its trials and jobs cost as much as those of this run.

    Training time is the estimate, scaled by the ratio of measured to estimated time in this run.
    All other time, in jobs and between them, is counted per job. On SLURM, the time between jobs
    is counted per SLURM job, in which several of them run one after the other. Wall time is given
    for each number of cores.
    """
    stages = spent["stages"]
    drawing = spent["drawing_seconds"]
    between = spent["core_seconds"] - drawing
    between -= sum(stage["job_seconds"] for stage in stages.values())
    site = settings()
    minutes = site["core_minutes_per_job"] if spent["slurm_jobs"] else 0.0
    started = spent["slurm_jobs"] or sum(stage["jobs"] for stage in stages.values())
    guesses = {
        name: {str(number): job["cost"] for number, job in enumerate(work_of(plan, name))}
        for name in stages
    }
    names = slurm_job_names(guesses, minutes, site)
    training, durations, phases = 0.0, dict[str, float](), dict[str, int]()
    for name, stage in stages.items():
        rate = stage["training_seconds"] / stage["guess"] if stage["guess"] else 1.0
        start = (stage["job_seconds"] - stage["training_seconds"]) / stage["jobs"]
        for job, guess in guesses[name].items():
            training += rate * guess
            together = names[name][job]
            durations.setdefault(together, between / started)
            durations[together] += rate * guess + start
            phases[together] = max(phases.get(together, 0), PHASES[name])
    outside = sum(durations.values()) - training
    return {
        "training_seconds": training,
        "drawing_seconds": drawing,  # every run draws the same number of figures
        "core_seconds": training + drawing + outside,
        "outside_training": outside / (training + drawing + outside),
        "wall_seconds": {
            n: sum(
                _wall([durations[one] for one, own in phases.items() if own == phase], n)
                for phase in set(phases.values())
            )
            for n in cores
        },
    }


def _wall(durations: Sequence[float], cores: int) -> float:
    """Seconds until the last of some jobs ends, with each on one of the cores."""
    free = [0.0] * min(cores, len(durations))  # when each core is free
    for seconds in sorted(durations, reverse=True):
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def _seconds(benchmark: Path) -> float:
    """Wall time in one of Snakemake's benchmark files."""
    try:
        return float(benchmark.read_text(encoding="utf-8").splitlines()[1].split("\t")[0])
    except (OSError, IndexError, ValueError):
        return 0.0
