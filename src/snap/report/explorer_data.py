"""The data of the explorer: every cell of a run, in lists short enough for a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from snap.learners import LEARNERS
from snap.numbers import number_text
from snap.report.figures.base import split_focus
from snap.report.figures.sequence import progress
from snap.report.frames import CELL, Frame, Tables, only

STEPS = 8  # points of a curve per task
TABLES = ["selected", "search", "sequential", "matrix", "curve"]
CURVES = ["task", "mean", "low", "high"]
MATRIX = ["after", "task", "accuracy", "own", "seeds"]
SEARCH = ["eta", "alpha", "optimum", "accuracy", "diverged"]

Row = dict[str, Any]
Rows = list[Row]
Cell = Mapping[str, Frame]
Classes = Mapping[int, str]


def data(tables: Tables) -> dict[str, Rows]:
    """The rows that the charts select from, by name; `cells` says which of them each cell has."""
    found: dict[str, Rows] = {"cells": [], "curves": [], "matrix": [], "search": []}
    words = {dataset: classes(tables, dataset) for dataset in tables.datasets}
    for who, cell in _cells(tables):
        rows = {
            "curves": _curves(cell, words[who["dataset"]]),
            "matrix": _matrix(cell, words[who["dataset"]]),
            "search": _search(cell),
        }
        has = [name for name, made in rows.items() if made]
        found["cells"].append(who | {"has": has, "note": _note(cell)})
        for name, made in rows.items():
            found[name] += [who | row for row in made]
    return found


def classes(tables: Tables, dataset: str) -> dict[int, str]:
    """The classes of each task, in words."""
    matrix = only(tables.matrix, dataset=dataset).drop_duplicates("task").sort_values("task")
    words = matrix["classes"].fillna(matrix["task"].astype(str))
    return {int(n): str(text) for n, text in zip(matrix["task"], words, strict=True)}


def _cells(tables: Tables) -> Iterator[tuple[Row, Cell]]:
    """What every row of a cell begins with, and the cell's part of every table."""
    whole = {name: getattr(tables, name) for name in TABLES}
    parts = {name: _by_cell(frame) for name, frame in whole.items()}
    places = {family: place for place, family in enumerate(tables.families)}
    for learner, dataset, name, at in parts["selected"]:
        lambda_ = None if at < 0 else at
        best = lambda_ == tables.best_lambda(learner, dataset, name)
        who: Row = {"learner": learner, "dataset": dataset, "configuration": name}
        who |= {"lambda": lambda_, "best": best, "order": places[learner, name]}
        who["title"] = title(name, learner, lambda_)
        key = (learner, dataset, name, at)
        yield who, {table: parts[table].get(key, whole[table].iloc[:0]) for table in TABLES}


def _by_cell(frame: Frame) -> dict[tuple[Any, ...], Frame]:
    """The rows of every cell, by learner, dataset, configuration, and λ (−1 without λ)."""
    keys = [frame[name] for name in CELL[:-1]] + [frame["lambda"].fillna(-1.0)]
    return {tuple(key): rows for key, rows in frame.groupby(keys, sort=False)}


def title(configuration: str, learner: str, lambda_: float | None) -> str:
    """The heading of a panel, in two lines."""
    growth, focus = split_focus(configuration)
    words = [] if growth == configuration else [focus]
    words += [] if LEARNERS[learner].inhibits else [LEARNERS[learner].label]
    words += [] if lambda_ is None else [f"λ = {number_text(lambda_)}"]
    return f"{growth}\n{', '.join(words)}"


def _note(cell: Cell) -> str | None:
    """What of a cell is missing, as a sentence; None if nothing is."""
    (status,) = cell["selected"]["status"]
    if status == "all diverged":
        return "Every pair (η, α) of the search diverged."
    trials = cell["sequential"]
    lost = int(trials["accuracy"].isna().sum())
    if trials.empty:
        return "It was not trained in sequence."
    if lost == 0:
        return None
    if lost == len(trials):
        return "It diverged in sequence with every seed."
    return f"{lost} of {len(trials)} seeds diverged in sequence."


def _short(values: Any) -> list[float | None]:
    """Numbers with four digits; None for those that are missing."""
    return [round(float(value), 4) if np.isfinite(value) else None for value in values]


def _curves(cell: Cell, classes: Classes) -> Rows:
    """A row per task: the accuracy on its classes over time, as lists.

    A seed that diverged is shown up to the last task that it finished.
    """
    curves, finished = cell["curve"], cell["matrix"].groupby("seed")["after"].max()
    tasks = int(finished.max()) if len(finished) else 0
    if curves.empty or tasks < 1:
        return []
    at = np.linspace(0, tasks, tasks * STEPS + 1)
    seeds = [progress(c[c["training"] <= finished[s]]) for s, c in curves.groupby("seed")]
    rows = []
    for task, words in classes.items():
        over = np.array([_at(at, seed, f"task{task}") for seed in seeds])
        lines = (np.nanmean(over, axis=0), np.nanmin(over, axis=0), np.nanmax(over, axis=0))
        count = [int(n) for n in np.isfinite(over).sum(axis=0)]
        same = count[0] if len(set(count)) == 1 else count
        values = (words, *(_short(line) for line in lines))
        rows.append(dict(zip(CURVES, values, strict=True)) | {"seeds": same})
    return rows


def _at(at: Any, seed: Frame, column: str) -> Any:
    return np.interp(at, seed["progress"], seed[column], right=np.nan)


def _matrix(cell: Cell, classes: Classes) -> Rows:
    """One row, with lists over the tasks learned and measured.

    `own` is the accuracy just after the measured task, `seeds` a list with that of every seed.
    """
    matrix = cell["matrix"].dropna(subset=["accuracy"]).sort_values("seed")
    groups = matrix[matrix["after"] >= 1].groupby(["after", "task"], sort=True)["accuracy"]
    means = {(int(after), int(task)): mean for (after, task), mean in groups.mean().items()}
    found = [
        (after, classes[task], *_short([mean, means.get((task, task), np.nan)]), _short(seeds))
        for ((after, task), mean), (_, seeds) in zip(means.items(), groups, strict=True)
    ]
    return _columns(MATRIX, found, tasks=len(classes))


def _search(cell: Cell) -> Rows:
    """One row, with lists over the pairs (η, α) of the search; the optimum is marked."""
    pairs = cell["selected"][["eta", "alpha"]].fillna(0)
    optima = set(pairs.itertuples(index=False, name=None))
    found = []
    for (eta, alpha), group in cell["search"].groupby(["eta", "alpha"], dropna=False, sort=True):
        pair = (None if pd.isna(eta) else float(eta), float(alpha))
        lost = int(group["accuracy"].isna().sum())
        mean = None if lost else _short([group["accuracy"].mean()])[0]
        found.append((*pair, (pair[0] or 0.0, pair[1]) in optima, mean, lost > 0))
    return _columns(SEARCH, found)


def _columns(names: list[str], rows: list[tuple[Any, ...]], **more: Any) -> Rows:
    """The rows as one row of lists; none if there are none."""
    if not rows:
        return []
    return [dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) | more]
