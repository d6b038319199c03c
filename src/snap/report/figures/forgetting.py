"""Forgetting, and losing to newer classes: one measure beside two that limit the outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from snap.report.figures.base import (
    WIDTH,
    Drawing,
    Drawn,
    at_best,
    lambda_text,
    left_out,
    legend_below,
    named,
    panels,
    without,
)
from snap.report.frames import Frame, only, over_seeds

MEASURES = {  # the column, its words, its marker and whether that is filled
    "forgetting": ("all classes: what is usually called forgetting", "o", True),
    "forgetting_known": ("the classes known when the task ended", "D", False),
    "forgetting_own": ("the task's own classes", "|", True),
}
WHO = ["learner", "dataset", "configuration", "lambda"]


def forgetting(drawing: Drawing) -> Drawn:
    """Accuracy lost on earlier tasks, with the outputs limited to fewer and fewer classes."""
    tables = drawing.tables
    gaps: list[str] = []
    data = pd.concat(
        [
            _measured(drawing, learner, dataset, name, gaps)
            for dataset in tables.datasets
            for learner, name in tables.families
        ]
        or [pd.DataFrame(columns=[*WHO, "mean"])]
    )
    if data.empty:
        return left_out(without(tables), data.columns)
    found = set(zip(data["learner"], data["configuration"], strict=True))
    families = [family for family in tables.families if family in found]
    datasets = [name for name in tables.datasets if name in set(data["dataset"])]
    height = 1.0 + 0.33 * len(families)
    width = 7.0 if len(datasets) == 1 else WIDTH
    figure, axes = panels(1, len(datasets), height, width=width, sharey=True)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        axis.set_title(dataset)
        for place, (learner, name) in enumerate(families):
            who = {"learner": learner, "dataset": dataset, "configuration": name}
            color = drawing.look(name, learner)["color"]
            part = only(data, **who)
            axis.plot(part["mean"], [place] * len(part), color=color, linewidth=1)
            for _, point in part.iterrows():
                axis.plot([point["low"], point["high"]], [place, place], color=color, linewidth=3)
                axis.plot(point["mean"], place, **_mark(drawing, point["measure"], color))
        axis.set_xlim(-0.03, 1.03)
        axis.set_xlabel("accuracy lost on earlier tasks")
        axis.grid(visible=False, axis="y")
    labels = [named(name, learner) for learner, name in families]
    axes[0, 0].set_yticks(np.arange(len(families)), labels)
    axes[0, 0].set_ylim(len(families) - 0.4, -0.6)
    handles = [
        Line2D([], [], label=words, **_mark(drawing, measure, drawing.color("soft")))
        for measure, (words, _, _) in MEASURES.items()
    ]
    legend_below(figure, handles, title="outputs that take part in the argmax")
    return Drawn(figure, data, _finding(data), gaps)


def _mark(drawing: Drawing, measure: str, color: str) -> dict[str, Any]:
    _, marker, filled = MEASURES[measure]
    return {
        "marker": marker,
        "color": color,
        "linestyle": "",
        "markerfacecolor": color if filled else drawing.color("ground"),
        "markersize": 11 if marker == "|" else 7,
        "markeredgewidth": 1.5,
        "zorder": 3,
    }


def _measured(drawing: Drawing, learner: str, dataset: str, name: str, gaps: list[str]) -> Frame:
    """The three measures of a configuration at its best λ in sequence."""
    tables = drawing.tables
    lambda_, rows = at_best(drawing, tables.sequential, learner, dataset, name, gaps)
    parts = [
        over_seeds(rows, WHO, measure).assign(measure=measure)
        for measure in MEASURES
        if measure in rows and rows[measure].notna().any()
    ]
    if parts:
        return pd.concat(parts)
    if len(only(tables.selected, learner=learner, dataset=dataset, configuration=name)):
        says = lambda_text(lambda_)
        end = f" at {says}" if says else ""
        gaps.append(f"{dataset}, {named(name, learner)}: no result{end}")
    return pd.DataFrame(columns=[*WHO, "mean", "low", "high", "seeds", "measure"])


def _finding(data: Frame) -> str:
    parts = []
    for (dataset, learner, name), group in (
        data.groupby(["dataset", "learner", "configuration"], sort=False) if len(data) else ()
    ):
        means = group.set_index("measure")["mean"]
        values = " / ".join(f"{means[m]:.2f}" if m in means else "–" for m in MEASURES)
        parts.append(f"{dataset}, {named(str(name), str(learner))} {values}")
    start = "Accuracy lost with the argmax over all, the known and the task's own classes: "
    return (start + "; ".join(parts) if parts else "no result to show") + "."
