"""Portraits: how the weights of a family's best sequential trial develop. Not in the paper."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from snap.consolidation import PERCENTS
from snap.files import write_result
from snap.metrics import best
from snap.pipeline import snapshots
from snap.pipeline.jobs import demand, identity
from snap.pipeline.rows import CONSOLIDATION, SEQUENTIAL, Row, read_rows, write_rows
from snap.pipeline.training import Workplace, log, run_trials, write_ledger
from snap.trial import Sequential, Trial

if TYPE_CHECKING:
    from snap.result import Result


def portrait(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Train the best sequential trial of each family again and record its weights.

    Writes the strength and plasticity of the weights over time to `output`. Writes the final hidden
    weights to an .npz file next to it, each array under the text of its trial, and snapshots of
    them to another. The trials are trained again because the store does not keep weights.
    """
    from snap.engines import settle

    rows = [row for path in inputs for row in read_rows(path, SEQUENTIAL, ["alpha"])]
    chosen = [_best(Trial.parse(text), rows) for text in spec["trials"]]
    demand(filter(None, chosen), Sequential)
    trials = [trial for trial in chosen if trial is not None]
    results: list[Result] = []
    watcher = snapshots.Watcher()
    if trials:
        engine, device = settle(spec["engine"], "auto", trials, log, record=True)
        log(f"{len(trials)} portraits of {len(chosen)} with engine {engine} on {device}")
        results = run_trials(trials, len(trials), engine, device, place, record=True, watch=watcher)
    write_rows(output, CONSOLIDATION, [row for result in results for row in _states(result)])
    buffer = io.BytesIO()
    hidden = {r.trial.text: r.weights[0] for r in results if r.weights is not None}
    np.savez_compressed(buffer, **hidden)  # type: ignore[arg-type]
    write_result(output.with_suffix(".npz"), buffer.getvalue())
    seen = {result.trial: watcher.of(result.trial) for result in results}
    snapshots.write(output.with_suffix(".snapshots.npz"), seen)
    if place.ledger is not None:
        values = [vars(result) for result in results]
        place.ledger.unlink(missing_ok=True)  # portraits are always trained from scratch
        write_ledger(place.ledger, values, values)


def _best(trial: Trial, rows: Sequence[Row]) -> Trial | None:
    """The trial with the λ of the highest mean accuracy and its pair; None if all diverged."""
    cells: dict[tuple[str, str, str], list[float | None]] = {}
    for row in rows:
        if (row["learner"], row["configuration"]) == (trial.learner, trial.configuration.name):
            accuracy = float(row["accuracy"]) if row["accuracy"] else None
            cells.setdefault((row["lambda"], row["eta"], row["alpha"]), []).append(accuracy)
    cell = best(cells)
    if cell is None:
        return None
    lambda_, eta, alpha = cell
    return dataclasses.replace(
        trial,
        lateral_inhibition=float(lambda_) if lambda_ else None,
        eta=float(eta) if eta else None,
        alpha=float(alpha),
    )


def _states(result: Result) -> list[Row]:
    """One row per point, layer and quantity."""
    who = identity(result.trial, result.engine)
    rows = []
    for point in result.history:
        at = {key: point[key] for key in ("epoch", "samples")} | {"training": point["task"]}
        at["own_accuracy"] = point["tasks"][point["task"] - 1] if point["task"] else None
        for layer, state in point["weights"].items():
            counts = {key: state[key] for key in ("consolidated", "units")}
            for quantity in ("strength", "plasticity"):
                values = {f"p{p}": v for p, v in zip(PERCENTS, state[quantity], strict=True)}
                rows.append(who | at | {"layer": layer, "quantity": quantity} | values | counts)
    return rows
