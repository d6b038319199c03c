"""The self-check passes a right kernel, and replaces the engine if the kernel is wrong."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import torch
from test_mutants import MUTANTS, hebbian, sgd, use  # noqa: F401  (use is a fixture)

from snap import Iid, Protocol
from snap.engines import settle, triton_check, triton_population
from snap.experiments import run
from snap.trial import Configuration


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    """Nothing has been checked yet, and few samples are enough."""
    monkeypatch.setattr(triton_check, "checked", {})
    monkeypatch.setattr(triton_check, "SAMPLES", 20)


@pytest.mark.parametrize(
    "trials",
    [
        [hebbian("sigmoid-linear-neuron"), hebbian("sigmoid-sigmoid-neuron", lambda_=16.0)],
        [hebbian("exponential-exponential-neuron", "code")],
        [hebbian("exponential-linear-neuron", "text")],
        [sgd("sigmoid-sigmoid-synapse")],
    ],
    ids=lambda trials: trials[0].text.split(",")[2],
)
def test_a_right_kernel_passes(trials):
    assert settle("triton", "cpu", trials, pytest.fail) == ("triton", "cpu")


def test_it_runs_once_for_each_program(monkeypatch):
    ran = []
    monkeypatch.setattr(triton_check, "_differs", lambda *about: ran.append(about))
    monkeypatch.setattr(triton_check, "_races", lambda *about: None)
    trial = hebbian("linear-linear")
    for alpha, seed in ((0.1, 0), (0.2, 1)):
        triton_check.obstacle([dataclasses.replace(trial, alpha=alpha, seed=seed)], "cpu")
    assert len(ran) == 1, "numbers and seeds are not part of a program"
    triton_check.obstacle([hebbian("linear-linear", "code")], "cpu")
    assert len(ran) == 2


def test_a_right_kernel_passes_although_float32_overflows_earlier():
    """The reference engine overflows later, in float64."""
    protocol = "reference+plasticity_floor=none+neuron_norm=l2+sgd_initial_weights=code"
    trial = dataclasses.replace(
        sgd("sigmoid-sigmoid-neuron"), protocol=Protocol.parse(protocol, "sgd")
    )
    for name in ("sigmoid-sigmoid-neuron", "exponential-exponential-synapse"):
        one = dataclasses.replace(trial, configuration=Configuration.parse(name))
        assert triton_check.obstacle([one], "cpu") is None


def test_an_overflow_that_is_not_noticed_fails_the_check(use):  # noqa: F811
    right, wrong, _ = MUTANTS["an overflow of the output is not noticed"]
    use(right, wrong)
    assert "diverge at samples" in triton_check.obstacle([sgd("linear-linear")], "cpu")


def test_recorded_trials_are_checked_as_they_are_trained(monkeypatch):
    """With weights recorded, configurations do not share a layer: they are other programs."""
    checked = []
    monkeypatch.setattr(triton_check, "fault", lambda trials, device: checked.append(len(trials)))
    trials = [hebbian("sigmoid-linear-neuron"), hebbian("sigmoid-sigmoid-neuron")]
    triton_check.obstacle(trials, "cpu")
    triton_check.obstacle(trials, "cpu", record=True)
    assert checked == [2, 1, 1]


@pytest.mark.parametrize("name", ["k ≤ i instead of k < i", "a norm without its root"])
def test_a_wrong_kernel_is_replaced_and_the_engine_that_ran_is_recorded(small, use, name):  # noqa: F811
    right, wrong, trial = MUTANTS[name]
    use(right, wrong)
    trial = dataclasses.replace(
        trial, dataset="Synthetic", experiment=Iid(1), train_limit=20, test_limit=20
    )
    with pytest.warns(
        UserWarning, match="torch engine trains instead of triton: .* off by"
    ) as said:
        (result,) = run([trial], small, engine="triton", device="cpu")
    assert result.engine == "torch"
    assert len(said) == 1
    (expected,) = run([trial], small, engine="torch", device="cpu")
    assert result.history == expected.history


@pytest.mark.parametrize(("second", "layer"), [(0, 1), (1, 0), (1, 1)])
def test_two_results_of_one_training_are_a_race(monkeypatch, second, layer):
    """One layer is trained differently, in the first or the second run."""
    real, calls = triton_population.launch, []

    def racing(program, layers, arguments):
        real(program, layers, arguments)
        calls.append(program)
        if len(calls) == 4 + second:  # after three comparisons with the reference
            arguments[0][layer, 0, 0] += 1e-6

    monkeypatch.setattr(triton_population, "launch", racing)
    said = []
    assert settle("triton", "cpu", [hebbian("linear-linear")], said.append) == ("torch", "cpu")
    assert "its threads race" in said[0]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (("snap.engines.triton_math.INTERPRETED", False), "no CUDA device"),
        (("torch.version.hip", "6.2"), "AMD"),
    ],
)
def test_an_engine_that_cannot_be_used_is_replaced(monkeypatch, broken, words):
    monkeypatch.setattr(*broken)
    said = []
    assert settle("triton", "cpu", [hebbian("linear-linear")], said.append)[0] == "torch"
    assert words in said[0]


def test_a_kernel_that_cannot_be_compiled_is_replaced(monkeypatch):
    def no_compiler(*about):
        raise RuntimeError("Failed to find C compiler.\nPlease specify one")

    monkeypatch.setattr(triton_population, "launch", no_compiler)
    said = []
    assert settle("triton", "cpu", [hebbian("linear-linear")], said.append)[0] == "torch"
    assert said[0].endswith("RuntimeError: Failed to find C compiler.")


def test_the_whole_experiment(small):
    """A population with networks at different points of different tasks."""
    trial = dataclasses.replace(
        hebbian("sigmoid-sigmoid-neuron"), dataset="Synthetic", experiment=Iid(1), train_limit=40
    )
    trials = [dataclasses.replace(trial, alpha=alpha) for alpha in (0.3, 0.03)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ours = run(trials, small, engine="triton", device="cpu")
    right = run(trials, small, engine="torch", device="cpu")
    for a, b in zip(ours, right, strict=True):
        assert a.engine == "triton"
        assert np.isclose(a.accuracy, b.accuracy, atol=0.02)
        assert a.samples == b.samples
    assert torch.get_default_dtype() == torch.float32
