"""The controls in the reference engine, each as it is defined.

The penalties of EWC and SI are added to the loss of SGD. Both are Σ F · (w − w*)², summed over the
weights of both layers: w* are the weights at the end of the last task, F says how important each
weight has been to the tasks so far. EWC has a half before the sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from snap.controls import DAMPING
from snap.engines.reference import HebbianNetwork, Network, SgdNetwork
from snap.trial import Trial

Pair = tuple[Tensor, Tensor]  # a number for each weight of W and of V


class RandomHiddenNetwork(HebbianNetwork):
    """Hebbian learning in the output layer only."""

    def _hidden_update(self, x: Tensor, h: Tensor) -> Tensor:
        return self.W


class MaskedNetwork(SgdNetwork):
    """SGD whose softmax is over the classes of the current task."""

    def competing(self, output: Tensor, label: int) -> Tensor:
        task = self.trial.task_of(label)
        others = torch.tensor([c not in task for c in range(len(output))])
        return output.masked_fill(others, -torch.inf)


class PenalisedNetwork(SgdNetwork):
    """SGD with a penalty on moving weights that were important to earlier tasks."""

    factor: float  # of the penalty's gradient

    def __init__(self, trial: Trial, W: Tensor, V: Tensor) -> None:
        super().__init__(trial, W, V)
        self.importance: Pair = torch.zeros_like(W), torch.zeros_like(V)
        self.anchor: Pair = W.clone(), V.clone()
        assert trial.control is not None
        assert trial.control.amount is not None
        self.strength = trial.control.amount

    def learn(self, x: Tensor, label: int) -> None:
        gradients, before = self.gradients(x, label), (self.W, self.V)
        total = [
            gradient + self.factor * self.strength * importance * (weights - anchor)
            for gradient, importance, weights, anchor in zip(
                gradients, self.importance, before, self.anchor, strict=True
            )
        ]
        self.W = self._descend(self.W, total[0], "hidden")
        self.V = self._descend(self.V, total[1], "output")
        self.moved(gradients, (self.W - before[0], self.V - before[1]))

    def moved(self, gradients: Pair, by: Pair) -> None:
        """A sample has moved the weights; these were the gradients of its cross-entropy."""

    def end_task(self, samples: Sequence[tuple[Tensor, int]]) -> None:
        self.importance = self.grown_importance(samples)
        self.anchor = self.W.clone(), self.V.clone()

    def grown_importance(self, samples: Sequence[tuple[Tensor, int]]) -> Pair:
        """The importance, to which the task that has ended is added."""
        raise NotImplementedError


class EwcNetwork(PenalisedNetwork):
    """Online EWC: the importance is the sum over tasks of the diagonal Fisher information."""

    factor = 1.0

    def grown_importance(self, samples: Sequence[tuple[Tensor, int]]) -> Pair:
        """The mean over samples of E[(∂ log p(c) / ∂w)²], where c is drawn as the network says."""
        W, V = (total.clone() for total in self.importance)
        for x, _ in samples:
            likely = torch.softmax(self.outputs(x), dim=0)
            for label, p in enumerate(likely):
                gradient_W, gradient_V = self.gradients(x, label)
                W += p * gradient_W.square() / len(samples)
                V += p * gradient_V.square() / len(samples)
        return W, V


class SiNetwork(PenalisedNetwork):
    """Synaptic intelligence: the importance is the share of each weight in lowering the loss.

    A sum of shares below 0 counts as 0.
    """

    factor = 2.0

    def __init__(self, trial: Trial, W: Tensor, V: Tensor) -> None:
        super().__init__(trial, W, V)
        self.path: Pair = torch.zeros_like(W), torch.zeros_like(V)
        self.shares: Pair = torch.zeros_like(W), torch.zeros_like(V)

    def moved(self, gradients: Pair, by: Pair) -> None:
        W, V = (
            path - gradient * change
            for path, gradient, change in zip(self.path, gradients, by, strict=True)
        )
        self.path = W, V

    def grown_importance(self, samples: Sequence[tuple[Tensor, int]]) -> Pair:
        W, V = (
            shares + path / ((weights - start).square() + DAMPING)
            for shares, path, weights, start in zip(
                self.shares, self.path, (self.W, self.V), self.anchor, strict=True
            )
        )
        self.shares, self.path = (W, V), (torch.zeros_like(W), torch.zeros_like(V))
        return W.clamp(min=0.0), V.clamp(min=0.0)


CONTROLLED: dict[str, type[Network]] = {
    "random-hidden": RandomHiddenNetwork,
    "mask": MaskedNetwork,
    "ewc": EwcNetwork,
    "si": SiNetwork,
}
