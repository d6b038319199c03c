"""The engines agree: from the same weights, on the same samples, in the same order."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from snap import Iid, Protocol, Sequential, SnapError, Trial, train_from
from snap.cli.main import main
from snap.engines import ACCELERATORS, population_class, resolve, settle
from snap.experiments import run
from snap.growth import FOCUSES, GROWTHS, plasticity
from snap.learners import HEBBIAN, SGD
from snap.protocol import SWITCHES

FAST = ("cpu", "torch")
HIDDEN = 8


def start(hidden, width, dtype, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 0.01, (hidden, width)), rng.uniform(0, 0.01, (10, hidden))
    return weights[0].astype(dtype), weights[1].astype(dtype)


def compare(trial, samples, count, dtype, tolerance, hidden=HIDDEN, seed=0):
    """Train with every engine; an error is relative to the largest weight."""
    W, V = start(hidden, samples.images.shape[1], dtype, seed)
    order = np.random.default_rng(seed + 1).integers(0, len(samples), count)

    def trained(engine):
        return train_from(W, V, samples.images, samples.labels, order, trial, engine=engine)

    expected = trained("reference")
    for engine in FAST:
        weights = trained(engine)
        assert [f.dtype for f in weights] == [dtype, dtype]
        if not all(np.isfinite(r).all() for r in expected):
            assert not all(np.isfinite(f).all() for f in weights), f"{engine} did not overflow"
            continue
        for name, f, r in zip("WV", weights, expected, strict=True):
            error = np.abs(f - r).max() / np.abs(r).max()
            assert error <= tolerance, f"{engine}: {name} is off by {error:.1e}"
    return expected


@pytest.mark.parametrize("lambda_", [0.5, 2, 32])
@pytest.mark.parametrize("protocol", ["text", "reference"])
@pytest.mark.parametrize("name", HEBBIAN.paper_configurations)
@pytest.mark.parametrize(
    ("dtype", "count", "tolerance"), [(np.float64, 300, 1e-8), (np.float32, 30, 1e-3)]
)
def test_hebbian(tiny_samples, name, protocol, lambda_, dtype, count, tolerance):
    trial = Trial(name, 0.03, lambda_, 0.1, protocol=protocol, hidden=HIDDEN)
    compare(trial, tiny_samples, count, dtype, tolerance)


@pytest.mark.parametrize("protocol", ["text", "reference"])
@pytest.mark.parametrize("configuration", SGD.paper_configurations)
@pytest.mark.parametrize(
    ("dtype", "count", "tolerance"), [(np.float64, 300, 1e-8), (np.float32, 30, 1e-3)]
)
def test_sgd(tiny_samples, configuration, protocol, dtype, count, tolerance):
    trial = Trial(configuration, 0.1, learner="sgd", protocol=protocol, hidden=HIDDEN)
    compare(trial, tiny_samples, count, dtype, tolerance)


def test_every_growth_has_a_formula_of_its_own():
    """The last branch of `plasticity` takes any number: a forgotten formula would be linear."""
    values = {name: plasticity(GROWTHS.index(name), 0.3, 0.3, 1.0) for name in GROWTHS}
    assert len(set(values.values())) == len(GROWTHS), values


@pytest.mark.parametrize("draw", range(40))
def test_mixtures_of_switches(tiny_samples, draw):
    """Any mixture, any configuration, λ that is not a power of two, odd widths."""
    rng = np.random.default_rng(draw)
    protocol = Protocol(**{name: str(rng.choice(s.values)) for name, s in SWITCHES.items()})
    name = "-".join([*rng.choice(GROWTHS, 2), rng.choice(FOCUSES)])
    hidden = int(rng.integers(1, 20))
    alpha, eta = 10 ** rng.uniform(-3, -0.5), 10 ** rng.uniform(-3, 0)
    if draw % 5:
        lambda_ = float(rng.choice([0.5, 1, 3, 2.7, 8]))
        trial = Trial(name, alpha, lambda_, eta, protocol=protocol, hidden=hidden)
    else:
        trial = Trial(name, alpha, learner="sgd", protocol=protocol, hidden=hidden)
    compare(trial, tiny_samples, 300, np.float64, 1e-8, hidden, seed=draw)


@pytest.mark.parametrize("name", ["linear-linear", "sigmoid-sigmoid-synapse"])
def test_the_papers_width(tiny_samples, name):
    compare(Trial(name, 0.01, 2, 0.1), tiny_samples, 100, np.float64, 1e-8, hidden=64)


def test_given_weights_of_any_sign(tiny_samples):
    """Rows that no sample activates are made non-negative too."""
    rng = np.random.default_rng(0)
    W, V = rng.normal(size=(8, 784)), rng.normal(size=(10, 8))
    W[3] = -np.abs(W[3])
    trial = Trial("linear-linear", 0.1, 32, 0.1, hidden=8)
    args = (W, V, tiny_samples.images, tiny_samples.labels, [0, 1, 2], trial)
    expected, *others = [train_from(*args, engine=engine) for engine in ("reference", *FAST)]
    for weights in others:
        assert np.allclose(weights[0], expected[0], rtol=0, atol=1e-9)


def test_a_row_of_zeros_stays_zero(tiny_samples):
    """A dead neuron has norm 0; no engine divides by it."""
    W, V = start(4, 784, np.float64)
    W[1] = 0
    for protocol in ("text", "reference"):
        trial = Trial("linear-linear", 0.1, 2, 0.1, protocol=protocol, hidden=4)
        args = (W, V, tiny_samples.images, tiny_samples.labels, np.arange(20), trial)
        results = [train_from(*args, engine=engine) for engine in ("reference", *FAST)]
        for hidden_weights, _ in results:
            assert np.isfinite(hidden_weights).all()
            assert (hidden_weights[1] == 0).all()
            assert np.allclose(hidden_weights, results[0][0], rtol=1e-10)


OVERFLOWING = {
    "hebbian": Trial("exponential-linear-neuron", 3.0, 2, 0.1, protocol="text", hidden=HIDDEN),
    "sgd": Trial("linear-linear", 1e200, learner="sgd", hidden=HIDDEN),
}


@pytest.mark.parametrize("learner", OVERFLOWING)
def test_engines_agree_on_overflow(tiny_samples, learner):
    trial = OVERFLOWING[learner]
    expected = compare(trial, tiny_samples, 300, np.float64, 1e-8)
    assert not all(np.isfinite(r).all() for r in expected), "this trial must overflow"
    at = []
    for engine in ("reference", *FAST):
        weights = [start(HIDDEN, 784, np.float64)]
        population = population_class(engine)([trial], weights, tiny_samples)
        population.train([np.arange(200)])
        population.train([np.arange(200, 300)])
        at.append(population.diverged[0])
        assert population.seen[0] == population.diverged[0], "training stops where it diverges"
    assert at[0] is not None
    assert max(at) - min(at) <= 1, f"the engines overflow at {at}"


def test_predictions_agree(tiny_samples):
    for name, learner in [
        *((name, "hebbian") for name in HEBBIAN.paper_configurations),
        *((name, "sgd") for name in SGD.paper_configurations),
    ]:
        hebbian = {"lateral_inhibition": 4, "eta": 0.1} if learner == "hebbian" else {}
        trial = Trial(name, 0.03, learner=learner, hidden=HIDDEN, **hebbian)
        predictions = []
        for engine in ("reference", *FAST):
            weights = [start(HIDDEN, 784, np.float64)]
            population = population_class(engine)([trial], weights, tiny_samples)
            population.train([np.arange(150)])
            predictions.append(population.predict(0, tiny_samples.take(slice(101))))
        assert np.array_equal(predictions[0], predictions[1])
        assert np.array_equal(predictions[0], predictions[2])


def grid(count, experiment=None):
    etas, alphas = (0.7, 0.3, 0.1, 0.03, 0.001), (0.3, 0.1, 0.03, 0.01, 0.003)
    pairs = [(eta, alpha) for eta in etas for alpha in alphas][:count]
    return [
        Trial(
            "exponential-linear-neuron",
            alpha,
            32,
            eta,
            dataset="Synthetic",
            experiment=experiment or Iid(1),
            hidden=HIDDEN,
            seed=n % 3,
        )
        for n, (eta, alpha) in enumerate(pairs)
    ]


def test_a_trial_is_bit_identical_alone_and_in_a_population(small):
    """With any number of threads, in the configuration that amplifies rounding the most."""
    trials = grid(25)
    alone = [run([trial], small, engine="cpu", record=True)[0] for trial in trials]
    for threads in (1, 2, 5):
        together = run(trials, small, engine="cpu", threads=threads, record=True)
        for one, other in zip(alone, together, strict=True):
            assert one.history == other.history
            assert one.trial == other.trial


def test_weights_are_bit_identical_alone_and_in_a_population(tiny_samples):
    trials = grid(5)
    weights = [start(HIDDEN, 784, np.float32, trial.seed) for trial in trials]
    orders = [np.random.default_rng(n).permutation(300) for n in range(5)]
    population = population_class("cpu")(trials, weights, tiny_samples)
    population.train(orders)
    for g, trial in enumerate(trials):
        single = train_from(
            *weights[g], tiny_samples.images, tiny_samples.labels, orders[g], trial, engine="cpu"
        )
        for a, b in zip(single, population.weights(g), strict=True):
            assert np.array_equal(a, b)


SIBLINGS = (
    ("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron", "sigmoid-exponential-neuron"),
    ("exponential-linear-neuron", "exponential-exponential-neuron"),
    ("sigmoid-linear-synapse", "sigmoid-sigmoid-synapse"),
    ("linear-linear", "linear-sigmoid-neuron", "linear-sigmoid-synapse"),
)


def siblings(names, **values):
    given = {"alpha": 0.1, "lateral_inhibition": 2, "eta": 0.1, "hidden": HIDDEN} | values
    return [Trial(name, dataset="Synthetic", **given) for name in names]


@pytest.mark.parametrize("names", SIBLINGS, ids=lambda names: names[-1])
@pytest.mark.parametrize("protocol", ["reference", "text"])
def test_a_shared_hidden_layer_gives_the_same_result_as_its_own(tiny_samples, names, protocol):
    """Bit for bit, even after one network continues with samples in another order."""
    trials = siblings(names, protocol=protocol)
    weights = [start(HIDDEN, 784, np.float32)] * len(trials)
    rng = np.random.default_rng(0)
    first, second, third = (rng.permutation(200) for _ in range(3))
    orders = [[first] * len(trials), [second, *[third] * (len(trials) - 1)]]
    population = population_class("cpu")(trials, weights, tiny_samples)
    assert len(population.layers) == 1
    for order in orders:
        population.train(order)
    assert len(population.layers) == (1 if all(population.diverged) else 2)
    for g, trial in enumerate(trials):
        alone = population_class("cpu")([trial], [weights[g]], tiny_samples)
        for order in orders:
            alone.train([order[g]])
        assert alone.diverged[0] == population.diverged[g]
        if alone.diverged[0] is None:
            for a, b in zip(alone.weights(0), population.weights(g), strict=True):
                assert np.array_equal(a, b)
            predictions = [one.predict(n, tiny_samples) for one, n in ((alone, 0), (population, g))]
            assert np.array_equal(*predictions)


def test_a_network_that_diverges_does_not_disturb_others_with_the_same_hidden_layer(tiny_samples):
    calm, wild = siblings(("linear-linear", "linear-exponential-synapse"), protocol="text")
    W, V = start(HIDDEN, 784, np.float32)
    weights = [(W, V), (W, np.full_like(V, 1e38))]
    order = np.arange(200)
    population = population_class("cpu")([calm, wild], weights, tiny_samples)
    alone = population_class("cpu")([calm], weights[:1], tiny_samples)
    for one, count in ((population, 2), (alone, 1)):
        one.train([order] * count)
        one.train([order[::-1]] * count)
    assert population.diverged[0] is None
    assert population.diverged[1] < 200
    assert population.seen == [400, population.diverged[1]]
    for a, b in zip(alone.weights(0), population.weights(0), strict=True):
        assert np.array_equal(a, b)


def test_sgd_shares_no_hidden_layer(tiny_samples):
    names = ("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron")
    one, other = siblings(names, learner="sgd", lateral_inhibition=None, eta=None)
    for trials in ([one, other], [one, one]):
        assert population_class("cpu").groups(trials) == [[0], [1]]
        weights = [start(HIDDEN, 784, np.float32)] * 2
        population = population_class("cpu")(trials, weights, tiny_samples)
        population.train([np.arange(100)] * 2)
        for g, trial in enumerate(trials):
            alone = population_class("cpu")([trial], weights[:1], tiny_samples)
            alone.train([np.arange(100)])
            for a, b in zip(alone.weights(0), population.weights(g), strict=True):
                assert np.array_equal(a, b)


def test_changing_predictions_does_not_change_later_ones(tiny_samples):
    trials = siblings(("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron"))
    weights = [start(HIDDEN, 784, np.float32)] * 2
    population = population_class("cpu")(trials, weights, tiny_samples)
    part = tiny_samples.take(slice(50))
    whole, few = population.predict(0, tiny_samples), population.predict(0, part)
    assert np.array_equal(whole[:50], few)
    whole[:] = -1
    assert np.array_equal(population.predict(0, tiny_samples)[:50], few)
    population.train([np.arange(200)] * 2)
    alone = population_class("cpu")(trials[:1], weights[:1], tiny_samples)
    alone.train([np.arange(200)])
    assert np.array_equal(population.predict(0, part), alone.predict(0, part))


def test_a_shared_sequence_splits_where_one_configuration_needs_more_epochs(small):
    """For each configuration, a task ends when that configuration has learned it."""
    experiment = Sequential(threshold=0.6, max_epochs=4, curve_every=100)
    names = ("linear-linear", "linear-exponential-neuron")
    trials = siblings(names, experiment=experiment, lateral_inhibition=4, alpha=0.01)
    together = run(trials, small)
    alone = [run([trial], small)[0] for trial in trials]
    assert [r.history for r in together] == [r.history for r in alone]
    assert together[0].epochs_per_task != together[1].epochs_per_task


def test_train_from_does_not_change_its_arguments(tiny_samples):
    W, V = start(HIDDEN, 784, np.float32)
    W0, V0 = W.copy(), V.copy()
    for engine in ("reference", *FAST):
        trial = grid(1)[0]
        train_from(W, V, tiny_samples.images, tiny_samples.labels, [0, 1], trial, engine=engine)
        assert np.array_equal(W, W0)
        assert np.array_equal(V, V0)


def test_bytes_and_scaled_floats_are_the_same_input(tiny_samples):
    W, V = start(HIDDEN, 784, np.float64)
    trial = grid(1)[0]
    for engine in ("reference", *FAST):
        pixels = train_from(
            W, V, tiny_samples.images, tiny_samples.labels, range(50), trial, engine=engine
        )
        numbers = train_from(
            W, V, tiny_samples.images / 255, tiny_samples.labels, range(50), trial, engine=engine
        )
        assert np.allclose(pixels[0], numbers[0], rtol=1e-9)


def test_auto_is_cpu_without_cuda(monkeypatch):
    monkeypatch.setitem(ACCELERATORS, "cuda", lambda: False)
    assert resolve("auto", "auto") == ("cpu", "cpu")
    assert resolve("torch", "auto") == ("torch", "cpu")
    monkeypatch.setitem(ACCELERATORS, "cuda", lambda: True)
    assert resolve("auto", "auto") == ("triton", "cuda")
    assert resolve("auto", "cuda:1") == ("triton", "cuda:1")
    assert resolve("torch", "auto") == ("torch", "cuda")
    assert resolve("auto", "cpu") == ("cpu", "cpu")
    assert resolve("cpu", "auto") == ("cpu", "cpu")


def test_without_cuda_the_triton_engine_is_replaced_and_the_reason_is_told():
    said = []
    assert settle("triton", "auto", grid(1), said.append) == ("torch", "cpu")
    (reason,) = said
    assert "the torch engine trains instead of triton" in reason
    assert "no CUDA device" in reason or "not installed" in reason


def test_snap_train_says_which_engine_trains(synthetic_root, capsys):
    options = "--configuration linear-linear --lambda 2 --eta 0.1 --alpha 0.1 --dataset Synthetic"
    options += f" --dir {synthetic_root} --train-limit 5 --test-limit 5 --epochs 1 --hidden 4"
    main(["train", *options.split(), "--engine", "triton"])
    printed = capsys.readouterr()
    assert printed.err.startswith("snap: the torch engine trains instead of triton: ")
    assert "engine torch" in printed.out


def test_without_triton_the_engine_is_replaced(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = []
    assert settle("triton", "cpu", grid(1), said.append) == ("torch", "cpu")
    assert said == ["the torch engine trains instead of triton: Triton is not installed"]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels, [0], t, engine="tpu"), "engine"),
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels, [600], t), "order"),
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels, [-1], t), "order"),
        (lambda W, V, s, t: train_from(W[:, :9], V, s.images, s.labels, [0], t), "columns"),
        (lambda W, V, s, t: train_from(W, V[:, :5], s.images, s.labels, [0], t), "weights"),
        (lambda W, V, s, t: train_from(W, V[:5], s.images, s.labels, [0], t), "label"),
        (lambda W, V, s, t: train_from(W > 0, V, s.images, s.labels, [0], t), "float"),
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels[:9], [0], t), "samples"),
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels - 5, [0], t), "label -5"),
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels / 2, [0], t), "labels"),
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels, [[0]], t), "order"),
        (lambda W, V, s, t: train_from(W, V, s.images, s.labels, [0.5], t), "order"),
        (lambda W, V, s, t: train_from(W, V, s.images > 0, s.labels, [0], t), "images"),
        (lambda W, V, s, t: train_from(W[:0], V[:, :0], s.images, s.labels, [0], t), "weights"),
        (lambda W, V, s, t: population_class("cpu")([], [], s), "at least one trial"),
        (
            lambda W, V, s, t: train_from(
                W, V, s.images, s.labels, [0], t, engine="torch", device="cuda:7"
            ),
            "device",
        ),
        (
            lambda W, V, s, t: train_from(
                W, V, s.images, s.labels, [0], t, engine="cpu", device="cuda"
            ),
            "cpu only",
        ),
    ],
)
def test_bad_calls_say_what_is_wrong(tiny_samples, call, word):
    W, V = start(HIDDEN, 784, np.float32)
    with pytest.raises(SnapError, match=word):
        call(W, V, tiny_samples, grid(1)[0])
