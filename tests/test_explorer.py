"""The explorer's data and charts, and those of the developing weights."""

from __future__ import annotations

import base64
import io
import json
import random
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import vl_convert
from PIL import Image

from little_run import as_in_the_paper, rows_of, write
from snap import Sequential, Trial
from snap.files import write_result
from snap.pipeline import snapshots
from snap.pipeline.snapshots import Snapshots
from snap.report import bundle, development, explorer
from snap.report.explorer_data import STEPS, data
from snap.report.figures.style import contrast, read_style
from snap.report.frames import Tables

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "reports" / "paper" / "tables"
STYLE = read_style(ROOT / "workflow" / "style.yaml")
CELL = ["learner", "dataset", "configuration", "lambda"]


@pytest.fixture(scope="module")
def published():
    return explorer.content(Tables(PUBLISHED), STYLE)


def some(rows, count=8):
    return random.Random(1).sample(rows, count)


def of_cell(table, row):
    """The rows of a published table for a row of the explorer, found without the package."""
    (path,) = PUBLISHED.glob(f"{table}.csv*")
    frame = pd.read_csv(path)
    for name in CELL[:3]:
        frame = frame[frame[name] == row[name]]
    return frame[
        frame["lambda"].isna() if row["lambda"] is None else frame["lambda"] == row["lambda"]
    ]


def test_curves_have_the_values_of_the_table_at_the_end_of_every_task(published):
    words = ["0+1", "2+3", "4+5", "6+7", "8+9"]
    for row in some(published["data"]["curves"]):
        curve = of_cell("curve", row)
        last = curve.loc[curve.groupby(["seed", "training"])["samples"].idxmax()]
        column = f"task{words.index(row['task']) + 1}"
        for task, seeds in last.groupby("training")[column]:
            there = task * STEPS
            expected = (seeds.mean(), seeds.min(), seeds.max())
            found = tuple(row[name][there] for name in ("mean", "low", "high"))
            assert found == pytest.approx(expected, abs=5.1e-5), (row["title"], task)
        assert row["seeds"] == 3
        assert len(row["mean"]) == 5 * STEPS + 1


def test_the_matrix_has_every_seed(published):
    for row in some(published["data"]["matrix"]):
        table = of_cell("matrix", row)
        for after, words, mean, own, seeds in zip(
            *(row[name] for name in ("after", "task", "accuracy", "own", "seeds")), strict=True
        ):
            cell = table[(table["after"] == after) & (table["classes"] == words)]
            assert seeds == pytest.approx(list(cell.sort_values("seed")["accuracy"]), abs=5.1e-5)
            assert mean == pytest.approx(cell["accuracy"].mean(), abs=5.1e-5)
            task = cell["task"].iloc[0]
            learned = table[(table["after"] == task) & (table["task"] == task)]
            assert own == pytest.approx(learned["accuracy"].mean(), abs=5.1e-5)


def test_the_search_marks_the_pair_that_was_selected(published):
    for row in some(published["data"]["search"], 20):
        (selected,) = of_cell("selected", row).itertuples()
        (at,) = (n for n, optimum in enumerate(row["optimum"]) if optimum)
        assert row["alpha"][at] == selected.alpha
        assert row["eta"][at] == (selected.eta if row["learner"] == "hebbian" else None)
        assert row["accuracy"][at] == max(row["accuracy"])
        assert len(row["alpha"]) == (25 if row["learner"] == "hebbian" else 5)


def test_one_cell_of_each_configuration_is_the_best(published):
    frame = pd.read_csv(PUBLISHED / "sequential.csv")
    means = frame.groupby(CELL, dropna=False)["accuracy"].mean().reset_index()
    cells = pd.DataFrame(published["data"]["cells"])
    for key, family in means.groupby(CELL[:3]):
        best = cells[(cells[CELL[:3]] == list(key)).all(axis=1) & cells["best"]]
        assert len(best) == 1
        chosen = family.sort_values("accuracy")["lambda"].iloc[-1]
        assert best["lambda"].iloc[0] == chosen or pd.isna(chosen)


def test_the_published_run_fits_on_a_page(published):
    text = json.dumps(published, allow_nan=False)
    assert len(text) < 1_500_000
    assert [value for value, _ in published["choices"]["lambda"]][:3] == ["best", "0.5", "1"]
    assert published["choices"]["dataset"] == [("MNIST", "MNIST"), ("FashionMNIST", "FashionMNIST")]


def compiles(content):
    for name, chart in content["charts"].items():
        made = vl_convert.vegalite_to_vega(chart | {"datasets": content["data"]})
        assert made["marks"], name


