"""The reference engine: one network, one sample, no cleverness. It defines what is right.

Names follow the paper: W (H×D) are the hidden weights, V (C×H) the output weights, a the hidden
activations, h the same after lateral inhibition, r the update of the learning rule before
plasticity. Equation labels are the paper's. A line that depends on the reading names its switch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from snap.growth import GROWTHS, plasticity
from snap.initial import biases
from snap.learners import HEBBIAN, SGD
from snap.trial import Trial


def over(numerator: Tensor, denominator: Tensor) -> Tensor:
    """numerator / denominator, and 0 where the denominator is 0."""
    return torch.where(denominator == 0, 0.0, numerator / denominator)


def row_norms(weights: Tensor) -> Tensor:
    """‖W_i‖₂ of every row, as a column."""
    return weights.square().sum(dim=1, keepdim=True).sqrt()


class Network:
    """The weights of one trial. A subclass adds the learning rule."""

    def __init__(self, trial: Trial, W: Tensor, V: Tensor) -> None:
        self.trial = trial
        self.protocol = trial.protocol
        self.W = W
        self.V = V
        hidden, output = biases(trial, len(W), len(V), W.numpy().dtype)
        self.hidden_bias, self.output_bias = torch.from_numpy(hidden), torch.from_numpy(output)

    def hidden(self, x: Tensor) -> Tensor:
        """The activity of the hidden layer."""
        raise NotImplementedError

    def learn(self, x: Tensor, label: int) -> None:
        """Update both layers with one sample. Both updates use the weights from before it."""
        raise NotImplementedError

    def end_task(self, samples: Sequence[tuple[Tensor, int]]) -> None:
        """A task has ended; these were its samples. The paper's learners do nothing here."""

    def outputs(self, x: Tensor) -> Tensor:
        return self.V @ self.hidden(x) + self.output_bias

    def finite(self) -> bool:
        return bool(torch.isfinite(self.W).all() and torch.isfinite(self.V).all())

    def plasticity(self, weights: Tensor, layer: str) -> Tensor | float:
        """Table 1 (tab:growth-eqns): the factor of δW, for each synapse or for each row."""
        growth = getattr(self.trial.configuration, layer)
        if self.trial.configuration.focus == "synapse":
            strength = weights.abs()
        else:
            strength = row_norms(weights) / self.trial.strength_divisor(layer, *weights.shape)
        clamped = self.protocol.plasticity_floor == "clamped"
        capped = strength.clamp(max=1.0) if clamped else strength
        factor: Tensor | float = plasticity(GROWTHS.index(growth), strength, capped, 1.0)
        return factor


class HebbianNetwork(Network):
    """Hebbian learning with lateral inhibition and Sanger's rule."""

    def __init__(self, trial: Trial, W: Tensor, V: Tensor) -> None:
        super().__init__(trial, W, V)
        assert trial.lateral_inhibition is not None
        assert trial.eta is not None
        self.lateral_inhibition, self.eta = trial.lateral_inhibition, trial.eta

    def hidden(self, x: Tensor) -> Tensor:
        """eq:activation and eq:lateral_inhibition."""
        z = self.W @ x
        if self.protocol.forward_weights == "normalized":
            z = over(z, row_norms(self.W).squeeze(1))
        a = torch.relu(z + self.hidden_bias)
        return over(a, a.max()) ** self.lateral_inhibition

    def learn(self, x: Tensor, label: int) -> None:
        h = self.hidden(x)
        W = self._hidden_update(x, h)
        V = self._output_update(h, label)
        self.W, self.V = W, V

    def _hidden_update(self, x: Tensor, h: Tensor) -> Tensor:
        """eq:sanger: each neuron learns from the input that earlier neurons do not explain."""
        W, growth = self.W, self.trial.configuration.hidden
        r = torch.empty_like(W)
        explained = torch.zeros_like(x)  # Σ_{k<i} h_k w_k
        for i in range(len(W)):
            norm = W[i].square().sum().sqrt()
            if self.protocol.orthogonality == "raw":
                r[i] = h[i] * (x - self.eta * explained)
                explained = explained + h[i] * W[i]
            else:
                r[i] = h[i] * (x - self.eta * norm * explained)
                explained = explained + h[i] * over(W[i], norm + self.protocol.epsilon)
        unit_rows = self.trial.keeps_unit_rows(growth)
        factor = 1.0 if unit_rows else self.plasticity(W, "hidden")
        W = W + self.trial.alpha * factor * r  # eq:generic_weight_update
        if self.protocol.hidden_sign == "non-negative":
            W = W.clamp(min=0.0)
        return over(W, row_norms(W)) if unit_rows else W

    def _output_update(self, h: Tensor, label: int) -> Tensor:
        """eq:original_class; the protocol chooses the reading of ỹ."""
        V, rule = self.V, self.protocol.output_rule
        y = torch.zeros(len(V), dtype=V.dtype)
        y[label] = 1.0
        output = V @ h + self.output_bias
        if rule == "error-softmax":
            y = y - torch.softmax(output, dim=0)
        elif rule == "error-onehot":
            y[int(torch.argmax(output))] -= 1.0
        elif rule == "error-raw":
            y = y - output
        r = torch.outer(y, h)
        V = V + self.trial.alpha * self.plasticity(V, "output") * r
        return over(V, row_norms(V)) if self.protocol.output_rows == "renormalised" else V


class SgdNetwork(Network):
    """Stochastic gradient descent: δW is minus the gradient of the cross-entropy."""

    def hidden(self, x: Tensor) -> Tensor:
        return torch.relu(self.W @ x)

    def learn(self, x: Tensor, label: int) -> None:
        gradient_W, gradient_V = self.gradients(x, label)
        self.W = self._descend(self.W, gradient_W, "hidden")
        self.V = self._descend(self.V, gradient_V, "output")

    def gradients(self, x: Tensor, label: int) -> tuple[Tensor, Tensor]:
        """The gradient of the cross-entropy with respect to W and V."""
        W = self.W.clone().requires_grad_()
        V = self.V.clone().requires_grad_()
        output = self.competing(V @ torch.relu(W @ x), label)
        loss = torch.nn.functional.cross_entropy(output.unsqueeze(0), torch.tensor([label]))
        gradient_W, gradient_V = torch.autograd.grad(loss, (W, V))
        return gradient_W, gradient_V

    def competing(self, output: Tensor, label: int) -> Tensor:
        """The outputs that the softmax of training is over: all of them."""
        return output

    def _descend(self, weights: Tensor, gradient: Tensor, layer: str) -> Tensor:
        weights = weights - self.trial.alpha * self.plasticity(weights, layer) * gradient
        unit_rows = self.trial.keeps_unit_rows(getattr(self.trial.configuration, layer))
        return over(weights, row_norms(weights)) if unit_rows else weights


NETWORKS: dict[str, type[Network]] = {HEBBIAN.name: HebbianNetwork, SGD.name: SgdNetwork}
