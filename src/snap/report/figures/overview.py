"""Accuracy of every configuration: i.i.d., and over all classes after the sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from snap.learners import HEBBIAN, LEARNERS
from snap.numbers import number_text
from snap.report.figures.base import (
    WIDTH,
    Drawing,
    Drawn,
    accuracy_axis,
    lambda_axis,
    lambda_text,
    left_out,
    legend_below,
    line,
    named,
    panels,
    percent,
    without,
)
from snap.report.frames import Frame, only, over_seeds

BY = ["learner", "dataset", "configuration", "lambda"]
COLUMNS = 4  # panels in a row
FEW = 3  # lines that one panel can hold
LOST = 0.02  # where a cross stands for a missing result
AS_DOTS = (
    "A row for every configuration: the large mark is the mean over seeds, the small dots are the"
    " seeds. The strength λ of lateral inhibition is named below a configuration."
)


def iid(drawing: Drawing) -> Drawn:
    return _accuracy(drawing, drawing.tables.iid, "Test accuracy on i.i.d. data")


def sequential(drawing: Drawing) -> Drawn:
    says = "Test accuracy over all classes after the last task"
    return _accuracy(drawing, drawing.tables.sequential, says)


def _accuracy(drawing: Drawing, frame: Frame, what: str) -> Drawn:
    """Against λ, in panels by hidden growth; without several λ, as dots."""
    data, gaps = _means(drawing, frame)
    found = data.dropna(subset=["mean"])
    if found.empty:
        return left_out(without(drawing.tables), data.columns)
    datasets = [name for name in drawing.tables.datasets if name in set(found["dataset"])]
    caption = ""
    if found[found["learner"] == HEBBIAN.name]["lambda"].nunique() > 1:
        figure = _against_lambda(drawing, data, datasets)
    else:
        figure, caption = _dots(drawing, frame, data, datasets), f"{what}. {AS_DOTS}"
    findings = [
        f"{name}: at its best, {best_by_growth(only(data, dataset=name))}" for name in datasets
    ]
    finding = f"{what}. {'. '.join(findings)}."
    return Drawn(figure, data, finding, gaps, caption=caption)


def _means(drawing: Drawing, frame: Frame) -> tuple[Frame, list[str]]:
    """A row per cell of the run, NaN without a result, and a sentence per family that lacks any."""
    tables, gaps = drawing.tables, []
    means = over_seeds(frame, BY, "accuracy")
    cells = tables.selected[BY].drop_duplicates()
    order = {family: place for place, family in enumerate(tables.families)}
    rank = [order[family] for family in zip(cells["learner"], cells["configuration"], strict=True)]
    cells = cells.assign(rank=rank).sort_values(["rank", "lambda"], kind="stable")
    data = cells.drop(columns="rank").merge(means, how="left", on=BY)
    for dataset in tables.datasets:
        for learner, name in tables.families:
            lost = only(data, dataset=dataset, learner=learner, configuration=name)
            lost = lost[lost["mean"].isna()]
            at = ", ".join(number_text(float(value)) for value in lost["lambda"].dropna())
            if len(lost):
                where = f" at λ = {at}" if at else ""
                gaps.append(f"{dataset}, {named(name, learner)}: no result{where}")
    return data, gaps


def _against_lambda(drawing: Drawing, data: Frame, datasets: Sequence[str]) -> Figure:
    """A panel per hidden growth, the others behind it in grey, and SGD beside them as dots."""
    tables = drawing.tables
    groups: dict[str, list[str]] = {}
    names = tables.configurations(HEBBIAN.name)
    for name in names:
        groups.setdefault("" if len(names) <= FEW else name.split("-")[0], []).append(name)
    others = [family for family in tables.families if not LEARNERS[family[0]].inhibits]
    shown: list[str | None] = [*groups, *([None] if others else [])]
    columns = min(len(shown), COLUMNS)
    rows = -(-len(shown) // columns)
    figure, grid = panels(rows * len(datasets), columns, 2.7, sharey=True)
    for number, dataset in enumerate(datasets):
        places = list(grid[number * rows : (number + 1) * rows].flat)
        here = only(data, dataset=dataset)
        for axis, group in zip(places, shown, strict=False):
            accuracy_axis(axis)
            if group is None:
                labels = ", ".join(dict.fromkeys(LEARNERS[learner].label for learner, _ in others))
                axis.set_title(_title(dataset, labels))
                _strip(axis, drawing, here, others)
                continue
            axis.set_title(_title(dataset, f"{group} hidden growth" if group else ""))
            for name in names:
                part = only(here, configuration=name, learner=HEBBIAN.name)
                if name in groups[group]:
                    _line(axis, drawing, part, drawing.look(name))
                else:
                    axis.plot(part["lambda"], part["mean"], **_behind(drawing))
            lambda_axis(axis, tables.lambdas)
        for axis in places[len(shown) :]:
            axis.set_axis_off()
    handles = [_handle(drawing, *family) for family in tables.families]
    if len(groups) > 1:
        handles.append(Line2D([], [], label="the other panels' lines", **_behind(drawing)))
    if data[data["dataset"].isin(datasets)]["mean"].isna().any():
        handles.append(_cross(drawing))
    legend_below(figure, handles, title="hidden-output, focus")
    return figure


def _title(dataset: str, what: str) -> str:
    return f"{dataset}\n{what}" if what else dataset


def _behind(drawing: Drawing) -> dict[str, Any]:
    return {"color": drawing.color("muted"), "linewidth": 0.8, "zorder": 1}


def _line(axis: Axes, drawing: Drawing, part: Frame, look: dict[str, Any]) -> None:
    """A line against λ, with a cross on the axis where a result is missing."""
    line(axis, drawing, part, "lambda", zorder=3, **look)
    lost = part[part["mean"].isna()]["lambda"]
    if len(lost):
        mark = {"color": look["color"], "clip_on": False, "zorder": 4}
        axis.plot(lost, [LOST] * len(lost), "x", **mark)


def _strip(axis: Axes, drawing: Drawing, data: Frame, families: Sequence[tuple[str, str]]) -> None:
    """The configurations of a learner without λ, side by side."""
    for place, (learner, name) in enumerate(families):
        part = only(data, learner=learner, configuration=name)
        look = drawing.look(name, learner) | {"linestyle": ""}
        axis.plot([place] * len(part), part["mean"], **look, markersize=7, zorder=3, clip_on=False)
        if part["mean"].isna().all():
            axis.plot(place, LOST, "x", color=look["color"], clip_on=False)
        axis.vlines([place] * len(part), part["low"], part["high"], color=look["color"])
    axis.set_xlim(-0.6, len(families) - 0.4)
    axis.set_xticks([])


def _handle(drawing: Drawing, learner: str, name: str) -> Line2D:
    look = drawing.look(name, learner)
    if not LEARNERS[learner].inhibits:
        look |= {"linestyle": ""}
    return Line2D([], [], label=named(name, learner), **look)


def _cross(drawing: Drawing) -> Line2D:
    look: dict[str, Any] = {"marker": "x", "color": drawing.color("soft"), "linestyle": ""}
    return Line2D([], [], label="no result", **look)


def _dots(drawing: Drawing, frame: Frame, data: Frame, datasets: Sequence[str]) -> Figure:
    """A row per configuration: a small dot per seed, and the mean."""
    families = drawing.tables.families
    height = 0.9 + 0.34 * len(families)
    width = 7.0 if len(datasets) == 1 else WIDTH
    figure, grid = panels(1, len(datasets), height, width=width, sharey=True)
    lambdas = data["lambda"].dropna().unique()
    at = f" · {lambda_text(lambdas[0])}" if len(lambdas) else ""
    crossed = False
    for axis, dataset in zip(grid[0], datasets, strict=True):
        axis.set_title(dataset + at)
        for place, (learner, name) in enumerate(families):
            who = {"learner": learner, "dataset": dataset, "configuration": name}
            look = drawing.look(name, learner) | {"linestyle": "", "clip_on": False}
            mean = only(data, **who)["mean"]
            if mean.isna().all():
                crossed |= len(mean) > 0
                axis.plot([LOST] * len(mean), [place] * len(mean), **look | {"marker": "x"})
                continue
            seeds = only(frame, **who)["accuracy"].dropna()
            axis.plot(seeds, [place] * len(seeds), ".", color=look["color"], markersize=5)
            axis.plot(mean, [place] * len(mean), **look | {"markersize": 8}, zorder=3)
        axis.set_xlim(0, 1)
        axis.set_xlabel("test accuracy")
        axis.grid(visible=False, axis="y")
    labels = [named(name, learner) for learner, name in families]
    grid[0, 0].set_yticks(np.arange(len(families)), labels)
    grid[0, 0].set_ylim(len(families) - 0.5, -0.5)
    if crossed:
        legend_below(figure, [_cross(drawing)])
    return figure


def best_by_growth(data: Frame) -> str:
    """The best result of each hidden growth and learner, in words."""
    rows = data.dropna(subset=["mean"])
    rows = rows.assign(growth=rows["configuration"].str.partition("-")[0])
    parts = []
    for (learner, growth), group in rows.groupby(["learner", "growth"], sort=False):
        top = group.sort_values("mean", kind="stable").iloc[-1]
        at = f" ({lambda_text(top['lambda'])})" if pd.notna(top["lambda"]) else ""
        prefix = LEARNERS[str(learner)].prefix
        parts.append(f"{prefix}{growth} hidden growth {percent(top['mean'])}{at}")
    return ", ".join(parts)
