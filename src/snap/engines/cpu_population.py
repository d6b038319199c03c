"""The cpu engine: compiled loops, one hidden layer at a time. The fast one without a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.data.samples import Samples
from snap.engines import kernels
from snap.engines.population import Population
from snap.growth import GROWTHS, LINEAR
from snap.initial import Weights, biases
from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.protocol import SWITCHES
from snap.trial import Configuration, Trial


@dataclass
class HiddenLayer:
    """A hidden layer, and the networks that share it because they learned the same so far."""

    trial: Trial  # decides how it learns; its output growth is not used
    members: list[int]
    W: NDArray[Any]  # with one spare row, for the kernel's last pair
    V: NDArray[Any]  # an output layer for each member
    rule: kernels.Rule

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
        shared: dict[tuple[Trial, bytes], list[int]] = {}
        for g, (trial, (W, _)) in enumerate(zip(trials, weights, strict=True)):
            # Equal trials of SGD share nothing: each layer learns through its own outputs.
            start = W.tobytes() if trial.kind.shares_hidden else str(g).encode()
            shared.setdefault((trial.hidden_part, start), []).append(g)
        self.layers = []
        for (hidden, _), members in shared.items():
            W = weights[members[0]][0]
            layer = HiddenLayer(
                hidden,
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
    same: list[list[int]] = []
    for place, g in enumerate(layer.members):
        for others in same:
            if np.array_equal(orders[layer.members[others[0]]], orders[g]):
                others.append(place)
                break
        else:
            same.append([place])
    return [layer] if len(same) == 1 else [layer.split(places) for places in same]


def full_scale(images: NDArray[Any], dtype: np.dtype[Any]) -> Any:
    """The divisor of the images: 255 for pixels."""
    return dtype.type(255 if images.dtype == np.uint8 else 1)


def _bounded(trial: Trial) -> bool:
    """Whether weights cannot grow by more than the sum of their updates.

    If so, activations below ε² together change no weight by more than rounding and can be skipped.
    If growth is proportional to strength, even the smallest difference can be amplified.
    """
    growth = trial.configuration.hidden
    if growth == "sigmoid":
        return trial.protocol.plasticity_floor == "clamped"
    return growth == "linear" or trial.keeps_unit_rows(growth)


@np.errstate(over="ignore")  # a rate too large for float32 becomes infinite: the trial diverges
def rule_of(trials: Sequence[Trial], W: NDArray[Any], V: NDArray[Any]) -> kernels.Rule:
    """The learning rule of trials that share a hidden layer, in the precision of its weights."""
    trial = trials[0]
    outputs = [one.configuration for one in trials]
    number, info = W.dtype.type, np.finfo(W.dtype)
    protocol, configuration = trial.protocol, trial.configuration
    hebbian = trial.learner == HEBBIAN.name
    synapse = configuration.focus == "synapse"
    # They differ only where `exponential_output` leaves a norm undivided.
    divisors = [one.strength_divisor("output", *V.shape) for one in trials]
    hidden_bias, output_bias = biases(trial, len(W), len(V), W.dtype)
    lateral_inhibition = trial.lateral_inhibition or 1.0
    squarings = math.log2(lateral_inhibition)
    hidden = LINEAR if synapse else GROWTHS.index(configuration.hidden)
    if hebbian and trial.keeps_unit_rows(configuration.hidden):
        hidden = LINEAR  # unit rows replace the factor
    if hebbian:
        output_unit = protocol.output_rows == "renormalised"
    else:
        output_unit = trial.keeps_unit_rows(configuration.output)
    return kernels.Rule(
        alpha=number(trial.alpha),
        eta=number(trial.eta or 0.0),
        lateral_inhibition=number(lateral_inhibition),
        squarings=int(squarings) if squarings >= 0 and squarings.is_integer() else -1,
        normalized=protocol.forward_weights == "normalized",
        norm_ratio=protocol.orthogonality != "raw",
        hidden_growth=hidden,
        output_growth=np.array([GROWTHS.index(output.output) for output in outputs]),
        output_synapse=np.array([output.focus == "synapse" for output in outputs]),
        hidden_fan=number(trial.strength_divisor("hidden", *W.shape)),
        output_fan=number(max(divisors)),
        output_plain=np.array([divisor != max(divisors) for divisor in divisors]),
        epsilon=number(protocol.epsilon),
        hidden_bias=hidden_bias,
        output_bias=output_bias,
        cap=number(1.0 if protocol.plasticity_floor == "clamped" else math.inf),
        # Below the smallest normal number weights become 0: arithmetic on subnormals is slow.
        least=number(info.tiny if protocol.hidden_sign == "non-negative" else -math.inf),
        output_unit=output_unit,
        output_rule=SWITCHES["output_rule"].values.index(protocol.output_rule),
        tiny=number(info.eps**2 if _bounded(trial) else 0.0),
    )


def compile_all() -> None:
    """Compile the loops for the paper's configurations, in the precision that experiments use."""
    samples = Samples(np.zeros((1, 4), np.uint8), np.zeros(1, np.int64))
    weights = [(np.ones((2, 4), np.float32), np.ones((2, 2), np.float32))]
    for name in CpuPopulation.learners:
        lambda_, eta = (2.0, 0.1) if LEARNERS[name].inhibits else (None, None)
        for configuration in LEARNERS[name].paper_configurations:
            trial = Trial(Configuration.parse(configuration), 0.1, lambda_, eta, learner=name)
            CpuPopulation([trial], weights, samples)
