"""The cpu engine: compiled loops, one hidden layer at a time. The fast one without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.controls import KINDS, Control
from snap.data.samples import Samples
from snap.engines.cpu_controls import CONTROLLED
from snap.engines.cpu_layers import HiddenLayer
from snap.engines.population import Population
from snap.engines.rule import rule_of
from snap.engines.sharing import alike, sharing
from snap.initial import Weights
from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.trial import Sequential, Trial


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
            layer = _layer_class(trials[members[0]])(
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

    def end_task(self, network: int, samples: Samples) -> None:
        layer, _ = self._find(network)
        layer.end_task(samples)

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


def _layer_class(trial: Trial) -> type[HiddenLayer]:
    name = trial.control.name if trial.control is not None else ""
    return CONTROLLED.get(name, HiddenLayer)


def _parted(layer: HiddenLayer, orders: Sequence[NDArray[np.int64]]) -> list[HiddenLayer]:
    """Split the layer where its members learn from different samples next."""
    same = alike([orders[g] for g in layer.members])
    return [layer] if len(same) == 1 else [layer.split(places) for places in same]


def compile_all() -> None:
    """Compile the loops of the paper's configurations and of the controls, in float32."""
    samples = Samples(np.zeros((1, 4), np.uint8), np.zeros(1, np.int64))
    weights = [(np.ones((2, 4), np.float32), np.ones((2, 2), np.float32))]
    for name in CpuPopulation.learners:
        lambda_, eta = (2.0, 0.1) if LEARNERS[name].inhibits else (None, None)
        trials = [
            Trial(configuration, 0.1, lambda_, eta, learner=name)
            for configuration in LEARNERS[name].paper_configurations
        ]
        plain = Trial("linear-linear", 0.1, lambda_, eta, learner=name, experiment=Sequential())
        trials += [
            replace(plain, control=Control(kind.name, 1 if kind.amount else None))
            for kind in KINDS.values()
            if kind.name in CONTROLLED and name in kind.learners
        ]
        for trial in trials:
            CpuPopulation([trial], weights, samples)
