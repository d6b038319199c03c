"""Ladders between the readings: accuracy as one detail after the other is changed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.lines import Line2D

from snap.learners import HEBBIAN, SGD
from snap.protocol import LADDER, REFERENCE
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    gap,
    legend_below,
    legend_handles,
    line,
    named,
    panels,
)
from snap.report.frames import Frame, only, over_seeds

STAGES = {"iid": "i.i.d.", "sequential": "in sequence"}


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
        axis.axvline(last + 0.5, color="#888888", linestyle=":", linewidth=1)
    return drawn


def ladder_sgd(drawing: Drawing) -> Drawn:
    """SGD: the rate that was run, then the initial weights of the public code."""
    labels = ["reference, α searched", "+ α as run", "+ initial weights"]
    drawn = _rungs(drawing, SGD.name, labels)
    printed = drawing.paper.get("sgd_iid", {})
    for axis, dataset in zip(drawn.figure.axes, drawing.tables.datasets, strict=False):
        for name, value in printed.get(dataset, {}).items():
            color = drawing.look(name)["color"]
            axis.plot(2.12, float(value), "*", color=color, markersize=11, zorder=5)
    star = Line2D([], [], marker="*", color="#444444", linestyle="", ms=11, label="the paper's")
    drawn.figure.legends[0].remove()
    names = list(dict.fromkeys(drawn.data["configuration"])) if len(drawn.data) else []
    legend_below(drawn.figure, [*legend_handles(drawing, names), star], ncols=5)
    return drawn


def _rungs(drawing: Drawing, learner: str, labels: Sequence[str]) -> Drawn:
    frame, datasets = only(drawing.tables.ladder, learner=learner), drawing.tables.datasets
    figure, axes = panels(2, len(datasets), 2.9, sharey=True, sharex=True)
    names = list(dict.fromkeys(frame["configuration"]))
    rows, gaps = [], []
    for column, dataset in enumerate(datasets):
        for axis, (stage, says) in zip(axes[:, column], STAGES.items(), strict=True):
            axis.set_title(f"{dataset}, {says}", fontsize=10)
            accuracy_axis(axis)
            if only(frame, dataset=dataset).empty:
                gap(axis, drawing.style, "not part of this run")
                gaps.append(f"{dataset}, {says}: not part of this run")
            for name in names:
                part = only(frame, dataset=dataset, configuration=name)
                data = over_seeds(part, ["step"], f"{stage}_accuracy").sort_values("step")
                look = drawing.look(name)
                line(axis, drawing, data, "step", **look)
                lost = data[data["mean"].isna()]["step"]
                axis.plot(lost, [0.03] * len(lost), "x", color=look["color"], markersize=7)
                if len(lost):
                    steps = ", ".join(f"{step:.0f}" for step in lost)
                    gaps.append(f"{dataset}, {says}, {named(name)}: diverged on rung {steps}")
                rows.append(data.assign(dataset=dataset, stage=stage, configuration=name))
        axes[-1, column].set_xticks(range(len(labels)), labels, rotation=40, ha="right", fontsize=8)
    handles = [*legend_handles(drawing, names)]
    handles.append(Line2D([], [], marker="x", color="black", linestyle="", label="diverged"))
    legend_below(figure, handles, ncols=4)
    drawn = pd.concat(rows) if rows else frame.iloc[:0]
    return Drawn(figure, drawn, _ladder_finding(drawn, labels), gaps)


def _ladder_finding(data: Frame, labels: Sequence[str]) -> str:
    parts = []
    for (dataset, name), group in (
        data.groupby(["dataset", "configuration"], sort=False) if len(data) else ()
    ):
        line = only(group, stage="iid").sort_values("step")["mean"]
        first, last = (
            ("diverged" if pd.isna(v) else f"{v:.0%}") for v in (line.iloc[0], line.iloc[-1])
        )
        parts.append(
            f"{dataset}, {named(str(name))}: i.i.d. {first} ({labels[0]}), {last} on the last rung"
        )
    return (("; ".join(parts)) or "no ladder in this run") + "."
