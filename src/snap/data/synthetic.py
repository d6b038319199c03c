"""A small dataset in MNIST's format, made from a seed: for tests and smoke runs.

Each class is a pattern of strokes; a sample is its class's pattern, shifted by up to two pixels,
with some pixels dimmed and some noise. Only whole-number arithmetic is used, so that the bytes are
the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snap.data.datasets import DATASETS

SIDE, CLASSES = DATASETS["Synthetic"].side, DATASETS["Synthetic"].classes
TRAIN, TEST = DATASETS["Synthetic"].training_samples, 500
SEED = 20240926


def files() -> dict[str, NDArray[np.uint8]]:
    """The four arrays of the dataset, by the kind of file they go in."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    patterns = np.stack([_pattern(rng) for _ in range(CLASSES)])
    made = {}
    for split, count in (("train", TRAIN), ("t10k", TEST)):
        labels = rng.permutation(np.arange(count) % CLASSES)
        images = np.stack([_sample(patterns[label], rng) for label in labels])
        made[f"{split}-images-idx3-ubyte"] = images.astype(np.uint8)
        made[f"{split}-labels-idx1-ubyte"] = labels.astype(np.uint8)
    return made


def _pattern(rng: np.random.Generator) -> NDArray[np.int64]:
    """Four thick strokes, each from one random point of the middle to another."""
    canvas = np.zeros((SIDE, SIDE), np.int64)
    for _ in range(4):
        (r0, c0), (r1, c1) = rng.integers(5, SIDE - 6, (2, 2))
        for step in range(SIDE + 1):
            row, column = r0 + (r1 - r0) * step // SIDE, c0 + (c1 - c0) * step // SIDE
            canvas[row : row + 2, column : column + 2] = 255
    return canvas


def _sample(pattern: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    down, right = rng.integers(-2, 3, 2)
    image = np.roll(pattern, (down, right), axis=(0, 1))
    image = image * rng.integers(96, 256, image.shape) // 255
    speckle = rng.integers(0, 100, image.shape) < 2
    return np.where(speckle, rng.integers(0, 256, image.shape), image)
