"""Passages that compare the readings of the paper: ours, and the experiment as it was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.numbers import number_text
from snap.pipeline.jobs import best_eta, optimum
from snap.publishing.passage_tables import Paper, best_of, markdown
from snap.report.frames import Frame, Tables, at_best_lambda, only
from snap.report.result_tables import AS_GOOD, AS_RUN, printed_pair

NOT_RUN = "This has not been run."
FIRST_ALPHA = 0.003  # of the authors' search: η at this α, then α


def as_run(folder: Path, paper: Paper) -> str:
    """Accuracy i.i.d. and in sequence of every cell, with the paper's pairs, as it was run."""
    tables = _as_run(folder)
    if tables is None:
        return NOT_RUN
    names = tables.configurations(HEBBIAN.name)
    rows = []
    for dataset in tables.datasets:
        for lambda_ in tables.lambdas:
            cell = {"learner": HEBBIAN.name, "dataset": dataset, "lambda_": lambda_}
            values = [
                f"{_mean(only(tables.iid, **cell, configuration=name), 'accuracy')} /"
                f" {_mean(only(tables.sequential, **cell, configuration=name), 'accuracy')}"
                for name in names
            ]
            rows.append((dataset, number_text(float(lambda_)), *values))
    return markdown(("", "λ", *names), rows)


def best_as_run(folder: Path, paper: Paper) -> str:
    """Each configuration as it was run, at its best λ."""
    tables = _as_run(folder)
    return NOT_RUN if tables is None else best_of(tables)


def sgd_ladder(folder: Path, paper: Paper) -> str:
    """I.i.d. accuracy of SGD as the details of the public code are put in place."""
    frame = only(Tables(folder / "tables").ladder, learner=SGD.name)
    words = {"": "`reference`, α searched", "alpha": "α = {alpha}"}
    words["sgd_initial_weights"] = "and the code's initial weights"
    columns = list(dict.fromkeys(zip(frame["dataset"], frame["configuration"], strict=True)))
    rows = []
    for _, rung in frame.groupby("step", sort=True):
        switch = rung["switch"].iloc[0]
        text = words["" if pd.isna(switch) else switch]
        label = text.format(alpha=number_text(float(rung["alpha"].iloc[0])))
        values = [
            _mean(only(rung, dataset=d, configuration=c), "iid_accuracy", 3) for d, c in columns
        ]
        rows.append((label, *values))
    printed = [f"{paper['sgd_iid'].get(d, {}).get(c, float('nan')):.3f}" for d, c in columns]
    rows.append(("the paper", *printed))
    return markdown(("", *(f"{d}, {c}" for d, c in columns)), rows) if columns else NOT_RUN


def forgetting(folder: Path, paper: Paper) -> str:
    """Three measures of forgetting at the best λ, for both readings."""
    readings = {"`reference`, searched": Tables(folder / "tables")}
    other = _as_run(folder)
    if other is not None:
        readings["as run"] = other
    rows = []
    for words, tables in readings.items():
        for dataset in tables.datasets:
            for learner in LEARNERS:
                for name in tables.configurations(learner):
                    who = {"learner": learner, "dataset": dataset, "configuration": name}
                    cell = at_best_lambda(only(tables.sequential, **who))
                    columns = ("forgetting", "forgetting_known", "forgetting_own")
                    values = [_mean(cell, column, 3) for column in columns]
                    family = f"{LEARNERS[learner].prefix}{name}"
                    rows.append((words, dataset, family, _lambda(cell), *values))
    head = ("reading", "", "configuration", "λ", "all classes", "known classes", "own classes")
    return markdown(head, rows)


def sensible_pairs(folder: Path, paper: Paper) -> str:
    """The paper's pairs and a coordinate-wise search, against the best of the union grid."""
    rows = []
    for name, words in (("union", "`reference`"), ("union-code", "`code`")):
        path = folder / "variations" / name
        if not (path / "search.csv").exists():
            continue
        tables = Tables(path)
        for dataset in tables.datasets:
            cells = [
                _compared(cell, printed_pair(paper["pairs"][dataset][configuration], lambda_))
                for (configuration, lambda_), cell in only(
                    tables.search, dataset=dataset, learner=HEBBIAN.name
                ).groupby(["configuration", "lambda"])
            ]
            rows.append((words, dataset, *_counted(cells)))
    head = (
        "reading",
        "",
        "cells",
        f"the paper's pair within {AS_GOOD} of the best",
        "is the best",
        "coordinate-wise search selects the paper's pair",
        f"comes within {AS_GOOD} of the best",
        "loses, on average",
    )
    return markdown(head, rows) if rows else NOT_RUN


def _compared(cell: Frame, printed: tuple[float, float] | None) -> Mapping[str, Any]:
    """One cell: the best of the grid, the paper's pair, and a coordinate-wise search."""
    known = cell[cell["diverged"].isna()]
    accuracy = {
        (eta, alpha): value
        for eta, alpha, value in zip(known["eta"], known["alpha"], known["accuracy"], strict=True)
    }
    points = _points(cell)
    best = optimum(points)
    first = [point for point in points if point["alpha"] == FIRST_ALPHA]
    eta = best_eta(first)
    chosen = optimum([point for point in points if point["eta"] == eta])
    return {
        "best": float(best["accuracy"]),
        "best pair": (best["eta"], best["alpha"]),
        "printed": printed,
        "paper": accuracy.get(printed) if printed else None,
        "coordinate pair": (chosen["eta"], chosen["alpha"]),
        "coordinate": float(chosen["accuracy"]),
    }


def _points(cell: Frame) -> list[dict[str, Any]]:
    return [
        {
            "eta": eta,
            "alpha": alpha,
            "accuracy": accuracy,
            "diverged": None if pd.isna(diverged) else diverged,
        }
        for eta, alpha, accuracy, diverged in zip(
            cell["eta"], cell["alpha"], cell["accuracy"], cell["diverged"], strict=True
        )
    ]


def _counted(cells: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    losses = [cell["best"] - cell["coordinate"] for cell in cells]
    near = sum(c["paper"] is not None and c["best"] - c["paper"] < AS_GOOD for c in cells)
    return (
        str(len(cells)),
        str(near),
        str(sum(cell["best pair"] == cell["printed"] for cell in cells)),
        str(sum(cell["coordinate pair"] == cell["printed"] for cell in cells)),
        str(sum(loss < AS_GOOD for loss in losses)),
        f"{sum(losses) / len(losses):.3f}",
    )


def _as_run(folder: Path) -> Tables | None:
    return Tables(folder / "tables").readings.get(AS_RUN)


def _mean(rows: Frame, column: str, digits: int = 2) -> str:
    if rows.empty or rows[column].isna().all():
        return "–"
    return f"{rows[column].mean():.{digits}f}".removeprefix("0" if digits == 2 else "")


def _lambda(rows: Frame) -> str:
    values = rows["lambda"].dropna()
    return number_text(float(values.iloc[0])) if len(values) else ""
