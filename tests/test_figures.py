"""Every figure from made-up tables: complete, with gaps, and empty."""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from little_run import as_in_the_paper, rows_of, write
from snap.cli.main import main
from snap.errors import SnapError
from snap.growth import GROWTHS
from snap.protocol import LADDER
from snap.report import catalog
from snap.report.figures import base, draw, overview
from snap.report.figures.growth import measured_growth
from snap.report.figures.sequence import progress
from snap.report.figures.weights import mosaic
from snap.report.frames import Tables
from snap.trial import Trial

ROOT = Path(__file__).parents[1]
STYLE = base.read_style(ROOT / "workflow/style.yaml")
PAPER = yaml.safe_load((ROOT / "workflow/paper.yaml").read_text())
DATASETS = ("MNIST", "FashionMNIST")
TASKS = 3


def rows(numbers=None) -> dict[str, list[dict]]:
    """The little run on both datasets, plus curves, a search and a ladder."""
    merged: dict[str, list[dict]] = {}
    for dataset in DATASETS:
        for table, table_rows in rows_of(numbers or as_in_the_paper(), dataset).items():
            merged.setdefault(table, []).extend(table_rows)
    for row in merged["matrix"]:
        row["classes"] = f"{2 * row['task'] - 2}+{2 * row['task'] - 1}"
    merged["curve"] = []
    for outcome in merged["sequential"]:
        if outcome.get("diverged"):
            continue
        for at in range(TASKS * 4 + 1):
            point = {"training": -(-at // 4), "epoch": 1, "samples": at * 100}
            values = {f"task{n}": 0.9 if at >= 4 * n else 0.1 for n in range(1, TASKS + 1)}
            merged["curve"].append(outcome | point | values)
    for cell in merged["selected"]:
        if cell["learner"] == "hebbian":
            for eta in (0.1, 0.3):
                merged["search"].append(
                    cell | {"eta": eta, "seed": 0, "accuracy": 0.5 + eta, "protocol": "reference"}
                )
    for dataset in DATASETS:
        for step, (switch, protocol) in enumerate(LADDER):
            merged["ladder"].append(
                {"learner": "hebbian", "dataset": dataset, "configuration": "linear-linear"}
                | {"step": step}
                | {"switch": switch, "protocol": protocol.text, "lambda": 16, "seed": 0}
                | {"iid_accuracy": step / 10 or None, "iid_diverged": None if step else 7}
                | {"sequential_accuracy": step / 20, "forgetting": 0.1}
            )
        for step, switch in enumerate(("", "alpha", "sgd_initial_weights")):
            merged["ladder"].append(
                {"learner": "sgd", "dataset": dataset, "configuration": "linear-linear"}
                | {"step": step, "switch": switch, "protocol": "reference", "alpha": 0.005}
                | {"seed": 0, "iid_accuracy": 0.9, "sequential_accuracy": 0.2, "forgetting": 0.9}
            )
    for state in merged["consolidation"]:
        state |= {f"p{p}": p / 100 for p in (0, 5, 25, 50, 75, 95, 100)}
    return merged


def drawing(tables: Tables, name: str, **options) -> tuple[catalog.Kind, base.Drawing]:
    kind, dataset = catalog.find(name)
    readable = Tables(tables.folder, kind.tables)
    return kind, base.Drawing(readable, STYLE, PAPER, dataset, **options)


NAMES = catalog.names(DATASETS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Tables:
    return write(tmp_path_factory.mktemp("whole"), rows())


def test_every_kind_of_figure_has_a_function_and_a_caption():
    for kind in catalog.KINDS:
        assert callable(getattr(import_module(kind.module), kind.name.replace("-", "_")))
        caption = (ROOT / f"reports/captions/{kind.name}.rst").read_text()
        assert len(caption.split()) > 20, kind.name


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_with_its_data_and_alternative_text(whole, tmp_path, name):
    kind, dataset = catalog.find(name)
    weights = tmp_path / "weights.npz"
    trial = Trial("linear-linear", 0.1, 16, 0.1, dataset or "MNIST", hidden=5)
    np.savez(weights, **{trial.text: np.random.default_rng(0).random((5, 784))})
    options = {
        "tables": whole.folder,
        "style": ROOT / "workflow/style.yaml",
        "weights": weights,
        "paper": ROOT / "workflow/paper.yaml",
        "caption": ROOT / f"reports/captions/{kind.name}.rst",
        "output": tmp_path / f"{name}.png",
    }
    arguments = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
    code = main(["report", "figure", name, *arguments])
    assert code == 0
    assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    width, height = Image.open(tmp_path / f"{name}.png").size
    assert 900 < width < 2200
    assert 300 < height < 2600
    about = json.loads((tmp_path / f"{name}.json").read_text())
    assert about["dataset"] == dataset
    assert len(about["alt"].split()) > 5
    assert ".png" not in about["alt"]
    assert set(about["sources"]) <= {path.stem for path in whole.folder.glob("*.csv")}
    assert len(pd.read_csv(tmp_path / f"{name}.csv"))


def test_features_name_the_lambda_that_their_weights_were_trained_with(whole, tmp_path):
    """Not the best λ of a table, which may have changed since."""
    trial = Trial("linear-linear", 0.1, 2, 0.1, hidden=5)
    np.savez(tmp_path / "weights.npz", **{trial.text: np.ones((5, 784))})
    request = drawing(whole, "features-MNIST", weights={"MNIST": tmp_path / "weights.npz"})
    drawn = draw(*request)
    assert "λ = 2" in drawn.figure.axes[0].get_title()
    base.plt.close(drawn.figure)


def test_a_figure_cannot_read_a_table_that_it_does_not_declare(whole):
    kind, request = drawing(whole, "curves-MNIST")
    without = Tables(whole.folder, tuple(name for name in kind.tables if name != "matrix"))
    with pytest.raises(SnapError, match="matrix"):
        draw(kind, dataclasses.replace(request, tables=without))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_of_an_empty_run_names_the_gap(tmp_path, name):
    """If every pair diverged, the figure is still drawn."""
    cells = [row | {"status": "all diverged"} for row in rows()["selected"]]
    tables = write(tmp_path, {"selected": cells})
    kind, request = drawing(tables, name)
    drawn = draw(kind, request)
    if kind.from_results:
        assert drawn.gaps
    base.plt.close(drawn.figure)


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
    base.plt.close(drawn.figure)


def test_a_line_breaks_where_a_result_is_missing(tmp_path):
    """A cross on the axis marks the gap, at the missing λ."""
    made = rows()
    made["iid"] = [
        r for r in made["iid"] if (r["configuration"], r["lambda"]) != ("linear-linear", 1)
    ]
    drawn = draw(*drawing(write(tmp_path, made), "iid"))
    marks = [mark for mark in drawn.figure.axes[0].lines if mark.get_marker() == "x"]
    assert [list(mark.get_xdata()) for mark in marks] == [[1.0]]
    base.plt.close(drawn.figure)


def test_seeds_are_a_mean_and_a_band(whole):
    drawn = draw(*drawing(whole, "iid"))
    cell = drawn.data.query("dataset == 'MNIST' and configuration == 'linear-linear'")
    best = cell.set_index("lambda").loc[16]
    assert best["mean"] == pytest.approx(0.8)
    assert (best["low"], best["high"]) == (pytest.approx(0.799), pytest.approx(0.801))
    assert best["seeds"] == 2
    base.plt.close(drawn.figure)


def test_growth_sets_the_colour_and_focus_the_line_style():
    request = base.Drawing(Tables(Path()), STYLE, PAPER)
    neuron, synapse = (request.look(f"sigmoid-linear-{focus}") for focus in ("neuron", "synapse"))
    assert neuron["color"] == synapse["color"]
    assert (neuron["linestyle"], synapse["linestyle"]) == ("-", ":")
    colors = [look["color"] for look in STYLE["growths"].values()]
    assert len(set(colors)) == len(colors) == 5
    assert request.look("exponential-sigmoid-neuron")["color"] == STYLE["other"]["color"]


@pytest.mark.parametrize("name", ["headline", "curves-MNIST", "matrix-MNIST"])
def test_the_best_of_the_remaining_lambdas_is_marked_as_such(tmp_path, name):
    made = rows()
    for row in made["sequential"]:
        if (row["configuration"], row["lambda"]) == ("sigmoid-sigmoid-neuron", 16):
            row |= {"accuracy": None, "diverged": 5}
    drawn = draw(*drawing(write(tmp_path, made), name))
    sentence = "sigmoid-sigmoid, neuron: no result at λ = 16; the best of the others is shown"
    assert f"MNIST, {sentence}" in drawn.gaps
    base.plt.close(drawn.figure)


def test_text_of_the_configuration_is_not_typeset_as_mathematics(tmp_path):
    named = r"quick (reduced: grid $\frac{1$ more)"
    tables = write(tmp_path, rows(), named)
    kind, request = drawing(tables, "network")
    base.save(draw(kind, request), kind, "network", request, "", tmp_path)
    assert (tmp_path / "network.png").stat().st_size


def test_the_finding_names_every_growth(monkeypatch):
    """Also one that was added."""
    monkeypatch.setattr(overview, "GROWTHS", (*GROWTHS, "bounded"))
    names = [f"{growth}-linear-neuron" for growth in overview.GROWTHS]
    data = pd.DataFrame({"configuration": names, "lambda": 4.0, "mean": 0.5})
    for growth in overview.GROWTHS:
        assert f"{growth} hidden growth 50% (λ = 4)" in overview._best(data)


def test_the_best_lambda_is_shown_and_named(whole):
    drawn = draw(*drawing(whole, "curves-MNIST"))
    assert set(drawn.data["lambda"]) == {16.0}
    assert all("λ = 16" in axis.get_title() for axis in drawn.figure.axes[:5])
    base.plt.close(drawn.figure)


def test_the_papers_lambda_is_a_gap_where_it_was_not_run(whole):
    drawn = draw(*drawing(whole, "curves-paper-MNIST"))
    assert any("λ = 32: not part of this run" in sentence for sentence in drawn.gaps)
    base.plt.close(drawn.figure)


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


def test_a_figure_of_a_reduced_run_says_so(tmp_path):
    made = rows()
    for named in ("paper", "quick (reduced: five samples)"):
        tables = write(tmp_path / named[:5], made, named)
        kind, request = drawing(tables, "iid")
        drawn = draw(kind, request)
        base.save(drawn, catalog.find("iid")[0], "iid", request, "", tmp_path / named[:5])
        texts = [text.get_text() for text in drawn.figure.texts]
        assert any("five samples" in text for text in texts) == ("reduced" in named)


def test_the_same_tables_give_the_same_files(whole, tmp_path):
    for folder in ("one", "two"):
        kind, request = drawing(whole, "sequential")
        with base.looks(STYLE):
            drawn = draw(kind, request)
            base.save(drawn, kind, "sequential", request, "c", tmp_path / folder)
    for suffix in ("png", "pdf", "csv", "json"):
        one, two = (tmp_path / f / f"sequential.{suffix}" for f in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), suffix


@pytest.mark.parametrize("name", ["", "nothing", "curves", "curves-../x", "iid-MNIST"])
def test_an_unknown_figure_is_named(name):
    with pytest.raises(SnapError, match="there is no figure"):
        catalog.find(name)


@pytest.mark.parametrize(
    "text", ["", "rc: 5", "rc: {no.such: 1}", "a: [", "rc: {}\ntasks: nope\nheat: x"]
)
def test_an_unusable_style_is_named(tmp_path, text):
    path = tmp_path / "style.yaml"
    path.write_text(text)
    with pytest.raises(SnapError, match=r"style\.yaml cannot be used as a style"):
        base.read_style(path)
