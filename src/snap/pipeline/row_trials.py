"""Which trial a row of a tidy table is about, and which engine trained it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from snap.engines import ENGINES
from snap.errors import SnapError
from snap.pipeline.plan import Plan
from snap.trial import Trial

# Together they tell the trials of one stage of a run apart.
KEY = ("learner", "dataset", "configuration", "lambda", "eta", "alpha", "seed")


def key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def number(text: str) -> float | None:
    return float(text) if text else None


def trial_of(plan: Plan, stage: str, row: Mapping[str, str]) -> tuple[Trial, str]:
    """The trial of a row and the engine that trained it: the row holds the hash of both."""
    for cell in plan.cells(row["learner"], row["dataset"], row["configuration"]):
        if cell.lateral_inhibition == number(row["lambda"]):
            pair = number(row["eta"]), float(row["alpha"])
            trial = plan.trial(stage, cell, *pair, int(row["seed"]))
            for fingerprint, engine in fingerprints(trial):
                if fingerprint == row["trial"]:
                    return trial, engine
    raise SnapError(f"the {stage} table has a trial that its run cannot have: {row['trial']}")


def fingerprints(trial: Trial) -> Iterator[tuple[str, str]]:
    """The name of a trial's file, by each engine that may have trained it."""
    for engine in ENGINES:
        yield trial.fingerprint(trial.record.checksum, engine), engine
