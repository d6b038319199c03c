"""The ladder: from `text` to `reference` to `code`, one difference at a time. Not in the paper."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from snap.errors import SnapError
from snap.pipeline.jobs import demand, identity, selected_pair, with_pair
from snap.pipeline.rows import LADDER, Row, write_rows
from snap.pipeline.training import Workplace, train
from snap.trial import Iid, Sequential, Trial


def ladder(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Train every rung with the pair selected for the cell, unless the rung gives the rate."""
    from snap import metrics  # imports numpy, which `ladder_trials` does not need

    rows: list[Row] = []
    rungs = _rungs(spec, inputs)
    trials = list(itertools.chain(*itertools.chain(*rungs)))
    demand((iid for rung in rungs for iid, _ in rung), Iid)
    demand((sequential for rung in rungs for _, sequential in rung), Sequential)
    results = dict(zip(trials, train(trials, spec["engine"], place), strict=True))
    for step, (rung, seeds) in enumerate(zip(spec["rungs"], rungs, strict=False)):
        for trial, sequential in seeds:
            iid, sequence = results[trial], results[sequential]
            measured = metrics.of_sequence(sequence) or {}
            rows.append(
                identity(trial, iid["engine"])
                | {"step": step, "switch": rung["switch"]}
                | {"iid_accuracy": iid["accuracy"], "iid_diverged": iid["diverged"]}
                | {"sequential_accuracy": sequence["accuracy"]}
                | {"forgetting": measured.get("forgetting")}
                | {"sequential_diverged": sequence["diverged"]}
            )
    write_rows(output, LADDER, rows)


def ladder_trials(spec: Row, inputs: Sequence[Path]) -> list[Trial]:
    return list(itertools.chain(*itertools.chain(*_rungs(spec, inputs))))


def _rungs(spec: Row, inputs: Sequence[Path]) -> list[list[tuple[Trial, Trial]]]:
    """The trials of every rung; none if the cell has no pair."""
    if len(inputs) != 1:
        raise SnapError(f"a ladder needs the selection of one cell, got {len(inputs)}")
    return [_trials(rung, *pair) for pair in selected_pair(inputs[0]) for rung in spec["rungs"]]


def _trials(rung: Row, eta: float | None, selected: float) -> list[tuple[Trial, Trial]]:
    """For every seed, the i.i.d. and the sequential trial of a rung."""
    alpha = selected if rung["alpha"] is None else rung["alpha"]
    if len(rung["iid"]) != len(rung["sequential"]):
        raise SnapError("each rung of a ladder needs as many i.i.d. trials as sequential ones")
    return [
        (with_pair(iid, eta, alpha), with_pair(sequential, eta, alpha))
        for iid, sequential in zip(rung["iid"], rung["sequential"], strict=True)
    ]
