"""The reference network as a population of networks, trained one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from snap.data.samples import Samples
from snap.engines.population import Population
from snap.engines.reference import NETWORKS, Network
from snap.engines.reference_controls import CONTROLLED
from snap.initial import Weights
from snap.trial import Trial


class ReferencePopulation(Population):
    name = "reference"
    learners = tuple(NETWORKS)
    chunk = 500

    def __init__(
        self,
        trials: Sequence[Trial],
        weights: Sequence[Weights],
        samples: Samples,
        device: str = "cpu",
    ) -> None:
        super().__init__(trials, weights, samples, device)
        self.networks = [
            _network_class(trial)(trial, torch.tensor(W), torch.tensor(V))
            for trial, (W, V) in zip(trials, weights, strict=True)
        ]

    def _train(self, orders: Sequence[NDArray[np.int64]]) -> list[int | None]:
        return [
            self._train_one(net, order) for net, order in zip(self.networks, orders, strict=True)
        ]

    def _train_one(self, network: Network, order: NDArray[np.int64]) -> int | None:
        for count, sample in enumerate(order, start=1):
            x = _pixels(self.samples.images[sample], network.W.dtype)
            network.learn(x, int(self.samples.labels[sample]))
            if not network.finite():
                return count
        return None

    def end_task(self, network: int, samples: Samples) -> None:
        net = self.networks[network]
        pixels = [_pixels(image, net.W.dtype) for image in samples.images]
        net.end_task(list(zip(pixels, samples.labels.tolist(), strict=True)))

    def outputs(self, network: int, samples: Samples) -> NDArray[Any]:
        net = self.networks[network]
        rows = [net.outputs(_pixels(image, net.W.dtype)).numpy() for image in samples.images]
        return np.array(rows).reshape(len(samples), len(net.V))

    def weights(self, network: int) -> Weights:
        net = self.networks[network]
        return net.W.numpy().copy(), net.V.numpy().copy()


def _network_class(trial: Trial) -> type[Network]:
    if trial.control is not None and trial.control.name in CONTROLLED:
        return CONTROLLED[trial.control.name]
    return NETWORKS[trial.learner]


def _pixels(image: NDArray[Any], dtype: torch.dtype) -> Tensor:
    """Scale pixels from 0…255 to 0…1; leave other numbers unchanged."""
    x = torch.tensor(image).to(dtype)
    return x / 255 if image.dtype == np.uint8 else x
