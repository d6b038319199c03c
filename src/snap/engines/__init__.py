"""The three engines, by name. Importing this module imports none of them, nor numpy."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snap.errors import SnapError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from snap.engines.base import Population
    from snap.trial import Trial

ENGINES = {
    "reference": ("snap.engines.single", "ReferencePopulation"),
    "cpu": ("snap.engines.cpu", "CpuPopulation"),
    "torch": ("snap.engines.batched", "BatchedPopulation"),
}
CHOICES = ("auto", *ENGINES)


def resolve(engine: str = "auto", device: str = "auto") -> tuple[str, str]:
    """The engine and device that are meant: `auto` is torch where there is CUDA, else cpu."""
    if engine not in CHOICES:
        raise SnapError(f"engine must be one of {', '.join(CHOICES)}, got {engine!r}")
    if device == "auto" and engine in ("auto", "torch"):
        device = "cuda" if _has_cuda() else "cpu"
    if engine == "auto":
        engine = "torch" if device.startswith("cuda") else "cpu"
    if engine != "torch":
        if device not in ("auto", "cpu"):
            raise SnapError(f"the {engine} engine runs on the cpu only, got device {device!r}")
        device = "cpu"
    return engine, device


def _has_cuda() -> bool:
    # Asking torch costs seconds of import; without a driver there is nothing to ask.
    if not (Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi")):
        return False
    import torch

    return torch.cuda.is_available()


def population_class(engine: str) -> type[Population]:
    """The class behind a resolved engine name."""
    module, name = ENGINES[engine]
    found: type[Population] = getattr(importlib.import_module(module), name)
    return found


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
    as uint8, or numbers taken as they are. Of the trial, the learning rule counts: learner,
    configuration, protocol, λ, η and α. Weights that stop being finite come back as they stopped.
    """
    import numpy as np

    from snap.data.samples import Samples

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
    options = {"device": device} if engine == "torch" else {}
    weights = [(np.asarray(W), np.asarray(V))]
    population = population_class(engine)([trial], weights, samples, **options)
    population.train([sequence])
    return population.weights(0)
