"""Other readings beside the main one, the search as it was run, and limited outputs."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json

import numpy as np
import pytest

from snap import Iid, Sequential, SnapError, Trial, metrics
from snap.experiments import run
from snap.pipeline import jobs
from snap.pipeline.config import merge, read
from snap.pipeline.plan import Plan
from snap.pipeline.readings import load_all
from snap.pipeline.restore import restore
from snap.pipeline.rows import SELECTED, read_rows, write_rows
from snap.pipeline.training import Workplace, train
from snap.pipeline.trial_store import TrialStore
from snap.protocol import CODE, LADDER, REFERENCE, SWITCHES, TEXT, Protocol, named
from snap.publishing.publish import publish
from workspace import PRESET, ROOT, Workspace

FILES = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"
PAPER = read([ROOT / "config.yaml"])


def plans(**changes) -> dict[str, Plan]:
    return load_all(merge(PAPER, changes), *FILES)


# The readings of the protocol


def test_the_ladder_leads_from_text_over_reference_to_code():
    protocols = [protocol for _, protocol in LADDER]
    assert (protocols[0], protocols[-1]) == (TEXT, CODE)
    assert protocols.count(REFERENCE) == 1
    for (_, before), (name, after) in itertools.pairwise(LADDER):
        assert [n for n in SWITCHES if getattr(before, n) != getattr(after, n)] == [name]


def test_code_is_another_protocol_for_each_learner():
    assert named("code", "sgd") == Protocol(sgd_initial_weights="code")
    assert CODE.neuron_norm == "rms-rows"
    trial = Trial("linear-linear", 0.005, learner="sgd", protocol="code")
    assert trial.protocol == named("code", "sgd")
    assert "protocol=code," in trial.text
    assert Trial.parse(trial.text) == trial


@pytest.mark.parametrize("learner", ["hebbian", "sgd"])
@pytest.mark.parametrize("text", ["text", "reference", "code", "code+bias=none"])
def test_a_protocol_reads_back(learner, text):
    protocol = Protocol.parse(text, learner)
    assert Protocol.parse(protocol.text_for(learner), learner) == protocol


def test_names_of_kept_trials_have_not_changed():
    """New switches are named only where they are used, so that kept trials stay valid."""
    trial = Trial("linear-linear", 0.1, 2, 0.3, protocol="reference+output_rule=error-raw")
    assert trial.text == (
        "dataset=MNIST,learner=hebbian,configuration=linear-linear,"
        "protocol=reference+output_rule=error-raw,experiment=iid,epochs=10,hidden=64,lambda=2,"
        "eta=0.3,alpha=0.1,beta=0.01,seed=0,split=test"
    )


# Readings of a configuration


def test_the_experiment_as_it_was_run():
    main, other = plans().values()
    assert (main.run, other.run) == ("paper", "paper-as-run")
    assert len(other.all_cells) == len(main.all_cells)
    hebbian = next(cell for cell in other.all_cells if cell.lambda_text == "32")
    trial = other.trial("sequential", hebbian, *other.pairs(hebbian)[0], seed=0)
    assert trial.protocol == CODE
    assert trial.experiment.max_epochs == 36
    assert (trial.eta, trial.alpha) == other.paper_pair(hebbian)
    sgd = next(cell for cell in other.all_cells if cell.learner == "sgd")
    assert other.pairs(sgd) == [(None, 0.005)]
    assert other.trial("iid", sgd, None, 0.005, 0).protocol == named("code", "sgd")


def test_a_reading_leaves_out_what_the_paper_has_no_pair_for():
    changes = {"configurations": ["linear-linear", "exponential-sigmoid-neuron"]}
    _, other = plans(lambdas=[3, 16], **changes).values()
    assert {cell.lambda_text for cell in other.all_cells} == {"16", "none"}
    assert other.configurations("hebbian") == ["linear-linear"]
    assert list(plans(datasets=[{"name": "Synthetic", "hidden": 4}])) == ["paper"]
    assert list(plans(readings=None)) == ["paper"]


def test_an_error_in_a_reading_names_it():
    with pytest.raises(SnapError, match=r"config key readings\.as-run: config key protocol"):
        plans(readings={"as-run": {"protocol": "kode"}})
    with pytest.raises(SnapError, match=r"readings\.as-run: config key nosuch is unknown"):
        plans(readings={"as-run": {"nosuch": 1}})


def test_the_ladder_of_sgd():
    plan = plans()["paper"]
    cell = next(cell for cell in plan.ladder_cells if cell.learner == "sgd")
    rungs = [
        (switch, protocol.text_for("sgd"), rate) for switch, protocol, rate in plan.rungs(cell)
    ]
    assert rungs == [
        ("", "reference", None),
        ("alpha", "reference", 0.005),
        ("sgd_initial_weights", "code", 0.005),
    ]


# The search as it was run

TRIAL = Trial(
    "sigmoid-sigmoid-neuron", 1, 4, 0, "Synthetic", experiment=Iid(1), hidden=8, train_limit=300
)


def test_a_coordinate_wise_search_tries_rates_with_the_best_eta(tmp_path, synthetic_root):
    pairs, then = [(eta, 0.003) for eta in (0.03, 0.3, 0.7)], [0.03, 0.3]
    spec = {"engine": "cpu", "cells": [{"trials": [TRIAL.text], "pairs": pairs, "then": then}]}
    jobs.search(spec, [], tmp_path / "out.csv", Workplace(tmp_path / "trials", synthetic_root))
    rows = read_rows(tmp_path / "out.csv")
    first = {row["eta"]: float(row["accuracy"]) for row in rows[:3]}
    best = max(sorted(first, key=float), key=lambda eta: first[eta])
    assert [(row["eta"], row["alpha"]) for row in rows[3:]] == [(best, "0.03"), (best, "0.3")]


def test_a_coordinate_wise_plan_costs_ten_trials_a_cell():
    plan = plans(search={"method": "coordinate"})["paper"]
    cell = plan.all_cells[0]
    assert {alpha for _, alpha in plan.pairs(cell)} == {0.003}
    # The text's α hold .003, so nine are left: the authors' scripts tried .001 besides.
    assert len(plan.pairs(cell)) + len(plan.then_alphas(cell)) == 9
    union = plans(search={"method": "coordinate", "grid": "union"})["paper"]
    assert union.then_alphas(cell) == [0.001, 0.01, 0.03, 0.1, 0.3]


# Forgetting, and losing to newer classes


def test_limited_outputs_by_hand():
    outputs = np.array([[0.1, 0.2, 0.9, 0], [0.5, 0.1, 0, 0.9], [0, 0.3, 0.2, 0.1]])
    labels = np.array([1, 0, 2])
    assert metrics.hits(outputs, labels, (0, 1, 2, 3)).tolist() == [0, 0, 0, 0]
    assert metrics.hits(outputs, labels, (0, 1)).tolist() == [1, 1, 0, 0]
    assert metrics.hits(outputs, labels, (2, 3)).tolist() == [0, 0, 1, 0]
    assert metrics.hits(outputs, labels, (3, 1, 0)).tolist() == [0, 1, 0, 0]


def sequence(**changes) -> Trial:
    trial = dataclasses.replace(TRIAL, alpha=0.1, eta=0.1, experiment=Sequential(max_epochs=1))
    return dataclasses.replace(trial, **changes)


def test_a_sequence_measures_limited_outputs(small):
    (result,) = run([sequence()], small, "cpu")
    whole, known, own = (
        np.array(m) for m in (result.matrix, result.matrix_known, result.matrix_own)
    )
    assert whole.shape == known.shape == own.shape == (6, 5)
    # Fewer classes can only help: a sample that wins among all of them wins among some.
    assert (own >= known).all()
    assert (known >= whole).all()
    # When the last task has ended, every class is known to it.
    assert np.array_equal(known[:, -1], whole[:, -1])
    assert result.metrics["forgetting_known"] == metrics.forgetting(known)


def test_only_sequences_without_the_new_measure_are_trained_again(tmp_path, small, synthetic_root):
    """A trial kept by an older version lacks it; an i.i.d. trial does not need it."""
    trials = [sequence(), dataclasses.replace(sequence(), experiment=Iid(1))]
    for result in run(trials, small, "cpu"):
        kept = {k: v for k, v in result.to_dict().items() if not k.startswith("matrix_")}
        store = TrialStore(tmp_path / "trials", small.checksum, "cpu")
        store.keep(result.trial, kept)
    write_rows(tmp_path / "pair.csv", SELECTED, [{"eta": 0.1, "alpha": 0.1}])
    for trial, step, trained in ((trials[0], jobs.sequential, 1), (trials[1], jobs.iid, 0)):
        ledger = tmp_path / "ledger.json"
        place = Workplace(tmp_path / "trials", synthetic_root, ledger=ledger)
        spec = {"engine": "cpu", "cells": [{"trials": [trial.text]}]}
        step(spec, [tmp_path / "pair.csv"], tmp_path / "out.csv", place)
        assert json.loads(ledger.read_text())["trained"] == trained


def test_a_measure_that_is_added_leaves_kept_numbers_alone(tmp_path, small, synthetic_root):
    """They may come from a processor that rounds differently."""
    (result,) = run([sequence()], small, "cpu")
    kept = {k: v for k, v in result.to_dict().items() if not k.startswith("matrix_")}
    kept["accuracy"] = 0.123
    store = TrialStore(tmp_path / "trials", small.checksum, "cpu")
    store.keep(result.trial, kept)
    place = Workplace(tmp_path / "trials", synthetic_root)
    (trained,) = train([result.trial], "cpu", place, needs=jobs.SEQUENCE)
    assert trained["accuracy"] == store.get(result.trial)["accuracy"] == 0.123
    assert trained["matrix_known"] == result.matrix_known


# The whole workflow


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Workspace:
    """The preset as it is, with another reading beside the main one."""
    workspace = Workspace(tmp_path_factory.mktemp("readings"))
    workspace.configure(PRESET)
    done = workspace.snakemake("all")
    assert done.returncode == 0, done.stderr
    return workspace


def test_both_readings_are_trained_checked_and_judged(finished):
    run = finished.folder / "results/smoke"
    other = run / "readings/as-run"
    for folder in (run, other):
        assert json.loads((folder / "checked.json").read_text())
        assert json.loads((folder / "claims.json").read_text())
    protocols = {row["protocol"] for row in read_rows(other / "tables/sequential.csv")}
    assert protocols == {"code"}
    assert {row["protocol"] for row in read_rows(run / "tables/iid.csv")} == {"reference"}
    rates = {
        row["alpha"] for row in read_rows(other / "tables/selected.csv") if row["learner"] == "sgd"
    }
    assert rates == {"0.005"}


def test_the_report_shows_both_readings(finished):
    run = finished.folder / "results/smoke"
    page = (run / "report.html").read_text()
    assert 'id="reading-as-run"' in page
    assert 'id="as-run-figure-sequential"' in page
    assert "Synthetic, as run" in page
    assert page.count('class="claim"') == 11
    table = list(csv.DictReader((run / "paper_tables/sgd-iid.csv").open(encoding="utf-8")))
    assert all(row["As run"] not in ("", "–") for row in table if row["Dataset"] == "Synthetic")


def test_a_change_of_one_reading_leaves_the_other_alone(finished):
    workspace = finished.copy(finished.folder.parent / "changed")
    workspace.configure(merge(PRESET, {"readings": {"as-run": {"beta": 0.02}}}))
    jobs = workspace.would_run()
    assert (jobs["search"], jobs["iid"], jobs["sequential"]) == (8, 8, 8)
    assert jobs["ladder"] == 0
    assert jobs["page"] == 1


def test_both_readings_are_published_and_restored(finished, tmp_path):
    """With the limited outputs, so that nothing but ladder and portraits is trained again."""
    publish(finished.folder / "results/smoke", tmp_path / "published")
    assert (tmp_path / "published/readings/as-run/claims.json").is_file()
    restored = restore(tmp_path / "published", tmp_path / "results")
    names = {path.stem for path in (tmp_path / "results/trials").glob("*/*.json")}
    for folder in ("", "readings/as-run/"):
        for table in ("search", "iid", "sequential"):
            rows = read_rows(finished.folder / f"results/smoke/{folder}tables/{table}.csv")
            assert {row["trial"] for row in rows} <= names
    assert sum(restored.values()) == len(names)
    for path in (tmp_path / "results/trials").glob("*/*.json"):
        result = json.loads(path.read_text())["result"]
        # Those on held-out samples, among which a control is chosen, need only their accuracy.
        if "experiment=sequential" in result["trial"] and "split=test" in result["trial"]:
            assert np.array(result["matrix_known"]).shape == (6, 5)
