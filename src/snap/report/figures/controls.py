"""What the methods reach and what they forget: SNAP among its controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from snap.learners import HEBBIAN, SGD
from snap.report.control_frames import (
    ALL_DIVERGED,
    CLASS_MEANS,
    JOINT,
    LINEAR,
    METHOD,
    NO_CONTROLS,
    PLAIN,
    SEQUENCE,
    SNAP,
    SUMMARY,
    lost,
    summary,
)
from snap.report.figures.base import (
    Drawing,
    Drawn,
    accuracy_axis,
    left_out,
    legend_below,
    panels,
)
from snap.report.frames import Frame, only

WIDTH = 9.5
LINE = 0.17  # inches between two labels
# What a method keeps: its colour by its place in `others` of the style, and its marker.
KEPT: dict[str, tuple[int | None, str]] = {
    "nothing": (None, "o"),
    "the mean of each class": (0, "s"),
    "how important each weight is": (3, "^"),
    "samples": (2, "D"),
}
WAYS = (
    "filled: chosen by accuracy on i.i.d. data, as in the paper; hollow: by accuracy after the"
    " sequence, on held-out samples; dotted: all classes at once"
)
MARKED = {  # the methods of the paper that are marked
    (PLAIN, HEBBIAN.name, SNAP),
    (PLAIN, SGD.name, LINEAR),
}


@dataclass(frozen=True)
class Entry:
    """A method on a dataset: a row for each way of choosing."""

    rows: Frame

    @property
    def first(self) -> Any:
        return self.rows.iloc[0]

    @property
    def best(self) -> Any:
        return self.rows.loc[self.rows["accuracy"].idxmax()]

    @property
    def marked(self) -> bool:
        return (self.first.control, self.first.learner, self.first.configuration) in MARKED

    @property
    def kept(self) -> str:
        nothing, means, importance, samples = KEPT
        other = {CLASS_MEANS: means, "replay": samples, "ewc": importance, "si": importance}
        return other.get(self.first.control, nothing)


def controls(drawing: Drawing) -> Drawn:
    """A panel for each dataset, a point for every method and way of choosing it."""
    data = summary(drawing.tables)
    missing = lost(drawing.tables)
    if data.empty:
        return left_out(ALL_DIVERGED if missing else NO_CONTROLS, SUMMARY)
    datasets = [name for name in drawing.tables.datasets if name in set(data["dataset"])]
    entries = {dataset: _entries(only(data, dataset=dataset)) for dataset in datasets}
    height = max(3.6, 0.9 + LINE * max(map(len, entries.values())))
    figure, axes = panels(len(datasets), 1, height, width=WIDTH)
    for axis, dataset in zip(axes[:, 0], datasets, strict=True):
        axis.set_title(dataset)
        accuracy_axis(axis, "accuracy over all classes")
        axis.set_xlabel("forgetting: the less, the further to the right")
        lowest = min(0.0, data["forgetting_low"].min())
        axis.set_xlim(1.04, lowest - 0.04)
        axis.set_xticks(np.arange(0, 1.01, 0.25))
        for entry in entries[dataset]:
            _draw(axis, drawing, entry)
        _label(axis, drawing, entries[dataset], LINE / (height - 0.7))
    kept = {entry.kept for own in entries.values() for entry in own}
    legend_below(
        figure, _legend(drawing, kept), title="what is kept besides the weights", below=WAYS
    )
    gaps = [f"{dataset}, {name}: diverged" for dataset in missing for name in missing[dataset]]
    gaps += [
        f"{row.dataset}, {row.label}: {row.diverged} of {row.seeds + row.diverged} seeds diverged"
        for row in data[data["diverged"] > 0].itertuples()
    ]
    return Drawn(figure, data, _finding(entries), gaps)


def _entries(rows: Frame) -> list[Entry]:
    groups = rows.groupby(METHOD, dropna=False, sort=False)
    return [Entry(group) for _, group in groups]


def _color(drawing: Drawing, entry: Entry) -> str:
    if entry.first.control == PLAIN:
        color: str = drawing.look(entry.first.configuration, entry.first.learner)["color"]
        return color
    return _kept_color(drawing, entry.kept)


def _kept_color(drawing: Drawing, kept: str) -> str:
    place = KEPT[kept][0]
    if place is None:
        return drawing.color("soft")
    cycle = drawing.style["others"]
    return str(cycle[place % len(cycle)]["color"][0])


def _draw(axis: Axes, drawing: Drawing, entry: Entry) -> None:
    color = _color(drawing, entry)
    if entry.first.control == JOINT:
        axis.axhline(entry.first.accuracy, color=color, linestyle=":", linewidth=1, zorder=1)
        return
    axis.plot(entry.rows["forgetting"], entry.rows["accuracy"], color=color, linewidth=0.8)
    for row in entry.rows.itertuples():
        across, up = [row.forgetting_low, row.forgetting_high], [row.accuracy] * 2
        axis.plot(across, up, color=color, linewidth=1.2)
        across, up = [row.forgetting] * 2, [row.accuracy_low, row.accuracy_high]
        axis.plot(across, up, color=color, linewidth=1.2)
        hollow = row.chosen == SEQUENCE
        look = _mark(drawing, color, KEPT[entry.kept][1], hollow)
        size = 10 if entry.marked else 6
        axis.plot(
            row.forgetting, row.accuracy, **(look | {"markersize": size, "zorder": 4 - hollow})
        )


def _mark(drawing: Drawing, color: str, marker: str, hollow: bool = False) -> dict[str, Any]:
    inside = drawing.color("ground") if hollow else color
    return {
        "marker": marker,
        "color": color,
        "linestyle": "",
        "markerfacecolor": inside,
        "markeredgewidth": 1.3,
    }


def _label(axis: Axes, drawing: Drawing, entries: Sequence[Entry], step: float) -> None:
    """Label every method at the right, in the order of accuracy, with a line to its point."""
    shown = sorted(entries, key=lambda entry: entry.best.accuracy)
    places = apart([entry.best.accuracy for entry in shown], step)
    edge = axis.get_xlim()[1]
    for entry, place in zip(shown, places, strict=True):
        best, joint = entry.best, entry.first.control == JOINT
        text = f"{best.accuracy:.2f}  {entry.first.label}".replace("0.", ".", 1)
        axis.annotate(
            text,
            xy=(edge if joint else best.forgetting, best.accuracy),
            xytext=(1.04, place),
            textcoords="axes fraction",
            fontsize=8.5,
            fontweight="bold" if entry.marked else "normal",
            color=_color(drawing, entry) if entry.marked else drawing.color("ink"),
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": _color(drawing, entry) if entry.marked else drawing.color("muted"),
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )


def apart(wanted: Sequence[float], step: float) -> list[float]:
    """Places near those that are wanted, in the same order, at least a step apart.

    Neighbours that are too close share the mean of what they want.
    """
    blocks: list[tuple[float, list[float]]] = []  # the start of a block, and what its members want
    for value in wanted:
        block = [value]
        start = value
        while blocks and blocks[-1][0] + step * len(blocks[-1][1]) > start:
            block = blocks.pop()[1] + block
            start = float(np.mean([want - step * n for n, want in enumerate(block)]))
        blocks.append((start, block))
    places = [start + step * n for start, block in blocks for n in range(len(block))]
    # None is below 0 or above 1, if they fit there.
    lowest = [max(place, step * n) for n, place in enumerate(places)]
    last = len(places) - 1
    return [min(place, 1 - step * (last - n)) for n, place in enumerate(lowest)]


def _legend(drawing: Drawing, kept: set[str]) -> list[Line2D]:
    return [
        Line2D([], [], label=words, **_mark(drawing, _kept_color(drawing, words), marker))
        for words, (_, marker) in KEPT.items()
        if words in kept
    ]


def _finding(entries: dict[str, list[Entry]]) -> str:
    """Every method in words, the most accurate first."""
    sentences = []
    for dataset, own in entries.items():
        parts = []
        for entry in sorted(own, key=lambda entry: -entry.best.accuracy):
            best = entry.best
            lost = "" if best.forgetting != best.forgetting else f", forgets {best.forgetting:.2f}"
            parts.append(f"{best.label} {best.accuracy:.2f}{lost}")
        sentences.append(f"{dataset}: {'; '.join(parts)}")
    return f"Accuracy over all classes, and forgetting. {'. '.join(sentences)}."
