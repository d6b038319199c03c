"""Snapshots of the hidden weights during a sequence of tasks, small enough for a web page."""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.consolidation import consolidated, strength
from snap.errors import SnapError
from snap.files import read_result, write_result
from snap.initial import Weights
from snap.trial import Trial

PER_TASK = 4  # evenly spaced; the last of them is the end of the task
PARTS = ("tiles", "strength", "consolidated", "task")


@dataclass(frozen=True)
class Snapshots:
    """The hidden layer of a trial at some points in time; the first is its initial state."""

    tiles: NDArray[
        np.uint8
    ]  # point, neuron, pixel; each neuron scaled from 0 to its largest weight
    strength: NDArray[np.float32]  # point, neuron
    consolidated: NDArray[np.float32]  # point, neuron: the share of it, 0 or 1 if neuron-wise
    task: NDArray[np.float32]  # point: tasks learned, with a fraction within a task


@dataclass
class Watcher:
    """Collects the weights of every trial at every point of its history."""

    seen: dict[Trial, list[tuple[int, Any, Any, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def __call__(self, trial: Trial, task: int, epoch: int, samples: int, weights: Weights) -> None:
        W = np.asarray(weights[0], np.float64)
        strengths = strength(trial, "hidden", W).reshape(len(W), -1)
        fixed = consolidated(trial, "hidden", strengths.ravel()).reshape(strengths.shape)
        tiles, strong = as_tiles(W), strengths.mean(axis=1, dtype=np.float32)
        self.seen[trial].append((task, tiles, strong, fixed.mean(axis=1, dtype=np.float32)))

    def of(self, trial: Trial) -> Snapshots:
        """Some points of each task, evenly spaced."""
        points = self.seen[trial]
        chosen, at = [0], [0.0]
        for task in range(1, points[-1][0] + 1):
            own = [n for n, point in enumerate(points) if point[0] == task]
            wanted = [k / PER_TASK for k in range(1, PER_TASK + 1)]
            chosen += [own[max(round(share * len(own)) - 1, 0)] for share in wanted]
            at += [task - 1 + share for share in wanted]
        tiles, strengths, fixed = (np.stack([points[n][k] for n in chosen]) for k in (1, 2, 3))
        return Snapshots(tiles, strengths, fixed, np.array(at, np.float32))


def as_tiles(W: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Each neuron's weights from 0 to 255; black is 0, or the lowest weight if that is negative."""
    low = np.minimum(W.min(axis=1, keepdims=True), 0.0)
    span = W.max(axis=1, keepdims=True) - low
    scaled = 255 * (W - low) / np.where(span > 0, span, 1.0)
    whole: NDArray[np.uint8] = np.nan_to_num(scaled, posinf=255, neginf=0).round().astype(np.uint8)
    return whole


def write(path: Path, snapshots: Mapping[Trial, Snapshots]) -> None:
    arrays = {
        f"{trial.text}/{part}": getattr(one, part)
        for trial, one in snapshots.items()
        for part in PARTS
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_result(path, buffer.getvalue())


def read(path: Path) -> dict[Trial, Snapshots]:
    content = io.BytesIO(read_result(path))
    try:
        with np.load(content, allow_pickle=False) as file:
            texts = dict.fromkeys(key.rpartition("/")[0] for key in file.files)
            return {
                Trial.parse(text): Snapshots(*(file[f"{text}/{part}"] for part in PARTS))
                for text in texts
            }
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise SnapError(f"{path} cannot be read as snapshots of weights: {error}") from None
