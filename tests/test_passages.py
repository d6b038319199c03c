"""The numbers in passages that quote a run, computed from made-up tables."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

import little_run
from report_folder import provenance
from snap.protocol import REFERENCE, SWITCHES, TEXT
from snap.publishing.passages import MAKERS
from snap.report.result_tables import as_good

WHO = {"learner": "hebbian", "dataset": "MNIST", "configuration": "linear-linear"}


def test_spread_between_seeds(tmp_path):
    rows = little_run.rows_of(little_run.as_in_the_paper())
    (other,) = [
        row
        for row in rows["sequential"]
        if row.items() >= {**WHO, "lambda": 16.0, "seed": 1}.items()
    ]
    other["accuracy"] += 0.1
    little_run.write(tmp_path / "tables", rows)
    made = MAKERS["spread"](tmp_path, {})
    assert "| MNIST | hebbian | 0.002, 0.002 | 0.002, 0.102 |" in made
    assert "| MNIST | sgd | 0.002, 0.002 | 0.002, 0.002 |" in made


def test_pairs_that_agree_with_the_paper_or_are_at_the_edge_of_the_grid(tmp_path):
    """One cell has the paper's pair, one has another pair that is as good, one is at an edge."""
    best = {1.0: (0.1, 0.01), 2.0: (0.1, 0.01), 4.0: (0.3, 0.01)}
    rows = {"search": [], "selected": []}
    for power, pair in best.items():
        for eta in (0.03, 0.1, 0.3):
            for alpha in (0.003, 0.01, 0.03):
                accuracy = {pair: 0.9, (0.1, 0.03): 0.89}.get((eta, alpha), 0.5)
                point = {"lambda": power, "eta": eta, "alpha": alpha, "accuracy": accuracy}
                rows["search"].append(WHO | point)
        chosen = dict(zip(("eta", "alpha"), pair, strict=True)) | {"accuracy": 0.9}
        rows["selected"].append(WHO | chosen | {"lambda": power, "status": "selected"})
    little_run.write(tmp_path / "tables", rows)
    printed = {1: [0.1, 0.01], 2: [0.1, 0.03], 4: [1, 0.5]}
    made = MAKERS["pairs"](tmp_path, {"pairs": {"MNIST": {"linear-linear": printed}}})
    assert made.splitlines()[-1] == "| MNIST | linear-linear | 1 | 1 | 0 | 1 | 2 to 2 | 1 |"


@pytest.mark.parametrize("best", [0.9, 0.6282, 0.4321, 1.0])
def test_as_good_does_not_depend_on_rounding_errors(best):
    """A difference of exactly 0.02 is never as good, one of a sample of 10,000 less always is."""
    accuracies = pd.Series([best, round(best - 0.0199, 4), round(best - 0.02, 4), math.nan])
    assert as_good(accuracies, best).tolist() == [True, True, False, False]
    assert [bool(as_good(float(accuracy), best)) for accuracy in accuracies] == [
        *as_good(accuracies, best)
    ]


def test_cost_of_a_run_that_continues_another(tmp_path):
    little_run.write(tmp_path / "tables", little_run.rows_of(little_run.as_in_the_paper()))
    seeds = {"seeds": [0, 1]}
    config = {"iid": seeds, "sequential": seeds, "limits": {"train": None}}
    last = provenance() | {"config": config}
    first = last | {"hardware": {"cpu": "Another", "cores": 2}}
    stages = {"search": {"core_seconds": 3 * 3600}}
    first["costs"] = last["costs"] | {"wall_seconds": 7200, "stages": stages}

    def cost(restored):
        (tmp_path / "provenance.json").write_text(json.dumps(last | {"restored": restored}))
        return MAKERS["cost"](tmp_path, {})

    assert "took 6 min on 2 cores of A Processor @ 2.60GHz: 2,096 trials" in cost([])
    assert "with 2 seeds), " in cost([])
    assert "took 12 min on 2 cores of A Processor @ 2.60GHz: " in cost([last])
    both = cost([first])
    assert "took 2 h 06 min (2 h 00 min on 2 cores of Another and 6 min on 2 cores of A" in both
    assert "4.3 core hours of training. We measured 2.8 ms per sample" in both
    assert both.endswith(" days on one core.")


def test_the_papers_own_pairs(tmp_path):
    assert MAKERS["best-with-papers"](tmp_path, {}) == "This variation has not been run."
    numbers = little_run.as_in_the_paper()
    little_run.run_of(tmp_path / "variations/paper-pairs", numbers)
    made = MAKERS["best-with-papers"](tmp_path, {})
    assert "| hebbian | linear-linear | 0.800 (λ = 16) | 0.500 (λ = 16) | 0.300 |" in made


