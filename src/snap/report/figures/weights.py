"""Figures of the weights: how they consolidate, and what they look like at the end."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from snap.files import read_result
from snap.report.figures.base import (
    Drawing,
    Drawn,
    heading,
    left_out,
    multiples,
    named,
    panels,
    split_focus,
    task_axis,
)
from snap.report.figures.sequence import progress
from snap.report.frames import Frame, only
from snap.trial import Trial

SHOWN = "learner dataset configuration lambda seed progress consolidated units p5 p50 p95".split()
COLUMNS = 3  # families in a row
COUNTED = ["consolidated", "units"]


def consolidation(drawing: Drawing) -> Drawn:
    """How many hidden neurons have consolidated through the sequence, and their strength."""
    frame = only(drawing.tables.consolidation, dataset=drawing.one, layer="hidden")
    frame = frame[frame["training"].notna()]
    watched = set(zip(frame["learner"], frame["configuration"], strict=True))
    families = [family for family in drawing.tables.families if family in watched]
    if not families or frame["training"].max() < 1:
        says = f"No weights of {drawing.one} were recorded in this run."
        return left_out(says, ["learner", "configuration", "quantity", "progress"])
    counted = set(COUNTED) <= set(frame.columns) and frame[COUNTED].notna().any(axis=None)
    gaps = [] if counted else ["these tables do not have the number of consolidated neurons"]
    columns = min(len(families), COLUMNS)
    each = 2 if counted else 1  # panels of a family, one below the other
    blocks = -(-len(families) // columns)
    figure, axes = panels(each * blocks, columns, 2.1)
    rows, findings = [], []
    for place, (learner, name) in enumerate(families):
        block, column = divmod(place, columns)
        mine = axes[each * block : each * (block + 1), column]
        cell = only(frame, learner=learner, configuration=name)
        cell = only(cell, seed=cell["seed"].min())
        mine[0].set_title(heading(name, learner, cell["lambda"].iloc[0]))
        color = drawing.look(name, learner)["color"]
        part = progress(only(cell, quantity="strength"))
        says = _spread(mine[-1], drawing, part, color)
        if counted:
            says = _count(mine[0], part, color, f"{split_focus(name)[1]}s", first=column == 0)
        for axis in mine:
            task_axis(axis, drawing, int(cell["training"].max()))
        if column == 0:
            mine[-1].set_ylabel("strength")
        mine[-1].set_xlabel("task being learned")
        findings.append(f"{named(name, learner)}: {says}")
        rows.append(part)
    for axis in axes.flat:
        if not axis.lines:
            axis.set_axis_off()
    data = pd.concat([part for part in rows if len(part)])
    shown = [column for column in SHOWN if column in data]
    return Drawn(figure, data[shown], f"{drawing.one}. {'; '.join(findings)}.", gaps)


def _count(axis: Axes, part: Frame, color: str, units: str, first: bool) -> str:
    """The number of consolidated units over time, of all that the layer has."""
    axis.plot(part["progress"], part["consolidated"], color=color, drawstyle="steps-post")
    total = part["units"].max()
    total = 1 if pd.isna(total) else int(total)
    axis.set_ylim(-0.03 * total, 1.05 * total)
    axis.set_yticks([0, total // 2, total] if total % 2 == 0 else [0, total])
    if first or units != "neurons":
        axis.set_ylabel(f"{units} consolidated")
    end = part["consolidated"].dropna()
    return f"{end.iloc[-1]:.0f} of {total} {units} consolidated" if len(end) else "not counted"


def _spread(axis: Axes, drawing: Drawing, part: Frame, color: str) -> str:
    """The median strength, and a band of the middle nine tenths."""
    band = {"color": color, "alpha": drawing.style["band"], "linewidth": 0}
    axis.fill_between(part["progress"], part["p5"], part["p95"], **band)
    axis.plot(part["progress"], part["p50"], color=color)
    highest = part["p95"].max()
    axis.set_ylim(0, 1.08 * highest if highest > 0 else 1)
    return f"median strength at the end {part['p50'].iloc[-1]:.2g}"


def features(drawing: Drawing) -> Drawn:
    """The hidden weights after the sequence, with each neuron as an image."""
    weights = {(trial.learner, trial.configuration.name): (trial, W) for trial, W in _load(drawing)}
    order = {family: place for place, family in enumerate(drawing.tables.families)}
    families = sorted(weights, key=lambda family: order.get(family, len(order)))
    finite = [family for family in families if np.isfinite(weights[family][1]).all()]
    gaps = [
        f"{named(n, learner)}: diverged" for learner, n in families if (learner, n) not in finite
    ]
    columns = ["learner", "configuration", "neuron", "norm"]
    if not finite:
        if families:
            return left_out(f"Every portrait of {drawing.one} diverged.", columns)
        return left_out(f"No weights of {drawing.one} are kept here.", columns)
    width = {1: 4.0, 2: 7.0}.get(len(finite))
    figure, axes, _ = multiples(len(finite), 3.6, COLUMNS, width=width)
    rows, findings = [], []
    for axis, family in zip(axes, finite, strict=True):
        axis.set_axis_off()
        name = named(family[1], family[0])
        trial, W = weights[family]
        axis.set_title(heading(family[1], family[0], trial.lateral_inhibition))
        axis.imshow(mosaic(W), cmap="gray", vmin=0, vmax=1, interpolation="none")
        norms = np.linalg.norm(W, axis=1)
        unit = W / np.where(norms == 0, 1, norms)[:, None]
        alike = np.abs(unit @ unit.T)[~np.eye(len(unit), dtype=bool)]
        likeness = float(alike.mean()) if alike.size else 0.0
        findings.append(f"{name}: mean cosine between two neurons {likeness:.2f}")
        made = {"learner": family[0], "configuration": family[1], "neuron": range(len(norms))}
        rows.append(pd.DataFrame(made | {"norm": norms}))
    finding = f"{drawing.one}, hidden weights after the sequence. {'; '.join(findings)}."
    return Drawn(figure, pd.concat(rows), finding, gaps)


def _load(drawing: Drawing) -> list[tuple[Trial, Any]]:
    """Every trial that has a portrait, and its hidden weights."""
    path = drawing.weights.get(drawing.one)
    if path is None or not path.exists():  # a publication has no weights
        return []
    content = io.BytesIO(read_result(path))
    try:
        with np.load(content, allow_pickle=False) as file:
            return [(Trial.parse(key), file[key]) for key in file.files]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
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
