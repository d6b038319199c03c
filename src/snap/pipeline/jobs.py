"""The jobs of the workflow: plain functions that take a specification and files and write files."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.data.datasets import checksum
from snap.errors import SnapError
from snap.numbers import parse_number
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
from snap.pipeline.sequences import curve_columns, curve_rows, matrix_rows, outcome, write_beside
from snap.pipeline.shapes import SPECS, check, given_text
from snap.pipeline.training import Workplace, train
from snap.reading import parse_json
from snap.trial import Iid, Sequential, Trial

# What a job asks for in steps: trials, and the fields that it needs of their results. It is sent
# the results; None at first.
Asking = Generator[tuple[list[Trial], Sequence[str]], Mapping[Trial, Row] | None, Any]

# The fields of a kept result that the sequential step needs. Trials that lack one, because an older
# version kept them, are trained again.
SEQUENCE = ("history", "matrix", "matrix_known", "matrix_own")
# What each step needs of a kept result.
NEEDS: Mapping[str, Sequence[str]] = {
    "search": (),
    "iid": ("history",),
    "sequential": SEQUENCE,
    "ladder": ("history",),
}


def load_spec(argument: str, step: str) -> Row:
    """The specification of a job: JSON, or the file that holds it."""
    spec: Row = parse_json(given_text(argument), "a job's specification")
    check(spec, SPECS[step], "a job's specification")
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
        "protocol": trial.protocol_text,
        "lambda": trial.lateral_inhibition,
        "eta": trial.eta,
        "alpha": trial.alpha,
        "seed": trial.seed,
    }


def search(spec: Row, inputs: Sequence[Path], output: Path, place: Workplace) -> None:
    """Write the accuracy of every pair after the last epoch.

    In a coordinate-wise search these pairs differ in η. The rates follow, with the best η.
    """
    trials = search_trials(spec, inputs)
    demand(trials, Iid)
    rows = _points(trials, spec["engine"], place)
    trials += [
        with_pair(text, best_eta(_of_cell(rows, Trial.parse(text))), alpha)
        for cell in spec["cells"]
        for text in cell["trials"]
        for alpha in cell.get("then", ())
    ]
    if len(trials) > len(rows):
        rows = _points(trials, spec["engine"], place)
    write_rows(output, SEARCH, rows)


def search_trials(spec: Row, inputs: Sequence[Path]) -> list[Trial]:
    """The trials of a search; in a coordinate-wise search, those of its first half."""
    return [
        with_pair(text, eta, alpha)
        for cell in spec["cells"]
        for text in cell["trials"]
        for eta, alpha in cell["pairs"]
    ]


def _points(trials: Sequence[Trial], engine: str, place: Workplace) -> list[Row]:
    rows = []
    results = train(trials, engine, place, needs=NEEDS["search"])
    for trial, result in zip(trials, results, strict=True):
        row = identity(trial, result["engine"])
        row |= {"split": trial.split, "epochs": trial.experiment.items()["epochs"]}
        row |= {"accuracy": result["accuracy"], "diverged": result["diverged"]}
        rows.append(row)
    return rows


def _of_cell(points: Sequence[Row], trial: Trial) -> list[Row]:
    own = trial.configuration.name, trial.lateral_inhibition
    return [point for point in points if (point["configuration"], point["lambda"]) == own]


def best_eta(points: Sequence[Row]) -> float:
    """The η of a cell that a coordinate-wise search goes on with: the smallest if all diverged."""
    chosen = optimum(points).get("eta")
    return float(chosen) if chosen is not None else min(float(point["eta"]) for point in points)


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
            for point in read_rows(path, SEARCH, filled=["alpha"])
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
        pair: sum(parse_number(point["accuracy"], "accuracy") for point in seeds) / len(seeds)
        for pair, seeds in by_pair.items()
        if not any(point["diverged"] not in ("", None) for point in seeds)
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
    trials = final_trials(spec, inputs)
    demand(trials, Iid)
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
    trials = final_trials(spec, inputs)
    demand(trials, Sequential)
    results = train(trials, spec["engine"], place, needs=SEQUENCE)
    outcomes: list[Row] = []
    cells: list[Row] = []
    points: list[Row] = []
    for trial, result in zip(trials, results, strict=True):
        who = identity(trial, result["engine"])
        outcomes.append(outcome(who, result))
        cells += matrix_rows(who, trial, result)
        points += curve_rows(who, result)
    write_rows(output, SEQUENTIAL, outcomes)
    write_beside(output, "matrix", MATRIX, cells)
    asked = [Trial.parse(text) for cell in spec["cells"] for text in cell["trials"]]
    write_beside(output, "curve", curve_columns(CURVE, asked), points)


def final_trials(spec: Row, selected: Sequence[Path]) -> list[Trial]:
    """The trials of a final job with the selected pairs; cells without a pair have no trials."""
    if len(spec["cells"]) != len(selected):
        raise SnapError(
            f"a job of {len(spec['cells'])} cells needs a selection for each, got {len(selected)}"
        )
    return [
        with_pair(text, *pair)
        for cell, path in zip(spec["cells"], selected, strict=True)
        for pair in selected_pair(path)
        for text in cell["trials"]
    ]


def demand(trials: Iterable[Trial], experiment: type[Iid | Sequential]) -> None:
    """Raise an error for a trial of another experiment."""
    for trial in trials:
        if not isinstance(trial.experiment, experiment):
            raise SnapError(f"this step cannot train {trial.text}: it is of another experiment")


def selected_pair(path: Path) -> list[tuple[float | None, float]]:
    """The pair that was selected for a cell; none if all pairs diverged."""
    rows = read_rows(path, SELECTED)
    if len(rows) != 1:
        raise SnapError(f"{path} must have one row, which is the selection of a cell")
    eta, alpha = rows[0]["eta"], rows[0]["alpha"]
    return [(float(eta) if eta else None, float(alpha))] if alpha else []
