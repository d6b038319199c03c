"""The engines: one record for each. This module imports no engine and not numpy."""

from __future__ import annotations

import importlib
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snap.errors import SnapError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from snap.engines.population import Population
    from snap.trial import Trial


def _has_cuda() -> bool:
    # Importing torch takes seconds. Without a driver there is no need for it.
    if not (Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi")):
        return False
    import torch

    return torch.cuda.is_available()


# Kinds of device other than the CPU, and whether this machine has one.
ACCELERATORS: dict[str, Callable[[], bool]] = {"cuda": _has_cuda}


@dataclass(frozen=True)
class Engine:
    """The properties of an engine that are known without importing it.

    `Population.groups` says how many trials it trains at a time.
    """

    name: str
    module: str
    population: str  # the class in that module
    accelerators: tuple[str, ...] = ()  # `auto` chooses it where one of these devices exists
    any_device: bool = False  # whether it runs on any torch device, or on the CPU only
    # A module whose `obstacle` says why trials cannot be trained here, and the engine to use then.
    checked_by: str | None = None
    instead: str | None = None

    def device(self, wanted: str) -> str:
        """Resolve the device to compute on, or raise an error if the engine cannot use it."""
        if wanted == "auto":
            return next((kind for kind in self.accelerators if ACCELERATORS[kind]()), "cpu")
        if wanted != "cpu" and not self.any_device:
            raise SnapError(f"the {self.name} engine runs on the cpu only, got device {wanted!r}")
        return wanted

    def load(self) -> type[Population]:
        loaded: type[Population] = getattr(importlib.import_module(self.module), self.population)
        return loaded


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("reference", "snap.engines.reference_population", "ReferencePopulation"),
        Engine("cpu", "snap.engines.cpu_population", "CpuPopulation"),
        Engine(
            "triton",
            "snap.engines.triton_population",
            "TritonPopulation",
            accelerators=("cuda",),
            any_device=True,
            checked_by="snap.engines.triton_check",
            instead="torch",
        ),
        Engine(
            "torch",
            "snap.engines.torch_population",
            "TorchPopulation",
            accelerators=("cuda",),
            any_device=True,
        ),
    )
}
CHOICES = ("auto", *ENGINES)
FALLBACK = "cpu"  # the engine that `auto` chooses without an accelerator


def resolve(engine: str = "auto", device: str = "auto") -> tuple[str, str]:
    """Replace `auto` by an engine and a device.

    `auto` chooses the first engine for the requested accelerator, or for one that the machine has;
    otherwise the cpu engine.
    """
    if engine not in CHOICES:
        raise SnapError(f"engine must be one of {', '.join(CHOICES)}, got {engine!r}")
    if engine != "auto":
        return engine, ENGINES[engine].device(device)
    for candidate in ENGINES.values():
        # cuda:1 is a device of the kind cuda.
        kind = candidate.device(device) if device == "auto" else device.partition(":")[0]
        if kind in candidate.accelerators:
            return candidate.name, candidate.device(device)
    return FALLBACK, ENGINES[FALLBACK].device(device)


def settle(
    engine: str,
    device: str,
    trials: Sequence[Trial],
    say: Callable[[str], None],
    record: bool = False,
) -> tuple[str, str]:
    """Resolve the engine, and replace one that cannot be trusted with these trials here.

    `say` is called with the reason. `record` is that of `Population.groups`.
    """
    name, device = resolve(engine, device)
    controls = [trial.control for trial in trials if trial.control is not None]
    missing = {control.name for control in controls if not control.runs_on(name)}
    if missing:
        reason = f"that engine has no control {' or '.join(sorted(missing))}"
        say(f"the {FALLBACK} engine trains instead of {name}: {reason}")
        return FALLBACK, "cpu"
    known = ENGINES[name]
    if known.checked_by is None or known.instead is None:
        return name, device
    reason = importlib.import_module(known.checked_by).obstacle(trials, device, record)
    if reason is None:
        return name, device
    say(f"the {known.instead} engine trains instead of {name}: {reason}")
    return settle(known.instead, device, trials, say, record)


def population_class(engine: str) -> type[Population]:
    """The class behind a resolved engine name."""
    try:
        return ENGINES[engine].load()
    except ImportError as error:
        raise SnapError(f"the {engine} engine cannot be used here: {error}") from None


def train_from(
    W: NDArray[Any],
    V: NDArray[Any],
    images: NDArray[Any],
    labels: Sequence[int] | NDArray[Any],
    order: Sequence[int] | NDArray[Any],
    trial: Trial,
    engine: str = "cpu",
    device: str = "auto",
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Train copies of W (H×D) and V (C×H) on `images[order]` and return the new (W, V).

    The dtype of W, float32 or float64, is the dtype of all arithmetic. Images are pixels in 0…255
    as uint8, or numbers that are used unchanged. Only the learning rule of the trial matters:
    learner, configuration, protocol, λ, η and α. If the weights stop being finite, training stops
    and they are returned as they are.
    """
    import numpy as np

    from snap.data.samples import Samples

    if engine == "auto":
        engine, device = settle(engine, device, [trial], say=warnings.warn)
    engine, device = resolve(engine, device)
    pixels, classes, sequence = np.asarray(images), np.asarray(labels), np.asarray(order)
    if pixels.dtype != np.uint8:
        if pixels.dtype.kind not in "fiu":
            raise SnapError(f"images must be numbers, got {pixels.dtype}")
        pixels = pixels.astype(np.float64)
    for name, whole in (("labels", classes), ("order", sequence)):
        if whole.ndim != 1 or (whole.size and whole.dtype.kind not in "iu"):
            raise SnapError(f"{name} must be a list of whole numbers, got {whole.dtype}")
    samples, sequence = Samples(pixels, classes), sequence.astype(np.int64)
    weights = [(np.asarray(W), np.asarray(V))]
    population = population_class(engine)([trial], weights, samples, device)
    population.train([sequence])
    return population.weights(0)
