"""Shared fixtures: small data, and real MNIST, fetched once."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from snap.data import store, synthetic
from snap.data.samples import Samples
from snap.errors import SnapError

# Every run generates the same examples; `make test-random` tries others, and many more.
settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# A make that a test starts is no part of the make that runs the tests: as a make within a make,
# it would print the folders that it enters.
for variable in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
    os.environ.pop(variable, None)


# Files with few but long tests.
LONG = (
    "test_workflow.py",
    "test_stale.py",
    "test_browser.py",
    "test_browser_explorer.py",
    "test_run.py",
    "test_kept.py",
    "test_stopping.py",
)


def pytest_collection_modifyitems(items):
    """Put the long files first, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(scope="session")
def synthetic_root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("data")
    store.fetch("Synthetic", root)
    return root


@pytest.fixture(scope="session")
def small(synthetic_root) -> store.Dataset:
    """The synthetic dataset."""
    return store.load("Synthetic", synthetic_root)


@pytest.fixture(scope="session")
def mnist_root() -> Path:
    """The data folder with MNIST, which is fetched on the first run and kept."""
    root = Path(__file__).parents[1] / "data"
    try:
        store.fetch("MNIST", root)
    except SnapError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"MNIST is not available: {error}")
    return root


@pytest.fixture(scope="session")
def mnist(mnist_root) -> store.Dataset:
    return store.load("MNIST", mnist_root)


@pytest.fixture(scope="session")
def tiny_samples() -> Samples:
    """A few hundred synthetic images, straight from the generator."""
    files = synthetic.files()
    images = files["train-images-idx3-ubyte"].reshape(synthetic.TRAIN, -1)
    return Samples(images[:600], files["train-labels-idx1-ubyte"][:600].astype(np.int64))
