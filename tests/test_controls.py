"""The controls: their rules by hand, in every engine that has them, and in whole sequences."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from snap import Iid, Sequential, SnapError, Trial, checkpoint, train_from
from snap.class_means import NEAREST, ClassMeans, matrices
from snap.controls import DAMPING, KINDS, Control
from snap.data.samples import Samples
from snap.engines import population_class, settle
from snap.experiments import run
from snap.replay import Reservoir

ENGINES = ("reference", "cpu")
TASKS = ((0, 1), (2, 3), (4, 5))
SHORT = Sequential(tasks=TASKS, max_epochs=2, curve_every=100)


def trial(control, name="linear-linear", **values):
    learner = "hebbian" if control == "random-hidden" else "sgd"
    values = {"learner": learner, "alpha": 0.1, "hidden": 6, "experiment": Sequential()} | values
    if values["learner"] == "hebbian":
        values |= {"lateral_inhibition": 4, "eta": 0.1}
    return Trial(name, control=control, **values)


def after_tasks(engine, trial, samples, dtype, count, tasks=TASKS):
    """The weights after some samples of each task."""
    random = np.random.default_rng(1)
    W = random.uniform(0, 0.2, (trial.hidden, samples.images.shape[1])).astype(dtype)
    V = random.uniform(0, 0.2, (10, trial.hidden)).astype(dtype)
    population = population_class(engine)([trial], [(W, V)], samples, "cpu")
    replays = trial.control is not None and trial.control.name == "replay"
    past = Reservoir(int(trial.control.amount), trial.seed) if replays else None
    for task in tasks:
        order = samples.of_classes(task)[:count]
        population.train([past.interleave(order, new=True) if past is not None else order])
        population.end_task(0, samples.take(order))
    return population.weights(0)


@pytest.fixture(scope="module")
def few_pixels(tiny_samples):
    return Samples(tiny_samples.images[:, 300:340].copy(), tiny_samples.labels)


@pytest.mark.parametrize(
    ("control", "name"),
    [
        ("random-hidden", "linear-linear"),
        ("random-hidden", "sigmoid-sigmoid-neuron"),
        ("random-hidden", "exponential-exponential-neuron"),
        ("mask", "linear-linear"),
        ("mask", "sigmoid-sigmoid-neuron"),
        ("mask", "sigmoid-sigmoid-synapse"),
        ("mask", "exponential-exponential-neuron"),
        ("ewc-3", "linear-linear"),
        ("si-0.02", "linear-linear"),
        ("replay-20", "linear-linear"),
    ],
)
@pytest.mark.parametrize(("dtype", "count", "tolerance"), [("f8", 60, 1e-9), ("f4", 15, 1e-3)])
def test_the_engines_agree(few_pixels, control, name, dtype, count, tolerance):
    weights = [
        after_tasks(engine, trial(control, name), few_pixels, dtype, count) for engine in ENGINES
    ]
    plain = after_tasks(
        "cpu", dataclasses.replace(trial(control, name), control=None), few_pixels, dtype, count
    )
    for expected, found, without in zip(*weights, plain, strict=True):
        assert np.isfinite(expected).all()
        assert found.dtype == dtype
        assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
        if dtype == "f8" and control != "random-hidden":  # the control matters
            assert np.abs(found - without).max() > 1e-6 * np.abs(expected).max()


def test_a_random_hidden_layer_stays(few_pixels):
    for engine in ENGINES:
        one = trial("random-hidden")
        start, _ = after_tasks(engine, one, few_pixels, "f8", 20, tasks=())
        end, _ = after_tasks(engine, one, few_pixels, "f8", 20)
        assert (start == end).all()


# Hand-worked steps of a 1-1-3 network: one pixel of 1, one hidden neuron with w = 1, so h = 1. The
# outputs are V = (0, ln 3, 5) and α = 0.1.
W1, V3 = np.array([[1.0]]), np.array([[0.0], [np.log(3)], [5.0]])
X1 = np.array([[1.0]])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_masked_step_by_hand(engine):
    """Over classes 0 and 1, softmax is (1/4, 3/4). The third class neither pulls nor moves."""
    one = trial("mask", hidden=1, experiment=Sequential(tasks=((0, 1), (2, 3))))
    W, V = train_from(W1, V3, X1, [0], [0], one, engine=engine)
    # The gradient of V is p − y = (−3/4, 3/4, 0); that of w is Σ (p − y) V = 3/4 ln 3.
    np.testing.assert_allclose(V, V3 - 0.1 * np.array([[-0.75], [0.75], [0]]), rtol=1e-14)
    np.testing.assert_allclose(W, W1 - 0.1 * 0.75 * np.log(3), rtol=1e-14)


# The same network with two outputs that are equal, so that p = (1/2, 1/2): V = (2, 2).
V2 = np.array([[2.0], [2.0]])


def two_steps(engine, control, end):
    """A step with class 0, the end of a task if asked for, and a step with class 1."""
    one = trial(control, hidden=1)
    samples = Samples(X1.repeat(2, axis=0), np.array([0, 1]))
    population = population_class(engine)([one], [(W1, V2)], samples, "cpu")
    states = [population.weights(0)]
    for step in (0, 1):
        population.train([np.array([step])])
        states.append(population.weights(0))
        if step == 0 and end:
            population.end_task(0, samples.take(slice(1)))
    return states


@pytest.mark.parametrize("ends", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_ewc_by_hand(engine, ends):
    """The first step has no penalty: V becomes (2.05, 1.95), and w stays, because V was equal.

    At the end of the task p(0) = 1 / (1 + e^−0.1). The Fisher information is p(0) p(1) · h² for
    both outputs, and the variance of V for w, which is p(0) p(1) · 0.1². A second task that ends
    at once adds the same again.
    """
    _, (W, V), (W_next, V_next) = two_steps(engine, "ewc-2", end=True)
    np.testing.assert_allclose(V, [[2.05], [1.95]], rtol=1e-14)
    np.testing.assert_allclose(W, W1, rtol=1e-14)
    # The second step starts at the anchor, where the penalty has no gradient.
    p = 1 / (1 + np.exp(-0.1))
    slope = np.array([[p], [-p]])  # (p(0) − 0, p(1) − 1)
    np.testing.assert_allclose(V_next, V - 0.1 * slope, rtol=1e-13)
    np.testing.assert_allclose(W_next, W - 0.1 * p * 0.1, rtol=1e-13)
    # A third step feels it: 2 · F · (v − v*).
    one = trial("ewc-2", hidden=1)
    samples = Samples(X1.repeat(2, axis=0), np.array([0, 1]))
    population = population_class(engine)([one], [(W1, V2)], samples, "cpu")
    population.train([np.array([0])])
    for _ in range(ends):
        population.end_task(0, samples.take(slice(1)))
    population.train([np.array([1, 1])])
    h = float(W_next[0, 0])
    q = 1 / (1 + np.exp(-h * float(V_next[0, 0] - V_next[1, 0])))
    fisher = ends * p * (1 - p)
    expected = V_next - 0.1 * (np.array([[q * h], [-q * h]]) + 2 * fisher * (V_next - V))
    np.testing.assert_allclose(population.weights(0)[1], expected, rtol=1e-13)
    pull = 2 * fisher * 0.1**2 * float(W_next[0, 0] - W[0, 0])
    slope_w = q * float(V_next[0, 0] - V_next[1, 0])
    np.testing.assert_allclose(
        population.weights(0)[0], W_next - 0.1 * (slope_w + pull), rtol=1e-13
    )


@pytest.mark.parametrize("ends", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_si_by_hand(engine, ends):
    """The first step moves V by (0.05, −0.05) against a gradient of (−0.5, 0.5).

    Each output has lowered the loss by 0.025, so its importance is 0.025 / (0.05² + ξ). A second
    task that ends at once adds nothing.
    """
    one = trial("si-3", hidden=1)
    samples = Samples(X1.repeat(2, axis=0), np.array([0, 1]))
    population = population_class(engine)([one], [(W1, V2)], samples, "cpu")
    population.train([np.array([0])])
    for _ in range(ends):
        population.end_task(0, samples.take(slice(1)))
    _, V = population.weights(0)
    population.train([np.array([1])])
    W_next, V_next = population.weights(0)
    population.train([np.array([1])])
    importance = 0.025 / (0.05**2 + DAMPING)
    h = float(W_next[0, 0])
    q = 1 / (1 + np.exp(-h * float(V_next[0, 0] - V_next[1, 0])))
    expected = V_next - 0.1 * (np.array([[q * h], [-q * h]]) + 2 * 3 * importance * (V_next - V))
    np.testing.assert_allclose(population.weights(0)[1], expected, rtol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_si_takes_a_negative_importance_for_none(engine):
    """A strong penalty pulls V up the loss of the second task: −0.45 joins the 0.24 of the first.

    The third task then has no penalty.
    """
    one = trial("si-80", hidden=1)
    samples = Samples(X1.repeat(2, axis=0), np.array([0, 1]))
    population = population_class(engine)([one], [(W1, V2)], samples, "cpu")
    for order in ([0], [1, 1]):
        population.train([np.array(order)])
        population.end_task(0, samples.take(slice(1)))
    population.train([np.array([1])])
    W, V = population.weights(0)
    population.train([np.array([1])])
    h = float(W[0, 0])
    q = 1 / (1 + np.exp(-h * float(V[0, 0] - V[1, 0])))
    expected = V - 0.1 * np.array([[q * h], [-q * h]])
    np.testing.assert_allclose(population.weights(0)[1], expected, rtol=1e-13)


def test_without_the_end_of_a_task_there_is_no_penalty():
    for engine, control in itertools.product(ENGINES, ("ewc-2", "si-3")):
        plain = trial(None, hidden=1)
        samples = Samples(X1.repeat(2, axis=0), np.array([0, 1]))
        population = population_class(engine)([plain], [(W1, V2)], samples, "cpu")
        population.train([np.array([0, 1])])
        for found, expected in zip(
            two_steps(engine, control, end=False)[-1], population.weights(0), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-14)


# Replay


def test_a_reservoir_is_a_uniform_sample():
    """Each of 40 samples is kept by about a quarter of 2,000 reservoirs of 10."""
    kept = np.zeros(40)
    for seed in range(2000):
        reservoir = Reservoir(10, seed)
        for sample in range(40):
            reservoir.offer(sample)
        assert len(set(reservoir.kept.tolist())) == len(reservoir) == 10
        kept[reservoir.kept] += 1
    assert abs(kept / 2000 - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 2000)


def test_what_is_replayed():
    """Every new sample is learned once, in order; after it one of the past, each as often."""
    counts = np.zeros(5)
    for seed in range(400):
        reservoir = Reservoir(5, seed)
        for start in (0, 5):
            reservoir.interleave(np.arange(start, start + 5), new=start == 0)
        mixed = reservoir.interleave(np.arange(10, 20), new=False)
        assert mixed[::2].tolist() == list(range(10, 20))
        np.add.at(counts, mixed[1::2], 1)  # only 0 to 4 were new
    assert abs(counts / counts.sum() - 0.2).max() < 0.03
    first = Reservoir(3, 0).interleave(np.arange(4), new=True)
    assert first[:4].tolist() == [0, 1, 0, 2]
    assert all(past < new for new, past in zip(first[1::2], first[2::2], strict=True))


@pytest.mark.parametrize(("learner", "engines"), [("sgd", ("cpu", "torch")), ("hebbian", ("cpu",))])
def test_replay_keeps_what_was_learned(small, learner, engines):
    """A whole sequence takes twice the samples, but for the first one, which has no past."""
    one = trial("replay-200", learner=learner, dataset="Synthetic", experiment=SHORT, alpha=0.03)
    plain = dataclasses.replace(one, control=None)
    for engine in engines:
        (result,) = run([one], small, engine)
        (without,) = run([plain], small, engine)
        assert (
            result.samples
            == sum(
                2 * epochs * len(small.train.of_classes(task))
                for task, epochs in zip(TASKS, result.epochs_per_task, strict=True)
            )
            - 1
        )
        if learner == "sgd":
            assert result.metrics["forgetting"] < without.metrics["forgetting"] - 0.2


@pytest.mark.parametrize("control", ["replay-50", "mask"])
def test_a_control_goes_on_from_a_checkpoint(small, tmp_path, control, monkeypatch):
    """The reservoir is the same as without the interruption."""
    one = trial(control, dataset="Synthetic", experiment=SHORT)
    (expected,) = run([one], small, "cpu")
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)

    def stop(trial, learned, rest):
        if rest and learned and list(tmp_path.iterdir()) and next(calls) == 6:
            raise KeyboardInterrupt

    calls = itertools.count()
    with pytest.raises(KeyboardInterrupt):
        run([one], small, "cpu", checkpoints=tmp_path, progress=stop)
    lines = []
    (resumed,) = run([one], small, "cpu", checkpoints=tmp_path, say=lines.append)
    assert "goes on from a checkpoint" in lines[0]
    assert resumed.history == expected.history
    assert resumed.matrix == expected.matrix


@pytest.mark.parametrize("control", ["ewc-1", "si-0.001"])
def test_what_is_kept_of_earlier_tasks_is_in_no_checkpoint(small, tmp_path, control, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    one = trial(control, dataset="Synthetic", experiment=SHORT)
    run([one], small, "cpu", checkpoints=tmp_path, progress=lambda *_: None)
    assert list(tmp_path.iterdir()) == []


def test_a_mask_keeps_more_than_plain_sgd(small):
    one = trial("mask", dataset="Synthetic", experiment=SHORT)
    (masked,) = run([one], small, "cpu")
    (plain,) = run([dataclasses.replace(one, control=None)], small, "cpu")
    assert masked.accuracy > plain.accuracy + 0.1


# Class means


def test_class_means_do_not_depend_on_the_order(small):
    """To the last bit: with tasks in any order, with samples in any order, all at once."""
    view = small.view(trial(None, dataset="Synthetic"))
    expected = None
    for tasks in itertools.permutations(TASKS):
        for nearest in NEAREST:
            found = matrices(view, tasks, 10, nearest)["matrix"][-1]
            last = dict(zip(tasks, found, strict=True))
            expected = expected or {}
            assert expected.setdefault(nearest, last) == last
    once, mixed = ClassMeans(10, 784), ClassMeans(10, 784)
    once.learn(view.train)
    order = np.random.default_rng(0).permutation(len(view.train))
    for part in np.array_split(order, 7):
        mixed.learn(view.train.take(part))
    assert (once.means == mixed.means).all()


def test_class_means_by_hand():
    """The means are (2, 0) and (3, 4)."""
    model = ClassMeans(3, 2)
    images = np.array([[1, 0], [3, 0], [3, 4]], np.uint8)
    model.learn(Samples(images, np.array([0, 0, 1])))
    asked = Samples(np.array([[3, 3], [4, 1], [1, 0]], np.uint8), np.array([0, 0, 0]))
    angle = model.outputs(asked, "angle")
    np.testing.assert_allclose(angle[:, :2], [[3, 21 / 5], [4, 16 / 5], [1, 3 / 5]])
    distance = model.outputs(asked, "distance")
    # 2 x·m − m²: 12 − 4 and 42 − 25; 16 − 4 and 32 − 25; 4 − 4 and 6 − 25.
    np.testing.assert_allclose(distance[:, :2], [[8, 17], [12, 7], [0, -19]])
    assert (angle[:, 2] == -np.inf).all()  # never seen, so never predicted
    assert (distance[:, 2] == -np.inf).all()


# Input


@pytest.mark.parametrize(
    ("control", "values", "words"),
    [
        ("replay-0", {}, "samples of replay must be a whole number of at least 1, got '0'"),
        ("replay--5", {}, "whole number of at least 1, got '-5'"),
        ("replay-2.5", {}, "whole number"),
        ("replay-1e12", {}, "at most 1000000"),
        ("replay", {}, "is missing: write replay-100"),
        ("ewc--1", {}, "strength of ewc must be above 0, got -1"),
        ("si-nan", {}, "finite number"),
        ("si-much", {}, "must be a number, got 'much'"),
        ("mask-3", {}, "the control mask has no number, got 3"),
        ("mask-x", {}, "the number of mask must be a number, got 'x'"),
        ("dropout", {}, "must be one of random-hidden, mask, replay, ewc, si, got 'dropout'"),
        ("mask", {"learner": "hebbian"}, "is for sgd, not hebbian"),
        ("ewc-1", {"name": "sigmoid-sigmoid-neuron"}, "is for linear-linear"),
        ("mask", {"experiment": Iid()}, "for tasks in sequence, not for i.i.d. data"),
        (3, {}, "must be text such as replay-500, got 3"),
    ],
)
def test_bad_controls_are_named(control, values, words):
    with pytest.raises(SnapError) as caught:
        trial(control, **values)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["mask", "replay-500", "ewc-0.1", "si-1e-7"])
def test_a_control_is_part_of_the_trial(text):
    one = trial(text)
    assert Control.parse(text).text == text
    assert Trial.parse(one.text) == one
    assert one.text.endswith(f",control={text}")
    assert one.fingerprint("", "cpu") != dataclasses.replace(one, control=None).fingerprint(
        "", "cpu"
    )
    assert trial("ewc-1e-1") == trial("ewc-0.1")


def test_engines_without_a_control_say_so(tiny_samples):
    one = trial("mask", hidden=4)
    W, V = np.ones((4, 784)), np.ones((10, 4))
    with pytest.raises(SnapError, match="torch engine has no control mask: choose the engine"):
        train_from(W, V, tiny_samples.images, tiny_samples.labels, [0], one, engine="torch")
    said = []
    assert settle("torch", "cpu", [one], said.append) == ("cpu", "cpu")
    assert said == ["the cpu engine trains instead of torch: that engine has no control mask"]
    assert settle("torch", "cpu", [trial("replay-5")], said.append)[0] == "torch"


def test_every_control_that_keeps_something_runs_where_it_says():
    for name, kind in KINDS.items():
        assert Control(name, 1 if kind.amount else None).runs_on("reference")
