"""Pinned numbers that detect a change of the training semantics.

If a test here fails, a change has altered the result of a trial. If that is intended, increase
SEMANTICS in src/snap/trial.py, so that stored results of the old code are not reused, and pin the
new numbers:  python tests/test_semantics.py > tests/pinned.json
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from snap import Iid, Sequential, Trial, train_from
from snap.data import store, synthetic
from snap.experiments import run
from snap.initial import initial_weights, random_stream
from snap.learners import HEBBIAN, SGD
from snap.trial import SEMANTICS

PINNED = Path(__file__).with_name("pinned.json")


def rules() -> dict[str, Trial]:
    trials = {}
    for protocol in ("text", "reference"):
        for name in HEBBIAN.paper_configurations:
            trials[f"hebbian {protocol} {name}"] = Trial(
                name, 0.03, 4, 0.1, protocol=protocol, hidden=8
            )
        for configuration in SGD.paper_configurations:
            trials[f"sgd {protocol} {configuration}"] = Trial(
                configuration, 0.1, learner="sgd", protocol=protocol, hidden=8
            )
    return trials


def weights_after(trial: Trial) -> list[float]:
    """Sums over both layers after 60 samples in float64, which are the same on every machine."""
    files = synthetic.files()
    images = files["train-images-idx3-ubyte"].reshape(synthetic.TRAIN, -1)
    W, V = initial_weights(trial, 784, np.float64)
    W, V = train_from(W, V, images, files["train-labels-idx1-ubyte"], range(60), trial)
    return [float(W.sum()), float(np.square(W).sum()), float(V.sum()), float(np.square(V).sum())]


def experiments(dataset: store.Dataset) -> dict[str, float]:
    """Accuracies of whole experiments, for configurations that do not amplify rounding."""
    accuracies = {}
    for name in ("linear-linear", "sigmoid-sigmoid-neuron"):
        for label, experiment, split in (
            ("iid", Iid(2), "test"),
            ("validation", Iid(1), "validation"),
            ("sequential", Sequential(max_epochs=2, curve_every=150), "test"),
        ):
            trial = Trial(
                name,
                0.1,
                4,
                0.1,
                dataset="Synthetic",
                experiment=experiment,
                hidden=16,
                seed=3,
                split=split,
            )
            accuracies[f"{label} {name}"] = run([trial], dataset, engine="cpu")[0].accuracy
    return accuracies


def streams() -> dict[str, list[int]]:
    return {
        "order of epoch 1": random_stream(0, 2, 0, 1).permutation(1000)[:8].tolist(),
        "order of task 2, epoch 3": random_stream(5, 2, 1, 3).permutation(1000)[:8].tolist(),
    }


def current(dataset: store.Dataset) -> dict:
    return {
        "semantics": SEMANTICS,
        "weights": {name: weights_after(trial) for name, trial in rules().items()},
        "accuracies": experiments(dataset),
        "streams": streams(),
    }


@pytest.fixture(scope="module")
def pinned():
    return json.loads(PINNED.read_text())


def test_the_pinned_numbers_belong_to_this_version(pinned):
    assert pinned["semantics"] == SEMANTICS, "pin the numbers of the new version, see the docstring"


@pytest.mark.parametrize("name", rules())
def test_learning_rules(pinned, name):
    assert weights_after(rules()[name]) == pytest.approx(pinned["weights"][name], rel=1e-8)


def test_experiments(pinned, small):
    assert experiments(small) == pytest.approx(pinned["accuracies"], abs=0.011)


def test_random_numbers(pinned):
    assert streams() == pinned["streams"]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        store.fetch("Synthetic", Path(folder))
        print(json.dumps(current(store.load("Synthetic", Path(folder))), indent=1))
