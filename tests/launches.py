"""Count the kernels that a step of the torch engine launches, and the bytes that it moves.

Each operation that computes is one kernel; views and allocations are not counted.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from snap.data.samples import Samples
from snap.engines.torch_population import TorchPopulation
from snap.initial import initial_weights
from snap.trial import Configuration, Trial

FREE = ("empty", "detach", "_unsafe_view", "lift_fresh")


class Counter(TorchDispatchMode):
    """Count the operations that compute, and the bytes of their arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.launches = self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.name().removeprefix("aten::")
        if not function.is_view and not name.startswith(FREE):
            self.launches += 1
            # Indexing reads only the selected rows.
            inputs = [result] if name.startswith("index") else args
            tensors = torch.utils._pytree.tree_leaves((inputs, result))
            self.bytes += sum(_size(x) for x in tensors if isinstance(x, torch.Tensor))
        return result


def _size(tensor: torch.Tensor) -> int:
    """The bytes in memory: a broadcast row counts once, since it is read again from cache."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def per_step(configuration: Configuration, hidden: int = 64, population: int = 25):
    """Launches of one step, and its bytes per network: training 3 steps minus training 2."""
    rng = np.random.default_rng(0)
    samples = Samples(rng.integers(0, 256, (20, 784), dtype=np.uint8), rng.integers(0, 10, 20))
    one = Trial(configuration, 0.01, 2, 0.1, hidden=hidden)
    trials = [dataclasses.replace(one, eta=0.1 / (n + 1)) for n in range(population)]
    engine = TorchPopulation(trials, [initial_weights(t, 784) for t in trials], samples)
    counted = []
    for steps in (2, 3):
        with Counter() as counter:
            engine.train([np.arange(steps)] * population)
        counted.append((counter.launches, counter.bytes))
    (short, few), (long, many) = counted
    return long - short, (many - few) / population
