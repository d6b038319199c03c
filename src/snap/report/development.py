"""How the hidden weights develop: tiles at a point in time, and how many neurons have consolidated.

The page sets the parameters `dataset` and `point` of the chart, and the width of its panels.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from math import ceil, isqrt, sqrt
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snap.pipeline.snapshots import Snapshots, read
from snap.report.explorer import AXIS, LEARNED, SPACING, both, panels, themed
from snap.report.explorer_data import Row, Rows, title
from snap.report.figures.style import Style
from snap.trial import Trial

TILE, QUALITY = 18, 30  # pixels of a tile's side, and the quality: a sheet takes some 6 kB
SIDE = 200  # the smallest sheet, in pixels of the page
ENOUGH = 0.5  # the share of a neuron's synapses that counts as consolidated
FRAME = "#ff9d00"  # on tiles, which are the same on both grounds
ONCE = "datum.number == 1"  # one row for each trial and point
NOW = "datum.point == min(toNumber(point), datum.last)"

Found = Mapping[str, Mapping[Trial, Snapshots]]


def content(paths: Mapping[str, Path], style: Style) -> dict[str, Any] | None:
    """The data, charts and choices of the section; None without snapshots."""
    found = {dataset: read(path) for dataset, path in paths.items()}
    found = {dataset: trials for dataset, trials in found.items() if trials}
    if not found:
        return None
    points = [row for dataset in found for row in _points(dataset, found[dataset])]
    cells = [
        {name: row[name] for name in ("dataset", "title")} | {"has": ["points"], "note": None}
        for row in points
        if row["point"] == 0
    ]
    return {
        "data": {"cells": cells, "points": points},
        "charts": {"tiles": _chart(style, next(iter(found)))},
        "choices": {"dataset": [(name, name) for name in found], "point": _moments(found)},
    }


def _moments(found: Found) -> list[tuple[str, str]]:
    """The points in time in words, from the trial that has most."""
    times = max((s.task for trials in found.values() for s in trials.values()), key=len)
    return [(str(point), _moment(float(at))) for point, at in enumerate(times)]


def _moment(at: float) -> str:
    if at == 0:
        return "before the first task"
    task = ceil(at)
    return f"after task {task}" if at == task else f"{1 - task + at:.0%} of task {task}"


def _points(dataset: str, trials: Mapping[Trial, Snapshots]) -> Rows:
    """A row per trial and point in time: a sheet of tiles, and the state of each neuron."""
    rows = []
    for order, (trial, seen) in enumerate(trials.items()):
        heading = title(trial.configuration.name, trial.learner, trial.lateral_inhibition)
        who: Row = {"dataset": dataset, "title": heading, "order": order}
        neurons = seen.tiles.shape[1]
        columns = ceil(sqrt(neurons))
        who |= {"columns": columns, "of": neurons, "last": len(seen.task) - 1}
        for point, tiles in enumerate(seen.tiles):
            fixed = seen.consolidated[point]
            now = {"point": point, "at": float(seen.task[point]), "sheet": sheet(tiles, columns)}
            now["count"] = round(float(fixed.sum()), 1)
            now["strength"] = [round(float(v), 3) for v in np.nan_to_num(seen.strength[point])]
            now["fixed"] = [round(float(share), 2) for share in fixed]
            rows.append(who | now)
    return rows


def sheet(tiles: NDArray[np.uint8], columns: int) -> str:
    """Tiles in rows, as an image in a URL; places without a tile are transparent."""
    side = isqrt(tiles.shape[1])
    whole = np.zeros((2, columns**2, side, side), np.uint8)
    whole[0, : len(tiles)] = tiles[:, : side**2].reshape(-1, side, side)
    whole[1, : len(tiles)] = 255
    planes = whole.reshape(2, columns, columns, side, side).swapaxes(2, 3)
    gray, alpha = map(Image.fromarray, planes.reshape(2, columns * side, columns * side))
    image = Image.merge("LA", (gray, alpha)) if len(tiles) < columns**2 else gray
    buffer = io.BytesIO()
    size = (columns * min(TILE, side),) * 2
    image.resize(size, Image.Resampling.LANCZOS).save(buffer, "WEBP", quality=QUALITY, method=5)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _chart(style: Style, dataset: str) -> dict[str, Any]:
    """Sheets of tiles, and below each the count of consolidated neurons over time."""
    parts = alt.vconcat(_tiles(), _counts(style), spacing=24)
    lists = ["strength", "fixed"]
    chart = panels(parts, "points", "datum.dataset == dataset", lists)
    # Each panel has a vertical axis of its own.
    chart = chart.properties(usermeta={"spacing": SPACING + 46, "axis": AXIS})
    chart = chart.transform_window(number="row_number()", groupby=["title", "point"])
    place = "datum.number - 1"
    chart = chart.transform_calculate(
        x=f"(({place}) % datum.columns + 0.5) / datum.columns",
        y=f"1 - (floor(({place}) / datum.columns) + 0.5) / datum.columns",
    )
    params = [alt.param(name="dataset", value=dataset), alt.param(name="point", value="0")]
    words = "Images of the hidden neurons, and lines that count those that have consolidated"
    return themed(chart.add_params(*params).properties(description=words), style)


def _tiles() -> Any:
    """An image for all neurons, and a frame for each that has consolidated."""
    size = alt.ExprRef("child_width")
    image = alt.Chart().transform_filter(f"{NOW} && {ONCE}")
    image = image.mark_image(width=size, height=size, align="left", baseline="top", aria=False)
    image = image.encode(x=alt.value(0), y=alt.value(0), url="sheet:N")
    frame = alt.condition(f"datum.fixed >= {ENOUGH}", alt.value(FRAME), alt.value("transparent"))
    side = alt.ExprRef("pow(0.88 * child_width / datum.columns, 2)")
    frames = alt.Chart().transform_filter(NOW)
    frames = frames.mark_square(
        fill="transparent", size=side, strokeWidth=2.5, opacity=1, aria=False
    )
    scale = alt.Scale(domain=[0, 1])
    frames = frames.encode(
        x=alt.X("x:Q", scale=scale, axis=None),
        y=alt.Y("y:Q", scale=scale, axis=None),
        stroke=frame,
        tooltip=[
            alt.Tooltip("title:N"),
            alt.Tooltip("number:Q", title="neuron"),
            alt.Tooltip("strength:Q", title="strength", format=".3f"),
            alt.Tooltip("fixed:Q", title="consolidated", format=".0%"),
        ],
    )
    return alt.layer(image, frames).properties(width=SIDE, height=SIDE)


def _counts(style: Style) -> Any:
    """A step line up to all neurons, and a rule at the chosen point in time."""
    learned = alt.X("at:Q", title="tasks learned", axis=LEARNED)
    base = alt.Chart().transform_filter(ONCE).encode(x=learned)
    count = alt.Y("count:Q", title="neurons", scale=alt.Scale(nice=False))
    all_neurons = base.mark_line(color=both(style["soft"]), strokeDash=[3, 3], aria=False)
    steps = base.mark_line(color=both(style["ink"]), interpolate="step-before", aria=False)
    rule = base.transform_filter(NOW).mark_rule(color=both(style["paper"]), strokeWidth=2)
    words = [
        alt.Tooltip("at:Q", title="tasks learned"),
        alt.Tooltip("count:Q", title="neurons consolidated"),
        alt.Tooltip("of:Q", title="of"),
    ]
    says = base.transform_filter(NOW).transform_calculate(
        says="format(datum.count, '.3~r') + ' of ' + datum.of + ' consolidated'"
    )
    says = says.mark_text(align="left", color=both(style["ink"]), fontSize=11, aria=False)
    says = says.encode(x=alt.value(0), y=alt.value(-8), text="says:N")
    layers = (all_neurons.encode(y="of:Q"), steps.encode(y=count), rule.encode(tooltip=words), says)
    return alt.layer(*layers).properties(width=SIDE, height=90)
