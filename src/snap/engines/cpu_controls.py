"""The controls in the cpu engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from snap.controls import DAMPING
from snap.data.samples import Samples
from snap.engines import control_kernels
from snap.engines.cpu_layers import HiddenLayer, full_scale
from snap.engines.fisher import fisher
from snap.growth import GROWTHS

Array = NDArray[Any]


class Memory(NamedTuple):
    """What is kept of earlier tasks for one layer. Without a penalty, the arrays are empty."""

    penalised: bool
    follows: bool  # whether the path of the weights is followed, for SI
    weight: Any  # of the penalty's gradient
    importance: Array
    anchor: Array
    path: Array


class Setting(NamedTuple):
    """What a loop knows besides the rule."""

    competes: Array  # [label, class]: whether a class competes with this label in training
    hidden_growth: int
    synapse: bool
    hidden_unit: bool


def no_memory(weights: Array) -> Memory:
    nothing = np.zeros((0, 0), weights.dtype)
    return Memory(False, False, weights.dtype.type(0), nothing, nothing, nothing)


class RandomHiddenLayer(HiddenLayer):
    """The output layers learn, the hidden layer does not."""

    def train(self, samples: Samples, order: NDArray[np.int64]) -> NDArray[np.int64]:
        diverged = np.zeros(len(self.members), np.int64)
        if len(order):
            full = full_scale(samples.images, self.W.dtype)
            control_kernels.train_random_hidden(
                self.W, self.V, samples.images, full, samples.labels, order, self.rule, diverged
            )
        return diverged


@dataclass
class SgdLayer(HiddenLayer):
    """SGD with a mask or a penalty. It belongs to a single network."""

    memories: list[Memory] = field(default_factory=list)  # of W and of V

    def __post_init__(self) -> None:
        if not self.memories:
            self.memories = [self.remember(self.W[:-1]), self.remember(self.V[0])]

    def remember(self, weights: Array) -> Memory:
        """The memory of a layer before the first task."""
        return no_memory(weights)

    def competes(self) -> Array:
        """Which classes compete with a label in training: all of them."""
        return np.ones((self.V.shape[1], self.V.shape[1]), bool)

    def split(self, at: Sequence[int]) -> Self:
        copy = super().split(at)
        copy.memories = [
            Memory(*memory[:3], *(array.copy() for array in memory[3:])) for memory in self.memories
        ]
        return copy

    def train(self, samples: Samples, order: NDArray[np.int64]) -> NDArray[np.int64]:
        diverged = np.zeros(1, np.int64)
        if len(order):
            configuration = self.trial.configuration
            synapse = configuration.focus == "synapse"
            setting = Setting(
                self.competes(),
                GROWTHS.index(configuration.hidden),
                synapse,
                self.trial.keeps_unit_rows(configuration.hidden),
            )
            full = full_scale(samples.images, self.W.dtype)
            control_kernels.train_sgd(
                self.W,
                self.V,
                samples.images,
                full,
                samples.labels,
                order,
                self.rule,
                setting,
                *self.memories,
                diverged,
            )
        return diverged


@dataclass
class MaskedLayer(SgdLayer):
    """SGD whose softmax is over the classes of the current task."""

    def competes(self) -> Array:
        classes = range(self.V.shape[1])
        tasks = [self.trial.task_of(label) for label in classes]
        return np.array([[c in task for c in classes] for task in tasks])


@dataclass
class EwcLayer(SgdLayer):
    """Online EWC; see the reference engine."""

    def remember(self, weights: Array) -> Memory:
        strength, nothing = _strength(self), np.zeros((0, 0), weights.dtype)
        number = weights.dtype.type(strength)
        return Memory(True, False, number, np.zeros_like(weights), weights.copy(), nothing)

    def end_task(self, samples: Samples) -> None:
        weights = self.W[:-1], self.V[0]
        found = fisher(*weights, samples)
        for memory, now, more in zip(self.memories, weights, found, strict=True):
            memory.importance[:] += more.astype(now.dtype)
            memory.anchor[:] = now


@dataclass
class SiLayer(SgdLayer):
    """Synaptic intelligence; see the reference engine."""

    shares: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shares = self.shares or [np.zeros_like(m.importance) for m in self.memories]

    def remember(self, weights: Array) -> Memory:
        number = weights.dtype.type(2 * _strength(self))
        importance, path = np.zeros_like(weights), np.zeros_like(weights)
        return Memory(True, True, number, importance, weights.copy(), path)

    def end_task(self, samples: Samples) -> None:
        weights = self.W[:-1], self.V[0]
        for memory, now, shares in zip(self.memories, weights, self.shares, strict=True):
            shares += memory.path / (np.square(now - memory.anchor) + now.dtype.type(DAMPING))
            memory.importance[:] = np.maximum(shares, 0)
            memory.anchor[:] = now
            memory.path[:] = 0


def _strength(layer: HiddenLayer) -> float:
    assert layer.trial.control is not None
    assert layer.trial.control.amount is not None
    return layer.trial.control.amount


CONTROLLED: dict[str, type[HiddenLayer]] = {
    "random-hidden": RandomHiddenLayer,
    "mask": MaskedLayer,
    "ewc": EwcLayer,
    "si": SiLayer,
}
