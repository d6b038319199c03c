"""The two experiments, on the synthetic data."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from snap import Iid, Sequential, SnapError, Trial, consolidation
from snap.data.samples import Samples
from snap.engines.cpu_population import CpuPopulation
from snap.experiments import run
from snap.initial import initial_weights, random_stream
from snap.learners import HEBBIAN, LEARNERS

SEQUENCE = Sequential(threshold=0.8, max_epochs=3, curve_every=100)


def trial(**changes) -> Trial:
    values = {
        "configuration": "sigmoid-sigmoid-neuron",
        "alpha": 0.3,
        "lateral_inhibition": 4,
        "eta": 0.1,
        "dataset": "Synthetic",
        "experiment": Iid(2),
        "hidden": 24,
    }
    return Trial(**{**values, **changes})


def test_iid_learns_and_reports_every_epoch(small):
    (result,) = run([trial(experiment=Iid(3))], small)
    assert [point["epoch"] for point in result.history] == [1, 2, 3]
    assert [point["samples"] for point in result.history] == [2000, 4000, 6000]
    assert result.accuracy == result.history[-1]["accuracy"] > 0.5
    assert len(result.accuracy_by_pair) == 5
    assert np.mean(result.accuracy_by_pair) == pytest.approx(result.accuracy)
    assert result.diverged is None


@pytest.mark.parametrize("learner", ["hebbian", "sgd"])
def test_a_sequence_of_tasks(small, learner):
    if learner == "hebbian":
        one = trial(experiment=SEQUENCE)
    else:
        one = trial(
            experiment=SEQUENCE,
            learner="sgd",
            lateral_inhibition=None,
            eta=None,
            alpha=0.1,
            hidden=32,
        )
    (result,) = run([one], small)
    matrix = np.array(result.matrix)
    assert matrix.shape == (6, 5), "five tasks, and a row for the untrained network"
    assert len(result.epochs_per_task) == len(result.reached) == 5
    assert result.samples == sum(400 * epochs for epochs in result.epochs_per_task)
    assert result.metrics["average_accuracy"] == pytest.approx(matrix[-1].mean())
    # The curve has a point before training, every 100 of the 400 samples in a task's first
    # epoch, and at the end of every epoch.
    ends = np.cumsum([0, *(400 * epochs for epochs in result.epochs_per_task)])
    first = [start + at for start in ends[:-1] for at in (100, 200, 300)]
    assert any(epochs > 1 for epochs in result.epochs_per_task)
    expected = sorted({*first, *range(0, result.samples + 1, 400)})
    assert [p["samples"] for p in result.history] == expected
    at = {p["samples"]: p["tasks"] for p in result.history}
    assert np.array_equal(matrix, [at[end] for end in ends])
    assert result.accuracy == result.history[-1]["accuracy"]


def test_the_curve_has_a_point_at_every_epoch_end(small):
    experiment = dataclasses.replace(SEQUENCE, curve_every=150, max_epochs=1)
    (result,) = run([trial(experiment=experiment)], small)
    assert [p["samples"] for p in result.history][:5] == [0, 150, 300, 400, 550]


def test_a_task_ends_at_its_threshold_or_its_last_epoch(small):
    easy = dataclasses.replace(SEQUENCE, threshold=0.01)
    (result,) = run([trial(experiment=easy)], small)
    assert result.epochs_per_task == [1] * 5
    assert result.reached == [True] * 5
    hopeless = dataclasses.replace(SEQUENCE, threshold=1.0, max_epochs=2)
    (result,) = run([trial(experiment=hopeless, alpha=0.001)], small)
    assert result.epochs_per_task == [2] * 5
    assert result.reached == [False] * 5


def test_the_threshold_is_judged_on_the_configured_data(small):
    """With wrong test labels, a task that is judged on test data never reaches the threshold."""
    wrong = (small.test.labels + 2) % 10  # every sample now belongs to another task
    broken = dataclasses.replace(small, test=Samples(small.test.images, wrong))
    on_test = dataclasses.replace(SEQUENCE, judged_on="test")
    (judged_on_train,) = run([trial(experiment=SEQUENCE)], broken)
    (judged_on_test,) = run([trial(experiment=on_test)], broken)
    assert any(judged_on_train.reached)
    assert not any(judged_on_test.reached)


def test_a_task_trains_on_its_own_classes_only(small, monkeypatch):
    """Each epoch has every sample of the task's classes once, in a new order."""
    experiment = Sequential(tasks=((0, 1), (7,)), threshold=1.0, max_epochs=2, curve_every=10**6)
    learned = []
    train = CpuPopulation._train

    def watched(self, orders):
        learned.append(orders[0])
        return train(self, orders)

    monkeypatch.setattr(CpuPopulation, "_train", watched)
    run([trial(experiment=experiment, alpha=0.001)], small)
    epochs = [np.sort(order) for order in learned]
    pair, seven = small.train.of_classes((0, 1)), small.train.of_classes((7,))
    for samples, expected in zip(epochs, (pair, pair, seven, seven), strict=True):
        assert np.array_equal(samples, expected)
    assert not np.array_equal(learned[0], learned[1])


