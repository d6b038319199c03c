"""The style of figures: colours in pairs, for light and for dark ground."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, is_color_like, to_hex

from snap.errors import SnapError
from snap.reading import read_mapping

Style = Mapping[str, Any]
ROLES = ("ground", "ink", "soft", "muted", "grid", "void", "gap", "paper", "on_heat")


def read_style(path: Path) -> Style:
    """Read the style of figures; raises SnapError if the file is invalid."""
    try:
        style: Style = read_mapping(path)
        with matplotlib.rc_context(style["rc"]):
            matplotlib.colormaps[style["heat"]]
        for name in ("focus", "learners", "band"):
            style[name]
        for look in (*style["growths"].values(), *style["others"]):
            _pair(look["color"])
            look["marker"]
        for color in (*(style[role] for role in ROLES), *style["tasks"]):
            _pair(color)
        if not style["others"] or not style["tasks"]:
            raise ValueError("`others` and `tasks` must list colours")
        dark_colors(style)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise SnapError(f"{path} cannot be used as a style: {error}") from None
    return style


def _pair(color: Any) -> None:
    if not (isinstance(color, list) and len(color) == 2 and all(map(is_color_like, color))):
        raise ValueError(f"{color!r} is not a pair of colours")


@contextmanager
def looks(style: Style) -> Iterator[None]:
    """Draw with the settings of a style, whatever a matplotlibrc or other code has set."""
    ink, soft = style["ink"][0], style["soft"][0]
    inks = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor"), ink)
    softs = dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), soft)
    own = inks | softs | {"ytick.labelcolor": ink, "grid.color": style["grid"][0]}
    plain = {name: matplotlib.rcParamsDefault[name] for name in matplotlib.rcParamsDefault}
    del plain["backend"]  # a context would not put it back
    with matplotlib.rc_context({**plain, **own, **style["rc"]}):
        yield


def dark_colors(style: Style) -> dict[str, str]:
    """The colour on dark ground of every colour of a style, except those on heat maps."""
    pairs = [style[role] for role in ROLES if role != "on_heat"]
    others = [look for learner in style["learners"].values() for look in _growths(learner)]
    pairs += [look["color"] for look in (*_growths(style), *others, *style["others"])]
    return {to_hex(light): to_hex(dark) for light, dark in pairs}


def _growths(style: Style) -> Sequence[Mapping[str, Any]]:
    return list(style.get("growths", {}).values())


def task_pairs(style: Style, count: int) -> list[tuple[str, str]]:
    """A colour on light and on dark ground for every task."""
    at = np.linspace(0, 1, count) if count > 1 else [0.0]
    grounds = []
    for colors in zip(*style["tasks"], strict=True):
        few = len(colors) == 1
        scale = LinearSegmentedColormap.from_list("tasks", [*colors, *colors] if few else colors)
        grounds.append([to_hex(scale(float(share))) for share in at])
    return list(zip(*grounds, strict=True))


def contrast(one: Any, other: Any) -> float:
    """The contrast of two colours by WCAG 2: 1 for the same colour, 21 for black on white."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(color: Any) -> float:
    rgb = np.array(matplotlib.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def readable_on(style: Style, cell: Any) -> str:
    """The colour of text on a cell of a heat map: the one of `on_heat` with more contrast."""
    return str(max(style["on_heat"], key=lambda color: contrast(color, cell)))
