"""Replay: a reservoir of past samples, and the order in which they are learned again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snap.initial import REPLAY, random_stream

Order = NDArray[np.int64]


class Reservoir:
    """A uniform sample of everything that was offered (Vitter's algorithm R)."""

    def __init__(self, size: int, seed: int) -> None:
        self.kept = np.zeros(size, np.int64)
        self.offered = 0
        self.random = random_stream(seed, REPLAY)

    def __len__(self) -> int:
        return min(self.offered, len(self.kept))

    def offer(self, sample: int) -> None:
        """Keep a sample, in place of another one if the reservoir is full, or pass over it."""
        place = self.offered
        if place >= len(self.kept):
            place = int(self.random.integers(self.offered + 1))
        if place < len(self.kept):
            self.kept[place] = sample
        self.offered += 1

    def interleave(self, order: Order, new: bool) -> Order:
        """Follow each sample of an order by one of the past, and offer those that are new.

        The first sample of all has no past and is not followed by another one.
        """
        mixed: list[int] = []
        for sample in order.tolist():
            mixed.append(sample)
            if len(self):
                mixed.append(int(self.kept[self.random.integers(len(self))]))
            if new:
                self.offer(sample)
        return np.array(mixed, np.int64)
