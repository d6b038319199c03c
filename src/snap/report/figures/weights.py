"""What becomes of the weights: how they grow, how they consolidate, and what they look like."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from snap.report.figures.base import (
    Drawing,
    Drawn,
    best_lambda,
    gap,
    lambda_text,
    named,
    panels,
    task_axis,
)
from snap.report.figures.sequence import progress
from snap.report.frames import Frame, only

GROWN = (  # growth, the protocol in which its strength is free to grow, presentations, rate
    ("linear", "reference", 60, 0.05),
    ("sigmoid", "reference", 60, 0.3),
    ("exponential", "reference+neuron_exponential=multiply", 60, 0.1),
)
FAN_IN = 64


def measured_growth(growth: str, protocol: str, presentations: int, rate: float) -> list[float]:
    """Strength of a neuron that sees the same input again and again, as the cpu engine has it."""
    from snap import Configuration, Protocol, Trial, train_from

    focus = f"{growth}-linear-neuron" if growth != "linear" else "linear-linear"
    trial = Trial(
        Configuration.parse(focus),
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
    """Idealised curves, and a real neuron's strength under repeated reinforcement."""
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


WATCHED = (
    ("hebbian", "linear-linear"),
    ("hebbian", "sigmoid-sigmoid-neuron"),
    ("sgd", "sigmoid-sigmoid-neuron"),
)
SAYS = {"strength": "strength of hidden neurons", "plasticity": "plasticity of hidden neurons"}


def consolidation(drawing: Drawing) -> Drawn:
    """Percentiles over the hidden neurons of strength and plasticity, through the sequence."""
    frame = only(drawing.tables.consolidation, dataset=drawing.one, layer="hidden")
    figure, axes = panels(2, len(WATCHED), 2.7, sharex=True)
    rows, findings = [], []
    gaps: list[str] = []
    for column, (learner, name) in enumerate(WATCHED):
        cell = only(frame, learner=learner, configuration=name)
        who = f"{'Hebbian' if learner == 'hebbian' else 'SGD'}, {named(name)}"
        power = cell["lambda"].iloc[0] if len(cell) else None
        title = "\n".join(part for part in (who, lambda_text(power)) if part)
        axes[0, column].set_title(title, fontsize=10)
        if cell.empty:
            gaps.append(f"{who}: not part of this run")
            for axis in axes[:, column]:
                gap(axis, drawing.style, "not part of this run")
            continue
        color = drawing.look(name)["color"]
        for axis, quantity in zip(axes[:, column], SAYS, strict=True):
            part = progress(only(cell, quantity=quantity))
            _percentile_bands(axis, part, color)
            axis.set_ylim(bottom=0)
            rows.append(part)
        axes[0, column].set_xlabel("")
        plastic = only(cell, quantity="plasticity").sort_values("samples")
        strong = only(cell, quantity="strength").sort_values("samples")
        findings.append(
            f"{who}: from start to end median strength goes from {strong['p50'].iloc[0]:.2g} to"
            f" {strong['p50'].iloc[-1]:.2g} and median plasticity from"
            f" {plastic['p50'].iloc[0]:.2g} to {plastic['p50'].iloc[-1]:.2g}"
        )
    for axis, says in zip(axes[:, 0], SAYS.values(), strict=True):
        axis.set_ylabel(says, fontsize=9)
    data = pd.concat(rows) if rows else frame.iloc[:0]
    finding = "; ".join(findings) or "no result to show"
    return Drawn(figure, data, f"{drawing.one}. {finding}.", gaps)


def _percentile_bands(axis: Axes, part: Frame, color: str) -> None:
    x = part["progress"]
    axis.fill_between(x, part["p0"], part["p100"], color=color, alpha=0.10, linewidth=0)
    axis.fill_between(x, part["p5"], part["p95"], color=color, alpha=0.18, linewidth=0)
    axis.fill_between(x, part["p25"], part["p75"], color=color, alpha=0.3, linewidth=0)
    axis.plot(x, part["p50"], color=color)
    task_axis(axis, int(part["training"].max()))


SHOWN = (
    ("hebbian", "linear-linear"),
    ("hebbian", "sigmoid-sigmoid-neuron"),
    ("hebbian", "exponential-exponential-neuron"),
)


def features(drawing: Drawing) -> Drawn:
    """The hidden weights after the sequence, each neuron as an image."""
    weights = _load(drawing)
    figure, axes = panels(1, len(SHOWN), 4.0)
    rows, findings = [], []
    gaps: list[str] = []
    for axis, (learner, name) in zip(axes[0], SHOWN, strict=True):
        axis.set_axis_off()
        found = weights.get(f"{learner} {name}")
        power = best_lambda(drawing, learner, drawing.one, name, gaps)
        axis.set_title(f"{named(name)}\n{lambda_text(power)}", fontsize=10)
        if found is None or not np.isfinite(found).all():
            gaps.append(f"{named(name)}: no weights to show")
            gap(axis, drawing.style, "no weights to show")
            continue
        axis.imshow(mosaic(found), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        norms = np.linalg.norm(found, axis=1)
        unit = found / np.where(norms == 0, 1, norms)[:, None]
        alike = np.abs(unit @ unit.T)[~np.eye(len(unit), dtype=bool)]
        likeness = float(alike.mean()) if alike.size else 0.0
        findings.append(f"{named(name)}: mean cosine between two neurons {likeness:.2f}")
        rows.append(
            pd.DataFrame({"configuration": name, "neuron": range(len(norms)), "norm": norms})
        )
    data = pd.concat(rows) if rows else pd.DataFrame(columns=["configuration", "neuron", "norm"])
    finding = "; ".join(findings) or "no weights to show"
    return Drawn(
        figure, data, f"{drawing.one}, hidden weights after the sequence. {finding}.", gaps
    )


def _load(drawing: Drawing) -> dict[str, Any]:
    try:
        with np.load(drawing.weights[drawing.one], allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (KeyError, OSError, ValueError, EOFError, zipfile.BadZipFile):
        return {}


def mosaic(weights: Any) -> Any:
    """Rows of weights as square pictures side by side, each from 0 to its largest weight."""
    side = int(np.sqrt(weights.shape[1]))
    columns = int(np.ceil(np.sqrt(len(weights))))
    rows = -(-len(weights) // columns)
    sheet = np.full((rows * (side + 1) + 1, columns * (side + 1) + 1), 0.5)
    for n, row in enumerate(weights):
        low, high = min(float(row.min()), 0.0), float(row.max())
        tile = (row[: side * side] - low) / (high - low if high > low else 1.0)
        y, x = divmod(n, columns)
        y, x = y * (side + 1) + 1, x * (side + 1) + 1
        sheet[y : y + side, x : x + side] = tile.reshape(side, side)
    return sheet
