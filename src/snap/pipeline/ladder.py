"""The ladder: from `text` to `reference`, one protocol switch at a time. Not in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from snap import metrics
from snap.pipeline.jobs import identity, with_pair
from snap.pipeline.rows import LADDER, Row, read_rows, write_rows
from snap.pipeline.training import Workplace, train


def ladder(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Train every rung with the cell's selected pair, so that only the switches differ."""
    ((pair,),) = (read_rows(path) for path in inputs)
    rows: list[Row] = []
    if pair["alpha"]:
        eta, alpha = float(pair["eta"]), float(pair["alpha"])
        trials = [
            with_pair(text, eta, alpha)
            for rung in spec["rungs"]
            for stage in ("iid", "sequential")
            for text in rung[stage]
        ]
        results = dict(zip(trials, train(trials, spec["engine"], place), strict=True))
        for step, rung in enumerate(spec["rungs"]):
            for iid_text, sequential_text in zip(rung["iid"], rung["sequential"], strict=True):
                trial = with_pair(iid_text, eta, alpha)
                iid, sequence = results[trial], results[with_pair(sequential_text, eta, alpha)]
                measured = metrics.of_sequence(sequence["matrix"]) or {}
                rows.append(
                    identity(trial, iid["engine"])
                    | {"step": step, "switch": rung["switch"]}
                    | {"iid_accuracy": iid["accuracy"], "iid_diverged": iid["diverged"]}
                    | {"sequential_accuracy": sequence["accuracy"]}
                    | {"forgetting": measured.get("forgetting")}
                    | {"sequential_diverged": sequence["diverged"]}
                )
    write_rows(output, LADDER, rows)
