"""Deliberate errors in the kernel's arithmetic are caught by the comparison with the reference.

The interpreter runs a program without threads, so it cannot catch a missing barrier. On a device
the self-check trains the same population twice for that: see snap.engines.triton_check.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from populations import compare, some_order

from snap import Trial
from snap.engines import triton_check, triton_kernels, triton_math, triton_population

SOURCES = {
    module.__name__: Path(module.__file__).read_text(encoding="utf-8")
    for module in (triton_math, triton_kernels)
}
HIDDEN = 6


def hebbian(name, protocol="reference", lambda_=2.0, alpha=0.3):
    return Trial(name, alpha, lambda_, 0.7, protocol=protocol, hidden=HIDDEN)


def sgd(name):
    return Trial(name, 0.3, learner="sgd", hidden=HIDDEN)


# What is wrong, the line as it is, the line with the error, and a trial that shows it.
MUTANTS = {
    "k ≤ i instead of k < i": (
        "                before = w\n",
        "                before = w\n"
        "                if HEBBIAN:\n"
        "                    earlier += tl.load(factors + _SHARE) * before\n",
        hebbian("linear-linear"),
    ),
    "a wrong bound of the rows": (
        "for block in range(0, PADDED, ROWS):",
        "for block in range(0, PADDED - ROWS, ROWS):",
        hebbian("linear-linear"),
    ),
    "lanes beyond the image": (
        "inside, present = lanes < D, rows < H",
        "inside, present = lanes < D - 1, rows < H",
        hebbian("linear-linear"),
    ),
    "no clamp": (
        "return tl.minimum(strength, 1.0, propagate_nan=tl.PropagateNan.ALL)",
        "return strength",
        hebbian("sigmoid-sigmoid-synapse", alpha=2.0),
    ),
    "negative weights stay": (
        "                if NON_NEGATIVE:\n                    w = positive(w)\n",
        "",
        hebbian("linear-linear"),
    ),
    "earlier weights after their update": (
        "earlier += tl.load(factors + _SHARE) * before",
        "earlier += tl.load(factors + _SHARE) * w",
        hebbian("linear-linear"),
    ),
    "no η in the pull": (
        "pull = gain * eta * norm",
        "pull = gain * norm",
        hebbian("linear-linear"),
    ),
    "the pull without the norm": (
        "pull = gain * eta * norm",
        "pull = gain * eta",
        hebbian("linear-linear"),
    ),
    "a norm without its root": (
        "norm = tl.sqrt(square)\n",
        "norm = square\n",
        hebbian("sigmoid-linear-neuron"),
    ),
    "one squaring too many": (
        "for _ in range(squarings):",
        "for _ in range(squarings + 1):",
        hebbian("linear-linear"),
    ),
    "no square roots": (
        "for _ in range(roots):",
        "for _ in range(0):",
        hebbian("linear-linear", lambda_=0.5),
    ),
    "the product with this sample": (
        "parts = parts + (w * following, w * w)",
        "parts = parts + (w * x, w * w)",
        hebbian("linear-linear"),
    ),
    "products and norms exchanged": (
        "parts = parts + (w * following, w * w)",
        "parts = parts + (w * w, w * following)",
        hebbian("linear-linear"),
    ),
    "two sums exchanged": (
        "low = tl.join(tl.join(parts[0], parts[4]), tl.join(parts[2], parts[6]))",
        "low = tl.join(tl.join(parts[0], parts[2]), tl.join(parts[4], parts[6]))",
        hebbian("linear-linear"),
    ),
    "rows not scaled": (
        "                    w *= tl.load(factors + _SCALE)\n",
        "                    pass\n",
        hebbian("exponential-exponential-neuron"),
    ),
    "the last rows not scaled": (
        "        if UNIT:\n            for i in range(H):",
        "        if UNIT:\n            for i in range(H - 1):",
        hebbian("exponential-exponential-neuron"),
    ),
    "output rows not at unit length": (
        "others = tile_present & (classes != first)[:, None]",
        "others = tile_present & (classes < first)[:, None]",
        hebbian("sigmoid-sigmoid-neuron"),
    ),
    "no output bias": (
        "y = tl.sum(v * h[None, :], axis=1) + output",
        "y = tl.sum(v * h[None, :], axis=1)",
        hebbian("linear-linear", "code+output_rule=error-raw"),
    ),
    "no hidden bias": (
        "positive(dot + hidden)",
        "positive(dot)",
        hebbian("linear-linear", "code"),
    ),
    "no ε": (
        "share = h / (norm + epsilon) if EPSILON else over(h, norm)",
        "share = over(h, norm)",
        hebbian("linear-linear", "code"),
    ),
    "the wrong sign of the gradient": (
        "gain = tl.where(h == 0, 0.0, -factor * back)",
        "gain = tl.where(h == 0, 0.0, factor * back)",
        sgd("linear-linear"),
    ),
    "silent neurons learn": (
        "gain = tl.where(h == 0, 0.0, -factor * back)",
        "gain = -factor * back",
        sgd("linear-linear"),
    ),
    "an overflow of the output is not noticed": (
        "                    tl.store(diverged, t + 1)\n                    alive = 0\n",
        "                    alive = 0\n",
        Trial("linear-linear", 1e200, learner="sgd", hidden=HIDDEN),
    ),
    "padding counts in the softmax": (
        'y = tl.where(classes < C, y, -float("inf"))\n    raised',
        "raised",
        sgd("sigmoid-sigmoid-neuron"),
    ),
}


@pytest.fixture
def use(monkeypatch, tmp_path):
    """Put a kernel with an error in place of the right one."""

    def mutate(right, wrong):
        assert any(right in text for text in SOURCES.values()), f"no longer there: {right!r}"
        for name, text in SOURCES.items():
            path = tmp_path / f"{name.rpartition('.')[2]}.py"
            path.write_text(text.replace(right, wrong, 1))
            spec = importlib.util.spec_from_file_location(name, path)
            mutant = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, name, mutant)  # the kernels import the other module
            spec.loader.exec_module(mutant)
        monkeypatch.setattr(triton_population, "kernels", mutant)
        monkeypatch.setattr(triton_check, "checked", {})

    return mutate


@pytest.mark.parametrize("name", MUTANTS)
def test_an_error_in_the_arithmetic_is_caught(tiny_samples, use, name):
    right, wrong, trial = MUTANTS[name]
    orders = [some_order(tiny_samples, 20)]
    compare([trial], tiny_samples, orders, most=1e-9)
    use(right, wrong)
    with pytest.raises(AssertionError, match=r"off by|diverged"):
        compare([trial], tiny_samples, orders, most=1e-9)


def test_a_deleted_barrier_is_not_seen_by_the_interpreter(tiny_samples, use):
    """Why the self-check on a device trains twice."""
    use("            tl.debug_barrier()\n            _pass(", "            _pass(")
    compare([hebbian("linear-linear")], tiny_samples, [np.arange(10)])
