"""How a weight grows: ideal curves, and a neuron that sees the same input repeatedly."""

from __future__ import annotations

import numpy as np
import pandas as pd

from snap import Configuration, Protocol, Trial, train_from
from snap.growth import GROWTHS, plasticity
from snap.report.figures.base import Drawing, Drawn, left_out, panels, split_focus
from snap.report.frames import Frame

PRESENTATIONS = 60
RATES = {"linear": 0.05, "sigmoid": 0.3}  # learning rates that show the shape of the curve
RATE = 0.1
# Protocols that do not fix the strength.
PROTOCOLS = {"exponential": "reference+neuron_exponential=multiply"}
FAN_IN = 64
START = 1 / (1 + np.exp(5))  # the sigmoid is then half-way in the middle
COLUMNS = 5  # growths in a row


def measured_growth(growth: str, protocol: str, presentations: int, rate: float) -> list[float]:
    """Strength of a neuron that sees the same input repeatedly, computed by the cpu engine."""
    name = f"{growth}-linear-neuron" if growth != "linear" else "linear-linear"
    trial = Trial(
        Configuration.parse(name),
        alpha=rate,
        lateral_inhibition=1,
        eta=0,
        protocol=Protocol.parse(protocol),
        hidden=1,
    )
    W, V = np.full((1, FAN_IN), 0.01), np.full((10, 1), 0.01)
    image, label = np.ones((1, FAN_IN)), np.zeros(1, np.int64)
    strengths = []
    for _ in range(presentations + 1):
        strengths.append(float(np.linalg.norm(W) / np.sqrt(FAN_IN)))
        W, V = train_from(W, V, image, label, [0], trial)
    return strengths


def ideal_growth(growth: str, until: float = 10.0, steps: int = 2000) -> Frame:
    """Strength over time if its rate of growth is its plasticity, by the midpoint rule."""
    number, step = GROWTHS.index(growth), until / steps
    strengths = [START]
    for _ in range(steps):
        w = strengths[-1]
        half = w + step / 2 * plasticity(number, w, min(w, 1.0), 1.0)
        strengths.append(w + step * plasticity(number, half, min(half, 1.0), 1.0))
    time = np.linspace(0, until, steps + 1)
    return pd.DataFrame({"time": time, "strength": strengths})[:: steps // 200]


def growth(drawing: Drawing) -> Drawn:
    """Ideal curves, and the measured strength of a neuron under repeated reinforcement."""
    used = _used(drawing)
    shown = [name for name in used if name in GROWTHS]
    gaps = [f"{name}: this version has no such growth" for name in used if name not in shown]
    if not shown:
        return left_out("No growth of this run can be drawn.", ["growth", "example", "strength"])
    columns = min(len(shown), COLUMNS)
    blocks = -(-len(shown) // columns)
    width = {1: 4.2, 2: 7.0}.get(columns, 10.0)
    figure, axes = panels(2 * blocks, columns, 2.3, width=width)
    rows, ends = [], []
    for place, name in enumerate(shown):
        block, column = divmod(place, columns)
        top, below = axes[2 * block, column], axes[2 * block + 1, column]
        color = drawing.growth_look(used[name])["color"][0]
        ideal = ideal_growth(name)
        top.plot(ideal["time"], ideal["strength"], color=color)
        top.set_xticks([])
        bounded = ideal["strength"].iloc[-1] < 2
        top.set_yticks([0, 1] if bounded else [])
        top.set_ylim(bottom=0)
        top.set_title(f"{name}: the idea")
        rate = RATES.get(name, RATE)
        protocol = PROTOCOLS.get(name, "reference")
        strengths = np.array(measured_growth(name, protocol, PRESENTATIONS, rate))
        below.plot(strengths, color=color, marker=".", markersize=4, linewidth=1)
        below.set_title(f"{name}: measured")
        below.set_ylim(bottom=0)
        if bounded:
            for axis in (top, below):
                axis.axhline(1, color=drawing.color("muted"), linestyle=":", linewidth=1)
        below.set_xlabel("reinforcing examples")
        if column == 0:
            top.set_ylabel("weight strength")
            below.set_ylabel("strength of a neuron")
        made = {"growth": name, "rate": rate, "example": range(len(strengths))}
        rows.append(pd.DataFrame(made | {"strength": strengths}))
        ends.append(f"{name} {strengths[-1]:.2g}")
    for axis in axes.flat[2 * columns * (blocks - 1) :]:
        if not axis.lines:
            axis.set_axis_off()
    finding = (
        f"A neuron sees the same input {PRESENTATIONS} times."
        f" Its strength at the end, by growth: {', '.join(ends)}."
    )
    return Drawn(figure, pd.concat(rows), finding, gaps)


def _used(drawing: Drawing) -> dict[str, str]:
    """Every growth of the run's configurations, and the growth type that lends it its colour."""
    pairs = [split_focus(name)[0] for _, name in drawing.tables.families]
    names = [name for pair in pairs for name in pair.split("-")[:2]]
    known = [name for name in GROWTHS if name in names]
    return {
        name: min(
            (pair for pair in dict.fromkeys(pairs) if name in pair.split("-")),
            key=lambda pair: pair != f"{name}-{name}",
        )
        for name in dict.fromkeys([*known, *names])
    }
