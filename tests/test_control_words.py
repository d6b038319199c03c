"""What is said about the controls follows from their tables, in both directions."""

from __future__ import annotations

import pytest

import figure_runs
import little_run
from snap.publishing import control_passages
from snap.report.control_words import paragraphs
from snap.report.frames import Tables

LAMBDAS = (1, 4, 16)
SNAP, LINEAR = "sigmoid-sigmoid-neuron", "linear-linear"


def method(control, learner, name, accuracy, amount=None):
    return (control, learner, name, amount, accuracy, 0.1)


def said(folder, monkeypatch, *methods, counts=None, dataset="MNIST"):
    """What is said about a run with these methods, chosen as in the paper."""
    monkeypatch.setattr(figure_runs, "METHODS", methods)
    rows = figure_runs.rows(datasets=(dataset,), lambdas=LAMBDAS)
    controls = [row for row in rows["controls"] if row["chosen"] == "iid"]
    for row in controls:
        row["accuracy"] -= 0.01 * row["seed"]  # undoes the spread over seeds
        if "consolidated" in row and counts:
            row["consolidated"], row["accuracy"] = counts[row["lambda"]]
    little_run.write(folder / "tables", rows | {"controls": controls})
    found = paragraphs(Tables(folder / "tables"))
    assert control_passages.controls(folder, {}) == "\n\n".join(found)
    (paragraph,) = found
    return paragraph


def test_methods_are_listed_on_both_sides(tmp_path, monkeypatch):
    text = said(
        tmp_path,
        monkeypatch,
        method("plain", "hebbian", SNAP, 0.6),
        method("plain", "sgd", LINEAR, 0.2),
        method("replay", "sgd", LINEAR, 0.8, amount=100),
        method("class-means", None, "angle", 0.605),
        method("joint", "sgd", LINEAR, 0.95),
    )
    assert text.startswith(
        "On MNIST, SNAP ends at 60 %. More accurate after the same sequence: SGD + replay 100"
        " (80 %, keeps 100 samples); as accurate, within 1 point: class means by angle (60 %);"
        " less accurate: SGD (20 %)."
    )
    assert "SGD reaches 95 % with all classes at once." in text


@pytest.mark.parametrize(
    ("random", "words"),
    [
        (0.71, "and 21 points above it where only the output layer learns: the lead survives."),
        (0.52, "and 2 points above it where only the output layer learns: most of the lead is"),
        (0.505, "and level with it where only the output layer learns: the lead does not survive."),
        (0.4, "and 10 points below it where only the output layer learns: the lead is reversed."),
    ],
)
def test_what_becomes_of_the_lead_of_sigmoidal_growth(tmp_path, monkeypatch, random, words):
    text = said(
        tmp_path,
        monkeypatch,
        method("plain", "hebbian", SNAP, 0.8),
        method("plain", "hebbian", LINEAR, 0.55),
        method("random-hidden", "hebbian", SNAP, random),
        method("random-hidden", "hebbian", LINEAR, 0.5),
        method("joint", "hebbian", LINEAR, 0.6875),
    )
    assert f"Sigmoidal growth ends 25 points above linear growth, {words}" in text
    over = round(100 * (0.8 - max(random, 0.5)))
    assert f"SNAP ends {over} points above the best network with a random hidden layer." in text
    assert "linear growth alone keeps 55 %, which is 80 % of what it reaches with all" in text


def test_snap_may_lose(tmp_path, monkeypatch):
    text = said(
        tmp_path,
        monkeypatch,
        method("plain", "hebbian", SNAP, 0.5),
        method("plain", "hebbian", LINEAR, 0.55),
        method("random-hidden", "hebbian", SNAP, 0.6),
        method("random-hidden", "hebbian", LINEAR, 0.5),
    )
    assert "SNAP ends 10 points below the best network with a random hidden layer." in text
    assert (
        "Sigmoidal growth ends 5 points below linear growth, and 10 points above it where only the"
        " output layer learns." in text
    )


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({1: (3, 0.5), 4: (8, 0.6), 16: (40, 0.7)}, "accuracy follows their number (rank "),
        ({1: (3, 0.7), 4: (8, 0.6), 16: (40, 0.5)}, "accuracy falls as their number rises (rank "),
        ({1: (3, 0.6), 4: (8, 0.5), 16: (40, 0.7)}, "accuracy does not follow their number (rank "),
        ({1: (3, 0.6), 4: (8, 0.6), 16: (40, 0.6)}, "most accurate with 3, at λ = 1."),
    ],
)
def test_recruited_neurons(tmp_path, monkeypatch, counts, words):
    text = said(tmp_path, monkeypatch, method("plain", "hebbian", SNAP, 0.6), counts=counts)
    assert "SNAP recruits 3 to 40 of 64 hidden neurons, depending on λ." in text
    assert words in text
    assert "nan" not in text


def test_a_run_without_controls_says_nothing(tmp_path):
    rows = figure_runs.rows()
    del rows["controls"]
    little_run.write(tmp_path / "tables", rows)
    assert paragraphs(Tables(tmp_path / "tables")) == []
    assert control_passages.controls(tmp_path, {}) == control_passages.NOT_RUN
