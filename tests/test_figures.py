"""Every figure from made-up tables: complete, with gaps, and empty."""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from figure_runs import NAMES, ROOT, drawing, rows, tables_of, weights_of
from little_run import write
from snap.cli.main import main
from snap.errors import SnapError
from snap.growth import GROWTHS
from snap.report import catalog
from snap.report.figures import draw
from snap.report.figures.growth import measured_growth
from snap.report.figures.overview import best_by_growth
from snap.report.figures.sequence import progress
from snap.report.figures.weights import mosaic
from snap.report.frames import Tables
from snap.trial import Trial


@pytest.fixture(scope="module")
def whole() -> Tables:
    return tables_of("of the paper")


def test_every_kind_of_figure_has_a_function_and_a_caption():
    for kind in catalog.KINDS:
        assert callable(getattr(import_module(kind.module), kind.name.replace("-", "_")))
        caption = (ROOT / f"reports/captions/{kind.name}.rst").read_text()
        assert len(caption.split()) > 20, kind.name


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_with_its_data_and_alternative_text(whole, tmp_path, name):
    kind, dataset = catalog.find(name)
    options = {
        "tables": whole.folder,
        "style": ROOT / "workflow/style.yaml",
        "weights": weights_of("of the paper", dataset or "MNIST"),
        "paper": ROOT / "workflow/paper.yaml",
        "caption": ROOT / f"reports/captions/{kind.name}.rst",
        "all": tmp_path,
    }
    arguments = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
    code = main(["report", "figure", name, *arguments])
    assert code == 0
    about = json.loads((tmp_path / f"{name}.json").read_text())
    assert about["dataset"] == dataset
    assert about["caption"] == (ROOT / f"reports/captions/{kind.name}.rst").read_text()
    assert set(about["sources"]) <= {path.stem for path in whole.folder.glob("*.csv")}
    assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    if about["left_out"]:
        assert kind.name == "curves-paper"  # λ = 32 and 16 of the paper were not run
        return
    width, height = Image.open(tmp_path / f"{name}.png").size
    assert 600 < width < 10.2 * 150
    assert 300 < height < 2600
    assert len(about["alt"].split()) > 5
    assert ".png" not in about["alt"]
    assert about["data"] == kind.data
    if kind.data:
        assert len(pd.read_csv(tmp_path / f"{name}.csv"))


def test_features_name_the_lambda_that_their_weights_were_trained_with(whole, tmp_path):
    """Not the best λ of a table, which may have changed since."""
    trial = Trial("linear-linear", 0.1, 2, 0.1, hidden=5)
    np.savez(tmp_path / "weights.npz", **{trial.text: np.ones((5, 784))})
    request = drawing(whole, "features-MNIST", weights={"MNIST": tmp_path / "weights.npz"})
    drawn = draw(*request)
    assert "λ = 2" in drawn.figure.axes[0].get_title()


def test_a_figure_cannot_read_a_table_that_it_does_not_declare(whole):
    kind, request = drawing(whole, "curves-MNIST")
    without = Tables(whole.folder, tuple(name for name in kind.tables if name != "matrix"))
    with pytest.raises(SnapError, match="matrix"):
        draw(kind, dataclasses.replace(request, tables=without))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_of_an_empty_run_is_left_out(tmp_path, name):
    """Every pair diverged, and no table has any other row."""
    cells = [row | {"status": "all diverged"} for row in rows()["selected"]]
    tables = write(tmp_path, {"selected": cells})
    kind, request = drawing(tables, name)
    drawn = draw(kind, request)
    assert bool(drawn.left_out) == kind.from_results


def test_a_diverged_cell_is_a_gap_in_the_line_and_is_named(tmp_path):
    made = rows()
    for row in made["sequential"]:
        if (row["configuration"], row["lambda"]) == ("linear-linear", 16):
            row |= {"accuracy": None, "diverged": 5}
    drawn = draw(*drawing(write(tmp_path, made), "sequential"))
    linear = drawn.data[drawn.data["configuration"] == "linear-linear"].set_index("lambda")
    assert linear.loc[16, "mean"].isna().all()
    assert linear.loc[1, "mean"].notna().all()
    assert "MNIST, linear-linear: no result at λ = 16" in drawn.gaps


