"""The headline: accuracy over all classes, and on the first task, as tasks are learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from snap.learners import HEBBIAN, SGD
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    at_best,
    left_out,
    legend_below,
    line,
    named,
    panels,
    percent,
    split_focus,
    without,
)
from snap.report.frames import Frame, only, over_seeds

SNAP = (HEBBIAN.name, "sigmoid-sigmoid-neuron")
LEADING = (  # in colour where there are too many lines to tell apart
    SNAP,
    (HEBBIAN.name, "linear-linear"),
    (HEBBIAN.name, "exponential-exponential-neuron"),
    (SGD.name, "linear-linear"),
)
MANY = 6  # lines that can be told apart
ROWS = {"all": "accuracy, all classes", "first": "accuracy, first task"}
WIDTHS = {1: 5.6, 2: 7.2}
PHONE = 3.6  # inches
WHO = ["learner", "dataset", "configuration", "lambda"]
COLUMNS = [*WHO, "of", "after", "mean", "low", "high", "seeds"]
Family = tuple[str, str]


def headline(drawing: Drawing) -> Drawn:
    """Accuracy after each task, at the best λ in sequence of each configuration."""
    gaps: list[str] = []
    data = _data(drawing, gaps)
    if data.empty:
        return left_out(without(drawing.tables), COLUMNS)
    datasets = [name for name in drawing.tables.datasets if name in set(data["dataset"])]
    found = set(zip(data["learner"], data["configuration"], strict=True))
    families = [family for family in drawing.tables.families if family in found]
    leading = _leading(families, drawing.style["growths"])
    figure, axes = _grid(len(datasets), drawing.narrow)
    for column, dataset in enumerate(datasets):
        axes[0, column].set_title(dataset)
        tasks = int(only(data, dataset=dataset)["after"].max())
        for row, (of, says) in enumerate(ROWS.items()):
            axis = axes[row, column]
            for family in sorted(families, key=leading.__contains__):
                who = {"learner": family[0], "configuration": family[1]}
                part = only(data, dataset=dataset, of=of, **who)
                if family in leading:
                    line(axis, drawing, part, "after", **_look(drawing, family))
                else:
                    axis.plot(part["after"], part["mean"], **_behind(drawing))
            accuracy_axis(axis, says)
            axis.set_xticks(np.arange(1, tasks + 1))
            axis.set_xlim(0.75, tasks + 0.25)
        ceiling = _ceiling(drawing, dataset, tasks)
        axes[0, column].plot(*ceiling, **_dotted(drawing))
        axes[1, column].set_xlabel("tasks learned")
    handles = [Line2D([], [], label=_label(family), **_look(drawing, family)) for family in leading]
    rest = [named(name, learner) for learner, name in families if (learner, name) not in leading]
    if rest:
        handles.append(Line2D([], [], label="other configurations", **_behind(drawing)))
    handles.append(Line2D([], [], label="ceiling: classes seen so far", **_dotted(drawing)))
    legend_below(figure, handles, below=f"In grey: {'; '.join(rest)}." if rest else "")
    return Drawn(figure, data, _finding(data, datasets, families), gaps)


def _grid(datasets: int, narrow: bool) -> tuple[Figure, Any]:
    """Two rows, and a column for each dataset; on a phone, all below one another."""
    if not narrow:
        width = WIDTHS.get(datasets, 10.0)
        return panels(2, datasets, 2.4, width=width, sharey=True, sharex=True)
    figure, axes = panels(2 * datasets, 1, 1.7, width=PHONE, sharey=True)
    return figure, axes.reshape(datasets, 2).T


def _data(drawing: Drawing, gaps: list[str]) -> Frame:
    """Mean, lowest and highest accuracy over seeds after each task, for every configuration."""
    tables, rows = drawing.tables, []
    for dataset in tables.datasets:
        for learner, name in tables.families:
            lambda_, curve = at_best(drawing, tables.curve, learner, dataset, name, gaps)
            _, matrix = at_best(drawing, tables.matrix, learner, dataset, name, [])
            curve = curve[curve["training"] >= 1].sort_values("samples", kind="stable")
            ends = curve.groupby(["seed", "training"])["accuracy"].last().reset_index()
            parts = {
                "all": ends.rename(columns={"training": "after"}),
                "first": only(matrix[matrix["after"] >= 1], task=1),
            }
            if parts["all"]["accuracy"].notna().any():
                who = {"learner": learner, "dataset": dataset, "configuration": name}
                for of, part in parts.items():
                    means = over_seeds(part, ["after"], "accuracy").sort_values("after")
                    rows.append(means.assign(**who, **{"lambda": lambda_}, of=of))
            elif len(only(tables.selected, learner=learner, dataset=dataset, configuration=name)):
                gaps.append(f"{dataset}, {named(name, learner)}: no result")
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    frames = [frame.astype({"lambda": float}) for frame in rows]
    return pd.concat(frames)[COLUMNS]


def _leading(families: list[Family], known: Mapping[str, Any]) -> list[Family]:
    """The lines in colour: all, or where they are many, the leading ones and those of new growths.

    `known` are the growth types of the paper.
    """
    if len(families) <= MANY:
        return families
    new = [family for family in families if split_focus(family[1])[0] not in known]
    first = [*(family for family in LEADING if family in families), *new]
    rest = [family for family in families if family not in first]
    chosen = (first + rest)[: MANY if new else len(LEADING)]
    return [family for family in families if family in chosen]


def _label(family: Family) -> str:
    words = named(family[1], family[0])
    return f"SNAP: {words}" if family == SNAP else words


def _look(drawing: Drawing, family: Family) -> dict[str, Any]:
    return drawing.look(family[1], family[0]) | {"zorder": 3, "clip_on": False}


def _behind(drawing: Drawing) -> dict[str, Any]:
    return {"color": drawing.color("muted"), "linewidth": 0.9, "zorder": 1}


def _dotted(drawing: Drawing) -> dict[str, Any]:
    return {"color": drawing.color("soft"), "linestyle": ":", "linewidth": 1.4, "zorder": 2}


def _ceiling(drawing: Drawing, dataset: str, tasks: int) -> tuple[list[int], list[float]]:
    """The share of the classes seen so far: no network can know the others."""
    known = only(drawing.tables.matrix, dataset=dataset).drop_duplicates("task")
    counts = {row["task"]: len(str(row["classes"]).split("+")) for _, row in known.iterrows()}
    sizes = [counts.get(task, 1) for task in range(1, tasks + 1)]
    total = max(sum(counts.values()), sum(sizes))
    return list(range(1, tasks + 1)), list(np.cumsum(sizes) / total)


def _finding(data: Frame, datasets: list[str], families: list[Family]) -> str:
    sentences = []
    for dataset in datasets:
        parts = []
        for learner, name in families:
            part = only(data, dataset=dataset, learner=learner, configuration=name, of="all")
            if len(part):
                parts.append(f"{named(name, learner)} {percent(part['mean'].iloc[-1])}")
        sentences.append(f"{dataset}: {', '.join(parts)}")
    return f"Accuracy over all classes after the last task. {'. '.join(sentences)}."
