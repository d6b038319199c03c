"""Common parts of all figures: inputs, looks, and the grid of panels."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from snap.errors import SnapError
from snap.learners import HEBBIAN, LEARNERS
from snap.numbers import number_text
from snap.report.figures.saving import Drawn, save
from snap.report.figures.style import Style, dark_colors, looks, read_style, task_pairs
from snap.report.frames import Frame, Tables, lost_lambdas, only

__all__ = ["Drawing", "Drawn", "looks", "read_style", "save"]

WIDTH = 10.0  # inches at most; on the page, the type in figures is then about as large as the text
WIDTHS = {1: 5.6, 2: 8.4}  # by the number of columns
LETTER = 0.07  # the width of a letter in a legend, in inches


@dataclass(frozen=True)
class Drawing:
    """The inputs of a figure."""

    tables: Tables
    style: Style
    paper: Mapping[str, Any]
    dataset: str | None = None
    weights: Mapping[str, Path] = field(default_factory=dict)  # hidden weights, by dataset
    narrow: bool = False  # whether the figure is for a phone; only the headline is drawn for it

    @property
    def one(self) -> str:
        """The dataset of a figure; an error if it has none."""
        if self.dataset is None:
            raise SnapError("this figure shows a single dataset: add its name, as in curves-MNIST")
        return self.dataset

    @cached_property
    def dark(self) -> dict[str, str]:
        """The colour on dark ground of every colour that is drawn."""
        return dark_colors(self.style)

    def color(self, role: str) -> str:
        return str(self.style[role][0])

    def look(self, configuration: str, learner: str = HEBBIAN.name) -> dict[str, Any]:
        """The colour and marker of a growth, in the line and fill of a focus and learner."""
        pair, focus = split_focus(configuration)
        own = self.style["learners"].get(learner, {})
        growth = own.get("growths", {}).get(pair) or self.growth_look(pair)
        chosen = own.get("focus", self.style["focus"])[focus]
        look = {"color": growth["color"][0], "marker": growth["marker"]}
        return look | {"linestyle": chosen["line"]} | self._fill(chosen["marker"])

    def _fill(self, marker: str) -> dict[str, Any]:
        ground = self.color("ground")
        if marker == "half":
            return {"fillstyle": "bottom", "markerfacecoloralt": ground}
        return {"markerfacecolor": ground} if marker == "hollow" else {}

    def growth_look(self, pair: str) -> Mapping[str, Any]:
        """The look of a growth type; one without its own takes the next of the others."""
        known: Mapping[str, Mapping[str, Any]] = self.style["growths"]
        if pair in known:
            return known[pair]
        pairs = [split_focus(name)[0] for _, name in self.tables.families]
        new = [name for name in dict.fromkeys(pairs) if name not in known]
        cycle = self.style["others"]
        place = new.index(pair) if pair in new else len(new)
        # After one round the colours return with the markers of others.
        marker = cycle[(place + place // len(cycle)) % len(cycle)]["marker"]
        return {"color": cycle[place % len(cycle)]["color"], "marker": marker}

    def task_colors(self, count: int) -> list[str]:
        """A colour per task."""
        pairs = task_pairs(self.style, count)
        self.dark.update(pairs)
        return [light for light, _ in pairs]


def split_focus(configuration: str) -> tuple[str, str]:
    """Split sigmoid-linear-synapse into sigmoid-linear and synapse."""
    growth, _, focus = configuration.rpartition("-")
    return (growth, focus) if focus in ("neuron", "synapse") else (configuration, "neuron")


def named(configuration: str, learner: str = HEBBIAN.name) -> str:
    """A configuration in words, after its learner if that is not Hebbian."""
    growth, focus = split_focus(configuration)
    words = growth if growth == "linear-linear" else f"{growth}, {focus}"
    return LEARNERS[learner].prefix + words


def heading(configuration: str, learner: str, lambda_: float | None = None) -> str:
    """A configuration and its λ in two lines, as the title of a narrow panel."""
    first, _, second = named(configuration, learner).partition(", ")
    return f"{first}\n{' · '.join(filter(None, (second, lambda_text(lambda_)))) or ' '}"


def panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure with a grid of axes; `height` inches per row. It takes no part in pyplot."""
    width = options.pop("width", None) or WIDTHS.get(columns, WIDTH)
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def multiples(
    count: int, height: float, most: int = 3, **options: Any
) -> tuple[Figure, list[Axes], Axes | None]:
    """A figure of panels in rows of at most `most`, and a free place for the legend if any."""
    columns = min(count, most)
    figure, grid = panels(-(-count // columns), columns, height, **options)
    places = list(grid.flat)
    for axis in places[count:]:
        axis.set_axis_off()
    # Below a panel without a neighbour there is room for the tick labels that sharing hides.
    for axis in places[max(count - columns, 0) : count]:
        axis.tick_params(labelbottom=True)
    return figure, places[:count], places[-1] if len(places) > count else None


def label_below(axes: Sequence[Axes], label: str, columns: int) -> None:
    """Label the x axis of the lowest panel in every column."""
    for axis in axes[max(len(axes) - columns, 0) :]:
        axis.set_xlabel(label)


def accuracy_axis(axis: Axes, label: str = "test accuracy") -> None:
    axis.set_ylim(0, 1)
    axis.set_yticks(np.arange(0, 1.01, 0.2))
    place = axis.get_subplotspec()
    if place is None or place.is_first_col():
        axis.set_ylabel(label)


def lambda_axis(axis: Axes, lambdas: Sequence[float], label: bool = True) -> None:
    """A logarithmic axis of λ that names every value, or every other where they are many."""
    axis.set_xscale("log", base=2)
    every = 1 if len(lambdas) <= 8 else -(-len(lambdas) // 8)
    axis.set_xticks(lambdas[::every], [number_text(float(at)) for at in lambdas[::every]])
    axis.minorticks_off()
    axis.tick_params(axis="x", labelsize=8.5)
    if label:
        axis.set_xlabel("lateral inhibition λ")


def line(axis: Axes, drawing: Drawing, data: Frame, x: str, **look: Any) -> None:
    """Draw a line of means, and a band from the lowest to the highest seed."""
    axis.plot(data[x], data["mean"], **look)
    if (data["high"] > data["low"]).any():
        band = {"color": look["color"], "alpha": drawing.style["band"], "linewidth": 0}
        axis.fill_between(data[x], data["low"], data["high"], **band)


def color_bar(
    figure: Figure, drawing: Drawing, norm: Normalize, axes: Sequence[Axes], **options: Any
) -> None:
    colors = ScalarMappable(norm, matplotlib.colormaps[drawing.style["heat"]])
    bar = figure.colorbar(colors, ax=axes, aspect=30, **options)
    if bar.solids is not None:
        bar.solids.set_rasterized(True)  # one image instead of 256 paths


def legend_below(
    figure: Figure, handles: Sequence[Line2D], title: str | None = None, below: str = ""
) -> None:
    """Draw one legend for all panels below them, in as many columns as fit, and make room for it.

    It is read along the rows, like text; the text `below` is wrapped under it.
    """
    width, height = figure.get_size_inches()
    labels = [len(str(handle.get_label())) for handle in handles]
    columns = 1
    for count in range(2, min(len(labels), 4) + 1):
        longest = [max(labels[column::count]) for column in range(count)]
        if sum(0.6 + LETTER * letters for letters in longest) < width:
            columns = count
    rows = -(-len(handles) // columns)
    lines = textwrap.wrap(below, int(width / (0.9 * LETTER)), break_on_hyphens=False)
    under = 0.17 * len(lines)
    room = 0.21 * rows + 0.15 + 0.2 * (title is not None) + under
    height += room
    figure.set_size_inches(width, height)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, room / height, 1, 1 - room / height))
    ordered = [handle for column in range(columns) for handle in handles[column::columns]]
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, under / height)}
    figure.legend(handles=ordered, ncols=columns, title=title, **place)
    if lines:
        figure.text(0.5, 0, "\n".join(lines), fontsize=8.5, ha="center", va="bottom")


