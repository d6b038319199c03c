"""What the paper does not have: the ladder between its readings, and portraits of weights."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from snap.consolidation import PERCENTS
from snap.files import write_atomically, write_result
from snap.jobs import identity, log, train, with_pair
from snap.rows import CONSOLIDATION, LADDER, Row, read_rows, write_rows
from snap.trial import Trial


def ladder(spec: Row, selected: Path, output: Path, **running: Any) -> None:
    """From `text` to `reference`, one switch after the other, with the pair selected for the cell.

    The pair stays the same on every rung, so that a switch is all that differs.
    """
    (pair,) = read_rows(selected)
    rows: list[Row] = []
    if pair["alpha"]:
        eta, alpha = float(pair["eta"]), float(pair["alpha"])
        trials = [
            with_pair(text, eta, alpha)
            for rung in spec["rungs"]
            for stage in ("iid", "sequential")
            for text in rung[stage]
        ]
        results = dict(zip(trials, train(trials, spec["engine"], **running), strict=True))
        for step, rung in enumerate(spec["rungs"]):
            for iid_text, sequential_text in zip(rung["iid"], rung["sequential"], strict=True):
                iid_trial = with_pair(iid_text, eta, alpha)
                iid, sequence = (
                    results[iid_trial],
                    results[with_pair(sequential_text, eta, alpha)],
                )
                rows.append(
                    identity(iid_trial, iid)
                    | {"step": step, "switch": rung["switch"]}
                    | {"iid_accuracy": iid["accuracy"], "iid_diverged": iid["diverged"]}
                    | {"sequential_accuracy": sequence["accuracy"]}
                    | {"forgetting": (sequence.get("metrics") or {}).get("forgetting")}
                    | {"sequential_diverged": sequence["diverged"]}
                )
    write_rows(output, LADDER, rows)


def portrait(
    spec: Row,
    outcomes: Sequence[Path],
    output: Path,
    weights: Path,
    data: Path | None = None,
    ledger: Path | None = None,
    heartbeat: Path | None = None,
    label: str = "",
    threads: int = 1,
) -> None:
    """Train the best sequential trial of each family again and watch its weights.

    Writes how strong and plastic they are over time, and the hidden weights at the end. What it
    trains is in the store already, without the weights; so these trials are not put there again.
    """
    from snap.data.store import load
    from snap.engines import resolve
    from snap.experiments import Result, run
    from snap.status import Heartbeat

    name, device = resolve(spec["engine"])
    rows = [row for path in outcomes for row in read_rows(path)]
    trials = [t for text in spec["trials"] if (t := _best(Trial.parse(text), rows)) is not None]
    log(f"{len(trials)} portraits of {len(spec['trials'])} with engine {name} on {device}")
    results: list[Result] = []
    if trials:
        with Heartbeat(heartbeat, label, len(trials), 0, threads) as beat:
            results = run(
                trials,
                load(trials[0].dataset, data),
                name,
                device,
                threads,
                record=True,
                progress=beat.progress,
                finished=lambda result: beat.trial_done(),
            )
    write_rows(output, CONSOLIDATION, [row for result in results for row in _states(result)])
    buffer = io.BytesIO()
    hidden = {_key(r.trial): r.weights[0] for r in results if r.weights is not None}
    np.savez_compressed(buffer, **hidden)  # type: ignore[arg-type]
    write_result(weights, buffer.getvalue())
    if ledger is not None:
        seconds = sum(result.seconds for result in results)
        account = {
            "trials": len(trials),
            "trained": len(trials),
            "diverged": sum(result.diverged is not None for result in results),
            "training_seconds": seconds,
            "ever_trained_seconds": seconds,
        }
        write_atomically(ledger, json.dumps(account).encode())


def _key(trial: Trial) -> str:
    return f"{trial.learner} {trial.configuration.name}"


def _best(trial: Trial, rows: Sequence[Row]) -> Trial | None:
    """The trial with the λ and the pair of the highest mean accuracy; None where all diverged."""
    cells: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if (row["learner"], row["configuration"]) == (trial.learner, trial.configuration.name):
            accuracy = float(row["accuracy"]) if row["accuracy"] else math.nan
            cells.setdefault((row["lambda"], row["eta"], row["alpha"]), []).append(accuracy)
    means = {
        cell: float(np.nanmean(values))
        for cell, values in cells.items()
        if not np.isnan(values).all()
    }
    if not means:
        return None
    power, eta, alpha = max(means, key=lambda cell: means[cell])
    return dataclasses.replace(
        trial,
        lateral_inhibition=float(power) if power else None,
        eta=float(eta) if eta else None,
        alpha=float(alpha),
    )


def _states(result: Any) -> list[Row]:
    """A row per point, layer and quantity."""
    who = identity(result.trial, {"engine": result.engine})
    rows = []
    for point in result.history:
        at = {key: point[key] for key in ("epoch", "samples")} | {"training": point["task"]}
        at["own_accuracy"] = point["tasks"][point["task"] - 1] if point["task"] else None
        for key, values in point["weights"].items():
            layer, quantity = key.split("_")
            percentiles = {f"p{p}": value for p, value in zip(PERCENTS, values, strict=True)}
            rows.append(who | at | {"layer": layer, "quantity": quantity} | percentiles)
    return rows
