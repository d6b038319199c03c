"""How strong and how plastic the weights are: percentiles that make consolidation visible."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.growth import GROWTHS, plasticity
from snap.trial import Trial

PERCENTS = (0, 5, 25, 50, 75, 95, 100)


def percentiles(trial: Trial, W: NDArray[Any], V: NDArray[Any]) -> dict[str, list[float]]:
    """For both layers, percentiles of strength and plasticity: per neuron, or per synapse."""
    measured = {}
    layers = {
        "hidden": (W, trial.configuration.hidden),
        "output": (V, trial.configuration.output),
    }
    for layer, (weights, growth) in layers.items():
        if trial.configuration.focus == "synapse":
            strength = np.abs(weights).ravel().astype(np.float64)
        else:
            strength = np.linalg.norm(weights.astype(np.float64), axis=1)
            strength /= trial.strength_divisor(layer, *weights.shape)
        clamped = trial.protocol.plasticity_floor == "clamped"
        capped = np.minimum(strength, 1.0) if clamped else strength
        factor = plasticity(GROWTHS.index(growth), strength, capped, 1.0)
        factor = np.broadcast_to(factor, strength.shape)
        measured[f"{layer}_strength"] = np.percentile(strength, PERCENTS).tolist()
        measured[f"{layer}_plasticity"] = np.percentile(factor, PERCENTS).tolist()
    return measured
