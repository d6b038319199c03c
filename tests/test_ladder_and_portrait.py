"""The ladder and the portraits, on synthetic data."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from snap import Iid, Sequential, SnapError, Trial
from snap.experiments import run
from snap.initial import initial_weights
from snap.pipeline import jobs, snapshots
from snap.pipeline.ladder import ladder
from snap.pipeline.portrait import portrait
from snap.pipeline.rows import CONSOLIDATION, SELECTED, SEQUENTIAL, read_rows, write_rows
from snap.pipeline.training import Workplace, train
from snap.protocol import LADDER

LIMITS = {"dataset": "Synthetic", "hidden": 8, "train_limit": 500, "test_limit": 200}
SEQUENCE = Sequential(tasks=((0, 1), (2, 3)), max_epochs=2, curve_every=50)


def open_trial(learner="hebbian", name="linear-linear", **values):
    places = (1.0, 4, 0.0) if learner == "hebbian" else (1.0,)
    return Trial(name, *places, learner=learner, **LIMITS, **values)


@pytest.fixture
def place(tmp_path, synthetic_root):
    return Workplace(tmp_path / "store", synthetic_root, ledger=tmp_path / "ledger.json")


def selection(path, eta="0.1", alpha="0.03"):
    write_rows(path, SELECTED, [{"eta": eta, "alpha": alpha, "lambda": 4}])
    return path


def ladder_spec():
    rungs = []
    for switch, protocol in LADDER:
        iid = open_trial(experiment=Iid(1), protocol=protocol).text
        sequential = open_trial(experiment=SEQUENCE, protocol=protocol).text
        rungs.append({"switch": switch, "alpha": None, "iid": [iid], "sequential": [sequential]})
    return {"rungs": rungs, "engine": "cpu"}


def test_every_rung_is_trained_with_the_selected_pair(tmp_path, place):
    out = tmp_path / "ladder.csv"
    ladder(ladder_spec(), [selection(tmp_path / "pair.csv")], out, place)
    rows = read_rows(out)
    assert [row["switch"] for row in rows] == ["", *(name for name, _ in LADDER[1:])]
    assert {(row["eta"], row["alpha"]) for row in rows} == {("0.1", "0.03")}
    assert [row["step"] for row in rows] == [str(n) for n in range(len(LADDER))]
    assert all(row["iid_accuracy"] or row["iid_diverged"] for row in rows)
    assert json.loads(place.ledger.read_text())["trained"] == 2 * len(LADDER)
    # A rung gives the same result as an ordinary trial.
    last = jobs.with_pair(ladder_spec()["rungs"][-1]["iid"][0], 0.1, 0.03)
    (result,) = train([last], "cpu", Workplace(tmp_path / "elsewhere", place.data))
    assert float(rows[-1]["iid_accuracy"]) == result["accuracy"]


def test_a_cell_without_a_pair_has_no_ladder(tmp_path, place):
    out = tmp_path / "ladder.csv"
    pair = selection(tmp_path / "pair.csv", None, None)
    ladder(ladder_spec(), [pair], out, place)
    assert read_rows(out) == []


def outcomes(path, *rows):
    write_rows(path, SEQUENTIAL, rows)
    return path


def outcome(power, accuracy, seed=0, learner="hebbian", name="linear-linear"):
    return {
        "learner": learner,
        "dataset": "Synthetic",
        "configuration": name,
        "lambda": power,
        "eta": None if learner == "sgd" else 0.1,
        "alpha": 0.03,
        "seed": seed,
        "accuracy": accuracy,
    }


def test_a_portrait_shows_the_best_lambda(tmp_path, place, small):
    sequential = outcomes(
        tmp_path / "outcomes.csv",
        outcome(4, 0.9, 0),
        outcome(4, 0.1, 1),
        outcome(16, 0.6, 0),
        outcome(16, 0.7, 1),
        outcome(2, None),
        outcome(None, 0.3, learner="sgd", name="sigmoid-sigmoid-neuron"),
    )
    trials = [
        open_trial(experiment=SEQUENCE).text,
        open_trial("sgd", "sigmoid-sigmoid-neuron", experiment=SEQUENCE).text,
        open_trial(name="exponential-exponential-neuron", experiment=SEQUENCE).text,
    ]
    out, weights = tmp_path / "portrait.csv", tmp_path / "portrait.npz"
    spec = {"trials": trials, "engine": "cpu"}
    portrait(spec, [sequential], out, place)
    rows = read_rows(out)
    assert {(row["learner"], row["lambda"]) for row in rows} == {("hebbian", "16"), ("sgd", "")}
    points = {(row["layer"], row["quantity"]) for row in rows}
    assert points == {(a, b) for a in ("hidden", "output") for b in ("strength", "plasticity")}
    for row in rows:
        percentiles = [float(row[f"p{p}"]) for p in (0, 5, 25, 50, 75, 95, 100)]
        assert percentiles == sorted(percentiles)
    # The recorded weights are those of an ordinary training run.
    best = Trial("linear-linear", 0.03, 16, 0.1, experiment=SEQUENCE, **LIMITS)
    (expected,) = run([best], small, "cpu", record=True)
    with np.load(weights, allow_pickle=False) as file:
        watched = [Trial.parse(text) for text in file.files]
        assert {(t.learner, t.configuration.name, t.lateral_inhibition) for t in watched} == {
            ("hebbian", "linear-linear", 16),
            ("sgd", "sigmoid-sigmoid-neuron", None),
        }
        assert np.array_equal(file[best.text], expected.weights[0])
    assert json.loads(place.ledger.read_text())["trained"] == 2


def test_without_trials_a_portrait_is_empty(tmp_path, place):
    out = tmp_path / "portrait.csv"
    portrait({"trials": [], "engine": "cpu"}, [], out, place)
    with out.open() as file:
        assert list(csv.reader(file)) == [CONSOLIDATION]
    with np.load(out.with_suffix(".npz"), allow_pickle=False) as file:
        assert file.files == []


def test_snapshots_follow_the_weights_through_the_tasks(tmp_path, place, small):
    sequential = outcomes(tmp_path / "outcomes.csv", outcome(16, 0.9, 0))
    trials = [open_trial(experiment=SEQUENCE).text]
    portrait({"trials": trials, "engine": "cpu"}, [sequential], tmp_path / "p.csv", place)
    ((trial, seen),) = snapshots.read(tmp_path / "p.snapshots.npz").items()
    tasks = len(SEQUENCE.tasks)
    per_task = snapshots.PER_TASK
    assert seen.task.tolist() == [k / per_task for k in range(per_task * tasks + 1)]
    assert len(seen.tiles) == len(seen.strength) == len(seen.consolidated) == len(seen.task)
    # The first shows the initial weights, and the last those at the end.
    initial = initial_weights(trial, seen.tiles.shape[2])[0]
    with np.load(tmp_path / "p.npz", allow_pickle=False) as file:
        final = file[trial.text]
    for shown, W in ((seen.tiles[0], initial), (seen.tiles[-1], final)):
        assert np.array_equal(shown, snapshots.as_tiles(np.asarray(W, np.float64)))
    norms = np.linalg.norm(final, axis=1) / trial.strength_divisor("hidden", *final.shape)
    assert seen.strength[-1] == pytest.approx(norms)
    assert not seen.consolidated.any(), "linear growth does not consolidate"


def test_tiles_are_scaled_for_each_neuron():
    W = np.array([[0.0, 0.1, 0.2], [0.0, 50.0, 100.0], [-1.0, 0.0, 1.0], [np.nan, 1.0, 2.0]])
    tiles = snapshots.as_tiles(W)
    assert tiles.tolist()[:3] == [[0, 128, 255], [0, 128, 255], [0, 128, 255]]


def test_a_damaged_file_of_snapshots_is_named(tmp_path):
    path = tmp_path / "MNIST.snapshots.npz"
    path.write_bytes(b"not an archive")
    with pytest.raises(SnapError, match=r"MNIST\.snapshots\.npz cannot be read as snapshots"):
        snapshots.read(path)
