"""The cpu engine: compiled loops, one network at a time. The fast one without a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.data.samples import Samples
from snap.engines import kernels
from snap.engines.base import Population, Weights
from snap.growth import GROWTHS, LINEAR
from snap.protocol import SWITCHES
from snap.trial import PAPER_CONFIGURATIONS, SGD_CONFIGURATIONS, Trial


class CpuPopulation(Population):
    name = "cpu"

    def __init__(
        self, trials: Sequence[Trial], weights: Sequence[Weights], samples: Samples
    ) -> None:
        super().__init__(trials, weights, samples)
        # One spare row, for the kernel's last pair.
        self.W = [np.ascontiguousarray(np.vstack([W, np.zeros_like(W[:1])])) for W, _ in weights]
        self.V = [np.array(V, order="C") for _, V in weights]
        self.rules = [rule_of(t, *w) for t, w in zip(trials, weights, strict=True)]
        self._compile()

    def _compile(self) -> None:
        """Compile the loops now, on a sample and copies, so that it is not taken for training."""
        if not len(self.samples):
            return
        W, V = ([w.copy() for w in layer] for layer in (self.W, self.V))
        for g in range(len(self.trials)):
            self._train_one(g, np.zeros(1, np.int64))
            self.predict(g, self.samples.take(slice(1)))
        self.W, self.V = W, V

    def _train(self, orders: Sequence[NDArray[np.int64]]) -> list[int | None]:
        return [self._train_one(g, order) for g, order in enumerate(orders)]

    def _train_one(self, g: int, order: NDArray[np.int64]) -> int | None:
        if not len(order):
            return None
        trial, samples, W = self.trials[g], self.samples, self.W[g]
        configuration = trial.configuration
        synapse = configuration.focus == "synapse"
        train = kernels.trainer(
            trial.learner == "hebbian",
            GROWTHS.index(configuration.hidden) if synapse else LINEAR,
            trial.keeps_unit_rows(configuration.hidden),
        )
        full = full_scale(samples.images, W.dtype)
        at = train(W, self.V[g], samples.images, full, samples.labels, order, self.rules[g])
        return at or None

    def predict(self, network: int, samples: Samples) -> NDArray[np.int64]:
        trial, W = self.trials[network], self.W[network][:-1]
        inverse = np.ones(len(W), W.dtype)
        hebbian = trial.learner == "hebbian"
        if hebbian and trial.protocol.forward_weights == "normalized":
            norms = np.sqrt(np.square(W).sum(axis=1))
            np.divide(1, norms, out=inverse, where=norms != 0)
        out = np.empty(len(samples), np.int64)
        padded = np.zeros((-(-len(W) // 4) * 4, W.shape[1]), W.dtype)
        padded[: len(W)] = W
        kernels.predict(
            padded,
            len(W),
            inverse,
            self.V[network],
            samples.images,
            full_scale(samples.images, W.dtype),
            self.rules[network],
            hebbian,
            out,
        )
        return out

    def weights(self, network: int) -> Weights:
        return self.W[network][:-1].copy(), self.V[network].copy()


def full_scale(images: NDArray[Any], dtype: np.dtype[Any]) -> Any:
    """What the images are divided by: 255 where they are pixels."""
    return dtype.type(255 if images.dtype == np.uint8 else 1)


def _bounded(trial: Trial) -> bool:
    """Whether weights cannot grow by more than the sum of their updates.

    Then an activation below ε² moves nothing by more than rounding, all samples taken together, and
    may be passed over. Where growth feeds on itself, no difference is too small to matter.
    """
    growth = trial.configuration.hidden
    if growth == "sigmoid":
        return trial.protocol.plasticity_floor == "clamped"
    return growth == "linear" or trial.keeps_unit_rows(growth)


@np.errstate(over="ignore")  # a rate beyond float32 is infinite there, and the trial diverges
def rule_of(trial: Trial, W: NDArray[Any], V: NDArray[Any]) -> kernels.Rule:
    """The trial's learning rule in the precision of its weights."""
    number, info = W.dtype.type, np.finfo(W.dtype)
    protocol, configuration = trial.protocol, trial.configuration
    hebbian = trial.learner == "hebbian"
    synapse = configuration.focus == "synapse"
    rms = protocol.neuron_norm == "rms"
    power = trial.lateral_inhibition or 1.0
    squarings = math.log2(power)
    hidden = LINEAR if synapse else GROWTHS.index(configuration.hidden)
    if hebbian and trial.keeps_unit_rows(configuration.hidden):
        hidden = LINEAR  # unit rows stand in for the factor
    if hebbian:
        output_unit = protocol.output_rows == "renormalised"
    else:
        output_unit = trial.keeps_unit_rows(configuration.output)
    return kernels.Rule(
        alpha=number(trial.alpha),
        eta=number(trial.eta or 0.0),
        power=number(power),
        squarings=int(squarings) if squarings >= 0 and squarings.is_integer() else -1,
        normalized=protocol.forward_weights == "normalized",
        norm_ratio=protocol.orthogonality == "norm-ratio",
        hidden_growth=hidden,
        output_growth=GROWTHS.index(configuration.output),
        output_synapse=synapse,
        hidden_fan=number(math.sqrt(W.shape[1]) if rms else 1.0),
        output_fan=number(math.sqrt(V.shape[1]) if rms else 1.0),
        cap=number(1.0 if protocol.plasticity_floor == "clamped" else math.inf),
        # Non-negative weights go to 0 at the least normal number: arithmetic below it is slow.
        least=number(info.tiny if protocol.hidden_sign == "non-negative" else -math.inf),
        output_unit=output_unit,
        output_rule=SWITCHES["output_rule"].values.index(protocol.output_rule),
        tiny=number(info.eps**2 if _bounded(trial) else 0.0),
    )


def compile_all() -> None:
    """Compile the loops for the paper's configurations, in the precision that experiments use."""
    samples = Samples(np.zeros((1, 4), np.uint8), np.zeros(1, np.int64))
    weights = [(np.ones((2, 4), np.float32), np.ones((2, 2), np.float32))]
    for configuration in PAPER_CONFIGURATIONS:
        CpuPopulation([Trial(configuration, 0.1, 2, 0.1)], weights, samples)
    for configuration in SGD_CONFIGURATIONS:
        CpuPopulation([Trial(configuration, 0.1, learner="sgd")], weights, samples)
