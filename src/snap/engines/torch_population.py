"""The torch engine: a population as one batched tensor program, on any device.

Every tensor has the population as its first axis: W is [G, H, D], V is [G, C, H], and each network
has its own sample, λ, η and α. A step has no data-dependent control flow and never waits for the
device. Networks at different points of different tasks share a step. A network that has finished
its order is masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from snap.data.samples import Samples
from snap.engines.torch_hits import (
    Batch,
    DevicePopulation,
    batched_outputs,
    exact_products,
)
from snap.engines.torch_steps import LEARNING, Rule
from snap.errors import SnapError
from snap.initial import Weights, biases
from snap.trial import Trial


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


class TorchPopulation(DevicePopulation):
    name = "torch"
    learners = tuple(LEARNING)
    chunk = 500
    chunk_on_accelerator = 4000  # more, because the end of a chunk waits for the device

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
        self.classes = V.shape[1]
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
        exact_products(self.device)
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

    def batches(self, networks: Sequence[int], samples: Samples) -> Iterator[Batch]:
        index = torch.tensor(networks, device=self.device)
        rule = self.rule.of(index)
        return batched_outputs(
            self.state.W[index], self.state.V[index], rule, *self._place(samples)
        )

    def weights(self, network: int) -> Weights:
        W, V, _ = self.state
        return W[network].cpu().numpy().copy(), V[network].cpu().numpy().copy()


def shared_program(trial: Trial) -> tuple[Any, ...]:
    """A key: trials with equal keys can run as one tensor program."""
    return (trial.learner, trial.configuration, trial.protocol, trial.hidden, trial.dataset)
