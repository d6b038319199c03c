"""Accuracy during the sequence of tasks: curves for Hebbian learning and SGD, and matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    best_lambda,
    gap,
    lambda_text,
    legend_below,
    named,
    panels,
    percent,
    task_axis,
)
from snap.report.frames import Frame, only, over_seeds

SHOWN_IN_PAPER = (  # the five of fig:mnist_hebb_combined_Forget_Model_Performance
    "exponential-exponential-neuron",
    "exponential-linear-neuron",
    "sigmoid-linear-neuron",
    "sigmoid-sigmoid-neuron",
    "linear-linear",
)
STEPS = 24  # points per task at which seeds are averaged


def curves(drawing: Drawing) -> Drawn:
    """Curves at the best λ of each growth type."""
    gaps: list[str] = []
    lambdas = {
        name: best_lambda(drawing, HEBBIAN.name, drawing.one, name, gaps)
        for name in _present(drawing)
    }
    drawn = _curves(drawing, HEBBIAN.name, list(lambdas), lambdas)
    drawn.gaps += gaps
    return drawn


def curves_paper(drawing: Drawing) -> Drawn:
    """Curves at the λ that the paper shows."""
    lambdas = drawing.paper["curves"].get(drawing.one, {})
    return _curves(drawing, HEBBIAN.name, _present(drawing), lambdas)


def sgd(drawing: Drawing) -> Drawn:
    return _curves(drawing, SGD.name, drawing.tables.configurations(SGD.name), None)


def _present(drawing: Drawing) -> list[str]:
    return [name for name in SHOWN_IN_PAPER if name in drawing.tables.configurations(HEBBIAN.name)]


def progress(curve: Frame) -> Frame:
    """Add a column `progress` to one seed's curve: every task is one unit, however long it took."""
    curve = curve.sort_values("samples")
    ends = curve.groupby("training")["samples"].max()
    starts = ends.shift(1, fill_value=0)
    starts.loc[0] = 0
    task = curve["training"]
    length = (ends - starts).replace(0, 1)
    share = (curve["samples"] - task.map(starts)) / task.map(length)
    return curve.assign(progress=np.where(task == 0, 0.0, task - 1 + share))


def _averaged(curves: Frame, tasks: Sequence[str]) -> Frame:
    """Mean, lowest and highest accuracy of every task over seeds, at common points."""
    count = int(curves["training"].max())
    at = np.linspace(0, count, count * STEPS + 1)
    seeds = [progress(curve) for _, curve in curves.groupby("seed")]
    frame = pd.DataFrame({"progress": at})
    for task in tasks:
        values = np.array([np.interp(at, seed["progress"], seed[task]) for seed in seeds])
        frame[task] = values.mean(axis=0)
        frame[f"{task}_low"], frame[f"{task}_high"] = values.min(axis=0), values.max(axis=0)
    return frame


