"""Accuracy on the classes of each task at the end of the sequence, against λ."""

from __future__ import annotations

import pandas as pd
from matplotlib.lines import Line2D

from snap.learners import LEARNERS
from snap.numbers import number_text
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    heading,
    lambda_axis,
    left_out,
    legend_below,
    line,
    multiples,
    named,
    without,
)
from snap.report.figures.overview import best_by_growth
from snap.report.frames import CELL, Frame, only, over_seeds

COLUMNS = 4  # panels in a row

AS_DOTS = (
    "Test accuracy on the classes of each task at the end of the sequence: a panel for every"
    " configuration, a dot for every task. Where all dots are high, every task was kept; where only"
    " the last is high, the earlier ones were forgotten. Upright lines span the seeds."
)


def retention(drawing: Drawing) -> Drawn:
    """Accuracy on the classes of each task after the last: a panel per configuration."""
    tables = drawing.tables
    matrix = only(tables.matrix, dataset=drawing.one)
    last = matrix[(matrix["after"] == matrix["after"].max()) & (matrix["after"] > 0)]
    data = over_seeds(last, [*CELL, "task", "classes"], "accuracy").dropna(subset=["mean"])
    if data.empty:
        return left_out(without(tables, dataset=drawing.one), data.columns)
    tasks = sorted(data["task"].unique())
    colors = dict(zip(tasks, drawing.task_colors(len(tasks)), strict=True))
    found = set(zip(data["learner"], data["configuration"], strict=True))
    shown = [family for family in tables.families if family in found]
    gaps = [
        f"{named(name, learner)}: no result"
        for learner, name in tables.families
        if (learner, name) not in found
    ]
    figure, axes, spare = multiples(len(shown), 2.6, COLUMNS, sharey=True)
    parts = []
    for axis, (learner, name) in zip(axes, shown, strict=True):
        cell = only(data, learner=learner, configuration=name)
        lambdas = cell["lambda"].dropna().unique()
        axis.set_title(heading(name, learner, lambdas[0] if len(lambdas) == 1 else None))
        accuracy_axis(axis, "accuracy at the end")
        for task in tasks:
            part = only(cell, task=task)
            if len(lambdas) > 1:
                # A line has a gap where a λ has no result.
                part = pd.DataFrame({"lambda": tables.lambdas}).merge(part, how="left")
                look = {"color": colors[task], "marker": "o", "markersize": 3.5}
                line(axis, drawing, part, "lambda", **look)
            else:
                look = {"color": colors[task], "clip_on": False}
                axis.vlines(part["task"], part["low"], part["high"], **look)
                axis.plot(part["task"], part["mean"], "o", markersize=6, zorder=3, **look)
        lost = [float(v) for v in tables.lambdas if v not in set(cell["lambda"])]
        if lost and LEARNERS[learner].inhibits:
            values = ", ".join(number_text(value) for value in lost)
            gaps.append(f"{named(name, learner)}: no result at λ = {values}")
        if len(lambdas) > 1:
            lambda_axis(axis, tables.lambdas, label=False)
            axis.set_xlabel("λ")
        else:
            axis.set_xticks(tasks, [f"{task:.0f}" for task in tasks])
            axis.set_xlim(tasks[0] - 0.6, tasks[-1] + 0.6)
            axis.set_xlabel("task")
        parts.append(cell)
    classes = data.drop_duplicates("task").set_index("task")["classes"]
    handles = [
        Line2D([], [], color=colors[task], marker="o", markersize=4, label=_task(task, classes))
        for task in tasks
    ]
    if spare is not None:
        spare.legend(handles=handles, loc="center", title="accuracy on")
    else:
        legend_below(figure, handles, title="accuracy on")
    first = only(data, task=tasks[0])
    finding = (
        f"{drawing.one}. Accuracy on the first task's classes at the end: {best_by_growth(first)}."
    )
    single = data.groupby(["learner", "configuration"])["lambda"].nunique().max() <= 1
    caption = AS_DOTS if single else ""
    return Drawn(figure, pd.concat(parts), finding, gaps, caption=caption)


def _task(task: float, classes: Frame) -> str:
    known = classes.get(task)
    says = "" if pd.isna(known) else f": classes {str(known).replace('+', ' and ')}"
    return f"task {task:.0f}{says}"