def task_axis(axis: Axes, drawing: Drawing, tasks: int) -> None:
    """Set up an x axis with one unit per task, and mark the boundaries between tasks."""
    for boundary in range(1, tasks):
        axis.axvline(boundary, color=drawing.color("muted"), linestyle=":", linewidth=1, zorder=1)
    axis.set_xlim(0, max(tasks, 1))
    axis.set_xticks(np.arange(tasks) + 0.5, [str(n) for n in range(1, tasks + 1)])
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False, axis="x")


def legend_handles(
    drawing: Drawing, configurations: Sequence[str], learner: str = HEBBIAN.name
) -> list[Line2D]:
    return [
        Line2D([], [], label=named(name, learner), **drawing.look(name, learner))
        for name in configurations
    ]


def lambda_text(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"λ = {number_text(float(value))}"


def best_lambda(
    drawing: Drawing, learner: str, dataset: str, configuration: str, gaps: list[str]
) -> float | None:
    """The best λ in sequence; adds a line to `gaps` if some λ has no result to compare."""
    lambda_ = drawing.tables.best_lambda(learner, dataset, configuration)
    lost = lost_lambdas(drawing.tables, learner, dataset, configuration)
    if lambda_ is not None and lost:
        lambdas = ", ".join(number_text(float(value)) for value in lost)
        who = f"{dataset}, {named(configuration, learner)}"
        gaps.append(f"{who}: no result at λ = {lambdas}; the best of the others is shown")
    return lambda_


def at_best(
    drawing: Drawing, frame: Frame, learner: str, dataset: str, name: str, gaps: list[str]
) -> tuple[float | None, Frame]:
    """The best λ in sequence of a configuration, and its rows of a table there."""
    lambda_ = best_lambda(drawing, learner, dataset, name, gaps)
    cell = only(frame, learner=learner, dataset=dataset, configuration=name)
    if LEARNERS[learner].inhibits:
        cell = only(cell, lambda_=lambda_) if lambda_ is not None else cell.iloc[:0]
    return lambda_, cell


def left_out(sentence: str, columns: Sequence[str] = ("configuration",)) -> Drawn:
    """A figure that says only why there is nothing to draw; the page leaves it out."""
    figure = Figure(figsize=(0.35 + 0.085 * len(sentence), 0.4))
    FigureCanvasAgg(figure)
    figure.text(0.5, 0.5, sentence, ha="center", va="center")
    return Drawn(figure, pd.DataFrame(columns=list(columns)), sentence, left_out=sentence)


def subject(learner: str) -> str:
    """A learner as the subject of a sentence."""
    return "Hebbian learning" if learner == HEBBIAN.name else LEARNERS[learner].label


def without(tables: Tables, learner: str | None = None, dataset: str | None = None) -> str:
    """Why a learner, or the whole run, has no result: a sentence."""
    rows = tables.selected if learner is None else only(tables.selected, learner=learner)
    label = "" if learner is None else f"{LEARNERS[learner].label} "
    if learner is not None and rows.empty:
        return f"{subject(learner)} was not part of this run."
    where = "" if dataset is None else f" on {dataset}"
    if dataset is not None:
        rows = only(rows, dataset=dataset)
    return f"Every {label}run{where} diverged." if len(rows) else f"No {label}run{where}."


def percent(value: float) -> str:
    return f"{value:.0%}"
