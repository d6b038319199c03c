"""Accuracy against λ: i.i.d., in sequence, and what is left of each task; and the headline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from snap.canonical import number_text
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    gap,
    lambda_text,
    legend_handles,
    named,
    panels,
    percent,
)
from snap.report.frames import Frame, only, over_seeds

BY = ["dataset", "configuration", "lambda"]


def _against_lambda(
    axis: Axes, drawing: Drawing, frame: Frame, value: str, dataset: str
) -> tuple[Frame, list[str]]:
    """A line per configuration, a band over seeds, and a cross where there is no result."""
    lambdas, gaps = drawing.tables.lambdas, []
    found = over_seeds(only(frame, dataset=dataset, learner="hebbian"), BY, value)
    rows = []
    for configuration in drawing.tables.configurations("hebbian"):
        line = only(found, configuration=configuration).set_index("lambda")
        line = line.reindex(pd.Index(lambdas, name="lambda")).reset_index()
        line["dataset"], line["configuration"] = dataset, configuration
        rows.append(line)
        look = drawing.look(configuration)
        axis.plot(line["lambda"], line["mean"], **look)
        axis.fill_between(
            line["lambda"],
            line["low"],
            line["high"],
            color=look["color"],
            alpha=drawing.style["band"],
            linewidth=0,
        )
        missing = [number_text(float(at)) for at in line[line["mean"].isna()]["lambda"]]
        if missing:
            gaps.append(
                f"{dataset}, {named(configuration)}: no result at λ = {', '.join(missing)}"
            )
            at = line[line["mean"].isna()]["lambda"]
            axis.plot(at, [0.02] * len(at), "x", color=look["color"], clip_on=False)
    axis.set_xscale("log", base=2)
    axis.set_xticks(lambdas, [number_text(float(at)) for at in lambdas])
    axis.minorticks_off()
    axis.set_xlabel("lateral inhibition λ")
    data = pd.concat(rows) if rows else found
    return data[[*BY, "mean", "low", "high", "seeds"]], gaps


def _best(data: Frame) -> str:
    """The best configuration of each hidden growth, in words."""
    parts = []
    for growth in ("sigmoid", "linear", "exponential"):
        rows = data[data["configuration"].str.startswith(f"{growth}-")].dropna(subset=["mean"])
        if len(rows):
            top = rows.loc[rows["mean"].idxmax()]
            parts.append(
                f"{growth} hidden growth {percent(top['mean'])} ({lambda_text(top['lambda'])})"
            )
    return ", ".join(parts) if parts else "no result"


def _both_datasets(drawing: Drawing, frame: Frame, value: str, what: str) -> Drawn:
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
    _legend(figure, drawing)
    return Drawn(figure, pd.concat(parts), f"{what}. {'. '.join(findings)}.", gaps)


def _legend(figure: Any, drawing: Drawing) -> None:
    handles = legend_handles(drawing, drawing.tables.configurations("hebbian"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, title="hidden-output, focus")


def iid(drawing: Drawing) -> Drawn:
    return _both_datasets(
        drawing, drawing.tables.iid, "accuracy", "Test accuracy on i.i.d. data against λ"
    )


def sequential(drawing: Drawing) -> Drawn:
    return _both_datasets(
        drawing,
        drawing.tables.sequential,
        "accuracy",
        "Test accuracy over all classes after the last task against λ",
    )


def retention(drawing: Drawing) -> Drawn:
    """After the last task, the accuracy on the classes of each."""
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
    handles = legend_handles(drawing, drawing.tables.configurations("hebbian"))
    places[-1].legend(handles=handles, loc="center", title="hidden-output, focus")
    if not tasks:
        gap(places[0], drawing.style, "no sequential result")
        return Drawn(figure, last, "No sequential result to show.", ["no sequential result"])
    first = parts[0]
    finding = f"Accuracy on the first task's classes at the end of the sequence: {_best(first)}."
    return Drawn(figure, pd.concat(parts), finding, gaps)


HEADLINE = (
    ("hebbian", "sigmoid-sigmoid-neuron", "SNAP: sigmoidal, Hebbian"),
    ("hebbian", "linear-linear", "linear, Hebbian"),
    ("hebbian", "exponential-exponential-neuron", "exponential, Hebbian"),
    ("sgd", "linear-linear", "linear, SGD"),
)


def headline(drawing: Drawing) -> Drawn:
    """Accuracy on the first task's classes after each task of the sequence."""
    tables = drawing.tables
    datasets = tables.datasets
    figure, axes = panels(1, len(datasets), 3.9, sharey=True)
    rows, gaps, findings = [], [], []
    for axis, dataset in zip(axes[0], datasets, strict=True):
        ends = []
        for learner, configuration, label in HEADLINE:
            power = tables.best_lambda(learner, dataset, configuration)
            who = {"learner": learner, "dataset": dataset, "configuration": configuration}
            cell = only(tables.matrix, **who, task=1)
            cell = cell[cell["after"] >= 1]
            if learner == "hebbian":
                cell = only(cell, lambda_=power) if power is not None else cell.iloc[:0]
            line = over_seeds(cell, ["after"], "accuracy").sort_values("after")
            if line["mean"].isna().all():
                gaps.append(f"{dataset}, {label}: no result")
                continue
            look = drawing.look(configuration, learner)
            axis.plot(line["after"], line["mean"], **look, clip_on=False, zorder=3)
            axis.fill_between(
                line["after"],
                line["low"],
                line["high"],
                color=look["color"],
                alpha=drawing.style["band"],
                linewidth=0,
            )
            last = float(line["mean"].iloc[-1])
            ends.append(f"{label} {percent(last)}")
            rows.append(line.assign(**who, power=power))
        axis.set_title(dataset)
        accuracy_axis(axis, "accuracy on the first task's classes")
        tasks = int(tables.matrix["after"].max()) if len(tables.matrix) else 1
        axis.set_xticks(np.arange(1, tasks + 1))
        axis.set_xlabel("tasks learned")
        findings.append(f"{dataset}, after the last task: {', '.join(ends) or 'no result'}")
    handles = [
        Line2D([], [], label=label, **drawing.look(configuration, learner))  # type: ignore[arg-type]
        for learner, configuration, label in HEADLINE
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    data = pd.concat(rows) if rows else pd.DataFrame()
    data = data.rename(columns={"power": "lambda"})
    finding = f"Accuracy on the first task's classes as later tasks are learned. {'. '.join(findings)}."
    return Drawn(figure, data, finding, gaps)
