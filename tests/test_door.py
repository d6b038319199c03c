"""`import snap`: training, predicting and opening results, as notebooks and scripts do it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import snap
from snap.cli.main import main
from snap.initial import initial_weights
from snap.notebook.folders import Results
from snap.notebook.trained import Trained

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "reports/paper"
TRIAL = snap.Trial(
    "sigmoid-sigmoid-neuron",
    alpha=0.03,
    lateral_inhibition=8,
    eta=0.1,
    dataset="Synthetic",
    experiment=snap.Sequential(threshold=0.99, max_epochs=2, curve_every=100),
    hidden=16,
)
IID = dataclasses.replace(TRIAL, experiment=snap.Iid(2))
SGD = snap.Trial("linear-linear", alpha=0.03, dataset="Synthetic", learner="sgd", hidden=16)
BIAS = dataclasses.replace(IID, protocol=snap.Protocol.parse("reference+bias=fixed"), beta=0.3)
WILD = dataclasses.replace(
    TRIAL,
    configuration=snap.Configuration.parse("exponential-linear-neuron"),
    protocol=snap.TEXT,
    alpha=0.1,  # diverges after the first point of the curves
)


@pytest.fixture(scope="module")
def trained(small) -> Trained:
    return snap.run(TRIAL, small, engine="cpu", snapshots=True)


def python(code: str, folder: Path, **environment: str) -> str:
    """Run code in an interpreter of its own, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
        | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Names, types and documentation


def test_importing_snap_imports_nothing_slow(tmp_path):
    slow = ("torch", "matplotlib", "pandas", "numba", "numpy", "tqdm", "yaml")
    code = f"import sys, snap; print([name for name in {slow} if name in sys.modules])"
    assert python(code, tmp_path) == "[]\n"


def test_every_public_name_exists_and_is_documented():
    for name in snap.__all__:
        value = getattr(snap, name)
        kind = value if callable(value) else type(value)
        text = kind.__doc__ or ""
        assert text.strip(), name
        assert not text.startswith(f"{kind.__name__}("), f"{name} has only a generated docstring"
        assert name in dir(snap)


@pytest.mark.parametrize("kind", [Trained, Results], ids=lambda kind: kind.__name__)
def test_every_member_of_a_result_is_documented_and_typed(kind):
    for name, member in vars(kind).items():
        function = member.fget if isinstance(member, property) else member
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        assert "return" in function.__annotations__, name
        assert inspect.getdoc(function), name


