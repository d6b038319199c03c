"""The interface of all engines: a population of networks that learn side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snap import metrics
from snap.data.samples import Samples
from snap.errors import SnapError
from snap.initial import Weights
from snap.trial import Trial


class Population(ABC):
    """Networks, one per trial, each with its own weights, sample order and pace.

    `seen` counts the samples that each network has learned from. `diverged` has the sample (counted
    from 1) at which the weights of a network stopped being finite, or None. A diverged network
    stops learning.
    """

    name: ClassVar[str]
    learners: ClassVar[tuple[str, ...]]  # the learners that it has a rule for
    # Samples per call of `train`, counted from the start of a request; None for a whole request.
    # Between two calls, progress is reported and a checkpoint can be taken.
    chunk: int | None = None

    def __init__(
        self,
        trials: Sequence[Trial],
        weights: Sequence[Weights],
        samples: Samples,
        device: str = "cpu",
    ) -> None:
        if not trials:
            raise SnapError("a population needs at least one trial, got none")
        for trial in trials:
            if trial.learner not in self.learners:
                raise SnapError(
                    f"the {self.name} engine has no learner {trial.learner}:"
                    " the reference engine has every one"
                )
            control = trial.control
            if control is not None and not control.runs_on(self.name):
                raise SnapError(
                    f"the {self.name} engine has no control {control.name}: choose the engine"
                    f" {' or '.join(control.kind.engines or ())}"
                )
        self.trials = tuple(trials)
        self.samples = samples
        self.seen = [0] * len(trials)
        self.diverged: list[int | None] = [None] * len(trials)
        for _, (W, V) in zip(trials, weights, strict=True):
            _check_shapes(W, V, samples)

    @staticmethod
    def groups(trials: Sequence[Trial], record: bool = False) -> list[list[int]]:
        """Group the trials, by index, that are faster in one population.

        With `record`, the weights of every trial are kept, including those that diverge.
        """
        return [[n] for n in range(len(trials))]

    def train(self, orders: Sequence[NDArray[np.int64]]) -> None:
        """Train each network on its own sequence of sample numbers, which may be empty."""
        learning = []
        for order, at in zip(orders, self.diverged, strict=True):
            if len(order) and not 0 <= order.min() <= order.max() < len(self.samples):
                raise SnapError(f"order must hold sample numbers from 0 to {len(self.samples) - 1}")
            stopped = at is not None
            learning.append(np.zeros(0, np.int64) if stopped else np.ascontiguousarray(order))
        for g, at in enumerate(self._train(learning)):
            if at is not None:
                self.diverged[g] = self.seen[g] + at
                self.seen[g] += at
            else:
                self.seen[g] += len(learning[g])

    @abstractmethod
    def _train(self, orders: Sequence[NDArray[np.int64]]) -> list[int | None]:
        """Train, and return the position (from 1) in its order at which each network diverged."""

    def end_task(self, network: int, samples: Samples) -> None:  # noqa: B027
        """A task of one network has ended; these were its training samples."""

    @abstractmethod
    def outputs(self, network: int, samples: Samples) -> NDArray[Any]:
        """The outputs of one network for each sample: [N, C]."""

    def hits(
        self,
        networks: Sequence[int],
        samples: Samples,
        limits: Sequence[Sequence[int] | None] = (None,),
    ) -> NDArray[np.int64]:
        """For some networks, the samples of each class that are predicted right: [networks, 1, C].

        Each limit names the classes whose outputs count, or is None for all. With L limits the
        result is [networks, L, C].
        """
        counts = []
        for network in networks:
            outputs = self.outputs(network, samples)
            counts.append([metrics.hits(outputs, samples.labels, among) for among in limits])
        return np.array(counts)

    def predict(self, network: int, samples: Samples) -> NDArray[np.int64]:
        """The class that one network predicts for each sample: the argmax over all outputs."""
        predicted: NDArray[np.int64] = np.argmax(self.outputs(network, samples), axis=1)
        return predicted

    @abstractmethod
    def weights(self, network: int) -> Weights:
        """Copies of one network's weights."""


def _check_shapes(W: NDArray[Any], V: NDArray[Any], samples: Samples) -> None:
    if W.ndim != 2 or V.ndim != 2 or W.shape[0] != V.shape[1] or not W.size or not V.size:
        raise SnapError(f"weights must be W (H×D) and V (C×H), got {W.shape} and {V.shape}")
    if W.shape[1] != samples.images.shape[1]:
        raise SnapError(
            f"W has {W.shape[1]} columns, but the images have {samples.images.shape[1]} pixels"
        )
    if W.dtype != V.dtype or W.dtype not in (np.float32, np.float64):
        raise SnapError(f"weights must both be float32 or float64, got {W.dtype} and {V.dtype}")
    for label in (samples.labels.min(), samples.labels.max()) if len(samples) else ():
        if not 0 <= label < V.shape[0]:
            raise SnapError(f"label {label} has no row in V, whose rows are 0 to {len(V) - 1}")
