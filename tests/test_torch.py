"""The torch engine: a step is one graph without synchronization; networks advance independently."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from snap import Iid, Sequential, SnapError, Trial, train_from
from snap.engines import torch_hits
from snap.engines.population import Population
from snap.engines.torch_population import TorchPopulation, step
from snap.experiments import run
from snap.initial import initial_weights

TRIALS = {
    "hebbian text": Trial("linear-linear", 0.1, 2, 0.1, protocol="text", hidden=8),
    "hebbian neuron": Trial("sigmoid-sigmoid-neuron", 0.1, 2, 0.1, hidden=8),
    "hebbian unit rows": Trial("exponential-exponential-neuron", 0.1, 2, 0.1, hidden=8),
    "hebbian synapse": Trial("sigmoid-sigmoid-synapse", 0.1, 2, 0.1, hidden=8),
    "one-hot error": Trial(
        "linear-linear", 0.1, 2, 0.1, protocol="reference+output_rule=error-onehot", hidden=8
    ),
    "sgd": Trial("exponential-exponential-neuron", 0.1, learner="sgd", hidden=8),
}


def population(trials, samples):
    weights = [initial_weights(trial, samples.images.shape[1]) for trial in trials]
    return TorchPopulation(trials, weights, samples)


@pytest.mark.parametrize("name", TRIALS)
def test_a_step_is_one_graph(tiny_samples, name):
    """A step that waits for data or branches on it would break the graph and fail here."""
    torch.compiler.reset()
    crowd = population([TRIALS[name]] * 3, tiny_samples)
    images, labels = crowd._place(tiny_samples)
    compiled = torch.compile(step, fullgraph=True, backend="eager")
    order, count = torch.tensor([5, -1, 7]), torch.tensor(1)
    actual = compiled(crowd.state, images, labels, order, count, crowd.rule)
    expected = step(crowd.state, images, labels, order, count, crowd.rule)
    for a, e in zip(actual, expected, strict=True):
        assert torch.equal(a, e)


def test_a_step_that_waits_would_break_the_graph(tiny_samples):
    """The test above does fail for a step that reads a value back."""
    torch.compiler.reset()
    crowd = population([TRIALS["sgd"]], tiny_samples)
    images, labels = crowd._place(tiny_samples)

    def waits(state, *rest):
        return step(state, *rest) if float(state.W.sum()) > 0 else state

    compiled = torch.compile(waits, fullgraph=True, backend="eager")
    with pytest.raises(Exception, match=r"(?i)data.dependent|graph break|unsupported"):
        compiled(crowd.state, images, labels, torch.tensor([5]), torch.tensor(1), crowd.rule)


def test_networks_follow_their_own_order_of_samples(tiny_samples):
    """With orders of different lengths, one of them empty, each network trains as if alone."""
    trials = [
        Trial("sigmoid-sigmoid-neuron", alpha, power, eta, hidden=8, seed=seed)
        for seed, (alpha, power, eta) in enumerate([(0.3, 2, 0.1), (0.1, 8, 0.7), (0.03, 0.5, 0.3)])
    ]
    rng = np.random.default_rng(0)
    orders = [rng.integers(0, 600, n) for n in (40, 0, 25)]
    crowd = population(trials, tiny_samples)
    crowd.train(orders)
    assert crowd.seen == [40, 0, 25]
    for g, trial in enumerate(trials):
        W, V = initial_weights(trial, 784)
        images, labels = tiny_samples.images, tiny_samples.labels
        alone = train_from(W, V, images, labels, orders[g], trial, engine="torch")
        for a, b in zip(alone, crowd.weights(g), strict=True):
            assert np.allclose(a, b, rtol=1e-5, atol=1e-7)


def test_a_network_that_diverges_does_not_affect_the_others(tiny_samples):
    wild = Trial("exponential-linear-neuron", 9.0, 2, 0.1, protocol="text", hidden=8)
    tame = Trial("exponential-linear-neuron", 0.01, 2, 0.1, protocol="text", hidden=8)
    crowd = population([wild, tame], tiny_samples)
    order = np.arange(300)
    crowd.train([order, order])
    assert crowd.diverged[0] is not None
    assert crowd.diverged[1] is None
    before = crowd.diverged[0]
    crowd.train([order, order])
    assert crowd.diverged[0] == before
    assert crowd.seen == [before, 600]
    alone = population([tame], tiny_samples)
    alone.train([order])
    alone.train([order])
    assert np.allclose(alone.weights(0)[0], crowd.weights(1)[0], rtol=1e-5)


def test_sequences_in_step_match_the_cpu_engine(small):
    """The networks are at different points of different tasks during the experiment."""
    experiment = Sequential(threshold=0.6, max_epochs=2, curve_every=150)
    trials = [
        Trial(
            "sigmoid-sigmoid-neuron",
            alpha,
            4,
            0.1,
            dataset="Synthetic",
            experiment=experiment,
            hidden=8,
            train_limit=600,
        )
        for alpha in (0.3, 0.01)
    ]
    batched = run(trials, small, engine="torch")
    single = run(trials, small, engine="cpu")
    assert batched[0].epochs_per_task != batched[1].epochs_per_task, "the test needs them to differ"
    for one, other in zip(batched, single, strict=True):
        assert one.epochs_per_task == other.epochs_per_task
        assert np.allclose(one.matrix, other.matrix, atol=0.02)


def test_trials_of_different_programs_are_grouped_separately(small):
    trials = [
        Trial(name, 0.1, 2, 0.1, dataset="Synthetic", experiment=Iid(1), hidden=4, train_limit=50)
        for name in ("linear-linear", "sigmoid-sigmoid-neuron", "linear-linear")
    ]
    results = run(trials, small, engine="torch")
    assert [r.trial for r in results] == trials
    with pytest.raises(SnapError, match="share"):
        population(trials[:2], small.train)


@pytest.mark.parametrize("name", TRIALS)
def test_all_networks_are_measured_in_one_go(tiny_samples, name, monkeypatch):
    """The counts are those of each network alone, whatever the size of a batch."""
    crowd = [dataclasses.replace(TRIALS[name], alpha=alpha) for alpha in (0.1, 0.03, 0.3)]
    rng = np.random.default_rng(0)
    weights = [(rng.uniform(0, 1, (8, 784)), rng.normal(size=(10, 8))) for _ in crowd]
    together = TorchPopulation(crowd, weights, tiny_samples)
    together.train([np.arange(5), np.arange(9), np.arange(0)])
    limits = [None, (3, 1), (7, 0, 4, 2)]
    for activities in (2**24, 1000):
        monkeypatch.setattr(torch_hits, "ACTIVITIES", activities)
        batches = [outputs for outputs, _ in together.batches([2, 0], tiny_samples)]
        assert len(batches) == (1 if activities == 2**24 else 10)
        for networks in ([0, 1, 2], [2, 0], [1]):
            counted = together.hits(networks, tiny_samples, limits)
            alone = Population.hits(together, networks, tiny_samples, limits)
            assert np.array_equal(counted, alone)
        for g, outputs in zip([2, 0], torch.cat(batches, dim=1), strict=True):
            assert np.allclose(outputs, together.outputs(g, tiny_samples), rtol=1e-12)
    assert len(np.unique(counted)) > 3, "the networks must predict several classes"


def test_of_equal_outputs_the_first_wins(tiny_samples):
    """On the device as in numpy: a network without weights predicts its lowest class."""
    crowd = [Trial("linear-linear", 0.1, learner="sgd", hidden=8)] * 2
    weights = [(np.zeros((8, 784), np.float32), np.zeros((10, 8), np.float32))] * 2
    together = TorchPopulation(crowd, weights, tiny_samples)
    sizes = np.bincount(tiny_samples.labels)
    for counted in together.hits([0, 1], tiny_samples, [None, (6, 4, 5)]):
        assert counted.tolist() == [[sizes[0], *[0] * 9], [*[0] * 4, sizes[4], *[0] * 5]]


def test_a_chunk_has_an_end_on_every_device(tiny_samples):
    assert population([TRIALS["sgd"]], tiny_samples).chunk == 500
    assert TorchPopulation.chunk_on_accelerator > 500
