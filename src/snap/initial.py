"""Random numbers, and what a network starts with: its weights and, where it has one, its bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.learners import SGD
from snap.trial import Trial

Weights = tuple[NDArray[Any], NDArray[Any]]  # hidden W (H×D), output V (C×H)

# Streams of random numbers.
INITIAL_HIDDEN, INITIAL_OUTPUT, SHUFFLE, BIAS_HIDDEN, BIAS_OUTPUT, REPLAY = range(6)


def random_stream(seed: int, *key: int) -> np.random.Generator:
    """A random generator that depends only on the seed and the key."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def initial_weights(trial: Trial, width: int, dtype: Any = np.float32) -> Weights:
    """The weights of a trial before it learns. They depend on its seed, shape and β.

    In the reading `code`, those of SGD also depend on its focus.
    """
    as_in_code = trial.learner == SGD.name and trial.protocol.sgd_initial_weights == "code"
    draw = _signed if as_in_code else _uniform
    hidden = draw(trial, random_stream(trial.seed, INITIAL_HIDDEN), trial.hidden, width)
    output = draw(
        trial, random_stream(trial.seed, INITIAL_OUTPUT), trial.record.classes, trial.hidden
    )
    return hidden.astype(dtype), output.astype(dtype)


def _uniform(
    trial: Trial, random: np.random.Generator, rows: int, fan_in: int
) -> NDArray[np.float64]:
    return random.uniform(0, trial.beta, (rows, fan_in))


def _signed(
    trial: Trial, random: np.random.Generator, rows: int, fan_in: int
) -> NDArray[np.float64]:
    """Signed weights, as in the public code of SGD."""
    weights: NDArray[np.float64] = random.uniform(-1, 1, (rows, fan_in)) / np.sqrt(fan_in)
    if trial.configuration.focus == "synapse":
        weights *= trial.beta
    else:
        strength = np.sqrt(np.square(weights).mean(axis=1, keepdims=True))  # RMS
        weights *= trial.beta * 10 ** random.uniform(0, 2, (rows, 1)) / strength
    return weights


def biases(trial: Trial, rows: int, classes: int, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The bias of both layers: zero, or drawn once from Uniform(0, β)."""
    if trial.protocol.bias == "none" or not trial.kind.inhibits:
        return np.zeros(rows, dtype), np.zeros(classes, dtype)
    hidden = random_stream(trial.seed, BIAS_HIDDEN).uniform(0, trial.beta, rows)
    output = random_stream(trial.seed, BIAS_OUTPUT).uniform(0, trial.beta, classes)
    return hidden.astype(dtype), output.astype(dtype)
