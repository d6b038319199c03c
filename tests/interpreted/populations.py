"""Populations of the triton engine beside the same networks in the reference engine."""

from __future__ import annotations

import numpy as np

from snap.engines import population_class


def start(hidden, width, dtype, seed=0, classes=10):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 0.01, (hidden, width)), rng.uniform(0, 0.01, (classes, hidden))
    return weights[0].astype(dtype), weights[1].astype(dtype)


def largest_error(weights, expected):
    """The largest difference of two networks, relative to the largest weight of each layer."""
    return max(
        float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(weights, expected, strict=True)
    )


def compare(trials, samples, orders, dtype=np.float64, most=1e-8, weights=None):
    """Train the trials in one population and in the reference engine, and compare every network.

    Networks that diverge must do so at the same sample.
    """
    given = weights or [start(t.hidden, samples.images.shape[1], dtype, t.seed) for t in trials]
    both = [
        population_class(engine)(trials, given, samples, "cpu")
        for engine in ("triton", "reference")
    ]
    for population in both:
        population.train(orders)
    ours, right = both
    for g, trial in enumerate(trials):
        ends = ours.diverged[g], right.diverged[g]
        assert (ends[0] is None) == (ends[1] is None), f"{trial.text}: diverged at {ends}"
        if ends[1] is not None:
            assert abs(ends[0] - ends[1]) <= 1, f"{trial.text}: diverged at {ends}"
            continue
        error = largest_error(ours.weights(g), right.weights(g))
        assert error <= most, f"{trial.text}: off by {error:.1e}"
    return ours


def some_order(samples, count, seed=1):
    return np.random.default_rng(seed).integers(0, len(samples), count)
