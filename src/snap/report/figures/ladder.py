"""Ladders between the readings: accuracy as one detail after the other is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.lines import Line2D

from snap.learners import HEBBIAN, SGD
from snap.protocol import LADDER, REFERENCE
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    left_out,
    legend_below,
    legend_handles,
    line,
    named,
    panels,
    subject,
    without,
)
from snap.report.frames import Frame, only, over_seeds

FLAT = 4  # labels that fit beside each other
STAGES = {"iid": "i.i.d.", "sequential": "in sequence"}
COLUMNS = ["step", "mean", "low", "high", "seeds", "dataset", "stage", "configuration"]


def ladder(drawing: Drawing) -> Drawn:
    """Accuracy as the switches are turned one after the other, from `text` to `code`."""
    last = next(n for n, (_, protocol) in enumerate(LADDER) if protocol == REFERENCE)
    labels = ["text"]
    for n, (switch, protocol) in enumerate(LADDER[1:], start=1):
        # Some switches are turned twice; the second time the label has the value.
        value = f": {getattr(protocol, switch)}" if n > last else ""
        labels.append(f"+ {switch.replace('_', ' ')}{value}")
    drawn = _rungs(drawing, HEBBIAN.name, labels)
    for axis in drawn.figure.axes:  # where `reference` ends and the details of `code` begin
        axis.axvline(last + 0.5, color=drawing.color("muted"), linestyle=":", linewidth=1)
    return drawn


def ladder_sgd(drawing: Drawing) -> Drawn:
    """SGD: the rate that was run, then the initial weights of the public code."""
    labels = ["reference, α searched", "+ α as run", "+ initial weights"]
    return _rungs(drawing, SGD.name, labels, drawing.paper.get("sgd_iid", {}))


def _rungs(
    drawing: Drawing, learner: str, labels: Sequence[str], printed: Mapping[str, Any] | None = None
) -> Drawn:
    """Both stages of every dataset; stars are accuracies i.i.d. that the paper prints."""
    tables = drawing.tables
    frame = only(tables.ladder, learner=learner)
    datasets = [name for name in tables.datasets if name in set(frame["dataset"])]
    climbed = set(frame["configuration"])
    names = [name for name in tables.configurations(learner) if name in climbed]
    if not names or not datasets:
        if learner not in set(tables.selected["learner"]):
            return left_out(without(tables, learner), COLUMNS)
        lost = only(tables.selected, learner=learner)["status"] == "all diverged"
        if lost.all():
            says = f"Every search of {subject(learner)} diverged, so its ladder has no rate to use."
            return left_out(says, COLUMNS)
        return left_out(f"The ladder of {subject(learner)} was not part of this run.", COLUMNS)
    accuracies = frame[[f"{stage}_accuracy" for stage in STAGES]]
    if accuracies.isna().all(axis=None):
        return left_out(f"Every rung of the ladder of {subject(learner)} diverged.", COLUMNS)
    figure, axes = panels(2, len(datasets), 2.6, sharey=True, sharex=True)
    rows, gaps, starred = [], [], False
    for column, dataset in enumerate(datasets):
        for axis, (stage, says) in zip(axes[:, column], STAGES.items(), strict=True):
            axis.set_title(f"{dataset}, {says}")
            accuracy_axis(axis)
            for name in names:
                part = only(frame, dataset=dataset, configuration=name)
                data = over_seeds(part, ["step"], f"{stage}_accuracy").sort_values("step")
                look = drawing.look(name, learner)
                line(axis, drawing, data, "step", **look)
                lost = data[data["mean"].isna()]["step"]
                if len(lost):
                    axis.plot(lost, [0.03] * len(lost), "x", color=look["color"], markersize=7)
                    steps = ", ".join(f"{step:.0f}" for step in lost)
                    who = f"{dataset}, {says}, {named(name, learner)}"
                    gaps.append(f"{who}: diverged on rung {steps}")
                given = (printed or {}).get(dataset, {}).get(name)
                if given is not None and stage == "iid" and len(data):
                    at = data["step"].max() + 0.12
                    star = {"color": look["color"], "markersize": 11, "zorder": 5}
                    axis.plot(at, float(given), "*", **star)
                    starred = True
                rows.append(data.assign(dataset=dataset, stage=stage, configuration=name))
        axis = axes[-1, column]
        if len(labels) > FLAT:
            axis.set_xticks(range(len(labels)), labels, rotation=40, ha="right", fontsize=8.5)
        else:
            wrapped = [label.replace(", ", ",\n") for label in labels]
            axis.set_xticks(range(len(labels)), wrapped, fontsize=8.5)
    handles = legend_handles(drawing, names, learner)
    soft: dict[str, Any] = {"color": drawing.color("soft"), "linestyle": ""}
    if any("diverged" in sentence for sentence in gaps):
        handles.append(Line2D([], [], marker="x", label="diverged", **soft))
    if starred:
        handles.append(Line2D([], [], marker="*", markersize=11, label="the paper's", **soft))
    legend_below(figure, handles)
    drawn = pd.concat(rows)
    return Drawn(figure, drawn, _ladder_finding(drawn, labels, learner), gaps)


def _ladder_finding(data: Frame, labels: Sequence[str], learner: str) -> str:
    parts = []
    for (dataset, name), group in data.groupby(["dataset", "configuration"], sort=False):
        line = only(group, stage="iid").sort_values("step")["mean"]
        first, last = (
            ("diverged" if pd.isna(v) else f"{v:.0%}") for v in (line.iloc[0], line.iloc[-1])
        )
        parts.append(
            f"{dataset}, {named(str(name), learner)}: i.i.d. {first} ({labels[0]}),"
            f" {last} on the last rung"
        )
    return "; ".join(parts) + "."
