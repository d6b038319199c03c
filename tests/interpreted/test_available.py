"""Whether these tests can run."""

import importlib.util

import pytest


def test_triton_is_installed():
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs triton, which there is for Linux: pip install triton==3.7.1")
