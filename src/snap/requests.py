"""What an experiment asks of the one who drives it, and the answers.

An experiment is a generator. It yields a request and is sent the answer. The answers are small
numbers that JSON keeps exactly, and an experiment depends on nothing else. So a list of answers is
enough to bring a new generator to where another one was.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snap import metrics
from snap.data.samples import Samples
from snap.engines.population import Population

Order = NDArray[np.int64]
Tasks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Learned:
    """The answer to `Learn`."""

    samples: int  # learned since the start of the experiment
    diverged: bool


@dataclass(frozen=True)
class Measured:
    """The answer to `Measure`."""

    accuracy: float  # over all samples
    tasks: list[float]  # on the classes of each task
    # The same with the outputs limited: to the classes of a task and all before it, and to the
    # task's own classes. Empty unless asked for.
    known: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Learn:
    """Train the network on samples, given by their numbers. At most `rest` more will follow."""

    order: Order
    rest: int
    answer: ClassVar = Learned


@dataclass(frozen=True)
class Measure:
    """Measure the accuracy of the network. Equal requests of a population are answered together."""

    samples: Samples
    tasks: Tasks = ()
    limited: bool = False  # whether to measure `known` and `own` too
    answer: ClassVar = Measured

    def answers(self, population: Population, networks: Sequence[int]) -> list[Measured]:
        """The answer for each of the networks."""
        known = [sum(self.tasks[: n + 1], ()) for n in range(len(self.tasks))]
        limits = [None, *known, *self.tasks] if self.limited else [None]
        counts = population.hits(networks, self.samples, limits)
        sizes = np.bincount(self.samples.labels, minlength=counts.shape[2])
        return [self._answer(hits, sizes) for hits in counts]

    def _answer(self, hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> Measured:
        number = len(self.tasks)
        limited = (hits[1 : number + 1], hits[number + 1 :]) if self.limited else ()
        by_task = [
            [metrics.accuracy(row, sizes, task) for row, task in zip(rows, self.tasks, strict=True)]
            for rows in ([hits[0]] * number, *limited)
        ]
        return Measured(metrics.accuracy(hits[0], sizes), *by_task)


Request = Learn | Measure
Answer = Learned | Measured
Steps = Generator[Request, Any, None]
