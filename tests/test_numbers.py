"""The paper's main results on full MNIST, with its own pairs at λ = 16 and seed 0."""

from __future__ import annotations

import pytest

from snap import Iid, Sequential, Trial
from snap.experiments import run

SEQUENCE, TEN_EPOCHS = Sequential(curve_every=10**6), Iid(10)
TRIALS = {
    "sigmoid in sequence": Trial("sigmoid-sigmoid-neuron", 0.3, 16, 0.003, experiment=SEQUENCE),
    "linear in sequence": Trial("linear-linear", 0.03, 16, 0.01, experiment=SEQUENCE),
    "exponential in sequence": Trial(
        "exponential-exponential-neuron", 0.01, 16, 1, experiment=SEQUENCE
    ),
    "exponential-linear i.i.d.": Trial(
        "exponential-linear-neuron", 0.01, 16, 1, experiment=TEN_EPOCHS
    ),
    "linear by the text": Trial(
        "linear-linear", 0.03, 16, 0.01, protocol="text", experiment=TEN_EPOCHS
    ),
}
BOUNDS = {
    "sigmoid in sequence": (0.70, 1.0),
    "linear in sequence": (0.30, 0.65),
    "exponential in sequence": (0.0, 0.30),
    "exponential-linear i.i.d.": (0.75, 1.0),
    "linear by the text": (0.0, 0.20),
}


@pytest.fixture(scope="module")
def results(mnist):
    outcomes = run(list(TRIALS.values()), mnist, engine="cpu", threads=2)
    return dict(zip(TRIALS, outcomes, strict=True))


@pytest.mark.parametrize("name", TRIALS)
def test_accuracy_is_in_the_range_of_the_paper(results, name):
    result = results[name]
    low, high = BOUNDS[name]
    value = result.metrics["average_accuracy"] if result.metrics else result.accuracy
    assert low <= value <= high


def test_sigmoidal_growth_remembers_the_first_task(results):
    assert results["sigmoid in sequence"].matrix[-1][0] > 0.9
    assert results["exponential in sequence"].matrix[-1][0] < 0.5
