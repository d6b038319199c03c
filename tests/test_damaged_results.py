"""Whatever reads a result compares it with its record first, and never shows an altered number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import report_folder
import snap
import workspace
from little_publication import make_run
from little_run import as_in_the_paper, run_of
from snap.cli.main import main
from snap.errors import SnapError
from snap.files import write_result
from snap.pipeline.costs import costs
from snap.publishing.publish import publish
from workspace import ROOT

CONFIG = json.dumps(workspace.PAPER)
PAPER = ["--paper", str(ROOT / "workflow/paper.yaml")]
CLAIMS = ["--claims", str(ROOT / "workflow/claims.yaml")]


def alter(path: Path) -> None:
    """Change the last digit, or the last byte."""
    content = path.read_bytes()
    place = max(content.rfind(b"%d" % digit) for digit in range(10))
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


@pytest.fixture
def tables(tmp_path):
    """Tables in which the sequential one is altered."""
    folder = tmp_path / "results/mine/tables"
    run_of(folder, as_in_the_paper())
    write_result(folder.parent / "claims.csv", b"id,verdict\n1,reproduced\n")
    alter(folder / "sequential.csv")
    return folder


@pytest.mark.parametrize(
    "step",
    [
        ["figure", "sequential", *PAPER, "--output", "made/figure.csv"],
        ["figure", "sequential", *PAPER, "--all", "made"],
        ["tables", "metrics-MNIST", *PAPER, "--config", CONFIG, "--output", "made"],
        ["claims", *PAPER, *CLAIMS, "--config", CONFIG, "--output", "made/claims.json"],
    ],
    ids=["figure", "figures", "tables", "claims"],
)
def test_a_step_of_the_report(tables, tmp_path, monkeypatch, capsys, step):
    monkeypatch.chdir(tmp_path)
    assert main(["report", *step, "--tables", str(tables)]) == 2
    assert capsys.readouterr().err == (
        f"snap: error: {tables}/sequential.csv does not match its checksum: run snap verify"
        " --remove, then run again\n"
    )
    assert not Path("made").exists()


def test_a_notebook(tables):
    results = snap.results(tables.parent)
    assert len(results["iid"])
    assert len(results["claims"]) == 1
    alter(tables.parent / "claims.csv")
    for use in (
        lambda: results["sequential"],
        lambda: results["claims"],
        lambda: snap.figure("sequential", results),
    ):
        with pytest.raises(SnapError, match="does not match its checksum: run snap verify"):
            use()


def test_weights(tmp_path, capsys):
    run_of(tmp_path / "tables", as_in_the_paper())
    weights = tmp_path / "weights.npz"
    np.savez(weights, **{"none": np.ones((5, 784))})
    write_result(weights, weights.read_bytes())
    weights.write_bytes(weights.read_bytes()[:-9])
    step = ["report", "figure", "features-MNIST", "--tables", str(tmp_path / "tables")]
    assert main([*step, "--weights", str(weights), "--output", str(tmp_path / "it.png")]) == 2
    assert f"{weights} does not match its checksum" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "figures/headline.json",
        "figures/headline.csv",
        "figures/headline.svg",
        "paper_tables/metrics.json",
        "paper_tables/metrics.md",
        "claims.json",
        "provenance.json",
        "tables/selected.csv",
        "portrait/MNIST.snapshots.npz",
    ],
)
def test_the_page(tmp_path, name):
    run = report_folder.build(tmp_path)
    path = tmp_path / name
    write_result(path, path.read_bytes())
    alter(path)
    with pytest.raises(SnapError, match=rf"{path.name} does not match its checksum: run snap"):
        run.write()
    assert not run.page.exists()


@pytest.mark.parametrize(
    "name", ["tables/iid.csv", "figures/iid.png", "figures/iid.json", "claims.csv", "report.html"]
)
def test_a_publication_is_not_made_from_altered_files(tmp_path, name):
    run = make_run(tmp_path / "results/mine", "run5")
    (run / name).write_bytes((run / name).read_bytes() + b" ")
    with pytest.raises(SnapError, match=rf"{name} does not match its checksum: run snap verify"):
        publish(run, tmp_path / "published")
    assert not (tmp_path / "published").exists()


def test_a_publication_that_was_altered(tmp_path):
    run, to = make_run(tmp_path / "results/mine", "run5"), tmp_path / "published"
    publish(run, to)
    assert list(snap.results(to)["claims"]["run"]) == ["run5"]
    for name in ("claims", "tables/iid"):
        alter(to / f"{name}.csv")
        with pytest.raises(SnapError, match=rf"{name}\.csv differs from .*record\.json"):
            _ = snap.results(to)[Path(name).name]


def test_the_account_of_time(tmp_path):
    for name, content in (
        ("plan.json", {"run": "mine", "cores": 2, "slurm": None, "jobs": [], "started": 0}),
        ("invocations/1.json", {"seconds": 5, "cores": 2}),
    ):
        write_result(tmp_path / "results/mine" / name, json.dumps(content).encode())
    plan = tmp_path / "results/mine/plan.json"
    assert costs(plan)["wall_seconds"] == 5
    alter(plan.parent / "invocations/1.json")
    with pytest.raises(SnapError, match=r"1\.json does not match its checksum"):
        costs(plan)
    alter(plan)
    with pytest.raises(SnapError, match=r"plan\.json does not match its checksum"):
        costs(plan)
