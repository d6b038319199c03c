"""The figure of the search over η and α."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from snap.learners import HEBBIAN, LEARNERS
from snap.numbers import number_text
from snap.report.figures.base import (
    WIDTH,
    Drawing,
    Drawn,
    color_bar,
    heading,
    lambda_text,
    left_out,
    legend_below,
    named,
    without,
)
from snap.report.frames import Frame, only, over_seeds
from snap.report.result_tables import AS_GOOD, as_good, printed_pair

BY = ["learner", "configuration", "lambda", "eta", "alpha"]
MARGIN = 1.7  # inches beside the panels: the names of configurations and the colour bar
WIDE = 1.9  # inches of a panel that has its name as its title
Family = tuple[str, str]
INSIDE, EDGE, PAPER, LOST = (
    "selected",
    "selected, at an edge of the grid",
    "the paper's, if in the grid",
    "diverged",
)

SINGLE = (
    "Accuracy of every pair (η, α) that was searched, in a panel for each configuration. The circle"
    " is the pair selected here, a square if it lies at an edge of the grid; the orange diamond is"
    " the paper's own pair where the grid holds it. A learner without η has one cell for every α."
    " Grey cells with a cross are pairs whose weights stopped being finite."
)


def landscape(drawing: Drawing) -> Drawn:
    """Accuracy on the grid per configuration and λ; marks the optimum and the paper's pair."""
    tables = drawing.tables
    frame = only(tables.search, dataset=drawing.one)
    frame = over_seeds(frame, BY, "accuracy")
    searched = set(zip(frame["learner"], frame["configuration"], strict=True))
    families = [family for family in tables.families if family in searched]
    if not families:
        run = only(tables.selected, dataset=drawing.one)
        lost = len(run) and (run["status"] == "all diverged").all()
        says = without(tables, dataset=drawing.one) if lost else "This run has no search."
        return left_out(says, frame.columns)
    if frame["mean"].isna().all():
        return left_out(without(tables, dataset=drawing.one), frame.columns)
    top = frame["mean"].max()
    colors = Normalize(0, np.ceil(top * 10) / 10)
    figure, places = _grid(drawing, families)
    gaps, seen = [], dict.fromkeys((INSIDE, EDGE, PAPER, LOST), 0)
    near = 0
    for place in places:
        learner, name, lambda_ = place.learner, place.name, place.lambda_
        axis = place.axis
        cell = only(frame, learner=learner, configuration=name, lambda_=lambda_)
        who = named(name, learner) + (f", {lambda_text(lambda_)}" if lambda_ is not None else "")
        mine = only(frame, learner=learner)
        etas, alphas = (sorted(mine[key].dropna().unique()) for key in ("eta", "alpha"))
        grid = cell.assign(eta=cell["eta"].fillna(0)).pivot_table(
            index="eta", columns="alpha", values="mean", dropna=False
        )
        grid = grid.reindex(index=etas or [0.0], columns=alphas)
        tried = len(cell) > 0
        _panel(place, drawing, grid, colors, tried)
        if not tried:
            continue
        lost = cell[cell["mean"].isna()]
        for eta, alpha in lost[["eta", "alpha"]].fillna({"eta": 0}).itertuples(index=False):
            _mark(axis, drawing, grid, (eta, alpha), LOST)
        seen[LOST] += len(lost)
        if len(lost):
            gaps.append(f"{who}: {len(lost)} of {len(cell)} pairs diverged")
        given = None
        if learner == HEBBIAN.name and lambda_ is not None:
            pairs = drawing.paper["pairs"].get(drawing.one, {}).get(name, {})
            given = printed_pair(pairs, lambda_)
        if given is not None and given[0] in etas and given[1] in alphas:
            _mark(axis, drawing, grid, given, PAPER)
            seen[PAPER] += 1
            near += bool(as_good(grid.loc[given[0], given[1]], grid.max(axis=None)))
        selected = only(tables.selected, learner=learner, dataset=drawing.one, configuration=name)
        selected = only(selected, lambda_=lambda_).dropna(subset=["alpha"])
        for eta, alpha in selected[["eta", "alpha"]].fillna({"eta": 0}).itertuples(index=False):
            if eta in grid.index and alpha in grid.columns:
                kind = EDGE if _at_edge(grid, (eta, alpha)) else INSIDE
                _mark(axis, drawing, grid, (eta, alpha), kind)
                seen[kind] += 1
    _legend(figure, drawing, colors, seen)
    chosen = seen[INSIDE] + seen[EDGE]
    finding = (
        f"{drawing.one}: accuracy of every pair (η, α). Of {chosen} selected pairs, {seen[EDGE]}"
        f" lie at an edge of the grid. Of the paper's own pairs, {seen[PAPER]} lie on the grid,"
        f" and {near} of these are within {100 * AS_GOOD:g} points of the best."
    )
    caption = SINGLE if len(tables.lambdas) == 1 else ""
    return Drawn(figure, frame.assign(dataset=drawing.one), finding, gaps, caption=caption)


@dataclass(frozen=True)
class Place:
    """A panel, and whether it has the ticks and labels of η (left) and of α (below)."""

    axis: Axes
    learner: str
    name: str
    lambda_: float | None
    left: bool
    below: bool


