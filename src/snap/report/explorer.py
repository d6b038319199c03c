"""The explorer of the page: charts of the cells that a reader chooses, as Vega-Lite specifications.

The page sets the parameters `dataset`, `learner`, `configuration` and `lambda` of every chart. It
also sets the width of the panels, which is at least the one given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import altair as alt
import matplotlib
import numpy as np
from matplotlib.colors import to_hex

from snap.learners import LEARNERS
from snap.numbers import number_text
from snap.report.explorer_data import CURVES, MATRIX, SEARCH, STEPS, classes, data
from snap.report.figures.base import named
from snap.report.figures.style import Style, contrast, task_pairs
from snap.report.frames import Tables

BEST = "best"  # the choice of the best λ in sequence, for each configuration
CHOSEN = (
    "datum.dataset == dataset && datum.learner == learner"
    " && indexof(configuration, datum.configuration) >= 0"
    f" && (datum.lambda == null || (lambda == '{BEST}' ? datum.best"
    " : datum.lambda == toNumber(lambda)))"
)
WIDTH, HEIGHT = 190, 130  # the smallest plot of a panel
SEEDS = "join(datum.seeds, ', ')"
SPACING, AXIS = 24, 62  # pixels between panels, and left of the first plot
CELL = 27  # the smallest width of a cell with a number in it

WORDS = {  # for those who do not see the chart
    "curves": "Lines: accuracy on the classes of each task through the sequence",
    "matrix": "Heat maps: accuracy on every task after every task",
    "retention": "Bars: accuracy on every task at the end of the sequence",
    "landscape": "Heat maps: accuracy of every pair of the search",
}
LEARNED = alt.Axis(tickMinStep=1, format="d", labelFlush=False)  # of an axis of tasks learned

Choices = dict[str, list[tuple[str, str]]]
Pair = Sequence[str]


def content(tables: Tables, style: Style) -> dict[str, Any] | None:
    """The data, charts and choices of the explorer; None if the run has no cell."""
    if tables.selected.empty:
        return None
    offered = choices(tables)
    return {"data": data(tables), "charts": charts(tables, style, offered), "choices": offered}


def choices(tables: Tables) -> Choices:
    """The values of each parameter, each with its words."""
    learners = [name for name in LEARNERS if tables.configurations(name)]
    configurations = dict.fromkeys(c for name in learners for c in tables.configurations(name))
    lambdas = [number_text(float(value)) for value in tables.lambdas]
    return {
        "dataset": [(name, name) for name in tables.datasets],
        "learner": [(name, LEARNERS[name].label) for name in learners],
        "configuration": [(name, named(name)) for name in configurations],
        "lambda": [(BEST, "the best of each"), *((text, text) for text in lambdas)],
    }


def charts(tables: Tables, style: Style, offered: Choices) -> dict[str, dict[str, Any]]:
    """Vega-Lite specifications by name. Their data have the names in `data`."""
    start: dict[str, Any] = {name: values[0][0] for name, values in offered.items()}
    start["configuration"] = [value for value, _ in offered["configuration"]]
    params = [alt.param(name=name, value=value) for name, value in start.items()]
    tasks = list(dict.fromkeys(w for d in tables.datasets for w in classes(tables, d).values()))
    made = {
        "curves": _curves(tasks, style),
        "matrix": _matrix(len(tasks), style),
        "retention": _retention(tasks, style),
        "landscape": _landscape(style),
    }
    return {
        name: themed(chart.add_params(*params).properties(description=WORDS[name]), style)
        for name, chart in made.items()
    }


def both(pair: Pair) -> str:
    """A colour for light and dark ground, as CSS."""
    return f"light-dark({pair[0]}, {pair[1]})"


def themed(chart: Any, style: Style) -> dict[str, Any]:
    """The specification of a chart, in the colours and type of the page."""
    ink, soft, grid = (both(style[name]) for name in ("ink", "soft", "grid"))
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 11}
    plain = text | {"titleFontWeight": "normal"}
    lines = {"gridColor": grid, "domainColor": soft, "tickColor": soft}
    chart = chart.configure(
        font="system-ui, sans-serif",
        background="transparent",
        padding=0,
        axis=plain | lines,
        legend=plain | {"orient": "top", "columns": 5, "gradientLength": 180, "offset": 14},
        header=plain | {"labelFontWeight": "bold", "labelFontSize": 12, "labelAnchor": "start"},
        view={"stroke": None},
    )
    made: dict[str, Any] = chart.to_dict(validate=False)
    return made


def panels(layers: Any, rows: str, chosen: str, flattened: Sequence[str] = ()) -> Any:
    """A panel per title, from the chosen rows; the page sets the number of columns."""
    header = alt.Header(labelExpr="split(datum.value, '\\n')", labelPadding=8)
    sort = alt.EncodingSortField("order", op="min")
    facet = alt.Facet("title:N", title=None, header=header, sort=sort)
    chart = alt.FacetChart(
        data=alt.NamedData(name=rows), spec=layers, facet=facet, columns=4, spacing=SPACING
    )
    # The last label of a horizontal axis sticks out.
    chart = chart.properties(usermeta={"spacing": SPACING + 8, "axis": AXIS})
    chart = chart.resolve_axis(x="independent").transform_filter(chosen)
    return chart.transform_flatten(list(flattened)) if flattened else chart


def _task_axis(**options: Any) -> Any:
    axis = alt.Axis(labelAngle=0, **options)
    return alt.X("task:N", title="classes of the task", sort=None, axis=axis)


def accuracy_axis(field: str) -> Any:
    scale = alt.Scale(domain=[0, 1])
    return alt.Y(f"{field}:Q", title="test accuracy", scale=scale, axis=alt.Axis(tickCount=5))


def _task_colors(tasks: Sequence[str], style: Style) -> Any:
    colors = [both(pair) for pair in task_pairs(style, len(tasks))]
    return alt.Scale(domain=list(tasks), range=colors)


def _curves(tasks: Sequence[str], style: Style) -> Any:
    """Lines over the tasks learned; hovering shows the numbers of all lines at that point."""
    learned = "tasks learned"
    key = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)
    base = alt.Chart().encode(
        x=alt.X(
            f"{learned}:Q",
            scale=alt.Scale(domain=[0, max(len(tasks), 1)]),
            axis=LEARNED,
        ),
        color=alt.Color("task:N", scale=_task_colors(tasks, style), title="classes", legend=key),
    )
    band = base.mark_area(opacity=style["band"], aria=False).encode(
        y=accuracy_axis("low"), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2, aria=False).encode(y=accuracy_axis("mean"))
    number = "format(datum.{}, '.3f')".format
    spread = f"' (' + {number('low')} + ' to ' + {number('high')} + ', ' + datum.count + ' seeds)'"
    words = f"{number('mean')} + (datum.count > 1 ? {spread} : ' (1 seed)')"
    points = (
        alt.Chart()
        .transform_filter("datum.mean != null")
        .transform_calculate(words=words)
        .transform_pivot("task", value="words", groupby=["title", learned], op="max")
        .mark_rule(
            strokeWidth=6,
            opacity=0,
            color=both(style["ink"]),
            aria=False,
            tooltip=alt.TooltipContent("data"),
        )
        .encode(x=f"{learned}:Q")
    )
    layers = alt.layer(band, line, points).properties(width=WIDTH, height=HEIGHT)
    chart = panels(layers, "curves", CHOSEN, CURVES[1:])
    chart = chart.transform_window(row="row_number()", groupby=["title", "task"])
    count = "isArray(datum.seeds) ? datum.seeds[datum.row - 1] : datum.seeds"
    return chart.transform_calculate(
        **{learned: f"(datum.row - 1) / {STEPS}", "count": count},
    )


def _matrix(tasks: int, style: Style) -> Any:
    words = [
        alt.Tooltip("title:N"),
        alt.Tooltip("after:O", title="after task"),
        alt.Tooltip("task:N", title="classes"),
        alt.Tooltip("accuracy:Q", title="accuracy, mean", format=".3f"),
        alt.Tooltip("values:N", title="seeds"),
    ]
    after = alt.Y("after:O", title="after task")
    base = alt.Chart().encode(x=_task_axis(), y=after, tooltip=words)
    cells = base.mark_rect().encode(color=_heat(style))
    numbers = base.mark_text(fontSize=11, aria=False).encode(
        text=alt.Text("accuracy:Q", format=".2f"), color=_on_heat(style)
    )
    width, height = max(WIDTH, CELL * tasks), max(HEIGHT, 20 * tasks)
    layers = alt.layer(cells, numbers).properties(width=width, height=height)
    return panels(layers, "matrix", CHOSEN, MATRIX).transform_calculate(values=SEEDS)


def _heat(style: Style) -> Any:
    """The colours of accuracies; a cell without one has the colour of a void."""
    scale = alt.Scale(domain=[0, 1], range=list(_heat_colors(style["heat"])), interpolate="rgb")
    legend = alt.Legend(tickCount=5)
    known = alt.Color("accuracy:Q", scale=scale, title="accuracy", legend=legend)
    return alt.condition("isValid(datum.accuracy)", known, alt.value(both(style["void"])))


@cache
def _heat_colors(name: str) -> tuple[str, ...]:
    return tuple(to_hex(matplotlib.colormaps[name](share)) for share in np.linspace(0, 1, 17))


def _on_heat(style: Style) -> Any:
    """The colour of text on a cell: the one with more contrast."""
    colors = _heat_colors(style["heat"])
    light, dark = style["on_heat"]
    better = [contrast(light, color) > contrast(dark, color) for color in colors]
    edge = (better.index(False) - 0.5) / (len(colors) - 1) if False in better else 1
    return alt.condition(f"datum.accuracy < {edge}", alt.value(light), alt.value(dark))


def _retention(tasks: Sequence[str], style: Style) -> Any:
    """Solid bars for the accuracy at the end; pale ones behind them for that after each task."""
    words = [
        alt.Tooltip("title:N"),
        alt.Tooltip("task:N", title="classes"),
        alt.Tooltip("own:Q", title="just after the task, mean", format=".3f"),
        alt.Tooltip("accuracy:Q", title="at the end, mean", format=".3f"),
        alt.Tooltip("values:N", title="seeds at the end"),
    ]
    base = alt.Chart().encode(x=_task_axis(grid=False), tooltip=words)
    ink = both(style["ink"])
    colors = _task_colors(tasks, style)
    learned = base.mark_bar(width={"band": 0.6}, fillOpacity=0.2, strokeWidth=1, aria=False).encode(
        y=accuracy_axis("own"),
        color=alt.Color("task:N", scale=colors, legend=None),
        stroke=alt.Stroke("task:N", scale=colors, legend=None),
    )
    kept = base.mark_bar(width={"band": 0.6}).encode(
        y=accuracy_axis("accuracy"),
        color=alt.Color("task:N", scale=colors, legend=None),
    )
    ticks = base.transform_flatten(["seeds"])
    ticks = ticks.mark_tick(color=ink, thickness=1.5, bandSize=16, orient="horizontal", aria=False)
    layers = alt.layer(learned, kept, ticks.encode(y=accuracy_axis("seeds")))
    chart = panels(layers.properties(width=WIDTH, height=HEIGHT), "matrix", CHOSEN, MATRIX)
    chart = chart.transform_calculate(values=SEEDS)
    return chart.transform_filter("datum.after == datum.tasks")


def _landscape(style: Style) -> Any:
    rate = alt.X("alpha:O", title="α", axis=alt.Axis(labelAngle=0))
    eta = alt.Axis(labelExpr="isValid(datum.value) ? datum.label : ''")
    strength = alt.Y("eta:O", title="η", sort="descending", axis=eta)
    words = [
        alt.Tooltip("title:N"),
        alt.Tooltip("eta:O", title="η"),
        alt.Tooltip("alpha:O", title="α"),
        alt.Tooltip("words:N", title="i.i.d. accuracy"),
        alt.Tooltip("chosen:N", title="optimum of this λ"),
    ]
    base = alt.Chart().encode(x=rate, y=strength, tooltip=words)
    cells = base.mark_rect().encode(color=_heat(style))
    rings = [
        base.mark_point(size=size, strokeWidth=2, filled=False, stroke=color, aria=False)
        for size, color in zip((110, 190), style["on_heat"], strict=True)
    ]
    marks = [ring.transform_filter("datum.optimum") for ring in rings]
    layers = alt.layer(cells, *marks).properties(width=WIDTH, height=HEIGHT)
    chart = panels(layers, "search", CHOSEN, SEARCH)
    return chart.transform_calculate(
        words="datum.diverged ? 'diverged' : format(datum.accuracy, '.3f')",
        chosen="datum.optimum ? 'yes' : 'no'",
    )
