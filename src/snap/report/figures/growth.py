"""How a weight grows: ideal curves, and a neuron that sees the same input repeatedly."""

from __future__ import annotations

import numpy as np
import pandas as pd

from snap import Configuration, Protocol, Trial, train_from
from snap.report.figures.base import Drawing, Drawn, panels

GROWN = (  # growth, a protocol that does not fix the strength, presentations, learning rate
    ("linear", "reference", 60, 0.05),
    ("sigmoid", "reference", 60, 0.3),
    ("exponential", "reference+neuron_exponential=multiply", 60, 0.1),
)
FAN_IN = 64


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


def growth(drawing: Drawing) -> Drawn:
    """Ideal curves, and the measured strength of a neuron under repeated reinforcement."""
    figure, axes = panels(2, 3, 2.5)
    x = np.linspace(0, 10, 200)
    ideal = {"linear": x, "sigmoid": 1 / (1 + np.exp(5 - x)), "exponential": np.exp(x)}
    rows = []
    for column, (name, protocol, presentations, rate) in enumerate(GROWN):
        pair = "linear-linear" if name == "linear" else f"{name}-{name}"
        color = drawing.style["growths"][pair]["color"]
        top, below = axes[0, column], axes[1, column]
        top.plot(x, ideal[name], color=color)
        top.set_xticks([])
        top.set_yticks([0, 1] if name == "sigmoid" else [])
        top.set_title(f"{name}: the idea")
        strengths = measured_growth(name, protocol, presentations, rate)
        below.plot(strengths, color=color, marker=".", markersize=4, linewidth=1)
        below.set_title(f"{name}: measured", fontsize=10)
        below.set_ylim(bottom=0)
        if name == "sigmoid":
            below.axhline(1, color="#888888", linestyle=":", linewidth=1)
        below.set_xlabel("reinforcing examples")
        rows.append(
            pd.DataFrame(
                {"growth": name, "rate": rate, "example": range(len(strengths))}
                | {"strength": strengths}
            )
        )
    axes[0, 0].set_ylabel("weight strength")
    axes[1, 0].set_ylabel("strength of a neuron")
    data = pd.concat(rows)
    ends = data.groupby("growth", sort=False)["strength"].last()
    finding = (
        "The same input again and again: the strength of a neuron with linear growth rises without"
        f" end (to {ends['linear']:.1f}), with sigmoidal growth it levels off at"
        f" {ends['sigmoid']:.2f}, with exponential growth it runs away ({ends['exponential']:.2g})."
    )
    return Drawn(figure, data, finding)
