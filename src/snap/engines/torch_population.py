"""The torch engine: a population as one batched tensor program, on any device.

Every tensor has the population as its first axis: W is [G, H, D], V is [G, C, H], and each network
has its own sample, λ, η and α. A step has no data-dependent control flow and never waits for the
device. Networks at different points of different tasks share a step. A network that has finished
its order is masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from snap.data.samples import Samples
from snap.engines.population import Population
from snap.engines.reference import over
from snap.engines.torch_hits import Batch, count_hits
from snap.errors import SnapError
from snap.growth import GROWTHS, plasticity
from snap.initial import Weights, biases
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


class State(NamedTuple):
    W: Tensor
    V: Tensor
    diverged: Tensor  # [G]: the step at which the weights stopped being finite, from 1; 0 if never


def step(
    state: State, images: Tensor, labels: Tensor, order: Tensor, count: Tensor, rule: Rule
) -> State:
    """Train every network on one sample; order is [G], and -1 for a network without a sample."""
    W, V, diverged = state
    learning = (order >= 0) & (diverged == 0)
    sample = order.clamp(min=0)
    x = images[sample].to(W.dtype)
    if images.dtype == torch.uint8:
        x = x / 255
    y = torch.zeros(V.shape[:2], dtype=V.dtype, device=V.device)
    y = y.scatter(1, labels[sample].unsqueeze(1), 1.0)
    new_W, new_V = LEARNING[rule.trial.learner].step(W, V, x, y, rule)
    finite = torch.isfinite(new_W).flatten(1).all(dim=1) & torch.isfinite(new_V).flatten(1).all(
        dim=1
    )
    mask = learning[:, None, None]
    return State(
        torch.where(mask, new_W, W),
        torch.where(mask, new_V, V),
        torch.where(learning & ~finite, count, diverged),
    )


class TorchPopulation(Population):
    name = "torch"
    learners = tuple(LEARNING)
    chunk = 500
    chunk_on_accelerator = 4000  # more, because the end of a chunk waits for the device
    activities = 2**24  # the most hidden activities at a time when measuring: 64 MB in float32

    def __init__(
        self,
        trials: Sequence[Trial],
        weights: Sequence[Weights],
        samples: Samples,
        device: str = "cpu",
    ) -> None:
        super().__init__(trials, weights, samples, device)
        shared = {shared_program(trial) for trial in trials}
        if len(shared) > 1:
            raise SnapError(
                "trials of one population must share learner, configuration, protocol and width"
            )
        try:
            self.device = torch.device(device)
            torch.zeros(1, device=self.device).tolist()
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            reason = str(error).splitlines()[0]
            raise SnapError(f"device {device!r} cannot be used here: {reason}") from None
        W = torch.from_numpy(np.stack([W for W, _ in weights])).to(self.device)
        V = torch.from_numpy(np.stack([V for _, V in weights])).to(self.device)
        self.state = State(W, V, torch.zeros(len(trials), dtype=torch.int64, device=self.device))

        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=W.dtype, device=self.device).unsqueeze(1)

        own = [biases(t, W.shape[1], V.shape[1], weights[0][0].dtype) for t in trials]
        self.rule = Rule(
            trials[0],
            column([t.lateral_inhibition or 1.0 for t in trials]),
            column([t.eta or 0.0 for t in trials]),
            column([t.alpha for t in trials]),
            torch.from_numpy(np.stack([hidden for hidden, _ in own])).to(self.device),
            torch.from_numpy(np.stack([output for _, output in own])).to(self.device),
        )
        if self.device.type != "cpu":
            self.chunk = self.chunk_on_accelerator
        if self.device.type == "cuda":  # TF32 would round the products to 10 bits
            torch.backends.cuda.matmul.allow_tf32 = False
        self._on_device: dict[int, tuple[Samples, Tensor, Tensor]] = {}

    @staticmethod
    def groups(trials: Sequence[Trial], record: bool = False) -> list[list[int]]:
        """Trials that run as one tensor program on the same samples."""
        groups: dict[Any, list[int]] = {}
        for n, trial in enumerate(trials):
            samples = trial.split, trial.train_limit, trial.test_limit
            groups.setdefault((shared_program(trial), samples), []).append(n)
        return list(groups.values())

    def _place(self, samples: Samples) -> tuple[Tensor, Tensor]:
        """The samples on the device; they are copied there once."""
        if id(samples) not in self._on_device:
            images = torch.tensor(samples.images, device=self.device)
            labels = torch.tensor(samples.labels, device=self.device)
            self._on_device[id(samples)] = (samples, images, labels)
        return self._on_device[id(samples)][1:]

    def _train(self, orders: Sequence[NDArray[np.int64]]) -> list[int | None]:
        steps = max(len(order) for order in orders)
        padded = np.full((steps, len(orders)), -1, np.int64)
        for g, order in enumerate(orders):
            padded[: len(order), g] = order
        images, labels = self._place(self.samples)
        schedule = torch.from_numpy(padded).to(self.device)
        counts = torch.arange(1, steps + 1, device=self.device)
        state, before = self.state, self.state.diverged.tolist()
        with torch.no_grad():
            for t in range(steps):
                state = step(state, images, labels, schedule[t], counts[t], self.rule)
        self.state = state
        after = state.diverged.tolist()
        return [at if at and not was else None for at, was in zip(after, before, strict=True)]

    def outputs(self, network: int, samples: Samples) -> NDArray[Any]:
        batches = [outputs for outputs, _ in self._outputs([network], samples)]
        return torch.cat(batches, dim=1)[0].cpu().numpy()

    def hits(
        self,
        networks: Sequence[int],
        samples: Samples,
        limits: Sequence[Sequence[int] | None] = (None,),
    ) -> NDArray[np.int64]:
        shape = (len(networks), len(limits), self.state.V.shape[1])
        zeros = torch.zeros(shape, dtype=torch.int64, device=self.device)
        return count_hits(self._outputs(networks, samples), limits, zeros)

    def _outputs(self, networks: Sequence[int], samples: Samples) -> Iterator[Batch]:
        """The outputs of some networks, for a bounded number of samples at a time."""
        images, labels = self._place(samples)
        index = torch.tensor(networks, device=self.device)
        W, V = self.state.W[index], self.state.V[index]
        rule = self.rule._replace(
            lateral_inhibition=self.rule.lateral_inhibition[index],
            hidden_bias=self.rule.hidden_bias[index],
        )
        bias = self.rule.output_bias[index].unsqueeze(1)
        activity = LEARNING[rule.trial.learner].activity
        norms, rows = row_norms(W).squeeze(2), W.flatten(0, 1)
        batch = min(2048, max(1, self.activities // len(rows)))
        for start in range(0, len(labels) or 1, batch):
            part = slice(start, start + batch)
            x = images[part].to(W.dtype)
            if images.dtype == torch.uint8:
                x = x / 255
            # One product for the hidden layers of all networks: [B, networks, H].
            h = activity((x @ rows.T).view(len(x), *W.shape[:2]), norms, rule)
            yield torch.bmm(h.transpose(0, 1), V.transpose(1, 2)) + bias, labels[part]

    def weights(self, network: int) -> Weights:
        W, V, _ = self.state
        return W[network].cpu().numpy().copy(), V[network].cpu().numpy().copy()


def shared_program(trial: Trial) -> tuple[Any, ...]:
    """A key: trials with equal keys can run as one tensor program."""
    return (trial.learner, trial.configuration, trial.protocol, trial.hidden, trial.dataset)
