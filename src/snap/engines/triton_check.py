"""The self-check of the triton engine, on the device and with the programs that will be used.

The arithmetic of a program is compared with the reference engine in float64. A race between its
threads cannot be seen in one result, so the program that trains (float32) then trains a population
that fills the device twice, and both results must be equal bit for bit.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from snap.data.samples import Samples
from snap.initial import initial_weights
from snap.trial import Trial

if TYPE_CHECKING:  # importing it imports triton
    from snap.engines.triton_population import TritonPopulation

SAMPLES = 200
LAMBDAS = (2.0, 0.5, 2.7)  # one for each way to raise to a power
EXACT = 1e-8  # largest difference from the reference engine, in float64
ROUNDED = 1e-3  # the same in float32, after the first ROUNDED_SAMPLES
ROUNDED_SAMPLES = 30
RESIDENT = 4  # programs that a multiprocessor can hold, with 128 registers for each of 128 threads

checked: dict[Any, str | None] = {}  # what was found, by device and program


def obstacle(trials: Sequence[Trial], device: str) -> str | None:
    """Why these trials cannot be trained by this engine here; None if they can."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if torch.version.hip is not None:
        return "on AMD devices Triton's barriers do not wait for global stores"
    from snap.engines.triton_kernels import INTERPRETED
    from snap.engines.triton_population import TritonPopulation

    if device == "cpu" and not INTERPRETED:
        return "torch finds no CUDA device"
    for group in TritonPopulation.groups(trials):
        members = [trials[n] for n in group]
        try:
            found = fault(members, device)
        except Exception as error:  # whatever stops a kernel from being compiled or started
            found = f"the kernel cannot be started: {_first_line(error)}"
        if found is not None:
            return found
    return None


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def fault(trials: Sequence[Trial], device: str) -> str | None:
    """Check the program of a population; None if nothing is wrong."""
    from snap.engines.triton_population import OutputKind

    # One trial for each output layer, with numbers for which rounding is not amplified.
    kinds = {OutputKind.of(trial): trial for trial in trials}
    calm = [_calm(trial, n) for n, trial in enumerate(kinds.values())]
    width = trials[0].record.pixels
    key = (device, width, tuple(dataclasses.replace(trial, seed=0) for trial in calm))
    if key not in checked:
        checked[key] = _differs(calm, width, device) or _races(calm, width, device)
    return checked[key]


def _calm(trial: Trial, n: int) -> Trial:
    values: dict[str, Any] = {"alpha": 0.03, "seed": n}
    if trial.kind.inhibits:
        values |= {"eta": 0.1, "lateral_inhibition": LAMBDAS[n % len(LAMBDAS)]}
    return dataclasses.replace(trial, **values)


def random_samples(width: int, classes: int, count: int = SAMPLES) -> Samples:
    """Images with as many dark pixels as drawings have."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (count, width)) * (random.random((count, width)) < 0.2)
    return Samples(images.astype(np.uint8), random.integers(0, classes, count))


def _population(
    trials: Sequence[Trial], width: int, device: str, dtype: Any, samples: Samples
) -> TritonPopulation:
    from snap.engines.triton_population import TritonPopulation

    weights = [initial_weights(trial, width, dtype) for trial in trials]
    return TritonPopulation(trials, weights, samples, device)


def _differs(trials: Sequence[Trial], width: int, device: str) -> str | None:
    """How far the programs are from the reference engine; None if they are near enough."""
    from snap.engines.reference_population import ReferencePopulation

    several = [
        dataclasses.replace(_calm(trial, n), seed=n)
        for n, trial in enumerate([*trials] * -(-len(LAMBDAS) // len(trials)))
    ]
    samples = random_samples(width, trials[0].record.classes)
    for dtype, count, most in (
        (np.float64, SAMPLES, EXACT),
        (np.float32, ROUNDED_SAMPLES, ROUNDED),
    ):
        own = _population(several, width, device, dtype, samples)
        weights = [initial_weights(trial, width, np.float64) for trial in several]
        right = ReferencePopulation(several, weights, samples)
        for population in (own, right):
            population.train([np.arange(count)] * len(several))
        if own.diverged != right.diverged:
            return f"networks diverge at samples {own.diverged} instead of {right.diverged}"
        errors = [
            float(np.abs(a - b).max() / np.abs(b).max())
            for n in range(len(several))
            for a, b in zip(own.weights(n), right.weights(n), strict=True)
            if right.diverged[n] is None
        ]
        error = max(errors, default=0.0)
        if not error <= most:  # NaN is wrong too
            return (
                f"its weights are off by {error:.1e} of the largest after {count} samples in"
                f" {np.dtype(dtype).name}, and {most:g} is allowed"
            )
    return None


def _races(trials: Sequence[Trial], width: int, device: str) -> str | None:
    """Train a population that fills the device twice; None if both results are the same."""
    layers, count = 2, 5
    if device != "cpu":
        device_of = torch.cuda.get_device_properties(torch.device(device))
        layers, count = device_of.multi_processor_count * RESIDENT, SAMPLES
    many = [dataclasses.replace(trial, seed=n) for n in range(layers) for trial in trials]
    samples = random_samples(width, trials[0].record.classes)
    results = []
    for _ in range(2):
        population = _population(many, width, device, np.float32, samples)
        population.train([np.arange(count)] * len(many))
        results.append((population.W, population.V))
    for first, second in zip(*results, strict=True):
        if not torch.equal(first, second):
            return "the same training gave two results: its threads race"
    return None
