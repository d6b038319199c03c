"""A learning rule as numbers, for the engines that are compiled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snap.growth import GROWTHS, LINEAR
from snap.initial import biases
from snap.learners import HEBBIAN
from snap.protocol import SWITCHES
from snap.trial import Trial

ERROR_SOFTMAX, ERROR_ONEHOT, ERROR_RAW, LABEL = range(4)


class Rule(NamedTuple):
    """A trial's learning rule as numbers. Real ones have the precision of the weights."""

    alpha: Any
    eta: Any
    lateral_inhibition: Any  # λ
    squarings: int  # log2 λ where that is a whole number from 0, else -1
    normalized: bool
    norm_ratio: bool
    hidden_growth: int  # neuron-wise factor of a hidden row; LINEAR where there is none
    output_growth: Any  # of each output layer
    output_synapse: Any  # of each output layer, whether that growth is synapse-wise
    hidden_fan: Any  # a row's norm over this is its strength
    output_fan: Any
    output_plain: Any  # of each output layer, whether its norm is not divided
    epsilon: Any  # added to a norm that divides an earlier neuron's weights
    hidden_bias: Any
    output_bias: Any
    cap: Any  # strength above which sigmoid plasticity stays constant
    least: Any  # a hidden weight below this becomes 0
    output_unit: bool  # keep output rows at unit length
    output_rule: int
    tiny: Any  # an activation below this counts as 0


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
def rule_of(trials: Sequence[Trial], W: NDArray[Any], V: NDArray[Any]) -> Rule:
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
    return Rule(
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