def _curves(
    drawing: Drawing, learner: str, names: Sequence[str], lambdas: dict[str, float | None] | None
) -> Drawn:
    """A panel per configuration, a line per task; `lambdas` maps a configuration to its λ."""
    frame = only(drawing.tables.curve, dataset=drawing.one, learner=learner)
    tasks = [c for c in frame.columns if c.startswith("task") and c[4:].isdigit()]
    columns = 3 if len(names) > 4 else 2
    figure, axes = panels(-(-max(len(names), 1) // columns), columns, 2.9, sharey=True)
    places = list(axes.flat)
    rows, findings = [], []
    gaps: list[str] = []
    for axis, name in zip(places, names, strict=False):
        lambda_ = None if lambdas is None else lambdas.get(name)
        cell = only(frame, configuration=name)
        if lambdas is not None:
            cell = only(cell, lambda_=lambda_) if lambda_ is not None else cell.iloc[:0]
        title = " · ".join(part for part in (named(name), lambda_text(lambda_)) if part)
        axis.set_title(title, fontsize=10)
        accuracy_axis(axis)
        if cell.empty:
            why = "not part of this run" if lambda_ is not None else "no result"
            gaps.append(f"{title}: {why}")
            gap(axis, drawing.style, why)
            continue
        line = _averaged(cell, tasks)
        _task_lines(axis, drawing, line, tasks)
        count = int(cell["training"].max())
        if count < len(tasks):
            gaps.append(f"{title}: the run ended in task {count} of {len(tasks)}")
        epochs = cell.groupby(["seed", "training"])["epoch"].max().groupby("training").mean()
        for task in range(1, count + 1):
            axis.text(task - 0.5, 1.015, f"{epochs[task]:.3g} ep.", ha="center", fontsize=7)
        axis.set_title(title, fontsize=10, pad=14)
        end = line.iloc[-1]
        findings.append(
            f"{title}: the first task's classes end at {percent(end[tasks[0]])},"
            f" the last task's at {percent(end[tasks[-1]])}"
        )
        rows.append(line.assign(configuration=name, **{"lambda": lambda_}))
    for axis in places[len(names) :]:
        axis.set_axis_off()
    colors = drawing.task_colors(len(tasks))
    labels = _classes(drawing, tasks)
    handles = [
        Line2D([], [], color=color, label=label)
        for color, label in zip(colors, labels, strict=True)
    ]
    if len(places) > len(names):
        places[-1].legend(handles=handles, loc="center", title="test accuracy on")
    else:
        legend_below(figure, handles, ncols=5)
    if not names:
        gap(places[0], drawing.style, "not part of this run")
    data = pd.concat(rows) if rows else frame.iloc[:0]
    finding = "; ".join(findings) or "no result to show"
    return Drawn(figure, data, f"{drawing.one}. {finding}.", gaps)


def _classes(drawing: Drawing, tasks: Sequence[str]) -> list[str]:
    """The labels of the tasks, with their classes from the table `matrix`."""
    matrix = only(drawing.tables.matrix, dataset=drawing.one)
    known = matrix.drop_duplicates("task").set_index("task")["classes"]
    return [
        f"classes {str(known[n]).replace('+', ' and ')}" if n in known else f"task {n}"
        for n in range(1, len(tasks) + 1)
    ]


def _task_lines(axis: Axes, drawing: Drawing, line: Frame, tasks: Sequence[str]) -> None:
    count = len(tasks)
    for n, (task, color) in enumerate(zip(tasks, drawing.task_colors(count), strict=True)):
        axis.plot(line["progress"], line[task], color=color, zorder=3 + n)
        axis.fill_between(
            line["progress"],
            line[f"{task}_low"],
            line[f"{task}_high"],
            color=color,
            alpha=drawing.style["band"],
            linewidth=0,
        )
    task_axis(axis, count)


def matrix(drawing: Drawing) -> Drawn:
    """A heat map per growth type: accuracy on each task's classes after each task."""
    tables = drawing.tables
    cells = [(HEBBIAN.name, name) for name in _present(drawing)]
    cells += [
        (SGD.name, name)
        for name in ("linear-linear", "sigmoid-sigmoid-neuron")
        if name in tables.configurations(SGD.name)
    ]
    columns = 4
    figure, axes = panels(-(-max(len(cells), 1) // columns), columns, 2.7)
    places = list(axes.flat)
    rows, findings = [], []
    gaps: list[str] = []
    for axis, (learner, name) in zip(places, cells, strict=False):
        lambda_ = best_lambda(drawing, learner, drawing.one, name, gaps)
        who = {"learner": learner, "dataset": drawing.one, "configuration": name}
        cell = only(tables.matrix, **who)
        if LEARNERS[learner].inhibits:
            cell = only(cell, lambda_=lambda_) if lambda_ is not None else cell.iloc[:0]
        kind = f"{SGD.label}, " if learner == SGD.name else ""
        title = f"{kind}{named(name)}" + (f"\n{lambda_text(lambda_)}" if lambda_ else "")
        axis.set_title(title, fontsize=9)
        means = over_seeds(cell[cell["after"] >= 1], ["after", "task"], "accuracy")
        if means.empty:
            gaps.append(f"{kind}{named(name)}: no result")
            gap(axis, drawing.style, "no result")
            axis.set_axis_off()
            continue
        grid = means.pivot_table(index="after", columns="task", values="mean")
        grid.index, grid.columns = grid.index.astype(int), grid.columns.astype(int)
        sns.heatmap(
            grid,
            ax=axis,
            vmin=0,
            vmax=1,
            cmap=drawing.style["heat"],
            cbar=False,
            square=True,
            annot=True,
            fmt=".2f",
            annot_kws={"fontsize": 7},
        )
        axis.set_xlabel("classes of task")
        axis.set_ylabel("after task")
        axis.tick_params(length=0)
        axis.grid(visible=False)
        kept = float(np.mean(grid.iloc[-1]))
        findings.append(f"{kind}{named(name)} keeps {percent(kept)} on average")
        rows.append(means.assign(**who, **{"lambda": lambda_}))
    for axis in places[len(cells) :]:
        axis.set_axis_off()
    data = pd.concat(rows) if rows else tables.matrix.iloc[:0]
    finding = "; ".join(findings) or "no result to show"
    return Drawn(
        figure, data, f"{drawing.one}, accuracy on every task after the last: {finding}.", gaps
    )
