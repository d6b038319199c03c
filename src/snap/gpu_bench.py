"""How fast the triton engine is on this device, after its self-check.

Everything is measured in one run: the engine, the device's memory bandwidth, and the cpu engine on
one core of this machine.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from snap.engines import ENGINES, population_class
from snap.engines.triton_check import obstacle, random_samples
from snap.errors import SnapError
from snap.initial import initial_weights
from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.trial import Configuration, Trial

# One configuration for each way in which a pass over the weights differs.
MEASURED = (
    (HEBBIAN.name, "linear-linear"),
    (HEBBIAN.name, "sigmoid-sigmoid-neuron"),
    (HEBBIAN.name, "exponential-exponential-neuron"),
    (HEBBIAN.name, "sigmoid-sigmoid-synapse"),
    (SGD.name, "linear-linear"),
)


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is measured."""

    layers: int
    samples: int
    turns: int
    copied: int  # numbers in the copy that measures memory bandwidth
    cpu_samples: int


def size_on(device: str) -> Size:
    """A device gets a layer for each multiprocessor; the interpreter only shows that it runs."""
    if device == "cpu":
        return Size(layers=2, samples=3, turns=1, copied=1 << 16, cpu_samples=200)
    processors = torch.cuda.get_device_properties(torch.device(device)).multi_processor_count
    return Size(layers=processors, samples=4096, turns=5, copied=1 << 28, cpu_samples=4000)


def measure(widths: list[int], device: str) -> dict[str, Any]:
    """Check and measure the engine; return the report as data."""
    cuda = device != "cpu"
    name = torch.cuda.get_device_name(device) if cuda else "Triton's interpreter on the CPU"
    size = size_on(device)
    return {
        "device": name,
        "layers": size.layers,
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "bandwidth_gb_per_s": _bandwidth(device, size) / 1e9,
        "rows": [
            _row(learner, configuration, hidden, device, size)
            for hidden in widths
            for learner, configuration in MEASURED
        ],
    }


def _best(work: Callable[[], object], device: str, turns: int) -> float:
    """The shortest time of several turns; the device has finished when a turn ends."""
    best = float("inf")
    for _ in range(turns):
        start = time.perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - start)
    return best


def _bandwidth(device: str, size: Size) -> float:
    """Bytes per second that a copy within the device's memory reads and writes."""
    source = torch.zeros(size.copied, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    target.copy_(source)
    return 8 * size.copied / _best(lambda: target.copy_(source), device, size.turns)


def _row(learner: str, configuration: str, hidden: int, device: str, size: Size) -> dict[str, Any]:
    inhibits = LEARNERS[learner].inhibits
    trial = Trial(
        Configuration.parse(configuration),
        alpha=0.01,
        lateral_inhibition=2 if inhibits else None,
        eta=0.1 if inhibits else None,
        learner=learner,
        hidden=hidden,
    )
    row: dict[str, Any] = {
        "learner": learner,
        "configuration": configuration,
        "hidden": hidden,
        "self_check": obstacle([trial], device),
    }
    if row["self_check"] is not None:
        return row
    pixels = trial.record.pixels
    samples = random_samples(pixels, trial.record.classes, 2000)
    trials = [dataclasses.replace(trial, seed=n) for n in range(size.layers)]
    weights = [initial_weights(one, pixels) for one in trials]
    population = population_class("triton")(trials, weights, samples, device)
    order = np.arange(size.samples) % len(samples)
    population.train([order[:1]] * size.layers)  # compiles, and copies the samples
    seconds = _best(lambda: population.train([order] * size.layers), device, size.turns)
    rate = size.samples * size.layers / seconds  # of all networks, which train at once
    one_core = population_class("cpu")([trial], weights[:1], samples)
    few = np.arange(size.cpu_samples) % len(samples)
    core = size.cpu_samples / _best(lambda: one_core.train([few]), "cpu", size.turns)
    moved = 2 * 4 * hidden * pixels  # bytes per sample: W is read and written once
    return row | {
        "us_per_sample": 1e6 * seconds / size.samples,  # of each network
        "samples_per_second": rate,
        "bytes_per_second": rate * moved,
        "cpu_samples_per_second": core,
        "cpu_cores": rate / core,
    }


def table(report: dict[str, Any]) -> str:
    """The report as text."""
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    bandwidth = report["bandwidth_gb_per_s"]
    lines = [
        f"{report['device']}: {report['layers']} hidden layers at a time; {versions}",
        f"a copy in its memory moves {bandwidth:,.0f} GB/s; weights may stay in its cache, so a"
        " share above 100 % is possible",
        f"{'learner':9}{'configuration':33}{'H':>3}{'self-check':>12}{'µs/sample':>11}"
        f"{'samples/s':>13}{'bandwidth':>11}{'cpu cores':>11}",
    ]
    for row in report["rows"]:
        start = f"{row['learner']:9}{row['configuration']:33}{row['hidden']:>3}"
        if row["self_check"] is not None:
            lines.append(f"{start}{'FAILED':>12}  {row['self_check']}")
            continue
        share = row["bytes_per_second"] / (bandwidth * 1e9)
        lines.append(
            f"{start}{'passed':>12}{row['us_per_sample']:11.1f}"
            f"{row['samples_per_second']:13,.0f}{share:10.0%} {row['cpu_cores']:10.1f}"
        )
    lines.append(
        "µs/sample: of each network, while all train at once; samples/s: of all of them;"
        " cpu cores: how many cores of this machine train as many with the cpu engine"
    )
    return "\n".join(lines)


def device_to_measure(wanted: str) -> str:
    """The device to measure the triton engine on, or an error if there is none."""
    device = ENGINES["triton"].device(wanted)
    population_class("triton")  # an error if Triton is not installed
    if device == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        raise SnapError(
            "snap bench --engine triton needs a GPU, and torch finds no CUDA device here"
            " (TRITON_INTERPRET=1 runs it in Triton's interpreter, to show that it runs)"
        )
    return device