def test_validation_never_sees_the_test_set(small):
    one = trial(split="validation")
    nonsense = Samples(small.test.images[::-1], np.zeros_like(small.test.labels))
    corrupted = dataclasses.replace(small, test=nonsense)
    assert run([one], small)[0].history == run([one], corrupted)[0].history
    view = small.view(one)
    assert len(view.train) + len(view.measure) == len(small.train)
    assert not np.shares_memory(view.measure.images, small.test.images)


def test_limits(small):
    (result,) = run([trial(experiment=Iid(1), train_limit=300, test_limit=50)], small)
    assert result.samples == 300
    assert (result.accuracy * 50) % 1 == pytest.approx(0, abs=1e-9)


def test_divergence_is_a_result(small):
    wild = {"configuration": "exponential-linear-neuron", "alpha": 50.0, "protocol": "text"}
    for experiment in (Iid(2), SEQUENCE):
        fine, diverged = run(
            [trial(experiment=experiment), trial(experiment=experiment, **wild)], small
        )
        assert fine.diverged is None
        assert diverged.diverged == diverged.samples > 0
        assert diverged.accuracy is None
        assert diverged.metrics is None
        assert json.loads(json.dumps(diverged.to_dict()))["diverged"] == diverged.samples


def test_percentiles_show_consolidation(small):
    """They are recorded on request: strength grows and, near 1, plasticity falls."""
    (result,) = run([trial(experiment=Iid(4), alpha=0.3)], small, record=True)
    strength = [p["weights"]["hidden"]["strength"] for p in result.history]
    assert all(np.all(np.diff(row) >= 0) for row in strength)
    assert strength[-1][-1] > strength[0][0]
    top = result.history[-1]["weights"]
    assert max(top["hidden"]["plasticity"]) <= 0.25
    assert "weights" not in run([trial()], small)[0].history[0]


def test_recording_changes_nothing(small):
    plain, recorded = (run([trial()], small, record=record)[0] for record in (False, True))
    assert plain.accuracy == recorded.accuracy


def test_results_are_reported_as_they_finish_and_returned_in_order(small):
    trials = [trial(experiment=Iid(epochs), seed=seed) for seed, epochs in enumerate((3, 1, 2))]
    finished = []
    results = run(trials, small, threads=2, finished=lambda r: finished.append(r.trial))
    assert [result.trial for result in results] == trials
    assert set(finished) == set(trials)


