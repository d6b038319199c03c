"""The check at the end of a run: its tables hold exactly the trials of its plan."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from snap.errors import SnapError
from snap.files import record_of
from snap.pipeline.check import check
from snap.pipeline.config import merge
from snap.pipeline.plan import Plan
from snap.pipeline.rows import COLUMNS
from workspace import ROOT, SMOKE, Workspace

LESS = {
    "configurations": ["linear-linear"],
    "lambdas": [4],
    "grids": {"text": {"eta": [0.3, 0.03], "alpha": [0.1]}},
    "limits": {"train": 200, "test": 100},
    "portraits": ["linear-linear"],
}


def plan(**changes) -> Plan:
    schema, paper = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"
    return Plan.load(merge(merge(SMOKE, LESS), changes), schema, paper)


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    workspace = Workspace(tmp_path_factory.mktemp("checked"))
    workspace.configure(merge(SMOKE, LESS))
    done = workspace.snakemake("tables")
    assert done.returncode == 0, done.stderr
    assert (workspace.folder / "results/smoke/checked.json").is_file()
    return workspace.folder / "results/smoke/tables"


def test_a_complete_run_passes(tables):
    assert set(check(plan(), tables)) == set(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("change", ["without the last trial", "with another"])
def test_a_table_that_differs_from_the_plan_is_named(tables, tmp_path, name, change):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    path = folder / f"{name}.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    if change == "with another":
        other = {"seed": "99", "trial": "f" * 64, "configuration": "sigmoid-linear-neuron"}
        rows.append(rows[-1] | {key: v for key, v in other.items() if key in rows[-1]})
    else:
        kind = ("learner", "configuration", "eta", "alpha", "seed", "switch")
        last = [rows[-1].get(key) for key in kind]
        rows = [row for row in rows if [row.get(key) for key in kind] != last]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[-1].keys())
        writer.writeheader()
        writer.writerows(rows)
    record_of(path).unlink()
    with pytest.raises(SnapError, match=rf"do not match the configuration:.*\b{name}\b"):
        check(plan(), folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"grids": {"text": {"eta": [0.3, 0.03, 0.2]}}},
        {"iid": {"seeds": [0, 1, 2]}},
        {"sequential": {"seeds": [0]}},
        {"ladder": {"seeds": [0, 1]}},
        {"sgd": {"alpha": [0.1]}},
        {"beta": 0.02},
    ],
)
def test_tables_of_another_configuration_are_refused(tables, changes):
    with pytest.raises(SnapError, match="do not match the configuration"):
        check(plan(**changes), tables)


@pytest.mark.parametrize("name", ["search", "selected", "sequential"])
def test_a_row_that_is_there_twice_is_named(tables, tmp_path, name):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    path = folder / f"{name}.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    record_of(path).unlink()
    with pytest.raises(SnapError, match=f"{name} has 1 repeated rows"):
        check(plan(), folder)
