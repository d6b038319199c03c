"""Tests of the triton engine in Triton's interpreter, which make test starts separately."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TRITON = importlib.util.find_spec("triton") is not None

# Without triton, the others cannot be imported; test_available.py says so.
OTHERS = {path.name for path in HERE.glob("test_*.py")} - {"test_available.py"}
collect_ignore = [] if TRITON else sorted(OTHERS)


def pytest_collection_modifyitems(items):
    for item in items:  # of all folders
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.interpreted)


@pytest.fixture(autouse=True, scope="session")
def interpreter():
    if TRITON and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.fail("set TRITON_INTERPRET=1 before Python starts, as make test does")