@pytest.mark.parametrize("name", ["figure", "load", "predict", "results", "run"])
def test_functions_are_typed(name):
    function = getattr(snap, name)
    assert set(function.__annotations__) == {*inspect.signature(function).parameters, "return"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'snap' has no attribute 'train'"):
        snap.train  # noqa: B018


def test_type_checkers_see_the_types(tmp_path):
    expressions = {
        'snap.load("MNIST")': "snap.data.store.Dataset",
        "snap.run": "def (trial: snap.trial.Trial,",
        "snap.predict": "def (result: snap.notebook.trained.Trained,",
        'snap.results("results/quick")': "snap.notebook.folders.Results",
        'snap.figure("headline", "results/quick")': "matplotlib.figure.Figure",
        "snap.Trained.plot": "def (self: snap.notebook.trained.Trained) -> matplotlib",
    }
    script = tmp_path / "script.py"
    lines = ["import snap", *(f"reveal_type({expression})" for expression in expressions)]
    script.write_text("\n".join([*lines, "snap.train"]))
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", tmp_path / "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *options, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    shown = {
        int(line.split(":")[1]): line for line in done.stdout.splitlines() if "script.py:" in line
    }
    for number, kind in enumerate(expressions.values(), 2):
        assert f'Revealed type is "{kind}' in shown[number]
    assert 'Module has no attribute "train"' in shown[len(lines) + 1]


# Training


@pytest.mark.parametrize("trial", [TRIAL, IID, WILD], ids=["sequential", "iid", "diverged"])
def test_neither_progress_nor_snapshots_change_the_result(trial, small, capsys):
    plain = snap.run(trial, small, engine="cpu")
    assert capsys.readouterr().err == ""
    assert plain.snapshots == ()
    for options in ({"progress": True}, {"snapshots": True}, {"progress": True, "snapshots": True}):
        other = snap.run(trial, small, engine="cpu", **options)
        assert capsys.readouterr().err.count("\n") == options.get("progress", 0)  # one line
        assert bool(other.snapshots) == options.get("snapshots", False)
        np.testing.assert_array_equal(other.W, plain.W)
        np.testing.assert_array_equal(other.V, plain.V)
        assert {**vars(other.result), "weights": 0, "seconds": 0} == {
            **vars(plain.result),
            "weights": 0,
            "seconds": 0,
        }


def test_progress_says_what_is_known(small, capsys):
    snap.run(IID, small, engine="cpu", progress=True)
    assert "100%" in capsys.readouterr().err
    snap.run(TRIAL, small, engine="cpu", progress=True)
    last = capsys.readouterr().err.rstrip().split("\r")[-1]
    assert "%" not in last  # tasks may end early
    assert "at most" not in last


def test_snapshots_are_the_weights_after_every_task(trained, small):
    assert [snapshot.task for snapshot in trained.snapshots] == [0, 1, 2, 3, 4, 5]
    W, V = initial_weights(TRIAL, 784)
    np.testing.assert_array_equal(trained.snapshots[0].W, W)
    np.testing.assert_array_equal(trained.snapshots[0].V, V)
    tasks = trained.tasks
    for number in (1, 3, 5):
        shorter = dataclasses.replace(TRIAL.experiment, tasks=tasks[:number])
        alone = snap.run(dataclasses.replace(TRIAL, experiment=shorter), small, engine="cpu")
        np.testing.assert_array_equal(trained.snapshots[number].W, alone.W)
        np.testing.assert_array_equal(trained.snapshots[number].V, alone.V)


def test_snapshots_of_iid_data(small):
    result = snap.run(IID, small, engine="cpu", snapshots=True)
    assert [snapshot.task for snapshot in result.snapshots] == [0, 1]
    np.testing.assert_array_equal(result.snapshots[1].W, result.W)


def test_a_network_that_diverged(small):
    result = snap.run(WILD, small, engine="cpu", snapshots=True)
    assert result.accuracy is None
    assert result.diverged > 0
    assert repr(result) == (
        f"<exponential-linear-neuron on Synthetic, λ = 8: diverged at sample {result.diverged}>"
    )
    assert [snapshot.task for snapshot in result.snapshots] == [0]  # no task has ended
    assert len(result.matrix) == 5
    assert result.plot().axes
    with pytest.raises(snap.SnapError, match="diverged at sample"):
        snap.predict(result, small.test.images)


def test_repr_is_one_line(trained):
    assert repr(trained) == (
        f"<sigmoid-sigmoid-neuron on Synthetic, λ = 8: accuracy {trained.accuracy:.4f}>"
    )


@pytest.mark.parametrize("trial", [TRIAL, IID, SGD, BIAS], ids=["sequential", "iid", "sgd", "bias"])
@pytest.mark.parametrize("engine", ["reference", "cpu", "torch"])
def test_predictions_have_the_accuracy_that_training_measured(engine, trial, small):
    fewer = dataclasses.replace(trial, train_limit=300)
    result = snap.run(fewer, small, engine=engine)
    images, labels = small.test.images, small.test.labels
    predicted = snap.predict(result, images)
    assert predicted.dtype == np.int64
    assert np.mean(predicted == labels) == pytest.approx(result.accuracy, abs=1e-12)
    assert len(set(predicted.tolist())) > 1
    np.testing.assert_array_equal(snap.predict(result, images.reshape(-1, 28, 28)), predicted)
    np.testing.assert_array_equal(snap.predict(result, images / np.float32(255)), predicted)
    assert len(snap.predict(result, images[:0])) == 0


@pytest.mark.parametrize("experiment", ["iid", "sequential"])
def test_data_frames_agree_with_the_command_line(experiment, small, synthetic_root, capsys):
    arguments = f"train --dataset Synthetic --configuration sigmoid-sigmoid-neuron --lambda 8 \
        --eta 0.1 --alpha 0.03 --hidden 16 --engine cpu --json --experiment {experiment}".split()
    if experiment == "sequential":
        arguments += "--threshold 0.99 --max-epochs 2 --curve-every 100".split()
    else:
        arguments += ["--epochs", "2"]
    main([*arguments, "--dir", str(synthetic_root)])
    printed = json.loads(capsys.readouterr().out)
    result = snap.run(TRIAL if experiment == "sequential" else IID, small, engine="cpu")
    assert printed["trial"] == result.trial.text
    assert printed["accuracy"] == result.accuracy
    assert printed.get("metrics", {}) == result.metrics
    curves, points = result.curves, printed["history"]
    for column in ("samples", "epoch", "accuracy"):
        assert curves[column].tolist() == [point[column] for point in points]
    if experiment == "iid":
        assert list(curves) == ["samples", "training", "epoch", "accuracy"]
        assert result.matrix.empty
        return
    assert curves["training"].tolist() == [point["task"] for point in points]
    tasks = curves[[f"task{n}" for n in range(1, 6)]]
    assert tasks.to_numpy().tolist() == [point["tasks"] for point in points]
    for column, name in {
        "accuracy": "matrix",
        "accuracy_known": "matrix_known",
        "accuracy_own": "matrix_own",
    }.items():
        table = result.matrix.pivot(index="after", columns="task", values=column)
        assert table.to_numpy().tolist() == printed[name]
    assert result.matrix["classes"].tolist()[:5] == ["0+1", "2+3", "4+5", "6+7", "8+9"]


# Figures and folders


def test_plot_draws_the_curves(trained):
    (axis,) = trained.plot().axes
    lines = {line.get_label(): line for line in axis.lines}
    np.testing.assert_array_equal(lines["all classes"].get_ydata(), trained.curves["accuracy"])
    second = lines["task 2 (classes 2, 3)"]
    np.testing.assert_array_equal(second.get_xdata(), trained.curves["samples"])
    np.testing.assert_array_equal(second.get_ydata(), trained.curves["task2"])


FIGURES = f"""
import matplotlib, snap
result = snap.run(snap.Trial.parse({TRIAL.text!r}), engine="cpu")
made = result.plot(), snap.figure("iid", {str(PUBLISHED)!r})
print(matplotlib.get_backend(auto_select=False))
import matplotlib.pyplot as plt
print(plt.get_fignums(), [type(figure).__name__ for figure in made])
"""


@pytest.mark.parametrize("backend", ["svg", None])
def test_figures_leave_the_backend_and_pyplot_alone(backend, synthetic_root, tmp_path):
    chosen = {"MPLBACKEND": backend} if backend else {}
    printed = python(FIGURES, tmp_path, SNAP_DATA=str(synthetic_root), **chosen)
    assert printed.splitlines() == [str(backend), "[] ['Figure', 'Figure']"]
    assert list(tmp_path.iterdir()) == []


def test_results_are_the_tables_of_the_folder():
    opened = snap.results(PUBLISHED)
    files = [*PUBLISHED.glob("tables/*.csv*"), PUBLISHED / "claims.csv"]
    assert list(opened) == sorted(path.name.split(".")[0] for path in files)
    assert len(opened) == len(files)
    for path in files:
        table = opened[path.name.split(".")[0]]
        plain = pd.read_csv(path, low_memory=False)
        assert (list(table), len(table)) == (list(plain), len(plain))
    assert repr(opened) == f"<results in {PUBLISHED}: {', '.join(opened)}>"
    other = opened.readings["as-run"]
    assert other.folder == PUBLISHED / "readings/as-run"
    assert len(other["sequential"])


@pytest.mark.parametrize("place", ["", "docs", None], ids=["project", "docs", "elsewhere"])
def test_the_project_is_found(place, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path if place is None else ROOT / place)
    assert snap.results("reports/paper").folder.resolve() == PUBLISHED
    assert snap.figure("growth", "reports/paper").axes


def test_data_are_found_in_a_folder_above(monkeypatch, tmp_path, synthetic_root):
    monkeypatch.delenv("SNAP_DATA", raising=False)
    (tmp_path / "data").symlink_to(synthetic_root)
    (tmp_path / "below/here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "below/here")
    assert snap.load("Synthetic").name == "Synthetic"


def test_features_are_drawn_from_the_weights_in_the_folder(tmp_path):
    (tmp_path / "tables").symlink_to(PUBLISHED / "tables")
    with pytest.raises(snap.SnapError, match="features-MNIST has nothing to show: No weights"):
        snap.figure("features-MNIST", tmp_path)
    trial = dataclasses.replace(TRIAL, dataset="MNIST")
    (tmp_path / "portrait").mkdir()
    weights = {trial.text: np.random.default_rng(0).uniform(size=(16, 784))}
    np.savez(tmp_path / "portrait/MNIST.npz", **weights)
    (axis,) = snap.figure("features-MNIST", tmp_path).axes
    assert "sigmoid-sigmoid" in axis.get_title()


# Mistakes


MISTAKES = {
    "configuration": (lambda r, d: snap.Trial("sigmoid", 0.1), "unknown configuration 'sigmoid'"),
    "no λ": (lambda r, d: snap.Trial("linear-linear", 0.1), "needs lambda (lateral_inhibition)"),
    "several trials": (lambda r, d: snap.run([TRIAL], d), "one snap.Trial at a time, got a list"),
    "data by name": (lambda r, d: snap.run(TRIAL, "Synthetic"), "from snap.load, got a str"),
    "other data": (
        lambda r, d: snap.run(dataclasses.replace(TRIAL, dataset="MNIST"), d),
        "a trial on MNIST cannot be run on Synthetic",
    ),
    "engine": (lambda r, d: snap.run(TRIAL, d, engine="gpu"), "engine must be one of auto, "),
    "no data": (
        lambda r, d: snap.load("FashionMNIST", "nowhere"),
        "is missing: run snap data fetch --dataset FashionMNIST --dir nowhere",
    ),
    "no data of a trial": (
        lambda r, d: snap.run(dataclasses.replace(IID, dataset="FashionMNIST")),
        "is missing: run snap data fetch --dataset FashionMNIST",
    ),
    "dataset": (lambda r, d: snap.load("MNITS"), "choose from MNIST, FashionMNIST, Synthetic"),
    "datasets": (lambda r, d: snap.load(["MNIST"]), "the name of a dataset, such as MNIST"),
    "one image": (
        lambda r, d: snap.predict(r, d.test.images[0]),
        "images must have the shape (n, 784) or (n, 28, 28), got (784,)",
    ),
    "small images": (lambda r, d: snap.predict(r, np.zeros((2, 8, 8))), "got (2, 8, 8)"),
    "ragged images": (lambda r, d: snap.predict(r, [[1, 2], [3]]), "images of the same size"),
    "whole numbers": (
        lambda r, d: snap.predict(r, d.test.images.astype(int)),
        "uint8 or floats from 0 to 1, got int64",
    ),
    "unscaled": (
        lambda r, d: snap.predict(r, d.test.images.astype(float)),
        "pixels from 0 to 255 must be uint8",
    ),
    "not a number": (lambda r, d: snap.predict(r, np.full((1, 784), np.nan)), "from 0 to 1"),
    "samples": (lambda r, d: snap.predict(r, d.test), "as in data.test.images"),
    "no result": (lambda r, d: snap.predict(TRIAL, d.test.images), "a result of snap.run, got a T"),
    "no run": (lambda r, d: snap.results("docs"), "docs has no results of a run: choose from "),
    "a result": (lambda r, d: snap.figure("iid", r), "the folder of a run, got a Trained"),
    "table": (
        lambda r, d: snap.results(PUBLISHED)["curves"],
        "has no table 'curves': choose from claims, consolidation, curve, ",
    ),
    "figure": (
        lambda r, d: snap.figure("curve", PUBLISHED),
        "there is no figure 'curve': choose from headline, iid, sequential, curves-MNIST, ",
    ),
    "figure of other data": (
        lambda r, d: snap.figure("curves-Synthetic", PUBLISHED),
        "there is no figure 'curves-Synthetic': choose from headline, ",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_in_one_sentence(name, trained, small, monkeypatch, tmp_path):
    monkeypatch.setenv("SNAP_DATA", str(tmp_path))
    mistake, message = MISTAKES[name]
    with pytest.raises(snap.SnapError) as caught:
        mistake(trained, small)
    error = caught.value
    assert message in str(error)
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
