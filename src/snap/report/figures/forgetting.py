"""Forgetting, and losing to newer classes: one measure beside two that limit the outputs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from snap.learners import LEARNERS
from snap.report.figures.base import Drawing, Drawn, best_lambda, lambda_text, named, panels
from snap.report.frames import Frame, only, over_seeds

MEASURES = {  # the column, its words, its marker and whether that is filled
    "forgetting": ("all classes: what is usually called forgetting", "o", True),
    "forgetting_known": ("the classes known when the task ended", "D", False),
    "forgetting_own": ("the task's own two classes", "|", True),
}


def forgetting(drawing: Drawing) -> Drawn:
    """Accuracy lost on earlier tasks, with the outputs limited to fewer and fewer classes."""
    tables = drawing.tables
    families = [(learner, name) for learner in LEARNERS for name in tables.configurations(learner)]
    datasets = tables.datasets
    height = 1.3 + 0.33 * max(len(families), 1)
    figure, axes = panels(1, max(len(datasets), 1), height, sharey=True)
    rows: list[Frame] = []
    gaps: list[str] = []
    for axis, dataset in zip(axes[0], datasets, strict=True):
        axis.set_title(dataset)
        for place, (learner, name) in enumerate(families):
            data = _measured(drawing, learner, dataset, name, gaps)
            rows.append(data)
            color = drawing.look(name)["color"]
            if data.empty:
                continue
            axis.plot(data["mean"], [place] * len(data), color=color, linewidth=1, alpha=0.5)
            for _, point in data.iterrows():
                _, marker, filled = MEASURES[point["measure"]]
                axis.plot([point["low"], point["high"]], [place, place], color=color, linewidth=3)
                face = color if filled else "white"
                size = 11 if marker == "|" else 7
                look = {"markerfacecolor": face, "markeredgewidth": 1.5}
                axis.plot(point["mean"], place, marker, color=color, markersize=size, **look)
        axis.set_xlim(-0.03, 1.03)
        axis.set_xlabel("accuracy lost on earlier tasks, mean over tasks")
        axis.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(
        np.arange(len(families)),
        [f"{LEARNERS[learner].prefix}{named(name)}" for learner, name in families],
    )
    axes[0, 0].set_ylim(len(families) - 0.4, -0.6)
    handles = [
        Line2D(
            [],
            [],
            marker=marker,
            color="#444444",
            linestyle="",
            markerfacecolor="#444444" if filled else "white",
            markersize=11 if marker == "|" else 7,
            markeredgewidth=1.5,
            label=words,
        )
        for words, marker, filled in MEASURES.values()
    ]
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.01),
        ncols=3,
        title="outputs that take part in the argmax",
    )
    drawn = pd.concat(rows) if rows else pd.DataFrame(columns=["configuration", "mean"])
    return Drawn(figure, drawn, _finding(drawn), gaps)


def _measured(drawing: Drawing, learner: str, dataset: str, name: str, gaps: list[str]) -> Frame:
    """The three measures of a configuration at its best λ in sequence."""
    lambda_ = best_lambda(drawing, learner, dataset, name, gaps)
    family = only(drawing.tables.sequential, learner=learner, dataset=dataset, configuration=name)
    rows = only(family, lambda_=lambda_) if LEARNERS[learner].inhibits else family
    who = ["learner", "dataset", "configuration", "lambda"]
    parts = [
        over_seeds(rows, who, measure).assign(measure=measure)
        for measure in MEASURES
        if measure in rows and rows[measure].notna().any()
    ]
    if not parts:
        says = lambda_text(lambda_)
        gaps.append(f"{dataset}, {named(name)}: no result" + (f" at {says}" if says else ""))
        return pd.DataFrame(columns=[*who, "mean", "low", "high", "seeds", "measure"])
    return pd.concat(parts)


def _finding(data: Frame) -> str:
    parts = []
    for (dataset, learner, name), group in (
        data.groupby(["dataset", "learner", "configuration"], sort=False) if len(data) else ()
    ):
        means = group.set_index("measure")["mean"]
        values = " / ".join(f"{means[m]:.2f}" if m in means else "–" for m in MEASURES)
        parts.append(f"{dataset}, {LEARNERS[str(learner)].prefix}{named(str(name))} {values}")
    start = "Accuracy lost with the argmax over all, the known and the task's own classes: "
    return (start + "; ".join(parts) if parts else "no result to show") + "."
