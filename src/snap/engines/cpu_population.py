"""The cpu engine: compiled loops, one hidden layer at a time. The fast one without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.data.samples import Samples
from snap.engines import kernels
from snap.engines.population import Population
from snap.engines.rule import Rule, rule_of
from snap.engines.sharing import alike, sharing
from snap.growth import GROWTHS, LINEAR
from snap.initial import Weights
from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.trial import Configuration, Trial


@dataclass
class HiddenLayer:
    """A hidden layer, and the networks that share it because they learned the same so far."""

    trial: Trial  # decides how it learns; its output growth is not used
    members: list[int]
    W: NDArray[Any]  # with one spare row, for the kernel's last pair
    V: NDArray[Any]  # an output layer for each member
    rule: Rule

    def split(self, at: Sequence[int]) -> HiddenLayer:
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


class CpuPopulation(Population):
    name = "cpu"
    learners = (HEBBIAN.name, SGD.name)

    def __init__(
        self,
        trials: Sequence[Trial],
        weights: Sequence[Weights],
        samples: Samples,
        device: str = "cpu",
    ) -> None:
        super().__init__(trials, weights, samples, device)
        self.layers = []
        for members in sharing(trials, weights):
            W = weights[members[0]][0]
            layer = HiddenLayer(
                trials[members[0]].hidden_part,
                members,
                np.ascontiguousarray(np.vstack([W, np.zeros_like(W[:1])])),
                np.stack([weights[g][1] for g in members]),
                rule_of([trials[g] for g in members], *weights[members[0]]),
            )
            # Compile now, on a copy, so that training time does not include compilation.
            if len(samples):
                copy = layer.split(range(len(members)))
                copy.train(samples, np.zeros(1, np.int64))
                copy.outputs(samples.take(slice(1)))
            self.layers.append(layer)
        # Holding on to the samples keeps their id from being reused.
        self._outputs: dict[tuple[int, int], tuple[Samples, NDArray[Any]]] = {}

    @staticmethod
    def groups(trials: Sequence[Trial], record: bool = False) -> list[list[int]]:
        """Trials that share a hidden layer while they learn from the same samples.

        When one diverges, the layer keeps learning for the others. Recorded trials therefore do
        not share.
        """
        groups: dict[Any, list[int]] = {}
        for n, trial in enumerate(trials):
            alone = record or not trial.kind.shares_hidden
            groups.setdefault(n if alone else trial.hidden_part, []).append(n)
        return list(groups.values())

    def _train(self, orders: Sequence[NDArray[np.int64]]) -> list[int | None]:
        self._outputs.clear()
        self.layers = [part for layer in self.layers for part in _parted(layer, orders)]
        diverged: list[int | None] = [None] * len(orders)
        for layer in self.layers:
            at = layer.train(self.samples, orders[layer.members[0]])
            for g, sample in zip(layer.members, at.tolist(), strict=True):
                diverged[g] = sample or None
        return diverged

    def outputs(self, network: int, samples: Samples) -> NDArray[Any]:
        if (network, id(samples)) not in self._outputs:
            layer, _ = self._find(network)
            for g, values in zip(layer.members, layer.outputs(samples), strict=True):
                self._outputs[g, id(samples)] = samples, values
        return self._outputs[network, id(samples)][1].copy()

    def weights(self, network: int) -> Weights:
        layer, place = self._find(network)
        return layer.W[:-1].copy(), layer.V[place].copy()

    def _find(self, network: int) -> tuple[HiddenLayer, int]:
        layer = next(layer for layer in self.layers if network in layer.members)
        return layer, layer.members.index(network)


def _parted(layer: HiddenLayer, orders: Sequence[NDArray[np.int64]]) -> list[HiddenLayer]:
    """Split the layer where its members learn from different samples next."""
    same = alike([orders[g] for g in layer.members])
    return [layer] if len(same) == 1 else [layer.split(places) for places in same]


def full_scale(images: NDArray[Any], dtype: np.dtype[Any]) -> Any:
    """The divisor of the images: 255 for pixels."""
    return dtype.type(255 if images.dtype == np.uint8 else 1)


def compile_all() -> None:
    """Compile the loops for the paper's configurations, in the precision that experiments use."""
    samples = Samples(np.zeros((1, 4), np.uint8), np.zeros(1, np.int64))
    weights = [(np.ones((2, 4), np.float32), np.ones((2, 2), np.float32))]
    for name in CpuPopulation.learners:
        lambda_, eta = (2.0, 0.1) if LEARNERS[name].inhibits else (None, None)
        for configuration in LEARNERS[name].paper_configurations:
            trial = Trial(Configuration.parse(configuration), 0.1, lambda_, eta, learner=name)
            CpuPopulation([trial], weights, samples)
