"""The self-check of the triton engine, on the device and with the programs that will be used.

The arithmetic of a program is compared with the reference engine in float64. A race between its
threads cannot be seen in one result, so the program that trains (float32) then trains a population
that fills the device, twice. Its layers are equal, so all layers of both results must be too, bit
for bit.
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

if TYPE_CHECKING:
    from snap.engines.population import Population

SAMPLES = 200
LAMBDAS = (2.0, 0.5, 2.7)  # one for each way to raise to a power
EXACT = 1e-8  # largest difference from the reference engine, in float64
ROUNDED = 1e-3  # the same in float32, after the first ROUNDED_SAMPLES
ROUNDED_SAMPLES = 30
WILD_SAMPLES = 5  # in which a rate that is far too high makes most networks overflow
RESIDENT = 4  # programs that a multiprocessor can hold, with 128 registers for each of 128 threads

checked: dict[Any, str | None] = {}  # what was found, by device and program


def obstacle(trials: Sequence[Trial], device: str, record: bool = False) -> str | None:
    """Why these trials cannot be trained by this engine here; None if they can."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if torch.version.hip is not None:
        return "on AMD devices Triton's barriers do not wait for global stores"
    try:
        from snap.engines.triton_math import INTERPRETED
        from snap.engines.triton_population import TritonPopulation

        if device == "cpu" and not INTERPRETED:
            return "torch finds no CUDA device"
        for group in TritonPopulation.groups(trials, record):
            found = fault([trials[n] for n in group], device)
            if found is not None:
                return found
    except Exception as error:  # whatever stops Triton, or a kernel from being compiled or started
        return f"the kernel cannot be started: {_first_line(error)}"
    return None


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def fault(trials: Sequence[Trial], device: str) -> str | None:
    """Check the program of a population; None if nothing is wrong."""
    from snap.engines.triton_population import OutputKind

    # One trial for each output layer, with numbers for which rounding is not amplified.
    kinds = {OutputKind.of(trial): trial for trial in trials}
    calm = [_calm(trial, n) for n, trial in enumerate(kinds.values())]
    key = (device, tuple(dataclasses.replace(trial, seed=0) for trial in calm))
    if key not in checked:
        checked[key] = _differs(calm, device) or _races(calm, device)
    return checked[key]


def _calm(trial: Trial, n: int) -> Trial:
    values: dict[str, Any] = {"alpha": 0.01, "seed": n}
    if trial.kind.inhibits:
        values |= {"alpha": 0.03, "eta": 0.1, "lateral_inhibition": LAMBDAS[n % len(LAMBDAS)]}
    return dataclasses.replace(trial, **values)


def _wild(trial: Trial, dtype: Any) -> Trial:
    """The same trial with a rate that makes its weights overflow; rows of unit length cannot."""
    if trial.keeps_unit_rows(trial.configuration.hidden):
        return trial
    return dataclasses.replace(trial, alpha=1e200 if dtype == np.float64 else 1e25)


def random_samples(width: int, classes: int, count: int = SAMPLES) -> Samples:
    """Images with as many dark pixels as drawings have."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (count, width)) * (random.random((count, width)) < 0.2)
    return Samples(images.astype(np.uint8), random.integers(0, classes, count))


def _trained(
    kind: type[Population], trials: Sequence[Trial], device: str, dtype: Any, count: int
) -> Any:
    """A population after `count` samples; trials with the same seed start alike."""
    record = trials[0].record
    start = {t.seed: initial_weights(t, record.pixels, dtype) for t in trials}
    samples = random_samples(record.pixels, record.classes)
    population = kind(trials, [start[trial.seed] for trial in trials], samples, device)
    population.train([np.arange(count)] * len(trials))
    return population


def _differs(trials: Sequence[Trial], device: str) -> str | None:
    """How far the programs are from the reference engine; None if they are near enough."""
    from snap.engines.reference_population import ReferencePopulation
    from snap.engines.triton_population import TritonPopulation

    several = [_calm(t, n) for n, t in enumerate([*trials] * -(-len(LAMBDAS) // len(trials)))]
    for dtype, count, most in (
        (np.float64, SAMPLES, EXACT),
        (np.float32, ROUNDED_SAMPLES, ROUNDED),
    ):
        own = _trained(TritonPopulation, several, device, dtype, count)
        right = _trained(ReferencePopulation, several, "cpu", np.float64, count)
        errors = [
            float(np.abs(a - b).max() / np.abs(b).max())
            for n in range(len(several))
            for a, b in zip(own.weights(n), right.weights(n), strict=True)
            if right.diverged[n] is None and own.diverged[n] is None
        ]
        error = max(errors, default=0.0)
        if not error <= most:  # NaN is wrong too
            return (
                f"its weights are off by {error:.1e} of the largest after {count} samples in"
                f" {np.dtype(dtype).name}, and {most:g} is allowed"
            )
    wild = [_wild(trial, np.float64) for trial in several]
    ours = _trained(TritonPopulation, wild, device, np.float64, WILD_SAMPLES).diverged
    right = _trained(ReferencePopulation, wild, "cpu", np.float64, WILD_SAMPLES).diverged
    for one, other in zip(ours, right, strict=True):
        if (one is None) != (other is None) or abs((one or 0) - (other or 0)) > 1:
            return f"networks diverge at samples {ours} instead of {right}"
    return None


def _races(trials: Sequence[Trial], device: str) -> str | None:
    """Train equal layers that fill the device, twice; None if all results are the same."""
    from snap.engines.triton_population import TritonPopulation

    layers, count = 2, 5
    if device != "cpu":
        processors = torch.cuda.get_device_properties(torch.device(device)).multi_processor_count
        layers, count = processors * RESIDENT, SAMPLES
    alike = [_calm(trial, 0) for trial in trials] * layers
    wild = [_wild(trial, np.float32) for trial in alike]
    for many, samples in ((alike, count), (wild, WILD_SAMPLES)):
        results = [_trained(TritonPopulation, many, device, np.float32, samples) for _ in range(2)]
        # As bits, because NaN is not equal to itself.
        first = results[0].W.view(torch.int32)[0], results[0].V.view(torch.int32)[0]
        for one in results:
            for bits, expected in zip((one.W, one.V), first, strict=True):
                if not torch.equal(bits.view(torch.int32), expected.expand(bits.shape)):
                    return "the same training gave different results: its threads race"
            if one.diverged != results[0].diverged:
                return "the same training diverged at different samples: its threads race"
    return None