def test_a_line_breaks_where_a_result_is_missing(tmp_path):
    """A cross on the axis marks the gap, at the missing λ."""
    made = rows()
    made["iid"] = [
        r for r in made["iid"] if (r["configuration"], r["lambda"]) != ("linear-linear", 1)
    ]
    drawn = draw(*drawing(write(tmp_path, made), "iid"))
    marks = [mark for mark in drawn.figure.axes[0].lines if mark.get_marker() == "x"]
    assert [list(mark.get_xdata()) for mark in marks] == [[1.0]]


def test_seeds_are_a_mean_and_a_band(whole):
    drawn = draw(*drawing(whole, "iid"))
    cell = drawn.data.query("dataset == 'MNIST' and configuration == 'linear-linear'")
    best = cell.set_index("lambda").loc[16]
    assert best["mean"] == pytest.approx(0.8)
    assert (best["low"], best["high"]) == (pytest.approx(0.799), pytest.approx(0.801))
    assert best["seeds"] == 2


@pytest.mark.parametrize("name", ["headline", "curves-MNIST", "matrix-MNIST"])
def test_the_best_of_the_remaining_lambdas_is_marked_as_such(tmp_path, name):
    made = rows()
    for row in made["sequential"]:
        if (row["configuration"], row["lambda"]) == ("sigmoid-sigmoid-neuron", 16):
            row |= {"accuracy": None, "diverged": 5}
    drawn = draw(*drawing(write(tmp_path, made), name))
    sentence = "sigmoid-sigmoid, neuron: no result at λ = 16; the best of the others is shown"
    assert f"MNIST, {sentence}" in drawn.gaps


def test_the_finding_names_every_growth():
    """Also one that was added."""
    growths = (*GROWTHS, "bounded")
    names = [f"{growth}-linear-neuron" for growth in growths]
    made = {"learner": "hebbian", "configuration": names, "lambda": 4.0, "mean": 0.5}
    for growth in growths:
        assert f"{growth} hidden growth 50% (λ = 4)" in best_by_growth(pd.DataFrame(made))


def test_the_best_lambda_is_shown_and_named(whole):
    drawn = draw(*drawing(whole, "curves-MNIST"))
    assert set(drawn.data["lambda"]) == {16.0}
    assert all("λ = 16" in axis.get_title() for axis in drawn.figure.axes[:5])


def test_curves_at_a_lambda_of_the_paper_that_was_not_run_are_named(whole):
    drawn = draw(*drawing(whole, "curves-paper-MNIST"))
    assert "linear-linear: the paper's λ = 32 was not part of this run" in drawn.gaps
    assert "linear-linear" not in set(drawn.data["configuration"])
    none = draw(*drawing(tables_of("two configurations"), "curves-paper-MNIST"))
    assert none.left_out == "None of the paper's λ was part of this run on MNIST."


def test_every_task_is_one_unit_long():
    curve = pd.DataFrame({"training": [0, 1, 1, 2, 2, 2], "samples": [0, 50, 100, 200, 300, 500]})
    assert list(progress(curve)["progress"]) == [0, 0.5, 1, 1.25, 1.5, 2]


def test_measured_growth_is_linear_saturating_and_exponential():
    linear = measured_growth("linear", "reference", 20, 0.05)
    assert np.allclose(np.diff(linear), 0.05)
    sigmoid = measured_growth("sigmoid", "reference", 200, 0.3)
    assert sigmoid[-1] == pytest.approx(1, abs=1e-3)
    assert max(sigmoid) <= 1.2
    rule = "reference+neuron_exponential=multiply"
    exponential = np.array(measured_growth("exponential", rule, 20, 0.1))
    assert np.allclose(exponential[1:] / exponential[:-1], 1.1)


def test_a_mosaic_shows_every_neuron_from_dark_to_light():
    weights = np.zeros((3, 16))
    weights[:, 5] = [1, 2, 4]
    sheet = mosaic(weights)
    assert sheet.shape == (11, 11)
    assert (sheet == 1).sum() == 3


@pytest.mark.parametrize("name", ["", "nothing", "curves", "curves-../x", "iid-MNIST"])
def test_an_unknown_figure_is_named(name):
    with pytest.raises(SnapError, match="there is no figure"):
        catalog.find(name)
