"""Metrics of a small matrix, compared with values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from snap import metrics

# Three tasks; the first row is the untrained network.
MATRIX = np.array(
    [
        [0.10, 0.20, 0.30],
        [0.90, 0.25, 0.30],
        [0.60, 0.80, 0.40],
        [0.50, 0.85, 0.70],
    ]
)


def test_continual_metrics():
    values = metrics.continual(MATRIX)
    assert values["average_accuracy"] == pytest.approx((0.50 + 0.85 + 0.70) / 3)
    # task 0: best 0.90, final 0.50; task 1: best before the end 0.80, final 0.85
    assert values["forgetting"] == pytest.approx((0.40 - 0.05) / 2)
    # final minus just after learning: 0.50 - 0.90, 0.85 - 0.80
    assert values["backward_transfer"] == pytest.approx((-0.40 + 0.05) / 2)
    # just before learning minus untrained: 0.25 - 0.20, 0.40 - 0.30
    assert values["forward_transfer"] == pytest.approx((0.05 + 0.10) / 2)


def test_one_task_forgets_nothing():
    values = metrics.continual(np.array([[0.1], [0.9]]))
    assert values["average_accuracy"] == 0.9
    assert values["forgetting"] == values["backward_transfer"] == values["forward_transfer"] == 0


def test_accuracies():
    labels = np.array([0, 0, 1, 2, 2, 2])
    predicted = np.array([0, 1, 1, 2, 0, 0])
    hits, sizes = metrics.hits(np.eye(4)[predicted], labels), np.bincount(labels, minlength=4)
    assert hits.tolist() == [1, 1, 1, 0]
    assert metrics.accuracy(hits, sizes) == 0.5
    by_task = [metrics.accuracy(hits, sizes, classes) for classes in [(0, 1), (2,)]]
    assert by_task == [2 / 3, 1 / 3]
    assert np.isnan(metrics.accuracy(hits, sizes, (3,))), "there is no sample of class 3"


def test_a_share_of_counts_is_the_mean_of_hits():
    """Bit for bit, so that results do not depend on how accuracy is computed."""
    rng = np.random.default_rng(0)
    for size in (1, 3, 977, 60000):
        labels, predicted = rng.integers(0, 10, size), rng.integers(0, 3, size)
        hits, sizes = metrics.hits(np.eye(10)[predicted], labels), np.bincount(labels, minlength=10)
        assert metrics.accuracy(hits, sizes) == np.mean(predicted == labels)
        own = np.isin(labels, (1, 2, 7))
        if own.any():
            assert metrics.accuracy(hits, sizes, (1, 2, 7)) == np.mean((predicted == labels)[own])
