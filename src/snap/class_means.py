"""Class means: the control without a network. It compares a sample with the mean image per class.

It learns by adding up pixels, which are whole numbers. Its means are therefore the same to the last
bit in whatever order samples or tasks come, and it cannot forget.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from snap import metrics
from snap.data.samples import Samples
from snap.data.store import View
from snap.errors import SnapError

NEAREST = ("angle", "distance")
Floats = NDArray[np.float64]
Tasks = tuple[tuple[int, ...], ...]


class ClassMeans:
    """The sum of the images of each class, and how many they are."""

    def __init__(self, classes: int, width: int) -> None:
        self.sums = np.zeros((classes, width), np.int64)
        self.counts = np.zeros(classes, np.int64)

    def learn(self, samples: Samples) -> None:
        if samples.images.dtype != np.uint8:
            raise SnapError(f"class means need images of pixels, got {samples.images.dtype}")
        for label in np.unique(samples.labels):
            chosen = samples.labels == label
            self.sums[label] += samples.images[chosen].sum(axis=0, dtype=np.int64)
            self.counts[label] += int(chosen.sum())

    @property
    def means(self) -> Floats:
        """The mean image of each class; 0 for a class that has not been seen."""
        return self.sums / np.maximum(self.counts, 1)[:, None]

    def outputs(self, samples: Samples, nearest: str) -> Floats:
        """How near each sample is to each class; -∞ for a class that has not been seen."""
        if nearest not in NEAREST:
            raise SnapError(f"nearest must be {' or '.join(NEAREST)}, got {nearest!r}")
        means = self.means
        near: Floats
        products: Floats = np.einsum("nj,kj->nk", samples.images.astype(np.float64), means)
        squares = np.square(means).sum(axis=1)
        if nearest == "angle":
            lengths = np.sqrt(squares)
            near = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        else:  # ‖x − m‖² without ‖x‖², which is the same for all classes
            near = 2 * products - squares
        near[:, self.counts == 0] = -np.inf
        return near


def matrices(view: View, tasks: Tasks, classes: int, nearest: str) -> dict[str, list[list[float]]]:
    """The accuracy matrices of tasks in sequence; see `Result`. Each task is seen once."""
    model = ClassMeans(classes, view.train.images.shape[1])
    labels = view.measure.labels
    sizes = np.bincount(labels, minlength=classes)
    known = [sum(tasks[: n + 1], ()) for n in range(len(tasks))]
    limits: dict[str, Sequence[tuple[int, ...] | None]] = {
        "matrix": [None] * len(tasks),
        "matrix_known": known,
        "matrix_own": tasks,
    }
    found: dict[str, list[list[float]]] = {name: [] for name in limits}
    for after in range(len(tasks) + 1):
        if after:
            model.learn(view.train.take(view.train.of_classes(tasks[after - 1])))
        outputs = model.outputs(view.measure, nearest)
        for name, among in limits.items():
            hits = [metrics.hits(outputs, labels, limit) for limit in among]
            found[name].append(
                [metrics.accuracy(row, sizes, task) for row, task in zip(hits, tasks, strict=True)]
            )
    return found
