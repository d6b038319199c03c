"""Common parts of all figures: inputs, style, and saving."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from snap.errors import SnapError
from snap.files import write_result
from snap.learners import HEBBIAN
from snap.numbers import number_text
from snap.report.frames import Frame, Tables, lost_lambdas

if TYPE_CHECKING:  # so that a new kind of figure does not change the version of the others
    from snap.report.catalog import Kind

WIDTH = 10.0  # inches; on the page, the type in figures is then about as large as the text


@dataclass
class Drawn:
    """A figure, its data, a sentence on what it shows, and a list of what is missing."""

    figure: Figure
    data: Frame
    finding: str
    gaps: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Drawing:
    """The inputs of a figure."""

    tables: Tables
    style: Mapping[str, Any]
    paper: Mapping[str, Any]
    dataset: str | None = None
    weights: Mapping[str, Path] = field(default_factory=dict)  # hidden weights, by dataset

    @property
    def one(self) -> str:
        """The dataset of a figure; an error if it has none."""
        if self.dataset is None:
            raise SnapError("this figure shows a single dataset: add its name, as in curves-MNIST")
        return self.dataset

    def look(self, configuration: str, learner: str = HEBBIAN.name) -> dict[str, Any]:
        """The colour and marker of a growth, and the line style of a learner or focus."""
        growth, focus = split_focus(configuration)
        chosen = self.style["growths"].get(growth, self.style["other"])
        line = self.style["learners"].get(learner) or self.style["focus"][focus]
        return {"color": chosen["color"], "marker": chosen["marker"], "linestyle": line}

    def task_colors(self, count: int) -> list[Any]:
        """A colour per task, without the light end of the map, which is hard to see on white."""
        return list(plt.get_cmap(self.style["tasks"])(np.linspace(0, 0.8, count)))


def read_style(path: Path) -> Mapping[str, Any]:
    """Read the style of figures; raises SnapError if the file is invalid."""
    try:
        style: Mapping[str, Any] = yaml.safe_load(path.read_text())
        with plt.rc_context(style["rc"]):
            for name in ("tasks", "heat"):
                plt.get_cmap(style[name])
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise SnapError(f"{path} cannot be used as a style: {error}") from None
    return style


@contextmanager
def looks(style: Mapping[str, Any]) -> Iterator[None]:
    with plt.rc_context(dict(style["rc"])):
        yield


def split_focus(configuration: str) -> tuple[str, str]:
    """Split sigmoid-linear-synapse into sigmoid-linear and synapse."""
    growth, _, focus = configuration.rpartition("-")
    return (growth, focus) if focus in ("neuron", "synapse") else (configuration, "neuron")


def named(configuration: str) -> str:
    """A configuration in words."""
    growth, focus = split_focus(configuration)
    return growth if growth == "linear-linear" else f"{growth}, {focus}"


def panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure with a grid of axes; `height` inches per row."""
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(options.pop("width", WIDTH), height * rows),
        squeeze=False,
        layout="constrained",
        **options,
    )
    return figure, axes


def accuracy_axis(axis: Axes, label: str = "test accuracy") -> None:
    axis.set_ylim(0, 1)
    axis.set_yticks(np.arange(0, 1.01, 0.2))
    place = axis.get_subplotspec()
    if place is None or place.is_first_col():
        axis.set_ylabel(label)


def line(axis: Axes, drawing: Drawing, data: Frame, x: str, **look: Any) -> None:
    """Draw a line of means, and a band from the lowest to the highest seed."""
    axis.plot(data[x], data["mean"], **look)
    band = {"color": look["color"], "alpha": drawing.style["band"], "linewidth": 0}
    axis.fill_between(data[x], data["low"], data["high"], **band)


def legend_below(figure: Figure, handles: Sequence[Line2D], **options: Any) -> None:
    """Draw one legend for all panels, below them, where it covers nothing."""
    figure.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.01), **options)


def task_axis(axis: Axes, tasks: int) -> None:
    """Set up an x axis with one unit per task, and mark the boundaries between tasks."""
    for boundary in range(1, tasks):
        axis.axvline(boundary, color="#888888", linestyle=":", linewidth=1, zorder=1)
    axis.set_xlim(0, max(tasks, 1))
    axis.set_xticks(np.arange(tasks) + 0.5, [str(n) for n in range(1, tasks + 1)])
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False, axis="x")
    axis.set_xlabel("task being learned")


def gap(axis: Axes, style: Mapping[str, Any], text: str) -> None:
    """Write into an empty panel why it is empty."""
    axis.text(
        0.5,
        0.5,
        text,
        transform=axis.transAxes,
        ha="center",
        va="center",
        color=style["gap"],
        wrap=True,
    )


def legend_handles(drawing: Drawing, configurations: Sequence[str]) -> list[Line2D]:
    return [Line2D([], [], label=named(name), **drawing.look(name)) for name in configurations]


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
        who = f"{dataset}, {named(configuration)}"
        gaps.append(f"{who}: no result at λ = {lambdas}; the best of the others is shown")
    return lambda_


def percent(value: float) -> str:
    return f"{value:.0%}"


def save(drawn: Drawn, kind: Kind, name: str, drawing: Drawing, caption: str, folder: Path) -> None:
    """Write the figure as PNG and PDF, its data as CSV, and its description as JSON."""
    run = drawing.tables.run
    drawn.figure.draw_without_rendering()
    drawn.figure.set_layout_engine("none")  # do not lay it out again for every file
    if "(reduced:" in run:
        _note(drawn.figure, run)
    about = {
        "name": name,
        "kind": kind.name,
        "title": kind.title.format(dataset=drawing.dataset),
        "section": kind.section,
        "dataset": drawing.dataset,
        "caption": caption,
        "alt": drawn.finding,
        "paper": kind.paper_label(drawing.dataset),
        "sources": list(kind.tables) if kind.from_results else [],
        "gaps": drawn.gaps,
        "made_from": {table: drawing.tables.checksum(table) for table in kind.tables},
    }
    for suffix in ("pdf", "png"):
        buffer = io.BytesIO()
        # Without dates, the same results give the same files.
        metadata = {"pdf": {"CreationDate": None}, "png": {"Software": None}}[suffix]
        drawn.figure.savefig(buffer, format=suffix, metadata=metadata, bbox_inches="tight")
        content = smaller(buffer.getvalue()) if suffix == "png" else buffer.getvalue()
        write_result(folder / f"{name}.{suffix}", content)
    plt.close(drawn.figure)
    table = drawn.data.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    write_result(folder / f"{name}.csv", table.encode())
    write_result(folder / f"{name}.json", json.dumps(about, indent=1).encode())


def _note(figure: Figure, text: str) -> None:
    """Write a line of text below everything else."""
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    at = {"x": box.x0 / width, "y": box.y0 / height - 0.12 / height}
    figure.text(s=text, parse_math=False, fontsize=7.5, color="#666666", ha="left", va="top", **at)


def smaller(png: bytes) -> bytes:
    """Reduce an image to 256 colours: a third of the size, with no visible change in a chart."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    few = image.quantize(256, Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    few.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