def test_switches_have_the_values_of_the_readings(tmp_path):
    rows = MAKERS["switches"](tmp_path, {}).splitlines()[2:]
    for row, name in zip(rows, SWITCHES, strict=True):
        switch, text, reference, code = (cell.strip() for cell in row.split("|")[1:5])
        assert switch == f"`{name}`"
        assert (text, reference) == (getattr(TEXT, name), getattr(REFERENCE, name))
        assert SWITCHES[name].code in code
    assert any("rms-rows (hebbian), rms (sgd)" in row for row in rows)


# The experiment as it was run

OTHER = "readings/as-run/tables"


def test_passages_without_the_other_reading_say_so(tmp_path):
    little_run.run_of(tmp_path / "tables", little_run.as_in_the_paper())
    for name in ("as-run", "best-as-run", "sensible-pairs"):
        assert MAKERS[name](tmp_path, {"pairs": {}}) == "This has not been run."


def test_both_readings_side_by_side(tmp_path):
    little_run.run_of(tmp_path / "tables", little_run.as_in_the_paper())
    worse = little_run.changed(("hebbian", "linear-linear", "forgetting", 0.6))
    little_run.run_of(tmp_path / OTHER, worse)
    made = MAKERS["forgetting"](tmp_path, {})
    ours = "| `reference`, searched | MNIST | linear-linear | 16 | 0.300 | 0.150 | 0.075 |"
    assert ours in made
    assert "| as run | MNIST | linear-linear | 16 | 0.600 | 0.300 | 0.150 |" in made
    printed = {"sgd_iid": {"MNIST": {"linear-linear": 0.9731}}}
    made = MAKERS["sgd"](tmp_path, printed)
    assert "| 0.9731 | 0.9490 / 0.9510 | 0.9490 / 0.9510 | 0.01 |" in made
    made = MAKERS["as-run"](tmp_path, {})
    assert made.splitlines()[3].startswith("| MNIST | 16 | .80 / .50 |")


def test_the_papers_pairs_and_a_coordinate_wise_search_against_the_grid(tmp_path):
    """η = 0.1 is best at α = 0.003, but the best pair of the grid has another η."""
    accuracies = {(0.1, 0.003): 0.6, (0.3, 0.003): 0.5, (0.1, 0.03): 0.7, (0.3, 0.03): 0.8}
    rows = [
        WHO | {"lambda": 8.0, "eta": eta, "alpha": alpha, "seed": 0, "accuracy": accuracy}
        for (eta, alpha), accuracy in accuracies.items()
    ]
    little_run.write(tmp_path / "variations/union-code", {"search": rows, "selected": rows[:1]})
    for printed, counts in (((0.1, 0.03), "0 | 0 | 1"), ((0.3, 0.03), "1 | 1 | 0")):
        paper = {"pairs": {"MNIST": {"linear-linear": {8: list(printed)}}}}
        made = MAKERS["sensible-pairs"](tmp_path, paper).splitlines()[-1]
        assert made == f"| `code` | MNIST | 1 | {counts} | 0 | 0.100 |"


def test_a_variation_that_was_only_searched_is_not_compared(tmp_path):
    little_run.run_of(tmp_path / "tables", little_run.as_in_the_paper())
    little_run.write(tmp_path / "variations/union", {"search": [WHO], "selected": [WHO]})
    for name in ("iid", "sequential"):
        (tmp_path / f"variations/union/{name}.csv").unlink()
    assert MAKERS["variations"](tmp_path, {}) == "No variation has been run."


def test_the_ladder_of_sgd(tmp_path):
    rungs = [("", 0.01, 0.91), ("alpha", 0.005, 0.6), ("sgd_initial_weights", 0.005, 0.3)]
    rows = [
        WHO
        | {"learner": "sgd", "step": n, "switch": switch, "alpha": alpha, "seed": 0}
        | {"iid_accuracy": accuracy}
        for n, (switch, alpha, accuracy) in enumerate(rungs)
    ]
    little_run.write(tmp_path / "tables", {"ladder": rows})
    printed = {"sgd_iid": {"MNIST": {"linear-linear": 0.35}}}
    made = MAKERS["sgd-ladder"](tmp_path, printed).splitlines()[2:]
    assert made == [
        "| `reference`, α searched | 0.910 |",
        "| α = 0.005 | 0.600 |",
        "| and the code's initial weights | 0.300 |",
        "| the paper | 0.350 |",
    ]