def _grid(drawing: Drawing, families: Sequence[Family]) -> tuple[Figure, list[Place]]:
    """A row per configuration and a column per λ; those without λ are wider, in rows at the end."""
    lambdas = [float(value) for value in drawing.tables.lambdas]
    table = [family for family in families if LEARNERS[family[0]].inhibits]
    if len(lambdas) < 2:  # then a panel per configuration
        table = []
    rest = [family for family in families if family not in table]
    columns = len(lambdas) if table else min(len(rest), 4)
    width = min(MARGIN + 2.1 * columns, WIDTH)
    span = min(-(-WIDE // ((width - MARGIN) / columns)), columns) if table else 1
    in_row = int(columns // span)
    last_rows = -(-len(rest) // in_row)
    flat = not any(LEARNERS[learner].inhibits for learner, _ in rest)
    heights = [1.2] * len(table) + [1.0 if flat else 2.1] * last_rows
    figure = Figure(figsize=(width, sum(heights) + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    places = []
    for row, (learner, name) in enumerate(table):
        for column, lambda_ in enumerate(lambdas):
            axis = figure.add_subplot(grid[row, column])
            place = Place(axis, learner, name, lambda_, column == 0, row == len(table) - 1)
            places.append(place)
            if row == 0:
                axis.set_title(lambda_text(lambda_))
            if column == 0:
                words = named(name, learner).replace("-", "-\n").replace(", ", "\n")
                at: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
                at |= {"ha": "center", "va": "center", "fontsize": 9}
                axis.annotate(words, (0, 0.5), (-70, 0), **at)
    for n, (learner, name) in enumerate(rest):
        row, column = divmod(n, in_row)
        start = int(column * span)
        axis = figure.add_subplot(grid[len(table) + row, start : start + int(span)])
        inhibits = LEARNERS[learner].inhibits
        at_only = lambdas[0] if inhibits and lambdas else None
        axis.set_title(heading(name, learner, at_only))
        below = n + in_row >= len(rest)
        places.append(Place(axis, learner, name, at_only, inhibits and column == 0, below))
    return figure, places


def _panel(place: Place, drawing: Drawing, grid: Frame, colors: Normalize, tried: bool) -> None:
    """Draw a cell per pair, grey with a cross if it diverged."""
    axis = place.axis
    values = grid.to_numpy(dtype=float)
    axis.set_facecolor(drawing.color("void"))
    axis.grid(visible=False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    alphas = [_short(alpha) for alpha in grid.columns] if place.below else []
    etas = [_short(eta) for eta in grid.index] if place.left else []
    axis.set_xticks(range(len(alphas)), alphas, fontsize=8.5, rotation=90)
    axis.set_yticks(range(len(etas)), etas, fontsize=8.5)
    if place.below:
        axis.set_xlabel("α")
    if place.left:
        axis.set_ylabel("η", rotation=0, labelpad=6, va="center")
    axis.set(xlim=(-0.5, values.shape[1] - 0.5), ylim=(-0.5, values.shape[0] - 0.5))
    if not tried:
        axis.text(0.5, 0.5, "not searched", ha="center", transform=axis.transAxes, fontsize=8.5)
        return
    heat = {"cmap": drawing.style["heat"], "norm": colors, "interpolation": "none"}
    axis.imshow(values, origin="lower", aspect="auto", **heat)


def _short(value: float) -> str:
    return number_text(float(value)).replace("0.", ".", 1) if value < 1 else number_text(value)


def _at_edge(grid: Frame, pair: tuple[float, float]) -> bool:
    """Whether a pair has the smallest or largest η or α, where there is more than one."""
    return any(
        len(values) > 1 and value in (values[0], values[-1])
        for value, values in zip(pair, (grid.index, grid.columns), strict=True)
    )


def _look(drawing: Drawing, kind: str) -> dict[str, Any]:
    """The mark of a pair. Its rim keeps it visible on every colour and in the legend."""
    white, black = drawing.style["on_heat"]
    if kind == LOST:
        return {"marker": "x", "color": drawing.color("gap"), "linestyle": "", "markersize": 5}
    look = {"linestyle": "", "markeredgewidth": 1.6, "markerfacecolor": "none"}
    look |= {"path_effects": [withStroke(linewidth=3.2, foreground=black)]}
    if kind == PAPER:
        color = drawing.color("paper")
        fill = {"marker": "D", "markersize": 3.6, "markerfacecolor": color, "zorder": 3}
        rim = [withStroke(linewidth=2.6, foreground=white)]
        return look | fill | {"markeredgecolor": color, "markeredgewidth": 0.6, "path_effects": rim}
    marker = {"marker": "s" if kind == EDGE else "o", "markersize": 8}
    return look | marker | {"markeredgecolor": white}


def _mark(axis: Axes, drawing: Drawing, grid: Frame, pair: Any, kind: str) -> None:
    x, y = list(grid.columns).index(pair[1]), list(grid.index).index(pair[0])
    axis.plot(x, y, **_look(drawing, kind))


def _legend(figure: Figure, drawing: Drawing, colors: Normalize, seen: dict[str, int]) -> None:
    """The colour bar, and the marks that occur."""
    shrink = min(1.0, 4.5 / figure.get_figheight())
    color_bar(figure, drawing, colors, figure.axes, label="accuracy", shrink=shrink, pad=0.01)
    handles = [
        Line2D([], [], label=kind, **_look(drawing, kind)) for kind, count in seen.items() if count
    ]
    if handles:
        legend_below(figure, handles)
