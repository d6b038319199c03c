"""The figure of the search over η and α."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from snap.learners import HEBBIAN
from snap.numbers import number_text
from snap.report.figures.base import (
    Drawing,
    Drawn,
    legend_below,
    named,
    panels,
)
from snap.report.frames import Frame, only, over_seeds
from snap.report.result_tables import AS_GOOD, as_good, printed_pair

# Markers of a landscape. The dark rim keeps them visible on every colour and in the legend.
RIM = [withStroke(linewidth=3.2, foreground="#222222")]
CHOSEN: dict[str, Any] = {
    "marker": "o",
    "markersize": 9,
    "markerfacecolor": "none",
    "markeredgecolor": "#ffffff",
    "markeredgewidth": 1.6,
    "linestyle": "",
    "path_effects": RIM,
}
PRINTED: dict[str, Any] = CHOSEN | {
    "marker": "D",
    "markersize": 3.6,
    "markerfacecolor": "#ff8c1a",
    "markeredgecolor": "#ff8c1a",
    "markeredgewidth": 0.6,
    "zorder": 3,
}


def landscape(drawing: Drawing) -> Drawn:
    """Accuracy on the grid per configuration and λ; marks the optimum and the paper's pair."""
    tables = drawing.tables
    names, lambdas = tables.configurations(HEBBIAN.name), tables.lambdas
    frame = only(tables.search, dataset=drawing.one, learner=HEBBIAN.name)
    frame = over_seeds(frame, ["configuration", "lambda", "eta", "alpha"], "accuracy")
    etas, alphas = (sorted(frame[name].dropna().unique()) for name in ("eta", "alpha"))
    figure, axes = panels(len(names), len(lambdas), 1.35, width=11.0)
    top = frame["mean"].max()
    colors = Normalize(0, 1 if pd.isna(top) else np.ceil(top * 10) / 10)
    printed = drawing.paper["pairs"].get(drawing.one, {})
    gaps, near, inside = [], 0, 0
    for row, name in enumerate(names):
        for column, lambda_ in enumerate(lambdas):
            axis = axes[row, column]
            cell = only(frame, configuration=name, lambda_=lambda_)
            grid = cell.pivot_table(index="eta", columns="alpha", values="mean")
            grid = grid.reindex(index=etas, columns=alphas)
            _panel(axis, drawing, grid, colors)
            if row == 0:
                axis.set_title(f"λ = {number_text(float(lambda_))}", fontsize=9)
            if grid.isna().all(axis=None):
                gaps.append(
                    f"{named(name)}, λ = {number_text(float(lambda_))}: no accuracy to show"
                )
                continue
            diverged = int(cell["mean"].isna().sum())
            if diverged:
                gaps.append(
                    f"{named(name)}, λ = {number_text(float(lambda_))}: {diverged} pairs diverged"
                )
            given = printed_pair(printed.get(name, {}), lambda_)
            if given is not None and given[0] in etas and given[1] in alphas:
                _mark(axis, etas, alphas, given, PRINTED)
                inside += 1
                near += bool(as_good(grid.loc[given[0], given[1]], grid.max(axis=None)))
            chosen = only(
                tables.selected,
                learner=HEBBIAN.name,
                dataset=drawing.one,
                configuration=name,
                lambda_=lambda_,
            ).dropna(subset=["alpha"])
            for pair in chosen[["eta", "alpha"]].itertuples(index=False):
                _mark(axis, etas, alphas, pair, CHOSEN)
        if len(lambdas):
            axes[row, 0].set_ylabel(
                named(name).replace(", ", "\n").replace("-", "-\n") + "\n\nη", fontsize=7
            )
    for axis in axes[-1]:
        axis.set_xlabel("α", fontsize=8)
    _landscape_legend(figure, axes, drawing, colors)
    finding = (
        f"{drawing.one}: accuracy of every pair (η, α). Of the paper's own pairs, {inside} lie on"
        f" the grid, and {near} of these are within {100 * AS_GOOD:g} points of the best."
    )
    return Drawn(figure, frame.assign(dataset=drawing.one), finding, gaps)


def _panel(axis: Axes, drawing: Drawing, grid: Frame, colors: Normalize) -> None:
    """Draw a cell per pair, grey with a cross if it diverged."""
    values = grid.to_numpy(dtype=float)
    axis.set_facecolor("#dddddd")
    axis.grid(visible=False)
    axis.tick_params(length=0)
    if not values.size:
        return
    axis.imshow(values, cmap=drawing.style["heat"], norm=colors, origin="lower", aspect="auto")
    for y, x in np.argwhere(np.isnan(values)):
        axis.plot(x, y, "x", color=drawing.style["gap"], markersize=3)
    place = axis.get_subplotspec()
    outer = place is not None and (place.is_last_row(), place.is_first_col())
    below, beside = outer or (True, True)
    alphas = [_short(alpha) for alpha in grid.columns] if below else []
    etas = [_short(eta) for eta in grid.index] if beside else []
    axis.set_xticks(range(len(alphas)), alphas, fontsize=8, rotation=90)
    axis.set_yticks(range(len(etas)), etas, fontsize=8)


def _short(value: float) -> str:
    return number_text(float(value)).replace("0.", ".", 1) if value < 1 else number_text(value)


def _mark(
    axis: Axes, etas: list[float], alphas: list[float], pair: Any, look: dict[str, Any]
) -> None:
    if pair[0] in etas and pair[1] in alphas:
        axis.plot(alphas.index(pair[1]), etas.index(pair[0]), **look)


def _landscape_legend(figure: Any, axes: Any, drawing: Drawing, colors: Normalize) -> None:
    mappable = ScalarMappable(colors, plt.get_cmap(drawing.style["heat"]))
    figure.colorbar(mappable, ax=axes, label="test accuracy", shrink=0.5, pad=0.01)
    handles = [
        Line2D([], [], label="selected here", **CHOSEN),
        Line2D([], [], label="the paper's, if in the grid", **PRINTED),
        Line2D(
            [], [], marker="x", color=drawing.style["gap"], linestyle="", ms=4, label="diverged"
        ),
    ]
    legend_below(figure, handles, ncols=3)