def test_progress_adds_up(small):
    for engine in ("cpu", "reference"):
        seen = []
        one = trial(experiment=Iid(2), train_limit=700, test_limit=20, hidden=4)
        run([one], small, engine=engine, progress=lambda _, n, rest, s=seen: s.append((n, rest)))
        assert sum(n for n, _ in seen) == 1400
        assert seen[-1][1] == 0
        assert all(sum(n for n, _ in seen[: k + 1]) + seen[k][1] == 1400 for k in range(len(seen)))


def test_seeds_decide_weights_and_order():
    assert np.array_equal(initial_weights(trial(), 9)[0], initial_weights(trial(alpha=1), 9)[0])
    assert not np.array_equal(initial_weights(trial(), 9)[0], initial_weights(trial(seed=1), 9)[0])
    W, V = initial_weights(trial(beta=0.5), 9)
    assert 0 <= W.min() < W.max() < 0.5
    assert W.shape == (24, 9)
    assert V.shape == (10, 24)
    assert not np.array_equal(
        random_stream(0, 2, 0, 1).permutation(50), random_stream(0, 2, 1, 1).permutation(50)
    )


def test_bad_calls(small):
    with pytest.raises(SnapError, match="at least one trial"):
        run([], small)
    with pytest.raises(SnapError, match="MNIST"):
        run([trial(dataset="MNIST")], small)
    zeros = small.train.of_classes((0,))
    only_zeros = dataclasses.replace(small, train=small.train.take(zeros))
    with pytest.raises(SnapError, match="no samples of the task"):
        run([trial(experiment=SEQUENCE)], only_zeros)


@pytest.mark.parametrize("engine", ["reference", "cpu", "torch"])
def test_a_learner_is_called_at_the_end_of_each_task(small, monkeypatch, engine):
    """Once per task, in order, with the current network and the task's own samples."""
    calls = []

    def end_task(network, samples):
        calls.append((network.seen, sorted(set(samples.labels.tolist()))))

    monkeypatch.setitem(LEARNERS, "hebbian", dataclasses.replace(HEBBIAN, end_task=end_task))
    experiment = Sequential(tasks=((0, 1), (7,)), max_epochs=1)
    trial = Trial(
        "linear-linear",
        0.1,
        4,
        0.1,
        dataset="Synthetic",
        experiment=experiment,
        hidden=4,
        train_limit=100,
        test_limit=100,
    )
    (result,) = run([trial], small, engine)
    assert [labels for _, labels in calls] == [[0, 1], [7]]
    assert 0 < calls[0][0] < calls[1][0] == result.samples


@pytest.mark.parametrize(
    ("growth", "strengths", "expected"),
    [
        ("sigmoid", [0.0, 0.02, 0.5, 0.97, 0.98, 1.0, 1.3], [0, 0, 0, 0, 1, 1, 1]),
        ("linear", [0.0, 0.5, 1.0, 70.0], [0, 0, 0, 0]),
        ("exponential", [0.0, 0.5, 1.0, 70.0], [0, 0, 0, 0]),
    ],
)
def test_a_strong_unit_that_is_no_longer_plastic_has_consolidated(growth, strengths, expected):
    """A sigmoidal unit with little strength is not plastic either, but will be."""
    name = "linear-linear" if growth == "linear" else f"{growth}-{growth}-neuron"
    for layer in ("hidden", "output"):
        found = consolidation.consolidated(trial(configuration=name), layer, np.array(strengths))
        assert found.tolist() == [bool(one) for one in expected]


def test_states_count_neurons_or_synapses():
    W, V = np.full((3, 784), 0.01), np.full((10, 3), 0.2)
    W[1] = 1.0  # its norm is the square root of 784, the divisor
    for name, units, consolidated in (
        ("sigmoid-sigmoid-neuron", 3, 1),
        ("sigmoid-sigmoid-synapse", 3 * 784, 784),
    ):
        hidden = consolidation.states(trial(configuration=name, hidden=3), W, V)["hidden"]
        assert (hidden["units"], hidden["consolidated"]) == (units, consolidated)
