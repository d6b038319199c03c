"""Accuracy during the sequence of tasks: curves for Hebbian learning and SGD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from snap.learners import HEBBIAN, SGD
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    best_lambda,
    label_below,
    lambda_text,
    left_out,
    legend_below,
    multiples,
    named,
    percent,
    task_axis,
    without,
)
from snap.report.frames import Frame, only

STEPS = 24  # points per task at which seeds are averaged
COLUMNS = 3  # panels in a row


def curves(drawing: Drawing) -> Drawn:
    """Curves at the best λ of each configuration."""
    gaps: list[str] = []
    lambdas = {
        name: best_lambda(drawing, HEBBIAN.name, drawing.one, name, gaps)
        for name in drawing.tables.configurations(HEBBIAN.name)
    }
    drawn = _curves(drawing, HEBBIAN.name, lambdas)
    drawn.gaps += gaps
    return drawn


def curves_paper(drawing: Drawing) -> Drawn:
    """Curves at the λ that the paper shows, where they were run."""
    run = only(drawing.tables.selected, dataset=drawing.one, learner=HEBBIAN.name)
    cells = set(zip(run["configuration"], run["lambda"], strict=True))
    printed = drawing.paper["curves"].get(drawing.one, {})
    lambdas = {
        name: float(printed[name])
        for name in dict.fromkeys(run["configuration"])
        if name in printed and (name, float(printed[name])) in cells
    }
    if not lambdas:
        if run.empty:
            return left_out(without(drawing.tables, HEBBIAN.name, drawing.one))
        where = f" on {drawing.one}" if printed else f" for {drawing.one}"
        says = (
            "None of the paper's λ was part of this run" if printed else "The paper shows no curves"
        )
        return left_out(f"{says}{where}.")
    drawn = _curves(drawing, HEBBIAN.name, lambdas)
    drawn.gaps += [
        f"{named(name)}: the paper's {lambda_text(float(printed[name]))} was not part of this run"
        for name in dict.fromkeys(run["configuration"])
        if name in printed and name not in lambdas
    ]
    return drawn


def sgd(drawing: Drawing) -> Drawn:
    names = drawing.tables.configurations(SGD.name)
    return _curves(drawing, SGD.name, dict.fromkeys(names))


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


def _curves(drawing: Drawing, learner: str, lambdas: Mapping[str, float | None]) -> Drawn:
    """A panel per configuration, a line per task; `lambdas` maps a configuration to its λ."""
    frame = only(drawing.tables.curve, dataset=drawing.one, learner=learner)
    tasks = [c for c in frame.columns if c.startswith("task") and c[4:].isdigit()]
    cells, gaps = _cells(drawing, frame, learner, lambdas)
    if not cells or not tasks:
        sentence = without(drawing.tables, learner, drawing.one)
        return left_out(sentence, ["progress", *tasks, "configuration", "lambda"])
    figure, axes, spare = multiples(len(cells), 2.8, COLUMNS, sharey=True)
    rows, findings = [], []
    for axis, (name, cell) in zip(axes, cells.items(), strict=True):
        lambda_ = lambdas[name]
        words = (named(name, learner), lambda_text(lambda_))
        title = " · ".join(part for part in words if part)
        accuracy_axis(axis)
        line = _averaged(cell, tasks)
        _task_lines(axis, drawing, line, tasks)
        count = int(cell["training"].max())
        if count < len(tasks):
            gaps.append(f"{title}: the run ended in task {count} of {len(tasks)}")
        epochs = cell.groupby(["seed", "training"])["epoch"].max().groupby("training").mean()
        for task in range(1, count + 1):
            axis.text(task - 0.5, 1.015, f"{epochs[task]:.2g}", ha="center", fontsize=8.5)
        axis.set_title(title, fontsize=9.5, pad=15)
        end = line.iloc[-1]
        findings.append(
            f"{title}: the first task's classes end at {percent(end[tasks[0]])},"
            f" the last task's at {percent(end[tasks[-1]])}"
        )
        rows.append(line.assign(configuration=name, **{"lambda": lambda_}))
    label_below(axes, "task being learned", min(len(axes), COLUMNS))
    handles = [
        Line2D([], [], color=color, label=label)
        for color, label in zip(
            drawing.task_colors(len(tasks)), _classes(drawing, tasks), strict=True
        )
    ]
    if spare is not None:
        spare.legend(handles=handles, loc="center", title="test accuracy on")
    else:
        legend_below(figure, handles, title="test accuracy on")
    return Drawn(figure, pd.concat(rows), f"{drawing.one}. {'; '.join(findings)}.", gaps)


def _cells(
    drawing: Drawing, frame: Frame, learner: str, lambdas: Mapping[str, float | None]
) -> tuple[dict[str, Frame], list[str]]:
    """The curves of every configuration that has any, and a sentence for each that has none."""
    cells, gaps = {}, []
    run = only(drawing.tables.selected, dataset=drawing.one, learner=learner)
    for name, lambda_ in lambdas.items():
        cell = only(frame, configuration=name)
        if learner == HEBBIAN.name:
            cell = only(cell, lambda_=lambda_) if lambda_ is not None else cell.iloc[:0]
        if len(cell) and cell["training"].max() >= 1:
            cells[name] = cell
        elif name in set(run["configuration"]):
            at = f" at {lambda_text(lambda_)}" if lambda_ is not None else ""
            gaps.append(f"{named(name, learner)}: no result{at}")
    return cells, gaps


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
        axis.plot(line["progress"], line[task], color=color, zorder=3 + n, linewidth=1.5)
        low, high = line[f"{task}_low"], line[f"{task}_high"]
        if (high > low).any():
            band = {"color": color, "alpha": drawing.style["band"], "linewidth": 0}
            axis.fill_between(line["progress"], low, high, **band)
    task_axis(axis, drawing, count)
