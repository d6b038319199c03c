"""The jobs of the workflow: plain functions that take a specification and files and write files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from snap import metrics
from snap.data.datasets import checksum
from snap.errors import SnapError
from snap.pipeline.plan import NO_LAMBDA
from snap.pipeline.rows import (
    CURVE,
    IID,
    MATRIX,
    SEARCH,
    SELECTED,
    SEQUENTIAL,
    Row,
    read_rows,
    write_rows,
)
from snap.pipeline.training import Workplace, train
from snap.trial import Sequential, Trial


def load_spec(text: str) -> Row:
    try:
        spec: Row = json.loads(text)
    except ValueError:
        raise SnapError(f"a job's specification must be JSON, got {text[:60]!r}") from None
    return spec


def with_pair(text: str, eta: float | None, alpha: float) -> Trial:
    return dataclasses.replace(Trial.parse(text), eta=eta, alpha=alpha)


def identity(trial: Trial, engine: str) -> Row:
    """The columns that identify a trial; `trial` is the name of its file in the store."""
    return {
        "trial": trial.fingerprint(checksum(trial.dataset), engine),
        "learner": trial.learner,
        "dataset": trial.dataset,
        "configuration": trial.configuration.name,
        "protocol": trial.protocol.text,
        "lambda": trial.lateral_inhibition,
        "eta": trial.eta,
        "alpha": trial.alpha,
        "seed": trial.seed,
    }


def search(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Write the accuracy of every pair after the last epoch."""
    trials = [
        with_pair(text, eta, alpha)
        for cell in spec["cells"]
        for text in cell["trials"]
        for eta, alpha in cell["pairs"]
    ]
    rows = []
    results = train(trials, spec["engine"], place, history=False)
    for trial, result in zip(trials, results, strict=True):
        row = identity(trial, result["engine"])
        row |= {"split": trial.split, "epochs": trial.experiment.items()["epochs"]}
        row |= {"accuracy": result["accuracy"], "diverged": result["diverged"]}
        rows.append(row)
    write_rows(output, SEARCH, rows)


def select(spec: Row, inputs: Sequence[Path], output: Path) -> None:
    """Write the optimal pair of a cell."""
    row: Row = {key: spec[key] for key in ("learner", "dataset", "configuration")}
    row["lambda"] = None if spec["lambda"] == NO_LAMBDA else spec["lambda"]
    if spec["given"] is not None:
        row |= {"eta": spec["given"][0], "alpha": spec["given"][1], "status": "given"}
    else:
        own = row["configuration"], row["lambda"] or ""
        points = [
            point
            for path in inputs
            for point in read_rows(path)
            if (point["configuration"], point["lambda"]) == own
        ]
        if not points:
            raise SnapError(f"no search result for {row} in {', '.join(map(str, inputs))}")
        row |= optimum(points)
    write_rows(output, SELECTED, [row])


def optimum(points: Sequence[Row]) -> Row:
    """The pair with the highest mean accuracy over the seeds of the search, and the runner-up.

    Ties go to the smaller α, then to the smaller η. A pair that diverged with any seed is never
    selected. If all pairs diverged, the cell has no pair and its status is "all diverged".
    """
    by_pair: dict[tuple[str, str], list[Row]] = {}
    for point in points:
        by_pair.setdefault((point["eta"], point["alpha"]), []).append(point)
    means = {
        pair: sum(float(point["accuracy"]) for point in seeds) / len(seeds)
        for pair, seeds in by_pair.items()
        if not any(point["diverged"] for point in seeds)
    }
    ranked = sorted(means, key=lambda pair: (-means[pair], float(pair[1]), float(pair[0] or 0)))
    row: Row = {"points": len(by_pair), "diverged": len(by_pair) - len(means)}
    row["status"] = "selected" if ranked else "all diverged"
    if ranked:
        row |= {"eta": ranked[0][0], "alpha": ranked[0][1], "accuracy": means[ranked[0]]}
    if len(ranked) > 1:
        second = ranked[1]
        row |= {"runner_up_eta": second[0], "runner_up_alpha": second[1]}
        row["runner_up_accuracy"] = means[second]
        row["margin"] = round(means[ranked[0]] - means[second], 9)
    return row


def iid(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Write the accuracy after every epoch, with the selected pairs."""
    trials = _final_trials(spec, inputs)
    rows = []
    for trial, result in zip(trials, train(trials, spec["engine"], place), strict=True):
        row = identity(trial, result["engine"])
        if result["diverged"] is not None:
            rows.append(row | {"diverged": result["diverged"]})
        else:
            rows += [row | point for point in result["history"]]
    write_rows(output, IID, rows)


def sequential(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Train tasks in sequence with the selected pairs; write outcomes, matrices and curves."""
    trials = _final_trials(spec, inputs)
    outcomes, cells, points = [], [], []
    tasks = max((len(_tasks(Trial.parse(c["trials"][0]))) for c in spec["cells"]), default=0)
    for trial, result in zip(trials, train(trials, spec["engine"], place), strict=True):
        who = identity(trial, result["engine"])
        outcome = who | {key: result[key] for key in ("accuracy", "samples", "diverged")}
        outcomes.append(outcome | (metrics.of_sequence(result["matrix"]) or {}))
        epochs, reached = result["epochs_per_task"], result["reached"]
        for after, row in enumerate(result["matrix"]):
            for task, (classes, value) in enumerate(zip(_tasks(trial), row, strict=True), start=1):
                cell = {"after": after, "task": task, "accuracy": value}
                cell["classes"] = "+".join(map(str, classes))
                if task == after:
                    cell |= {"epochs": epochs[after - 1], "reached": reached[after - 1]}
                cells.append(who | cell)
        for point in result["history"]:
            by_task = {f"task{n}": value for n, value in enumerate(point["tasks"], start=1)}
            points.append(who | point | {"training": point["task"]} | by_task)
    write_rows(output, SEQUENTIAL, outcomes)
    write_rows(output.with_name(f"{output.stem}.matrix.csv"), MATRIX, cells)
    columns = [*CURVE, *(f"task{n}" for n in range(1, tasks + 1))]
    write_rows(output.with_name(f"{output.stem}.curve.csv"), columns, points)


def _final_trials(spec: Row, selected: Sequence[Path]) -> list[Trial]:
    """The trials of a final job with the selected pairs; cells without a pair have no trials."""
    trials = []
    for cell, path in zip(spec["cells"], selected, strict=True):
        (row,) = read_rows(path)
        if row["alpha"]:
            eta = float(row["eta"]) if row["eta"] else None
            trials += [with_pair(text, eta, float(row["alpha"])) for text in cell["trials"]]
    return trials


def _tasks(trial: Trial) -> tuple[tuple[int, ...], ...]:
    assert isinstance(trial.experiment, Sequential)
    return trial.experiment.tasks
