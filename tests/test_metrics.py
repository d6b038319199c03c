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
    assert metrics.accuracy(predicted, labels) == 0.5
    by_task = metrics.accuracy_by_task(predicted, labels, [(0, 1), (2,)])
    assert by_task == pytest.approx([2 / 3, 1 / 3])