def changed(rows, table, change, **key):
    for row in rows[table]:
        if all(row[name] == value for name, value in key.items()):
            row |= change
    return rows


def large(tasks, configurations):
    """Rows of a run with many tasks and configurations."""
    model = rows_of({("hebbian", "linear-linear"): as_in_the_paper()["hebbian", "linear-linear"]})
    rows = {name: [] for name in model}
    for n in range(configurations):
        who = {"configuration": f"growth{n}-linear-neuron"}
        for table in ("selected", "sequential"):
            rows[table] += [row | who for row in model[table]]
        for cell in model["sequential"]:
            cell = {k: cell[k] for k in ("learner", "dataset", "lambda", "eta", "alpha", "seed")}
            for after in range(tasks + 1):
                values = {
                    f"task{task}": 0.9 if task <= after else 0.1 for task in range(1, tasks + 1)
                }
                rows["curve"].append(
                    cell | who | {"training": after, "epoch": 1, "samples": 9 * after} | values
                )
                rows["matrix"] += [
                    cell
                    | who
                    | {"after": after, "task": task, "classes": f"{task}"}
                    | {"accuracy": values[f"task{task}"]}
                    for task in range(1, tasks + 1)
                ]
    return rows


RUNS = {
    "one λ": lambda: {
        name: [row for row in rows if row.get("lambda") != 1.0]
        for name, rows in rows_of(as_in_the_paper()).items()
    },
    "only SGD": lambda: rows_of({k: v for k, v in as_in_the_paper().items() if k[0] == "sgd"}),
    "one configuration": lambda: rows_of(
        {("hebbian", "linear-linear"): as_in_the_paper()["hebbian", "linear-linear"]}
    ),
    "two tasks": lambda: large(2, 2),
    "ten tasks and twenty configurations": lambda: large(10, 20),
}


@pytest.mark.parametrize("run", RUNS)
def test_other_runs_have_charts_too(tmp_path, run):
    content = explorer.content(made(tmp_path, RUNS[run]()), STYLE)
    assert content["data"]["curves"]
    assert content["data"]["matrix"]
    compiles(content)
    json.dumps(content, allow_nan=False)


def made(folder, rows):
    """Tables whose curves have a column for each task."""
    tasks = max((row["task"] for row in rows["matrix"]), default=3)
    tables = write(folder, rows)
    if tasks != 3:
        columns = [f"task{task}" for task in range(1, tasks + 1)]
        old = pd.read_csv(folder / "curve.csv", nrows=0).columns
        kept = [name for name in old if name not in ("task1", "task2", "task3")]
        curve = pd.DataFrame(rows["curve"]).assign(run="paper")
        text = curve.reindex(columns=[*kept, *columns]).to_csv(index=False)
        write_result(folder / "curve.csv", text.encode())
    return tables


def test_a_run_without_cells_has_no_explorer(tmp_path):
    assert explorer.content(write(tmp_path, {}), STYLE) is None


def test_what_diverged_is_said(tmp_path):
    rows = rows_of(as_in_the_paper())
    one, other, third = "linear-linear", "sigmoid-linear-neuron", "sigmoid-sigmoid-neuron"
    lost = {"accuracy": None, "diverged": 9}
    changed(rows, "sequential", lost, configuration=one, seed=1, learner="hebbian")
    changed(rows, "sequential", lost, configuration=other, learner="hebbian")
    nothing = {"status": "all diverged", "alpha": None, "eta": None, "accuracy": None}
    changed(rows, "selected", nothing, configuration=third, learner="hebbian")
    for table in ("matrix", "curve", "sequential"):
        rows[table] = [
            r for r in rows[table] if (r["learner"], r["configuration"]) != ("hebbian", third)
        ]
    # The first seed of the one ended in its second task, those of the other in the first.
    rows["matrix"] = [
        row
        for row in rows["matrix"]
        if row["learner"] == "sgd"
        or ((row["configuration"], row["seed"]) != (one, 1) and row["configuration"] != other)
        or row["after"] <= (row["configuration"] == one)
    ]
    found = data(write(tmp_path, rows))
    notes = {
        cell["configuration"]: (cell["note"], cell["has"])
        for cell in found["cells"]
        if cell["learner"] == "hebbian" and cell["lambda"] == 16
    }
    assert notes[one] == ("1 of 2 seeds diverged in sequence.", ["curves", "matrix"])
    assert notes[other] == ("It diverged in sequence with every seed.", [])
    assert notes[third] == ("Every pair (η, α) of the search diverged.", [])
    assert notes["sigmoid-linear-synapse"] == (None, ["curves", "matrix"])
    curve = next(
        r for r in found["curves"] if r["configuration"] == one and r["learner"] == "hebbian"
    )
    assert curve["seeds"] == [2] * (STEPS + 1) + [1] * (2 * STEPS)
    assert not any(c["best"] for c in found["cells"] if c["configuration"] == other and c["lambda"])
    compiles(explorer.content(Tables(tmp_path), STYLE))


