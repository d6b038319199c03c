"""Tests of the triton engine in Triton's interpreter, which make test starts separately."""

from __future__ import annotations

import os

import pytest

triton = pytest.importorskip("triton", reason="needs triton: pip install triton==3.7.1 (Linux)")


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.interpreted)


@pytest.fixture(autouse=True, scope="session")
def interpreter():
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.fail("set TRITON_INTERPRET=1 before Python starts, as make test does")
