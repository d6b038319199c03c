"""The metrics and their definitions.

R is the accuracy matrix of a sequence of T tasks: R[i, j] is the test accuracy on the classes of
task j after the first i tasks were learned, so R has T + 1 rows and R[0] is the untrained network.
Tasks are counted from zero: j = 0, …, T − 1.
Accuracy is always the argmax over all outputs against the label; no task identity is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Key = TypeVar("Key")


def hits(
    outputs: NDArray[Any], labels: NDArray[Any], among: Sequence[int] | None = None
) -> NDArray[np.int64]:
    """For every class, the number of its samples whose predicted class is their label.

    With `among`, the prediction is the argmax over the outputs of these classes only.
    """
    if among is None:
        right = labels[np.argmax(outputs, axis=1) == labels]
    else:
        columns = np.array(sorted(among))
        possible = np.isin(labels, columns)  # samples of other classes cannot be right
        predicted = columns[np.argmax(outputs[possible][:, columns], axis=1)]
        right = labels[possible][predicted == labels[possible]]
    return np.bincount(right, minlength=outputs.shape[1])


def accuracy(
    hits: NDArray[np.int64], sizes: NDArray[np.int64], classes: Sequence[int] | None = None
) -> float:
    """Share of the samples of some classes, or of all, that are hits. Both are counts by class."""
    chosen = slice(None) if classes is None else np.isin(np.arange(len(hits)), classes)
    of = int(sizes[chosen].sum())
    return int(hits[chosen].sum()) / of if of else math.nan


def average_accuracy(matrix: NDArray[Any]) -> float:
    """Mean over tasks of the accuracy at the end: mean_j R[T, j]."""
    return float(np.mean(matrix[-1]))


def forgetting(matrix: NDArray[Any]) -> float:
    """Mean over all but the last task of its best accuracy minus its accuracy at the end.

    mean_{j < T − 1} ( max_{1 ≤ i < T} R[i, j] − R[T, j] ); 0 for a single task.
    """
    if matrix.shape[1] < 2:
        return 0.0
    return float(np.mean(matrix[1:-1, :-1].max(axis=0) - matrix[-1, :-1]))


def backward_transfer(matrix: NDArray[Any]) -> float:
    """Mean over all but the last task of the change since it was learned: R[T, j] − R[j + 1, j]."""
    tasks = matrix.shape[1]
    if tasks < 2:
        return 0.0
    learned = matrix[np.arange(1, tasks), np.arange(tasks - 1)]
    return float(np.mean(matrix[-1, :-1] - learned))


def forward_transfer(matrix: NDArray[Any]) -> float:
    """Mean over all but the first task of the gain from earlier tasks: R[j, j] − R[0, j]."""
    tasks = matrix.shape[1]
    if tasks < 2:
        return 0.0
    before = matrix[np.arange(1, tasks), np.arange(1, tasks)]
    return float(np.mean(before - matrix[0, 1:]))


def of_sequence(result: Mapping[str, Any]) -> dict[str, float] | None:
    """The metrics of a stored result; None if the sequence did not finish.

    `forgetting` compares accuracies over all outputs. It mixes what the weights have lost with
    older classes losing the argmax to newer ones. The other two do not: `forgetting_known` limits
    the outputs to the classes known when a task ended, `forgetting_own` to the task's own classes.
    """
    rows = result.get("matrix")
    if not rows or len(rows) != len(rows[0]) + 1:
        return None
    measured = continual(np.array(rows))
    for name in ("known", "own"):
        limited = result.get(f"matrix_{name}")
        if limited:
            measured[f"forgetting_{name}"] = forgetting(np.array(limited))
    return measured


def continual(matrix: NDArray[Any]) -> dict[str, float]:
    """All of the above for one sequence."""
    return {
        "average_accuracy": average_accuracy(matrix),
        "forgetting": forgetting(matrix),
        "backward_transfer": backward_transfer(matrix),
        "forward_transfer": forward_transfer(matrix),
    }


def best(values: Mapping[Key, Iterable[float | None]]) -> Key | None:
    """The key with the highest mean. This is the one rule for the best λ of a configuration.

    A mean is taken over the seeds that have a value. A key without values is ignored. Of equal keys
    the first wins.
    """
    means: dict[Key, float] = {}
    for key, seeds in values.items():
        known = [value for value in seeds if value is not None and not math.isnan(value)]
        if known:
            means[key] = sum(known) / len(known)
    return max(means, key=lambda key: means[key]) if means else None
