"""Networks that share a hidden layer, because it learns the same in all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from snap.initial import Weights
from snap.trial import Trial


def sharing(
    trials: Sequence[Trial],
    weights: Sequence[Weights],
    place: Callable[[Trial], Hashable] | None = None,
) -> list[list[int]]:
    """Group networks, by index, whose hidden layers learn by the same rule from the same weights.

    With `place`, the networks of a group have different places.
    """
    groups: dict[Hashable, list[int]] = {}
    taken: dict[Hashable, int] = {}
    for g, (trial, (W, _)) in enumerate(zip(trials, weights, strict=True)):
        # Equal trials of SGD share nothing: each layer learns through its own outputs.
        shares = trial.kind.shares_hidden
        start = hashlib.sha256(W.tobytes()).digest() if shares else str(g).encode()
        key: Hashable = (trial.hidden_part, start)
        if place is not None:
            at = (key, place(trial))
            taken[at] = taken.get(at, 0) + 1
            key = (key, taken[at])
        groups.setdefault(key, []).append(g)
    return list(groups.values())


def alike(orders: Sequence[NDArray[np.int64]]) -> list[list[int]]:
    """Group orders, by index, that are equal."""
    groups: list[list[int]] = []
    for n, order in enumerate(orders):
        for others in groups:
            if np.array_equal(orders[others[0]], order):
                others.append(n)
                break
        else:
            groups.append([n])
    return groups
