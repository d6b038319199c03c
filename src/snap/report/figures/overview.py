"""Accuracy against λ: i.i.d., in sequence, and per task at the end; and the headline figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from snap.growth import GROWTHS
from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.numbers import number_text
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    best_lambda,
    gap,
    lambda_text,
    legend_below,
    legend_handles,
    line,
    named,
    panels,
    percent,
)
from snap.report.frames import Frame, only, over_seeds

BY = ["dataset", "configuration", "lambda"]


def _against_lambda(
    axis: Axes, drawing: Drawing, frame: Frame, value: str, dataset: str
) -> tuple[Frame, list[str]]:
    """Draw a line per configuration, a band over seeds, and a cross where a result is missing."""
    lambdas, gaps = drawing.tables.lambdas, []
    means = over_seeds(only(frame, dataset=dataset, learner=HEBBIAN.name), BY, value)
    rows = []
    for configuration in drawing.tables.configurations(HEBBIAN.name):
        data = only(means, configuration=configuration).set_index("lambda")
        data = data.reindex(pd.Index(lambdas, name="lambda")).reset_index()
        data["dataset"], data["configuration"] = dataset, configuration
        rows.append(data)
        look = drawing.look(configuration)
        line(axis, drawing, data, "lambda", **look)
        missing = [number_text(float(at)) for at in data[data["mean"].isna()]["lambda"]]
        if missing:
            gaps.append(f"{dataset}, {named(configuration)}: no result at λ = {', '.join(missing)}")
            at = data[data["mean"].isna()]["lambda"]
            axis.plot(at, [0.02] * len(at), "x", color=look["color"], clip_on=False)
    axis.set_xscale("log", base=2)
    axis.set_xticks(lambdas, [number_text(float(at)) for at in lambdas])
    axis.minorticks_off()
    axis.set_xlabel("lateral inhibition λ")
    drawn = pd.concat(rows) if rows else means
    return drawn[[*BY, "mean", "low", "high", "seeds"]], gaps


def _best(data: Frame) -> str:
    """The best configuration of each hidden growth, in words."""
    parts = []
    for growth in GROWTHS:
        rows = data[data["configuration"].str.startswith(f"{growth}-")].dropna(subset=["mean"])
        if len(rows):
            top = rows.sort_values("mean").iloc[-1]
            parts.append(
                f"{growth} hidden growth {percent(top['mean'])} ({lambda_text(top['lambda'])})"
            )
    return ", ".join(parts) if parts else "no result"


def _panel_per_dataset(drawing: Drawing, frame: Frame, value: str, what: str) -> Drawn:
    datasets = drawing.tables.datasets
    figure, axes = panels(1, len(datasets), 4.0, sharey=True)
    parts, gaps, findings = [], [], []
    for axis, dataset in zip(axes[0], datasets, strict=True):
        data, missing = _against_lambda(axis, drawing, frame, value, dataset)
        axis.set_title(dataset)
        accuracy_axis(axis)
        parts.append(data)
        gaps += missing
        findings.append(f"{dataset}: at its best, {_best(data)}")
    handles = legend_handles(drawing, drawing.tables.configurations(HEBBIAN.name))
    legend_below(figure, handles, ncols=4, title="hidden-output, focus")
    return Drawn(figure, pd.concat(parts), f"{what}. {'. '.join(findings)}.", gaps)


def iid(drawing: Drawing) -> Drawn:
    return _panel_per_dataset(
        drawing, drawing.tables.iid, "accuracy", "Test accuracy on i.i.d. data against λ"
    )


def sequential(drawing: Drawing) -> Drawn:
    return _panel_per_dataset(
        drawing,
        drawing.tables.sequential,
        "accuracy",
        "Test accuracy over all classes after the last task against λ",
    )


def retention(drawing: Drawing) -> Drawn:
    """Accuracy on the classes of each task, after the last task."""
    matrix = only(drawing.tables.matrix, dataset=drawing.one)
    last = matrix[matrix["after"] == matrix["after"].max()]
    tasks = sorted(last["task"].unique())
    columns = 3
    figure, axes = panels(-(-max(len(tasks) + 1, 2) // columns), columns, 2.9, sharey=True)
    places = list(axes.flat)
    parts, gaps = [], []
    for axis, task in zip(places, tasks, strict=False):
        part = last[last["task"] == task]
        data, missing = _against_lambda(axis, drawing, part, "accuracy", drawing.one)
        classes = str(part["classes"].iloc[0]).replace("+", " and ")
        axis.set_title(f"task {task:.0f}: classes {classes}")
        accuracy_axis(axis, "accuracy at the end")
        parts.append(data.assign(task=task))
        gaps += [sentence for sentence in missing if sentence not in gaps]
    for axis in places[len(tasks) :]:
        axis.set_axis_off()
    handles = legend_handles(drawing, drawing.tables.configurations(HEBBIAN.name))
    places[-1].legend(handles=handles, loc="center", title="hidden-output, focus")
    if not tasks:
        gap(places[0], drawing.style, "no sequential result")
        return Drawn(figure, last, "No sequential result to show.", ["no sequential result"])
    first = parts[0]
    finding = f"Accuracy on the first task's classes at the end of the sequence: {_best(first)}."
    return Drawn(figure, pd.concat(parts), finding, gaps)


HEADLINE = (
    (HEBBIAN.name, "sigmoid-sigmoid-neuron", "SNAP: sigmoidal, Hebbian"),
    (HEBBIAN.name, "linear-linear", "linear, Hebbian"),
    (HEBBIAN.name, "exponential-exponential-neuron", "exponential, Hebbian"),
    (SGD.name, "linear-linear", "linear, SGD"),
)


def headline(drawing: Drawing) -> Drawn:
    """Accuracy after each task of the sequence: on all tasks so far, and on the first task."""
    tables = drawing.tables
    datasets = tables.datasets
    figure, axes = panels(2, len(datasets), 3.0, sharey=True, sharex=True)
    rows, findings = [], []
    gaps: list[str] = []
    for column, dataset in enumerate(datasets):
        ends = []
        for learner, configuration, label in HEADLINE:
            lambda_ = best_lambda(drawing, learner, dataset, configuration, gaps)
            who = {"learner": learner, "dataset": dataset, "configuration": configuration}
            cell = only(tables.matrix, **who)
            cell = cell[(cell["after"] >= 1) & (cell["task"] <= cell["after"])]
            if LEARNERS[learner].inhibits:
                cell = only(cell, lambda_=lambda_) if lambda_ is not None else cell.iloc[:0]
            so_far = cell.groupby(["after", "seed"])["accuracy"].mean().reset_index()
            parts = {"all tasks so far": so_far, "the first task": only(cell, task=1)}
            for axis, (of, part) in zip(axes[:, column], parts.items(), strict=True):
                data = over_seeds(part, ["after"], "accuracy").sort_values("after")
                look = drawing.look(configuration, learner)
                line(axis, drawing, data, "after", **look, clip_on=False, zorder=3)
                rows.append(data.assign(**who, **{"lambda": lambda_}, of=of))
            if so_far["accuracy"].isna().all():
                gaps.append(f"{dataset}, {label}: no result")
            else:
                ends.append(f"{label} {percent(float(rows[-2]['mean'].iloc[-1]))}")
        for axis, of in zip(axes[:, column], ("all tasks so far", "the first task"), strict=True):
            accuracy_axis(axis, f"accuracy on {of}")
        axes[0, column].set_title(dataset)
        tasks = int(tables.matrix["after"].max()) if len(tables.matrix) else 1
        axes[1, column].set_xticks(np.arange(1, tasks + 1))
        axes[1, column].set_xlabel("tasks learned")
        findings.append(f"{dataset}: {', '.join(ends) or 'no result'}")
    handles = [
        Line2D([], [], label=label, **drawing.look(configuration, learner))
        for learner, configuration, label in HEADLINE
    ]
    legend_below(figure, handles, ncols=4)
    data = pd.concat(rows) if rows else pd.DataFrame()
    finding = f"Accuracy on all tasks after the last of them. {'. '.join(findings)}."
    return Drawn(figure, data, finding, gaps)
