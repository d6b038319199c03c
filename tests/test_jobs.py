"""The steps of the workflow, without Snakemake."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from snap import Iid, Sequential, SnapError, Trial
from snap.data.samples import Samples
from snap.data.store import load
from snap.experiments import run
from snap.pipeline import costs, jobs
from snap.pipeline.rows import COLUMNS, SEARCH, read_rows, table, write_rows
from snap.pipeline.status import LEDGER, Heartbeat, line, report, state, write_plan
from snap.pipeline.training import Workplace
from snap.pipeline.trial_store import TrialStore

TEXT = Trial(
    "sigmoid-sigmoid-neuron",
    1,
    4,
    0,
    dataset="Synthetic",
    experiment=Iid(1),
    hidden=8,
    train_limit=300,
    test_limit=100,
)
CELL = {"learner": "hebbian", "dataset": "Synthetic", "configuration": "linear-linear"}


def spec(pairs, trial=TEXT):
    return {"engine": "cpu", "cells": [{"trials": [trial.text], "pairs": pairs, "then": []}]}


def points(path, rows):
    write_rows(path, SEARCH, [CELL | {"lambda": 4.0} | row for row in rows])
    return path


def selected(tmp_path, *files, **changes):
    out = tmp_path / "selected.csv"
    jobs.select(CELL | {"lambda": "4", "given": None} | changes, files, out)
    (row,) = read_rows(out)
    return row


# Search and the store of trials


def test_a_search_trains_every_point_once(tmp_path, synthetic_root):
    out, ledger = tmp_path / "out.csv", tmp_path / "ledger.json"
    place = Workplace(tmp_path / "trials", synthetic_root, ledger=ledger)
    jobs.search(spec([(0.1, 0.3), (0.1, 0.03)]), [], out, place)
    first = out.read_bytes()
    assert json.loads(ledger.read_text())["trained"] == 2
    jobs.search(spec([(0.1, 0.3), (0.1, 0.03)]), [], out, place)
    assert json.loads(ledger.read_text()) | {"trained": 0} == json.loads(ledger.read_text())
    assert out.read_bytes() == first
    # A grid that grew trains the new point only.
    jobs.search(spec([(0.1, 0.3), (0.1, 0.03), (0.7, 0.3)]), [], out, place)
    assert json.loads(ledger.read_text())["trained"] == 1
    assert len(read_rows(out)) == 3


def test_stored_trials_are_used_only_if_they_match_and_are_undamaged(tmp_path, small):
    trial = dataclasses.replace(TEXT, alpha=0.1, eta=0.1)
    store = TrialStore(tmp_path, small.checksum, "cpu")
    assert store.get(trial) is None
    (result,) = run([trial], small)
    store.keep(result.trial, result.to_dict())
    assert store.get(trial) == result.to_dict()
    assert TrialStore(tmp_path, small.checksum, "torch").get(trial) is None
    assert TrialStore(tmp_path, "other data", "cpu").get(trial) is None
    path = store.path(trial)
    whole = path.read_text()
    for damaged in (whole[:-20], whole.replace('"accuracy": 0.', '"accuracy": 1.', 1), "[]", ""):
        path.write_text(damaged)
        assert store.get(trial) is None


def test_a_killed_job_loses_at_most_the_point_it_was_training(tmp_path, synthetic_root):
    """After SIGKILL, finished points are kept and are not trained again."""
    slow = dataclasses.replace(TEXT, experiment=Iid(60), hidden=64, train_limit=None)
    text = json.dumps(spec([(0.1, alpha / 100) for alpha in range(1, 13)], slow))
    trials, out = tmp_path / "trials", tmp_path / "out.csv"
    command = [sys.executable, "-m", "snap", "job", "search", "--spec", text]
    command += ["--output", str(out), "--store", str(trials), "--dir", str(synthetic_root)]
    command += ["--ledger", str(tmp_path / "ledger.json")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.time() + 120
    while len(list(trials.rglob("*.json"))) < 3 and time.time() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(list(trials.rglob("*.json")))
    assert 3 <= kept < 12
    assert not out.exists()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=300)
    assert json.loads((tmp_path / "ledger.json").read_text())["trained"] == 12 - kept
    assert len(read_rows(out)) == 12


# Selection


def test_the_highest_accuracy_is_selected_with_its_runner_up(tmp_path):
    rows = [
        {"eta": 0.1, "alpha": 0.3, "accuracy": 0.5},
        {"eta": 0.1, "alpha": 0.1, "accuracy": 0.8},
        {"eta": 0.7, "alpha": 0.1, "accuracy": 0.7},
    ]
    row = selected(tmp_path, points(tmp_path / "a.csv", rows))
    assert (row["eta"], row["alpha"], row["accuracy"]) == ("0.1", "0.1", "0.8")
    assert (row["runner_up_eta"], row["runner_up_alpha"], row["margin"]) == ("0.7", "0.1", "0.1")
    assert (row["points"], row["diverged"], row["status"]) == ("3", "0", "selected")


def test_a_tie_goes_to_the_lower_alpha_and_then_to_the_lower_eta(tmp_path):
    rows = [
        {"eta": 0.7, "alpha": 0.1, "accuracy": 0.8},
        {"eta": 0.1, "alpha": 0.3, "accuracy": 0.8},
        {"eta": 0.3, "alpha": 0.1, "accuracy": 0.8},
    ]
    for order in (rows, rows[::-1]):
        row = selected(tmp_path, points(tmp_path / "a.csv", order))
        assert (row["alpha"], row["eta"]) == ("0.1", "0.3")
        assert row["margin"] == "0"


def test_seeds_are_averaged_and_a_pair_that_diverged_with_any_seed_is_excluded(tmp_path):
    one = points(
        tmp_path / "seed0.csv",
        [
            {"eta": 0.1, "alpha": 0.3, "accuracy": 0.9},
            {"eta": 0.1, "alpha": 0.1, "accuracy": 0.6},
            {"eta": 0.7, "alpha": 0.1, "accuracy": 0.7},
        ],
    )
    two = points(
        tmp_path / "seed1.csv",
        [
            {"eta": 0.1, "alpha": 0.3, "diverged": 17},
            {"eta": 0.1, "alpha": 0.1, "accuracy": 0.8},
            {"eta": 0.7, "alpha": 0.1, "accuracy": 0.5},
        ],
    )
    row = selected(tmp_path, one, two)
    assert (row["eta"], row["alpha"], row["accuracy"], row["diverged"]) == (
        "0.1",
        "0.1",
        "0.7",
        "1",
    )


def test_numbers_are_written_exactly(tmp_path):
    """No digit of λ, η or α may be lost before the final runs."""
    third = 1 / 3
    point = {"lambda": third, "eta": 1 / 7, "alpha": 4e-8, "accuracy": third}
    row = selected(tmp_path, points(tmp_path / "a.csv", [point]), **{"lambda": repr(third)})
    assert (float(row["eta"]), float(row["alpha"])) == (1 / 7, 4e-8)
    assert float(row["accuracy"]) == third


def test_a_cell_whose_pairs_all_diverged_is_reported_without_an_error(tmp_path, synthetic_root):
    rows = [{"eta": 0.1, "alpha": a, "diverged": 3} for a in (0.1, 0.3)]
    row = selected(tmp_path, points(tmp_path / "a.csv", rows))
    assert (row["eta"], row["alpha"], row["status"]) == ("", "", "all diverged")
    place = Workplace(tmp_path / "trials", synthetic_root)
    final = {"engine": "cpu", "cells": [{"trials": [TEXT.text]}]}
    jobs.iid(final, [tmp_path / "selected.csv"], tmp_path / "iid.csv", place)
    assert read_rows(tmp_path / "iid.csv") == []
    sequence = dataclasses.replace(TEXT, experiment=Sequential())
    outputs = [tmp_path / name for name in ("seq.csv", "seq.matrix.csv", "seq.curve.csv")]
    final["cells"][0]["trials"] = [sequence.text]
    jobs.sequential(final, [tmp_path / "selected.csv"], outputs[0], place)
    assert [read_rows(path) for path in outputs] == [[], [], []]


def test_a_given_pair_is_selected(tmp_path):
    row = selected(tmp_path, given=[0.003, 0.3])
    assert (row["eta"], row["alpha"], row["status"]) == ("0.003", "0.3", "given")


def test_only_points_of_the_cell_count(tmp_path):
    mine = {"eta": 0.1, "alpha": 0.1, "accuracy": 0.3}
    better = {"eta": 0.3, "alpha": 0.1, "accuracy": 0.9}
    for whose in ({"lambda": 8.0}, {"configuration": "linear-sigmoid-neuron"}):
        others = points(tmp_path / "a.csv", [mine, better | whose])
        row = selected(tmp_path, others)
        assert (row["eta"], row["points"]) == ("0.1", "1")
        with pytest.raises(SnapError, match="no search result"):
            selected(tmp_path, points(tmp_path / "a.csv", [better | whose]))


def test_validation_never_sees_the_test_labels(tmp_path, synthetic_root, monkeypatch):
    """Corrupted test labels change a selection on test data, but not one on validation data."""
    honest = load("Synthetic", synthetic_root)
    wrong = Samples(honest.test.images, np.zeros_like(honest.test.labels))
    corrupted = dataclasses.replace(honest, test=wrong)
    pairs = [(eta, alpha) for eta in (0.7, 0.03) for alpha in (0.3, 0.03, 0.003)]
    selections = {}
    for split in ("validation", "test"):
        for name, dataset in (("honest", honest), ("corrupted", corrupted)):
            monkeypatch.setattr("snap.data.store.load", lambda *_, at=dataset: at)
            store = tmp_path / f"{split}-{name}"
            out = store / "search.csv"
            trial = dataclasses.replace(TEXT, split=split, train_limit=None)
            jobs.search(spec(pairs, trial), [], out, Workplace(store, synthetic_root))
            selections[split, name] = selected(tmp_path, out, configuration=TEXT.configuration.name)
    assert selections["validation", "honest"] == selections["validation", "corrupted"]
    assert selections["test", "honest"] != selections["test", "corrupted"]


# Tables and files


def test_a_table_does_not_depend_on_how_points_are_split_into_jobs(tmp_path):
    def point(configuration, eta):
        return {"configuration": configuration, "eta": eta, "alpha": 0.1, "accuracy": 0.5}

    one, other = "sigmoid-linear-neuron", "sigmoid-sigmoid-neuron"
    whole = [[point(one, 0.1), point(one, 0.3), point(other, 0.1), point(other, 0.3)]]
    parts = [[point(name, eta) for name in (one, other)] for eta in (0.1, 0.3)]
    tables = []
    for jobs_of_points in (whole, parts):
        files = [points(tmp_path / f"{n}.csv", rows) for n, rows in enumerate(jobs_of_points)]
        table(files, tmp_path / "search.csv", "run", "")
        tables.append((tmp_path / "search.csv").read_bytes())
    assert tables[0] == tables[1]
    assert tables[0].count(b"\n") == 5


def test_tables_name_their_run(tmp_path):
    parts = []
    for n in (1, 2):
        parts.append(points(tmp_path / f"{n}.csv", [{"eta": n, "alpha": 0.1, "accuracy": 0.5}]))
    table(parts, tmp_path / "search.csv", "quick", "two samples")
    rows = read_rows(tmp_path / "search.csv")
    assert [row["eta"] for row in rows] == ["1", "2"]
    assert {row["run"] for row in rows} == {"quick (reduced: two samples)"}


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_an_empty_table_has_its_columns(tmp_path, name):
    table([], tmp_path / f"{name}.csv", "quick", "")
    header = (tmp_path / f"{name}.csv").read_text().splitlines()
    assert header == [",".join(["run", *COLUMNS[name]])]


def test_an_invalid_specification():
    with pytest.raises(SnapError, match="JSON"):
        jobs.load_spec("{", "search")


# Progress


def test_state_of_a_run(tmp_path):
    work = [
        {"stage": "search", "output": str(tmp_path / f"{n}.csv"), "trials": 5, "cost": 50.0}
        | {"benchmark": str(tmp_path / f"{n}.tsv"), "ledger": str(tmp_path / f"{n}.json")}
        for n in range(4)
    ]
    plan_file = tmp_path / "plan.json"
    write_plan(plan_file, "demo", 2, work)
    assert "search 0/20" in line(state(plan_file))
    for n in (0, 1):
        (tmp_path / f"{n}.csv").write_text("done")
        account = {"trials": 5, "trained": 5, "training_seconds": 100.0}
        (tmp_path / f"{n}.json").write_text(json.dumps(account))
    now = state(plan_file)
    # Half is done, at twice the estimated cost: 200 s of work are left, on two cores.
    assert now["seconds_left"] == pytest.approx(100)
    # An output that is due to be made again is not done.
    write_plan(plan_file, "demo", 2, [work[0] | {"due": True}, *work[1:]])
    assert state(plan_file)["stages"]["search"]["jobs_done"] == 1
    write_plan(plan_file, "demo", 2, work)
    with Heartbeat(tmp_path / "heartbeats", str(tmp_path / "2.csv"), 5, 1) as beat:
        beat.progress(TEXT, 50, 50)
        beat.trial_done()
        now = state(plan_file)
        assert now["stages"]["search"]["trials_done"] == 12
        assert "trial 3 of 5" in report(now)
    assert state(plan_file)["running"] == []


def test_the_heartbeat_of_a_dead_job_is_ignored(tmp_path):
    beat = Heartbeat(tmp_path / "heartbeats", "job", 1, 0)
    beat.__enter__()
    path = next((tmp_path / "heartbeats").glob("*.json"))
    content = json.loads(path.read_text())
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], stdout=-1)
    content["pid"] = int(done.stdout)
    path.write_text(json.dumps(content))
    write_plan(tmp_path / "plan.json", "demo", 1, [])
    assert state(tmp_path / "plan.json")["running"] == []
    content |= {"pid": os.getpid(), "at": 0}
    path.write_text(json.dumps(content))
    assert state(tmp_path / "plan.json")["running"] == []


def test_jobs_on_other_machines_are_seen_and_counted(tmp_path):
    """The cores of a cluster are unknown; the estimate uses those of the running jobs."""
    work = {"stage": "search", "output": "there.csv", "trials": 2, "cost": 60.0, "ledger": ""}
    write_plan(tmp_path / "plan.json", "demo", None, [work], "a-name")
    assert state(tmp_path / "plan.json")["seconds_left"] == 60
    with Heartbeat(tmp_path / "heartbeats", "there.csv", 2, 0, threads=3):
        path = next((tmp_path / "heartbeats").glob("*.json"))
        path.write_text(path.read_text().replace(socket.gethostname(), "node7"))
        now = state(tmp_path / "plan.json")
        assert now["seconds_left"] == 20
        assert "running on node7: there.csv: trial 1 of 2" in report(now)


def test_costs_of_a_run_on_slurm(tmp_path, monkeypatch):
    """Allocated core seconds, and the projected time on other numbers of cores."""
    ledger = dict.fromkeys(LEDGER, 0.0)
    work = []
    for stage, number in (("search", 4), ("sequential", 2)):
        for n in range(number):
            place = tmp_path / f"{stage}{n}"
            account = ledger | {"trials": 1, "trained": 1, "training_seconds": 30.0}
            place.with_suffix(".json").write_text(
                json.dumps(account | {"ever_trained_seconds": 30.0})
            )
            place.with_suffix(".tsv").write_text("s\n32.0\n")
            work.append({"stage": stage, "output": f"{place}.csv", "trials": 1, "cost": 15.0})
            work[-1] |= {"ledger": f"{place}.json", "benchmark": f"{place}.tsv"}
    plan_file = tmp_path / "results/demo/plan.json"
    write_plan(plan_file, "demo", None, work, "a-name")
    took = {"seconds": 100.0, "cores": None, "allocated": {str(n): 40.0 for n in range(6)}}
    (plan_file.parent / "invocations").mkdir()
    (plan_file.parent / "invocations/1.json").write_text(json.dumps(took))
    totals = costs.costs(plan_file)
    assert (totals["slurm_jobs"], totals["core_seconds"]) == (6, 240)
    assert "6 SLURM jobs, 240 core seconds allocated, 180 of them in training: 75.0%" in (
        costs.cost_table(totals)
    )

    monkeypatch.setattr(
        costs, "work_of", lambda _, stage: [job for job in work if job["stage"] == stage]
    )
    settings = tmp_path / "cluster.yaml"
    monkeypatch.setenv("SNAP_CLUSTER", str(settings))
    settings.write_text("core_minutes_per_job: 0.1")
    wall = costs.projected(totals, None, [1, 2, 3, 6])["wall_seconds"]
    # Jobs of 40 s: four searches, then two sequential runs.
    assert wall == {1: 240, 2: 80 + 40, 3: 80 + 40, 6: 40 + 40}
    # Two of each share a SLURM job: 2 · 32 s and the 8 s that a SLURM job takes besides.
    settings.write_text("core_minutes_per_job: 0.5")
    together = costs.projected(totals, None, [1, 2, 6])
    assert together["wall_seconds"] == {1: 216, 2: 72 + 72, 6: 72 + 72}
    assert together["outside_training"] == pytest.approx(1 - 180 / 216)
