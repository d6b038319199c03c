"""Figures of the weights: how they consolidate, and what they look like at the end."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.report.figures.base import (
    Drawing,
    Drawn,
    gap,
    lambda_text,
    named,
    panels,
    task_axis,
)
from snap.report.figures.sequence import progress
from snap.report.frames import Frame, only
from snap.trial import Trial

WATCHED = (
    (HEBBIAN.name, "linear-linear"),
    (HEBBIAN.name, "sigmoid-sigmoid-neuron"),
    (SGD.name, "sigmoid-sigmoid-neuron"),
)
SAYS = {"strength": "strength of hidden neurons", "plasticity": "plasticity of hidden neurons"}


def consolidation(drawing: Drawing) -> Drawn:
    """Strength and plasticity during the sequence, as percentiles over the hidden neurons."""
    frame = only(drawing.tables.consolidation, dataset=drawing.one, layer="hidden")
    figure, axes = panels(2, len(WATCHED), 2.7, sharex=True)
    rows, findings = [], []
    gaps: list[str] = []
    for column, (learner, name) in enumerate(WATCHED):
        cell = only(frame, learner=learner, configuration=name)
        who = f"{LEARNERS[learner].label}, {named(name)}"
        lambda_ = cell["lambda"].iloc[0] if len(cell) else None
        title = "\n".join(part for part in (who, lambda_text(lambda_)) if part)
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
    (HEBBIAN.name, "linear-linear"),
    (HEBBIAN.name, "sigmoid-sigmoid-neuron"),
    (HEBBIAN.name, "exponential-exponential-neuron"),
)


def features(drawing: Drawing) -> Drawn:
    """The hidden weights after the sequence, with each neuron as an image."""
    weights = {(trial.learner, trial.configuration.name): (trial, W) for trial, W in _load(drawing)}
    figure, axes = panels(1, len(SHOWN), 4.0)
    rows, findings = [], []
    gaps: list[str] = []
    for axis, family in zip(axes[0], SHOWN, strict=True):
        axis.set_axis_off()
        name = named(family[1])
        if family not in weights or not np.isfinite(weights[family][1]).all():
            axis.set_title(name, fontsize=10)
            gaps.append(f"{name}: no weights to show")
            gap(axis, drawing.style, "no weights to show")
            continue
        trial, W = weights[family]
        axis.set_title(f"{name}\n{lambda_text(trial.lateral_inhibition)}", fontsize=10)
        axis.imshow(mosaic(W), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        norms = np.linalg.norm(W, axis=1)
        unit = W / np.where(norms == 0, 1, norms)[:, None]
        alike = np.abs(unit @ unit.T)[~np.eye(len(unit), dtype=bool)]
        likeness = float(alike.mean()) if alike.size else 0.0
        findings.append(f"{name}: mean cosine between two neurons {likeness:.2f}")
        rows.append(
            pd.DataFrame({"configuration": family[1], "neuron": range(len(norms)), "norm": norms})
        )
    data = pd.concat(rows) if rows else pd.DataFrame(columns=["configuration", "neuron", "norm"])
    finding = "; ".join(findings) or "no weights to show"
    return Drawn(
        figure, data, f"{drawing.one}, hidden weights after the sequence. {finding}.", gaps
    )


def _load(drawing: Drawing) -> list[tuple[Trial, Any]]:
    """Every trial that has a portrait, and its hidden weights."""
    try:
        with np.load(drawing.weights[drawing.one], allow_pickle=False) as file:
            return [(Trial.parse(key), file[key]) for key in file.files]
    except (KeyError, OSError, ValueError, EOFError, zipfile.BadZipFile):
        return []


def mosaic(weights: Any) -> Any:
    """Tile the rows of weights as square images, each scaled from 0 to its largest weight."""
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
