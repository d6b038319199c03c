"""A hidden layer of the cpu engine, with the output layers of the networks that share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from snap.data.samples import Samples
from snap.engines import kernels
from snap.engines.rule import Rule
from snap.growth import GROWTHS, LINEAR
from snap.learners import HEBBIAN
from snap.trial import Trial


@dataclass
class HiddenLayer:
    """A hidden layer, and the networks that share it because they learned the same so far."""

    trial: Trial  # decides how it learns; its output growth is not used
    members: list[int]
    W: NDArray[Any]  # with one spare row, for the kernel's last pair
    V: NDArray[Any]  # an output layer for each member
    rule: Rule

    def split(self, at: Sequence[int]) -> Self:
        """A copy with some of the members, given by their positions."""
        return replace(
            self,
            members=[self.members[n] for n in at],
            W=self.W.copy(),
            V=self.V[list(at)],
            rule=self.rule._replace(
                output_growth=self.rule.output_growth[list(at)],
                output_synapse=self.rule.output_synapse[list(at)],
                output_plain=self.rule.output_plain[list(at)],
            ),
        )

    def train(self, samples: Samples, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Train, and return the position (from 1) at which each member diverged, or 0."""
        diverged = np.zeros(len(self.members), np.int64)
        if len(order):
            configuration = self.trial.configuration
            synapse = configuration.focus == "synapse"
            train = kernels.trainer(
                self.trial.learner == HEBBIAN.name,
                GROWTHS.index(configuration.hidden) if synapse else LINEAR,
                self.trial.keeps_unit_rows(configuration.hidden),
            )
            full = full_scale(samples.images, self.W.dtype)
            train(self.W, self.V, samples.images, full, samples.labels, order, self.rule, diverged)
        return diverged

    def end_task(self, samples: Samples) -> None:
        """A task has ended; these were its training samples."""

    def outputs(self, samples: Samples) -> NDArray[Any]:
        """The outputs of each member for each sample."""
        W = self.W[:-1]
        inverse = np.ones(len(W), W.dtype)
        hebbian = self.trial.learner == HEBBIAN.name
        if hebbian and self.trial.protocol.forward_weights == "normalized":
            norms = np.sqrt(np.square(W).sum(axis=1))
            np.divide(1, norms, out=inverse, where=norms != 0)
        out = np.empty((len(self.members), len(samples), self.V.shape[1]), W.dtype)
        padded = np.zeros((-(-len(W) // 4) * 4, W.shape[1]), W.dtype)
        padded[: len(W)] = W
        full = full_scale(samples.images, W.dtype)
        kernels.outputs(
            padded, len(W), inverse, self.V, samples.images, full, self.rule, hebbian, out
        )
        return out


def full_scale(images: NDArray[Any], dtype: np.dtype[Any]) -> Any:
    """The divisor of the images: 255 for pixels."""
    return dtype.type(255 if images.dtype == np.uint8 else 1)
