"""Arguments that are longer than a command may be."""

from __future__ import annotations

import json
import re

import pytest

from snap import SnapError
from snap.cli.main import main
from snap.pipeline.config import merge
from snap.pipeline.shapes import SPECS, check, given_paths, given_text, read_config
from workspace import SMOKE, Workspace

LIMIT = 128 * 1024  # bytes of a command, on Linux
SMALL = merge(
    SMOKE,
    {
        "configurations": ["linear-linear"],
        "lambdas": [4],
        "datasets": [{"name": "Synthetic", "hidden": 4}],
        "grids": {"text": {"eta": [0.1], "alpha": [0.1]}},
        "search": {"epochs": 1},
        "sgd": {"configurations": []},
        "limits": {"train": 30, "test": 30},
    },
)


def test_a_job_with_a_specification_of_any_length(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.configure(merge(SMALL, {"iid": {"epochs": 1, "seeds": list(range(700))}}))
    table = "results/smoke/tables/iid.csv"
    done = workspace.snakemake(table)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / table).read_text().splitlines()) == 1 + 700
    (file,) = (tmp_path / "results/smoke/arguments").iterdir()
    assert file.stat().st_size > LIMIT
    check(json.loads(file.read_bytes()), SPECS["iid"], "the specification")
    again = workspace.snakemake("-n", table)
    assert "Nothing to be done" in again.stdout + again.stderr
    workspace.configure(merge(SMALL, {"iid": {"epochs": 1, "seeds": list(range(701))}}))
    changed = workspace.snakemake("-n", table)
    jobs = re.findall(r"\n(iid|search|select|table) +(\d)", changed.stdout + changed.stderr)
    assert dict(jobs) == {"iid": "1", "table": "1"}
    assert [*(tmp_path / "results/smoke/arguments").iterdir()] == [file], "a dry run writes nothing"


def steps(most: float, count: int) -> list[float]:
    return [round(most * (n + 1) / count, 6) for n in range(count)]


@pytest.mark.parametrize(("grid", "lambdas"), [(100, 1), (24, 8)])
def test_a_grid_of_any_size(tmp_path, grid, lambdas):
    """100 × 100 pairs, or 24 × 24 for eight λ in a job, take more than a command may have."""
    workspace = Workspace(tmp_path)
    change = {
        "lambdas": list(range(1, lambdas + 1)),
        "lambdas_per_job": lambdas,
        "grids": {"text": {"eta": steps(1, grid), "alpha": steps(0.5, grid)}},
        "controls": None,
    }
    workspace.configure(merge(SMALL, change))
    done = workspace.snakemake("-n", "-p", "pairs")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert re.findall(r"snap job search +--spec @results/smoke/arguments/\w{64} ", said)
    assert max(map(len, said.splitlines())) < LIMIT


def test_a_step_with_any_number_of_files(tmp_path):
    workspace = Workspace(tmp_path)
    lambdas = [round(4 + n / 1000, 3) for n in range(500)]
    workspace.configure(merge(SMALL, {"lambdas": lambdas, "lambdas_per_job": 1000}))
    done = workspace.snakemake("-n", "-p", "results/smoke/tables/selected.csv")
    assert done.returncode == 0, done.stderr
    commands = re.findall(r"snap job (table|search) (\S+)", done.stdout + done.stderr)
    assert ("table", "@results/smoke/arguments/") in [(step, at[:25]) for step, at in commands]
    assert max(map(len, (done.stdout + done.stderr).splitlines())) < LIMIT


def test_an_argument_in_a_file(tmp_path, capsys):
    (tmp_path / "a").write_text('["x.csv", "y z.csv"]')
    assert [*map(str, given_paths(["b.csv", f"@{tmp_path}/a"]))] == ["b.csv", "x.csv", "y z.csv"]
    assert given_text(f"@{tmp_path}/a") == '["x.csv", "y z.csv"]'
    for wrong in ('{"a": 1}', "[1]", "[", '["a\\u0000b"]'):
        (tmp_path / "a").write_text(wrong)
        with pytest.raises(SnapError, match=f"@{tmp_path}/a"):
            given_paths([f"@{tmp_path}/a"])
    output = ["--output", str(tmp_path / "iid.csv"), "--run", "x"]
    assert main(["job", "table", f"@{tmp_path}/missing", *output]) == 2
    assert f"{tmp_path}/missing cannot be read: No such file" in capsys.readouterr().err


SHAPES = {
    "no mapping": ("[]", "it must be a mapping of keys to values"),
    "a number": ("1", "it must be a mapping of keys to values"),
    "empty": ("{}", "engine must be there"),
    "no list": ('{"engine": "cpu", "cells": {}}', "cells must be a list"),
    "null": ('{"engine": "cpu", "cells": [null]}', "cells.0 must be a mapping"),
    "short": (
        '{"engine": "cpu", "cells": [{"trials": [], "then": [], "pairs": [[1]]}]}',
        "cells.0.pairs.0 must be a list of 2",
    ),
    "huge": (
        f'{{"engine": "cpu", "cells": [{{"trials": [], "then": [1{"0" * 400}], "pairs": []}}]}}',
        "cells.0.then.0 must be a number",
    ),
    "true": (
        '{"engine": "cpu", "cells": [{"trials": [], "then": [true], "pairs": []}]}',
        "cells.0.then.0 must be a number",
    ),
    "nested": ("[" * 10_000, "more than 40 levels of nesting"),
    "engine": ('{"engine": "x", "cells": []}', "engine must be one of auto,"),
    "trial": (
        '{"engine": "cpu", "cells": [{"trials": ["x"], "then": [], "pairs": [[1, 1]]}]}',
        "is not a trial",
    ),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_specification_of_another_shape_is_one_sentence(case, tmp_path, capsys):
    text, said = SHAPES[case]
    places = ["--store", str(tmp_path), "--output", str(tmp_path / "x.csv")]
    assert main(["job", "search", "--spec", text, *places]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("snap: error: ")
    assert said in error


def test_a_configuration_of_another_shape_is_one_sentence():
    with pytest.raises(SnapError, match="the configuration: run must be there"):
        read_config("{}")
