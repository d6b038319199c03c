"""What a run and the runs that it continued have cost: one account for the page and for README.

A restored run did not train the trials that it took over. The provenance of the runs that did is
part of its own, so their time is added here. All totals come from this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COUNTS = ("trials", "diverged", "trained", "reused")


@dataclass(frozen=True)
class Stage:
    """A stage of the run: its trials, and the time of training in core seconds."""

    trials: int  # that the run needs; a trial that two stages need counts in both
    diverged: int
    trained: int  # by the last run of each job
    reused: int  # found in the store by the last run of each job
    seconds: float  # in this run
    earlier_seconds: float  # in the runs that it continued

    @property
    def training_seconds(self) -> float:
        return self.seconds + self.earlier_seconds


@dataclass(frozen=True)
class Part:
    """One of the runs that make up the results, with the machine that it ran on."""

    date: str
    commit: str | None
    cpu: str | None
    cores: int | None
    wall_seconds: float | None  # None if the run left no account
    training_seconds: float | None


@dataclass(frozen=True)
class Spending:
    """All that the results have cost."""

    stages: Mapping[str, Stage]
    parts: Sequence[Part]  # the earlier runs in order, then this one

    @property
    def whole(self) -> Stage:
        stages = list(self.stages.values())
        counts = {key: sum(getattr(stage, key) for stage in stages) for key in COUNTS}
        return Stage(
            **counts,
            seconds=sum(stage.seconds for stage in stages),
            earlier_seconds=sum(stage.earlier_seconds for stage in stages),
        )

    @property
    def wall_seconds(self) -> float:
        return sum(part.wall_seconds or 0.0 for part in self.parts)


def spending(provenance: Mapping[str, Any]) -> Spending:
    """The costs in a provenance.json, with those of the runs that it names as restored."""
    earlier = [run for run in provenance.get("restored") or [] if run.get("costs")]
    own = (provenance.get("costs") or {}).get("stages", {})
    before: dict[str, float] = {}
    for run in earlier:
        for name, stage in run["costs"]["stages"].items():
            before[name] = before.get(name, 0.0) + stage["core_seconds"]
    empty = dict.fromkeys((*COUNTS, "core_seconds"), 0)
    stages = {
        name: Stage(
            **{key: own.get(name, empty)[key] for key in COUNTS},
            seconds=own.get(name, empty)["core_seconds"],
            earlier_seconds=before.get(name, 0.0),
        )
        for name in dict.fromkeys([*own, *before])
    }
    return Spending(stages, [*map(_part, provenance.get("restored") or []), _part(provenance)])


def _part(run: Mapping[str, Any]) -> Part:
    costs = run.get("costs")
    stages = costs["stages"].values() if costs else ()
    return Part(
        date=run["date"],
        commit=run["git"]["commit"] if run.get("git") else None,
        cpu=run["hardware"]["cpu"],
        cores=run["hardware"]["cores"],
        wall_seconds=costs["wall_seconds"] if costs else None,
        training_seconds=sum(stage["core_seconds"] for stage in stages) if costs else None,
    )
