"""The triton engine agrees with the reference engine, in Triton's interpreter."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from populations import compare, largest_error, some_order, start

from snap import Iid, Protocol, Sequential, SnapError, Trial, checkpoint, train_from
from snap.data.samples import Samples
from snap.engines import population_class
from snap.experiments import run
from snap.growth import FOCUSES, GROWTHS
from snap.learners import HEBBIAN, SGD
from snap.protocol import SWITCHES

HIDDEN = 4  # one block of rows in float64, half of one in float32; other tests have more
# The configurations of the paper, by hidden layer: one population trains those that share it.
LAYERS = {
    "linear": ("linear-linear",),
    "exponential": ("exponential-linear-neuron", "exponential-exponential-neuron"),
    "sigmoid": ("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron"),
    "synapse": ("sigmoid-linear-synapse", "sigmoid-sigmoid-synapse"),
}
PRECISIONS = pytest.mark.parametrize(
    ("dtype", "count", "most"), [(np.float64, 300, 1e-8), (np.float32, 30, 1e-3)]
)


def test_the_layers_are_those_of_the_paper():
    assert sorted(sum(LAYERS.values(), ())) == sorted(HEBBIAN.paper_configurations)


@PRECISIONS
@pytest.mark.parametrize("protocol", ["text", "reference", "code"])
@pytest.mark.parametrize("layer", LAYERS)
def test_hebbian(tiny_samples, layer, protocol, dtype, count, most):
    trials = [
        Trial(name, 0.03, lambda_, 0.1, protocol=protocol, hidden=HIDDEN)
        for name in LAYERS[layer]
        for lambda_ in (0.5, 2, 32)
    ]
    order = some_order(tiny_samples, count)
    population = compare(trials, tiny_samples, [order] * len(trials), dtype, most)
    assert len(population.layers) == 3, "configurations that differ in their output share a layer"


@PRECISIONS
@pytest.mark.parametrize("protocol", ["text", "reference", "code"])
@pytest.mark.parametrize("configuration", SGD.paper_configurations)
def test_sgd(tiny_samples, configuration, protocol, dtype, count, most):
    trial = Trial(configuration, 0.1, learner="sgd", protocol=protocol, hidden=HIDDEN)
    compare([trial], tiny_samples, [some_order(tiny_samples, count)], dtype, most)


@pytest.mark.parametrize("draw", range(20))
def test_mixtures_of_switches(tiny_samples, draw):
    """Any mixture, any configuration, λ that is not a power of two, any width."""
    rng = np.random.default_rng(draw)
    protocol = Protocol(**{name: str(rng.choice(s.values)) for name, s in SWITCHES.items()})
    name = "-".join([*rng.choice(GROWTHS, 2), rng.choice(FOCUSES)])
    hidden = int(rng.integers(1, 12))
    alpha, eta = 10 ** rng.uniform(-3, -0.5), 10 ** rng.uniform(-3, 0)
    if draw % 5:
        lambda_ = float(rng.choice([0.5, 0.25, 1, 3, 2.7, 8]))
        trial = Trial(name, alpha, lambda_, eta, protocol=protocol, hidden=hidden, seed=draw)
    else:
        trial = Trial(name, alpha, learner="sgd", protocol=protocol, hidden=hidden, seed=draw)
    compare([trial], tiny_samples, [some_order(tiny_samples, 150, draw)])


@pytest.mark.parametrize(
    ("dtype", "most"), [(np.float64, 1e-8), (np.float32, 1e-3)], ids=["float64", "float32"]
)
@pytest.mark.parametrize("hidden", [1, 2, 3, 4, 5, 8, 9, 33, 64, 96])
def test_every_width(tiny_samples, hidden, dtype, most):
    trial = Trial("sigmoid-sigmoid-neuron", 0.03, 2, 0.1, hidden=hidden)
    compare([trial], tiny_samples, [some_order(tiny_samples, 8)], dtype, most)


@pytest.mark.parametrize("hidden", [1, 2, 3, 7, 33])
def test_every_width_of_other_programs(tiny_samples, hidden):
    """Rows at unit length, and SGD, whose output layer is held by few threads."""
    order = some_order(tiny_samples, 8)
    for dtype, most in ((np.float64, 1e-8), (np.float32, 1e-3)):
        for trial in (
            Trial("exponential-exponential-neuron", 0.03, 2, 0.1, hidden=hidden),
            Trial("sigmoid-sigmoid-synapse", 0.1, learner="sgd", hidden=hidden),
        ):
            compare([trial], tiny_samples, [order], dtype, most)


@pytest.mark.parametrize("width", [1, 3, 16, 100])
def test_images_of_other_sizes_and_other_numbers_of_classes(width):
    rng = np.random.default_rng(0)
    samples = Samples(rng.random((50, width)), rng.integers(0, 3, 50))
    for learner, more in (("hebbian", {"lateral_inhibition": 2, "eta": 0.1}), ("sgd", {})):
        trial = Trial("sigmoid-sigmoid-neuron", 0.03, learner=learner, hidden=5, **more)
        weights = [start(5, width, np.float64, classes=3)]
        compare([trial], samples, [np.arange(50)], weights=weights)


def test_given_weights_of_any_sign(tiny_samples):
    rng = np.random.default_rng(0)
    W, V = rng.normal(size=(8, 784)), rng.normal(size=(10, 8))
    W[3] = -np.abs(W[3])
    trials = [
        Trial(name, 0.1, 32, 0.1, hidden=8, protocol=protocol)
        for name in ("linear-linear", "exponential-exponential-neuron")
        for protocol in ("reference", "text")
    ]
    for trial in trials:
        compare([trial], tiny_samples, [np.arange(4)], weights=[(W, V)])


def test_a_row_of_zeros_stays_zero(tiny_samples):
    W, V = start(4, 784, np.float64)
    W[1] = 0
    for protocol in ("text", "reference", "code"):
        trial = Trial("linear-linear", 0.1, 2, 0.1, protocol=protocol, hidden=4)
        if protocol == "code":  # its bias wakes the row up
            trial = dataclasses.replace(trial, protocol=Protocol.parse("code+bias=none"))
        ours = compare([trial], tiny_samples, [np.arange(20)], weights=[(W, V)])
        assert (ours.weights(0)[0][1] == 0).all()


@pytest.mark.parametrize(
    "trial",
    [
        Trial("exponential-linear-neuron", 3.0, 2, 0.1, protocol="text", hidden=HIDDEN),
        Trial("linear-linear", 1e200, learner="sgd", hidden=HIDDEN),
    ],
    ids=lambda trial: trial.learner,
)
def test_overflow_is_found_at_its_sample(tiny_samples, trial):
    ours = population_class("triton")(
        [trial], [start(HIDDEN, 784, np.float64)], tiny_samples, "cpu"
    )
    right = population_class("reference")([trial], [start(HIDDEN, 784, np.float64)], tiny_samples)
    for population in (ours, right):
        population.train([np.arange(100)])
        population.train([np.arange(100, 250)])
    assert right.diverged[0] is not None, "this trial must overflow"
    assert abs(ours.diverged[0] - right.diverged[0]) <= 1
    assert ours.seen[0] == ours.diverged[0], "training stops where it diverges"
    W, V = ours.weights(0)
    assert not (np.isfinite(W).all() and np.isfinite(V).all())


def test_large_finite_weights_do_not_count_as_overflow(tiny_samples):
    """In float32 the squared norm of such a row is infinite, and so is its product."""
    trial = Trial("linear-linear", 1e-3, learner="sgd", hidden=4)
    W, V = np.full((4, 784), -1e38, np.float32), np.full((10, 4), 0.01, np.float32)
    population = population_class("triton")([trial], [(W, V)], tiny_samples, "cpu")
    population.train([np.arange(3)])
    assert population.diverged == [None]
    assert np.array_equal(population.weights(0)[0], W)


def siblings(names, **values):
    given = {"alpha": 0.1, "lateral_inhibition": 2, "eta": 0.1, "hidden": HIDDEN} | values
    return [Trial(name, **given) for name in names]


SIBLINGS = (
    ("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron", "sigmoid-exponential-neuron"),
    ("exponential-linear-neuron", "exponential-exponential-neuron"),
    ("linear-linear", "linear-sigmoid-neuron", "linear-sigmoid-synapse"),
)


@pytest.mark.parametrize("names", SIBLINGS, ids=lambda names: names[-1])
@pytest.mark.parametrize("protocol", ["reference", "code"])
def test_a_shared_hidden_layer_gives_the_same_result_as_its_own(tiny_samples, names, protocol):
    """Bit for bit, even after one network continues with samples in another order."""
    trials = siblings(names, protocol=protocol)
    weights = [start(HIDDEN, 784, np.float32)] * len(trials)
    first, second, third = (some_order(tiny_samples, 10, seed) for seed in range(3))
    orders = [[first] * len(trials), [second, *[third] * (len(trials) - 1)]]
    together = population_class("triton")(trials, weights, tiny_samples, "cpu")
    assert len(together.layers) == 1
    for order in orders:
        together.train(order)
    assert len(together.layers) == 2
    for g, trial in enumerate(trials):
        alone = population_class("triton")([trial], [weights[g]], tiny_samples, "cpu")
        for order in orders:
            alone.train([order[g]])
        for a, b in zip(alone.weights(0), together.weights(g), strict=True):
            assert np.array_equal(a, b)


def test_a_network_that_diverges_does_not_disturb_others_with_the_same_hidden_layer(tiny_samples):
    calm, wild = siblings(("linear-linear", "linear-exponential-synapse"), protocol="text")
    W, V = start(HIDDEN, 784, np.float32)
    weights = [(W, V), (W, np.full_like(V, 1e38))]
    order = np.arange(30)
    population = population_class("triton")([calm, wild], weights, tiny_samples, "cpu")
    alone = population_class("triton")([calm], weights[:1], tiny_samples, "cpu")
    for one, count in ((population, 2), (alone, 1)):
        one.train([order] * count)
        one.train([order[::-1]] * count)
    assert population.diverged[0] is None
    assert population.diverged[1] < 30
    assert population.seen == [60, population.diverged[1]]
    for a, b in zip(alone.weights(0), population.weights(0), strict=True):
        assert np.array_equal(a, b)


def test_equal_trials_get_a_layer_each(tiny_samples):
    (trial,) = siblings(["sigmoid-sigmoid-neuron"])
    weights = [start(HIDDEN, 784, np.float64)] * 2
    population = population_class("triton")([trial] * 2, weights, tiny_samples, "cpu")
    population.train([np.arange(5), np.arange(5)])
    assert len(population.layers) == 2
    assert np.array_equal(population.weights(0)[1], population.weights(1)[1])


def test_orders_of_unequal_length_and_empty_ones(tiny_samples):
    """Every network has its own numbers, order and length; one has nothing to learn."""
    trials = [
        Trial("sigmoid-sigmoid-neuron", alpha, lambda_, eta, hidden=HIDDEN, seed=seed)
        for seed, (alpha, lambda_, eta) in enumerate(
            [(0.03, 2, 0.1), (0.1, 0.5, 0.7), (0.01, 2.7, 0.001), (0.3, 32, 0.3)]
        )
    ]
    orders = [some_order(tiny_samples, n, n) for n in (40, 0, 7, 25)]
    population = compare(trials, tiny_samples, orders)
    assert population.seen == [40, 0, 7, 25]


@pytest.mark.parametrize("name", ["exponential-exponential-neuron", "sigmoid-sigmoid-synapse"])
def test_chunks_change_nothing_beyond_rounding(tiny_samples, name):
    trial = Trial(name, 0.03, 2, 0.1, hidden=HIDDEN)
    weights = [start(HIDDEN, 784, np.float64)]
    order = some_order(tiny_samples, 60)
    whole, chunked = (
        population_class("triton")([trial], weights, tiny_samples, "cpu") for _ in range(2)
    )
    whole.train([order])
    for first in (0, 1, 2, 20, 59):
        last = {0: 1, 1: 2, 2: 20, 20: 59, 59: 60}[first]
        chunked.train([order[first:last]])
    assert largest_error(chunked.weights(0), whole.weights(0)) < 1e-12
    assert whole.seen == chunked.seen


def test_train_from(tiny_samples):
    W, V = start(HIDDEN, 784, np.float64)
    trial = Trial("sigmoid-sigmoid-neuron", 0.03, 2, 0.1, hidden=HIDDEN)
    args = (W, V, tiny_samples.images, tiny_samples.labels, range(5), trial)
    ours, right = (train_from(*args, engine=engine) for engine in ("triton", "reference"))
    assert largest_error(ours, right) < 1e-12
    scaled = train_from(W, V, tiny_samples.images / 255, *args[3:], engine="triton")
    assert largest_error(scaled, ours) < 1e-12


def test_sgd_with_two_output_growths_is_refused(tiny_samples):
    names = ("linear-linear", "linear-sigmoid-neuron")
    trials = siblings(names, learner="sgd", lateral_inhibition=None, eta=None)
    weights = [start(HIDDEN, 784, np.float32)] * 2
    with pytest.raises(SnapError, match="share"):
        population_class("triton")(trials, weights, tiny_samples, "cpu")


def test_one_population_has_one_program(tiny_samples):
    trials = siblings(("linear-linear", "sigmoid-linear-neuron"))
    weights = [start(HIDDEN, 784, np.float32)] * 2
    with pytest.raises(SnapError, match="share"):
        population_class("triton")(trials, weights, tiny_samples, "cpu")
    assert population_class("triton").groups(trials) == [[0], [1]]


@pytest.mark.parametrize("learner", ["hebbian", "sgd"])
def test_predictions_agree(tiny_samples, learner):
    """All networks are measured in one go, also those that share a layer."""
    if learner == "hebbian":
        trials = [
            Trial(name, 0.1, lambda_, 0.1, hidden=HIDDEN, protocol="code", seed=seed)
            for name in ("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron")
            for seed, lambda_ in enumerate((4, 2.7))
        ]
    else:
        trials = [
            Trial("linear-linear", 0.1, learner="sgd", hidden=HIDDEN, seed=n) for n in range(2)
        ]
    orders = [some_order(tiny_samples, 40, trial.seed) for trial in trials]
    ours = compare(trials, tiny_samples, orders)
    few = tiny_samples.take(slice(60))
    weights = [ours.weights(g) for g in range(len(trials))]
    right = population_class("reference")(trials, weights, few)
    limits = [None, (0, 1), (3, 4, 5)]
    assert np.array_equal(
        ours.hits(range(len(trials)), few, limits), right.hits(range(len(trials)), few, limits)
    )
    for g in range(len(trials)):
        assert np.allclose(ours.outputs(g, few), right.outputs(g, few), rtol=1e-9, atol=1e-12)


def test_a_sequence_with_networks_at_different_tasks(small):
    """As the cpu engine trains it, within what rounding may change."""
    experiment = Sequential(tasks=((0, 1), (2, 3)), threshold=0.6, max_epochs=3, curve_every=20)
    common = {"dataset": "Synthetic", "experiment": experiment, "hidden": 4, "train_limit": 120}
    trials = [
        Trial(name, alpha, 4, 0.1, test_limit=60, **common)
        for name in ("sigmoid-linear-neuron", "sigmoid-exponential-neuron")
        for alpha in (0.3, 0.003)
    ]
    ours = run(trials, small, engine="triton", device="cpu")
    right = run(trials, small, engine="cpu")
    assert right[0].epochs_per_task != right[2].epochs_per_task, "those that share must part"
    for a, b in zip(ours, right, strict=True):
        assert (a.epochs_per_task, a.samples) == (b.epochs_per_task, b.samples)
        assert np.allclose(a.matrix, b.matrix, atol=0.05)
        assert np.allclose(a.matrix_own, b.matrix_own, atol=0.05)


@pytest.mark.parametrize("name", ["exponential", "diverging"])
def test_a_killed_population_goes_on_from_its_checkpoint(small, tmp_path, monkeypatch, name):
    """Bit for bit as if it had not been killed: with networks that share a layer, rows that a
    chunk's end scales, and networks that diverge."""
    monkeypatch.setattr(population_class("triton"), "chunk", 16)
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    common = {"dataset": "Synthetic", "experiment": Iid(2), "hidden": 4, "train_limit": 40}
    protocol = {"exponential": "code", "diverging": "text"}[name]
    growths = ("exponential-linear-neuron", "exponential-exponential-neuron")
    trials = [
        Trial(growth, alpha, 4, 0.1, test_limit=40, protocol=protocol, **common)
        for growth in growths
        for alpha in (30.0, 0.03)
    ]
    whole = run(trials, small, engine="triton", device="cpu")
    for most in (1, 2, 2):
        reports = []

        def stop(trial, learned, rest, most=most, reports=reports):
            if trial == trials[1]:  # which does not diverge
                reports.append(learned)
            if len(reports) > most:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(trials, small, "triton", "cpu", progress=stop, checkpoints=tmp_path)
    said = []
    resumed = run(trials, small, "triton", "cpu", checkpoints=tmp_path, say=said.append)
    assert "goes on from a checkpoint" in said[0]
    assert [r.history for r in resumed] == [r.history for r in whole]
    assert [r.diverged for r in resumed] == [r.diverged for r in whole]
    assert any(r.diverged for r in whole) == (name == "diverging")
    assert not list(tmp_path.iterdir())
