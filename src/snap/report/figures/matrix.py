"""Heat maps: accuracy on the classes of each task after each task."""

from __future__ import annotations

from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from snap.report.figures.base import (
    Drawing,
    Drawn,
    at_best,
    color_bar,
    heading,
    left_out,
    multiples,
    named,
    percent,
    without,
)
from snap.report.figures.style import readable_on
from snap.report.frames import Frame, over_seeds

DATA = ["after", "task", "mean", "low", "high", "seeds", "learner", "configuration"]
COLUMNS = 4  # panels in a row
FIT = 7  # tasks up to which a cell has room for its number


def matrix(drawing: Drawing) -> Drawn:
    """A heat map per configuration, at its best λ in sequence."""
    tables = drawing.tables
    grids: dict[tuple[str, str], tuple[str, Frame]] = {}
    rows, findings = [], []
    gaps: list[str] = []
    for learner, name in tables.families:
        lambda_, cell = at_best(drawing, tables.matrix, learner, drawing.one, name, gaps)
        means = over_seeds(cell[cell["after"] >= 1], ["after", "task"], "accuracy")
        if means["mean"].isna().all():
            gaps.append(f"{named(name, learner)}: no result")
            continue
        grid = means.pivot_table(index="after", columns="task", values="mean")
        grids[learner, name] = heading(name, learner, lambda_), grid
        findings.append(f"{named(name, learner)} keeps {percent(grid.iloc[-1].mean())} on average")
        who = {"learner": learner, "dataset": drawing.one, "configuration": name}
        rows.append(means.assign(**who, **{"lambda": lambda_}))
    if not grids:
        return left_out(without(tables, dataset=drawing.one), DATA)
    columns = min(len(grids), COLUMNS)
    width = {1: 3.6, 2: 5.8, 3: 8.0}.get(columns, 10.0)
    figure, axes, _ = multiples(len(grids), 2.75, COLUMNS, width=width)
    for place, (axis, (title, grid)) in enumerate(zip(axes, grids.values(), strict=True)):
        axis.set_title(title)
        _cells(axis, drawing, grid)
        axis.set_xlabel("classes of task")
        if place % columns == 0:
            axis.set_ylabel("after task")
    color_bar(figure, drawing, Normalize(0, 1), axes, label="test accuracy", shrink=0.6)
    finding = f"{drawing.one}, accuracy on every task after the last: {'; '.join(findings)}."
    return Drawn(figure, pd.concat(rows), finding, gaps)


def _cells(axis: Axes, drawing: Drawing, grid: Frame) -> None:
    """A rectangle per cell, with its number in a colour that can be read on it."""
    colors = matplotlib.colormaps[drawing.style["heat"]]
    for y, after in enumerate(grid.index):
        for x, task in enumerate(grid.columns):
            value = grid.loc[after, task]
            color = drawing.color("void") if pd.isna(value) else colors(float(value))
            axis.add_patch(Rectangle((x, y), 1, 1, facecolor=color, edgecolor=color, linewidth=0.4))
            if max(grid.shape) <= FIT and pd.notna(value):
                ink = readable_on(drawing.style, color)
                middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5}
                axis.text(x + 0.5, y + 0.5, f"{value:.2f}", color=ink, **middle)
    axis.set(xlim=(0, len(grid.columns)), ylim=(len(grid.index), 0), aspect="equal")
    axis.set_xticks([n + 0.5 for n in range(len(grid.columns))], [f"{n:.0f}" for n in grid.columns])
    axis.set_yticks([n + 0.5 for n in range(len(grid.index))], [f"{n:.0f}" for n in grid.index])
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
