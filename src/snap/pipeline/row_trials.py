"""Find the trial of a row of a tidy table, and the engine that trained it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from snap.engines import ENGINES
from snap.errors import SnapError
from snap.pipeline.plan import Plan
from snap.trial import Trial

# These columns identify a trial within one stage of a run.
KEY = ("learner", "dataset", "configuration", "lambda", "eta", "alpha", "seed")


def key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def number(text: str) -> float | None:
    return float(text) if text else None


def trial_of(plan: Plan, stage: str, row: Mapping[str, str]) -> tuple[Trial, str]:
    """The trial of a row and the engine that trained it, found by the fingerprint in the row."""
    for cell in plan.cells(row["learner"], row["dataset"], row["configuration"]):
        if cell.lateral_inhibition == number(row["lambda"]):
            pair = number(row["eta"]), float(row["alpha"])
            trial = plan.trial(stage, cell, *pair, int(row["seed"]))
            for fingerprint, engine in fingerprints(trial):
                if fingerprint == row["trial"]:
                    return trial, engine
    raise SnapError(f"the {stage} table has a trial that is not part of its run: {row['trial']}")


def fingerprints(trial: Trial) -> Iterator[tuple[str, str]]:
    """The fingerprint of a trial for each engine that may have trained it, with the engine."""
    for engine in ENGINES:
        yield trial.fingerprint(trial.record.checksum, engine), engine
