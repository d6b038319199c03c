"""One training step of the torch engine, for every network of a population at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from snap.engines.reference import over
from snap.growth import GROWTHS, plasticity
from snap.learners import HEBBIAN, SGD
from snap.trial import Trial


class Rule(NamedTuple):
    """What the networks of a population share, and their own numbers as [G, 1] tensors."""

    trial: Trial  # any of them: learner, configuration and protocol are shared
    lateral_inhibition: Tensor
    eta: Tensor
    alpha: Tensor
    hidden_bias: Tensor  # [G, H]
    output_bias: Tensor  # [G, C]

    def of(self, networks: Tensor) -> Rule:
        """The rule of some of the networks."""
        return Rule(self.trial, *(values[networks] for values in self[1:]))


def row_norms(weights: Tensor) -> Tensor:
    """‖W_i‖₂ of every row of every network: [G, H, 1]."""
    return weights.square().sum(dim=2, keepdim=True).sqrt()


def times(weights: Tensor, vectors: Tensor) -> Tensor:
    """Each network's matrix times its own vector."""
    return torch.bmm(weights, vectors.unsqueeze(2)).squeeze(2)


def layer_plasticity(weights: Tensor, layer: str, trial: Trial) -> Any:
    """Table 1 for a whole layer of every network."""
    growth = getattr(trial.configuration, layer)
    if trial.configuration.focus == "synapse":
        strength = weights.abs()
    else:
        strength = row_norms(weights) / trial.strength_divisor(layer, *weights.shape[1:])
    clamped = trial.protocol.plasticity_floor == "clamped"
    capped = strength.clamp(max=1.0) if clamped else strength
    return plasticity(GROWTHS.index(growth), strength, capped, 1.0)


def inhibited(z: Tensor, norms: Tensor, rule: Rule) -> Tensor:
    """eq:activation and eq:lateral_inhibition from z = W x and the norms of W's rows: [G, H]."""
    if rule.trial.protocol.forward_weights == "normalized":
        z = over(z, norms)
    if rule.trial.protocol.bias == "fixed":
        z = z + rule.hidden_bias
    a = torch.relu(z)
    return over(a, a.amax(dim=-1, keepdim=True)) ** rule.lateral_inhibition


def hebbian_step(W: Tensor, V: Tensor, x: Tensor, y: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    """One sample for every network; y is the one-hot label, [G, C]."""
    trial, protocol = rule.trial, rule.trial.protocol
    norms = row_norms(W).squeeze(2)
    h = inhibited(times(W, x), norms, rule)
    # eq:sanger: row i of `mix` has the share of each earlier neuron that neuron i subtracts.
    takes, lends = h * rule.eta, h
    if protocol.orthogonality != "raw":
        divisors = norms + protocol.epsilon if protocol.epsilon else norms
        takes, lends = takes * norms, over(lends, divisors)
    mix = torch.tril(takes.unsqueeze(2) * lends.unsqueeze(1), diagonal=-1)
    r = h.unsqueeze(2) * x.unsqueeze(1) - torch.bmm(mix, W)
    alpha = rule.alpha.unsqueeze(2)
    unit = trial.keeps_unit_rows(trial.configuration.hidden)
    factor = 1.0 if unit else layer_plasticity(W, "hidden", trial)
    new_W = W + alpha * factor * r
    if protocol.hidden_sign == "non-negative":
        new_W = new_W.clamp(min=0.0)
    if unit:
        new_W = over(new_W, row_norms(new_W))
    # eq:original_class
    if protocol.output_rule != "label":
        output = times(V, h) + rule.output_bias
        if protocol.output_rule == "error-softmax":
            output = torch.softmax(output, dim=1)
        elif protocol.output_rule == "error-onehot":
            highest = output.argmax(dim=1, keepdim=True)
            output = torch.zeros_like(output).scatter(1, highest, 1.0)
        y = y - output
    r = y.unsqueeze(2) * h.unsqueeze(1)
    new_V = V + alpha * layer_plasticity(V, "output", trial) * r
    if protocol.output_rows == "renormalised":
        new_V = over(new_V, row_norms(new_V))
    return new_W, new_V


def rectified(z: Tensor, norms: Tensor, rule: Rule) -> Tensor:
    """The hidden activity of SGD, which has no inhibition: [G, H]."""
    return torch.relu(z)


def sgd_step(W: Tensor, V: Tensor, x: Tensor, y: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    """One sample for every network, down the gradient of its cross-entropy."""
    h = torch.relu(times(W, x))
    error = torch.softmax(times(V, h), dim=1) - y
    back = times(V.transpose(1, 2), error) * (h > 0)
    new_W = descend(W, back.unsqueeze(2) * x.unsqueeze(1), "hidden", rule)
    new_V = descend(V, error.unsqueeze(2) * h.unsqueeze(1), "output", rule)
    return new_W, new_V


def descend(weights: Tensor, gradient: Tensor, layer: str, rule: Rule) -> Tensor:
    factor = rule.alpha.unsqueeze(2) * layer_plasticity(weights, layer, rule.trial)
    weights = weights - factor * gradient
    unit = rule.trial.keeps_unit_rows(getattr(rule.trial.configuration, layer))
    return over(weights, row_norms(weights)) if unit else weights


class Learning(NamedTuple):
    """The two functions of a learner: the hidden activity, and one training step."""

    activity: Callable[[Tensor, Tensor, Rule], Tensor]
    step: Callable[[Tensor, Tensor, Tensor, Tensor, Rule], tuple[Tensor, Tensor]]


LEARNING = {
    HEBBIAN.name: Learning(inhibited, hebbian_step),
    SGD.name: Learning(rectified, sgd_step),
}
