"""Find the trial of a row of a tidy table, and the engine that trained it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from snap.engines import ENGINES
from snap.errors import SnapError
from snap.pipeline import methods
from snap.pipeline.plan import Plan
from snap.trial import Trial

# These columns identify a trial within one stage of a run.
KEY = ("learner", "dataset", "configuration", "lambda", "eta", "alpha", "seed")
CONTROL_KEY = ("control", "amount", "chosen", *KEY)


def key(row: Mapping[str, str]) -> tuple[str, ...]:
    """What identifies the trial of a row among the others of its table."""
    return tuple(row[name] for name in (CONTROL_KEY if "control" in row else KEY))


def number(text: str) -> float | None:
    return float(text) if text else None


def trial_of_control(plan: Plan, row: Mapping[str, str]) -> tuple[Trial, str]:
    """The trial of a row of a table of the controls, and the engine that trained it.

    Only points of a search name the split that they were measured on.
    """
    amount = number(row["amount"])
    for cell in plan.cells(row["learner"], row["dataset"], row["configuration"]):
        if cell.lateral_inhibition == number(row["lambda"]):
            pair = number(row["eta"]), float(row["alpha"])
            if "split" in row and row["chosen"] == methods.SEQUENCE:
                trial = methods.open_sequence(plan, cell, int(row["seed"]))
                trial = dataclasses.replace(trial, eta=pair[0], alpha=pair[1])
            else:
                stage = "search" if "split" in row else "sequential"
                trial = plan.trial(stage, cell, *pair, int(row["seed"]))
            trial = methods.controlled(trial, row["control"], amount)
            for fingerprint, engine in fingerprints(trial):
                if fingerprint == row["trial"]:
                    return trial, engine
    raise SnapError(f"the controls have a trial that is not part of their run: {row['trial']}")


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
