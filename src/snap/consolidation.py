"""How strong and how plastic the weights are, and which of them have consolidated.

A unit is a neuron, or a synapse if growth is synapse-wise. It has consolidated once it is so strong
that its plasticity has fallen to a tenth of the highest that its growth allows. Under sigmoidal
growth, that is a strength of 0.975 or more. Under linear and exponential growth, plasticity does
not fall, so no unit ever consolidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.growth import GROWTHS, plasticity
from snap.trial import Trial

PERCENTS = (0, 5, 25, 50, 75, 95, 100)
SHARE = 0.1  # of the highest plasticity

Floats = NDArray[np.float64]


def strength(trial: Trial, layer: str, weights: NDArray[Any]) -> Floats:
    """The strength of each unit of a layer."""
    if trial.configuration.focus == "synapse":
        magnitudes: Floats = np.abs(weights.astype(np.float64)).ravel()
        return magnitudes
    norms = np.linalg.norm(weights.astype(np.float64), axis=1)
    return np.asarray(norms / trial.strength_divisor(layer, *weights.shape), np.float64)


def factor(trial: Trial, layer: str, strengths: Floats) -> Floats:
    """The plasticity of each unit of a layer."""
    growth = trial.configuration.hidden if layer == "hidden" else trial.configuration.output
    clamped = trial.protocol.plasticity_floor == "clamped"
    capped = np.minimum(strengths, 1.0) if clamped else strengths
    found = plasticity(GROWTHS.index(growth), strengths, capped, 1.0)
    return np.broadcast_to(found, strengths.shape)


def consolidated(trial: Trial, layer: str, strengths: Floats) -> NDArray[np.bool_]:
    """Which units of a layer have consolidated."""
    possible = np.linspace(0, 1, 1001)
    plastic = factor(trial, layer, possible)
    highest = int(np.argmax(plastic))
    fixed = factor(trial, layer, strengths) <= SHARE * plastic[highest]
    both: NDArray[np.bool_] = (strengths > possible[highest]) & fixed
    return both


def states(trial: Trial, W: NDArray[Any], V: NDArray[Any]) -> dict[str, dict[str, Any]]:
    """For both layers: percentiles of strength and plasticity, and how many have consolidated."""
    measured: dict[str, dict[str, Any]] = {}
    for layer, weights in (("hidden", W), ("output", V)):
        strengths = strength(trial, layer, weights)
        measured[layer] = {
            "strength": np.percentile(strengths, PERCENTS).tolist(),
            "plasticity": np.percentile(factor(trial, layer, strengths), PERCENTS).tolist(),
            "consolidated": int(consolidated(trial, layer, strengths).sum()),
            "units": len(strengths),
        }
    return measured