def test_numbers_can_be_read_on_every_colour_of_the_heat_map():
    condition = explorer._on_heat(STYLE)
    light, dark = STYLE["on_heat"]
    edge = float(re.search(r"< ([\d.]+)", str(condition)).group(1))
    colors = explorer._heat_colors(STYLE["heat"])
    for share, color in zip(np.linspace(0, 1, len(colors)), colors, strict=True):
        assert contrast(light if share < edge else dark, color) >= 4.5, share


def test_the_script_can_stand_in_a_script_element():
    script = bundle.script()
    assert "vega" in script
    assert 800_000 < len(script) < 1_200_000
    assert "</script" not in script.lower()


# The development of the weights

SEQUENCE = Sequential(tasks=((0, 1), (2, 3)), max_epochs=2)


def trial(name, learner="hebbian"):
    places = (1.0, 4, 0.1) if learner == "hebbian" else (0.1,)
    return Trial(name, *places, learner=learner, dataset="Synthetic", experiment=SEQUENCE)


def freezing(points=9, neurons=10):
    """At every point, one more neuron has consolidated; neuron n is as bright as its number."""
    tiles = np.repeat(np.arange(neurons, dtype=np.uint8)[None, :, None] * 25, 784, axis=2)
    fixed = (np.arange(neurons)[None] < np.arange(points)[:, None]).astype(np.float32)
    task = np.arange(points, dtype=np.float32) / 4
    return Snapshots(np.repeat(tiles, points, axis=0), 0.9 * fixed + 0.1, fixed, task)


@pytest.fixture
def developed(tmp_path):
    path = tmp_path / "Synthetic.snapshots.npz"
    trials = {
        trial("sigmoid-linear-neuron"): freezing(),
        trial("linear-linear"): freezing(points=5),  # diverged in the second task
        trial("linear-linear", "sgd"): freezing(),
    }
    snapshots.write(path, trials)
    return development.content({"Synthetic": path}, STYLE)


def test_every_neuron_has_its_tile(developed):
    row = developed["data"]["points"][0]
    image = Image.open(io.BytesIO(base64.b64decode(row["sheet"].partition(",")[2])))
    pixels = np.array(image.convert("LA"))
    side = pixels.shape[0] // row["columns"]
    middles = pixels[side // 2 :: side, side // 2 :: side].reshape(-1, 2)
    assert row["columns"] == 4
    assert len(middles) == 16
    assert middles[:10, 0] == pytest.approx(np.arange(10) * 25, abs=12)
    assert list(middles[:, 1] > 127) == [True] * 10 + [False] * 6


def test_neurons_are_counted_at_every_point(developed):
    rows = [row for row in developed["data"]["points"] if row["title"].startswith("sigmoid")]
    assert [row["count"] for row in rows] == list(range(9))
    assert [row["at"] for row in rows] == [n / 4 for n in range(9)]
    assert rows[3]["fixed"] == [1] * 3 + [0] * 7
    assert rows[3]["strength"] == [1] * 3 + [0.1] * 7


def test_the_moments_have_words(developed):
    words = [text for _, text in developed["choices"]["point"]]
    assert words[:5] == [
        "before the first task",
        "25% of task 1",
        "50% of task 1",
        "75% of task 1",
        "after task 1",
    ]
    assert words[-1] == "after task 2"
    assert len(words) == 9
    last = {row["title"]: row["last"] for row in developed["data"]["points"]}
    assert last == {
        "sigmoid-linear\nneuron, λ = 4": 8,
        "linear-linear\nλ = 4": 4,
        "linear-linear\nSGD": 8,
    }
    compiles(developed)


def test_without_snapshots_nothing_develops(tmp_path):
    assert development.content({}, STYLE) is None
    empty = tmp_path / "empty.snapshots.npz"
    snapshots.write(empty, {})
    assert development.content({"MNIST": empty}, STYLE) is None


def test_a_sheet_is_small_even_if_its_tiles_are_noise():
    noise = np.random.default_rng(0).integers(0, 256, (96, 784), np.uint8)
    assert len(development.sheet(noise, 10)) < 16_000
