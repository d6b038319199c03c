"""Jobs of a batch: the first trains for all of them, and nothing in their results changes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from snap.errors import SnapError
from snap.learners import LEARNERS
from snap.pipeline import batch, controls, jobs, ladder, methods, specs
from snap.pipeline.readings import load_all
from snap.pipeline.training import Workplace, only_on_cpu
from snap.pipeline.work import IN_ADVANCE
from workspace import ROOT, SMOKE

STEPS = {"search": jobs.search, "iid": jobs.iid, "sequential": jobs.sequential}
STEPS |= {"ladder": ladder.ladder, "control": controls.control}


@pytest.fixture
def plan():
    schemas = ROOT / "workflow/schemas/config.schema.yaml"
    return load_all(SMOKE, schemas, ROOT / "workflow/paper.yaml")["smoke"]


def selection(plan, cell, folder: Path) -> Path:
    path = folder / f"{cell.learner}-{cell.configuration}-{cell.lambda_text}.csv"
    if not path.exists():
        eta = 0.1 if LEARNERS[cell.learner].inhibits else None
        pair = {"given": [eta, 0.03]}
        jobs.select(json.loads(specs.select(plan, cell)) | pair, [], path)
    return path


def members(plan, step: str, folder: Path) -> list[dict]:
    """The jobs of a step, as the workflow writes them."""
    found = []
    if step == "ladder":
        for cell in plan.ladder_cells:
            inputs = [selection(plan, cell, folder)]
            found.append((specs.ladder(plan, cell), inputs))
    elif step == "search":
        for learner, dataset, layer in {
            (f[0], f[1], n) for f in plan.families for n in plan.layers(f[0])
        }:
            for job in plan.jobs("search", learner, dataset, layer):
                found.append((specs.search(plan, job, 0), []))
    elif step == "control":
        for method in methods.methods(plan):
            cells = [] if method.own_search else methods.cells(plan, method)
            inputs = [selection(plan, cell, folder) for cell in cells]
            found.append((specs.control(plan, method), inputs))
    else:
        for family in plan.families:
            for job in plan.jobs(step, *family):
                inputs = [selection(plan, cell, folder) for cell in job.cells]
                found.append((specs.final(plan, step, job), inputs))
    return [
        {
            "step": step,
            "spec": spec,
            "inputs": list(map(str, inputs)),
            "output": str(folder / f"{step}{number}.csv"),
        }
        for number, (spec, inputs) in enumerate(found)
    ]


def run(member: dict, place: Workplace) -> bytes:
    output = Path(member["output"])
    ledger = output.with_suffix(".json")
    inputs = [Path(path) for path in member["inputs"]]
    spec = jobs.load_spec(member["spec"], member["step"])
    STEPS[member["step"]](spec, inputs, output, replace(place, ledger=ledger))
    return output.read_bytes()


@pytest.mark.parametrize("step", IN_ADVANCE)
def test_the_first_job_trains_for_all(step, plan, synthetic_root, tmp_path, monkeypatch):
    alone = Workplace(tmp_path / "alone", synthetic_root)
    expected = [run(member, alone) for member in members(plan, step, tmp_path)]
    for path in tmp_path.glob(f"{step}*"):
        path.unlink()
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    place = Workplace(tmp_path / "together", synthetic_root)
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(members(plan, step, tmp_path)))
    results, counts = [], []
    for member in members(plan, step, tmp_path):
        own = replace(place, label=member["output"])
        in_advance = batch.train(file, own)
        trained = stored(place)
        results.append(run(member, replace(own, in_advance=in_advance)))
        assert stored(place) == trained, "the jobs themselves train nothing"
        ledger = json.loads(Path(member["output"]).with_suffix(".json").read_text())
        again = 2 if json.loads(member["spec"]).get("recruits") is not None else 0
        assert ledger["trained"] == in_advance[0] + again, "the store does not keep weights"
        if not again:
            assert ledger["training_seconds"] == in_advance[1]
        counts.append(in_advance[0])
    assert results == expected
    assert stored(place) == stored(alone)
    assert sum(counts) == len(stored(place))


def asked(written: list[dict]) -> list[batch.Member]:
    """Members that have asked for their first trials."""
    found = [batch._member(one) for one in written]
    assert all(member.ask(None) for member in found)
    return found


def stored(place: Workplace) -> list[str]:
    return sorted(path.name for path in place.store.glob("*/*.json"))


def test_a_job_that_was_started_again_trains_again_what_is_missing(
    plan, synthetic_root, tmp_path, monkeypatch
):
    place = Workplace(tmp_path / "trials", synthetic_root)
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(members(plan, "iid", tmp_path)))
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    batch.train(file, place)
    lost = next(place.store.glob("*/*.json"))
    lost.unlink()
    batch.train(file, place)
    assert not lost.exists(), "this start of the job has trained"
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    batch.train(file, place)
    assert lost.exists()


@pytest.mark.parametrize("content", [None, "", "[", '[{"step": "iid"}]'])
def test_without_a_readable_file_each_job_trains_for_itself(tmp_path, content):
    file = tmp_path / "batch.json"
    if content is not None:
        file.write_text(content)
    batch.train(file, Workplace(tmp_path / "trials"))
    assert not (tmp_path / "trials").exists()


def test_a_member_without_its_input_does_not_stop_the_others(plan, synthetic_root, tmp_path):
    place = Workplace(tmp_path / "trials", synthetic_root)
    two = members(plan, "iid", tmp_path)[:2]
    Path(two[0]["inputs"][0]).unlink()
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(two))
    batch.train(file, place)
    assert len(stored(place)) == 2


def test_jobs_are_trained_together_until_they_fill_a_device(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "TOGETHER", 5)
    written = asked(members(plan, "iid", tmp_path))
    sizes = [sum(len(one.trials) for one in chunk) for chunk in batch._chunks(written)]
    assert sum(sizes) == 16
    assert all(5 <= size <= 6 for size in sizes[:-1])


def test_members_in_any_order_are_trained_by_step(plan, tmp_path):
    """The workflow lists the members of final runs in no order."""
    iid, sequential = (members(plan, step, tmp_path) for step in ("iid", "sequential"))
    mixed = [one for pair in zip(sequential, iid, strict=True) for one in pair]
    chunks = list(batch._chunks(asked(mixed)))
    assert [{member.step for member in chunk} for chunk in chunks] == [{"iid"}, {"sequential"}]
    assert sum(len(chunk) for chunk in chunks) == len(mixed)


def test_controls_that_only_cpu_engines_have_are_trained_apart(plan, tmp_path):
    """They would send the others to the CPU too."""
    chunks = list(batch._chunks(asked(trained_controls(plan, tmp_path))))
    kinds = [{only_on_cpu(trial) for one in chunk for trial in one.trials} for chunk in chunks]
    assert kinds == [{False}, {True}, {False}], "the last are joint, which have no search"
    needs = [{one.needs for one in chunk} for chunk in chunks]
    assert all(len(alike) == 1 for alike in needs)


def test_controls_that_only_cpu_engines_have_need_no_gpu(
    plan, synthetic_root, tmp_path, monkeypatch
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    place = Workplace(tmp_path / "trials", synthetic_root, without_gpu=False)
    outcomes = set()
    for member in trained_controls(plan, tmp_path):
        control = json.loads(member["spec"])["control"]
        if control in ("random-hidden", "ewc"):
            outcomes.add(control)
            assert run(member, place)
        else:
            with pytest.raises(SnapError, match="the granted GPU is not used"):
                run(member, place)
    assert outcomes == {"random-hidden", "ewc"}


def trained_controls(plan, folder: Path) -> list[dict]:
    """All controls but class means, which have no trials."""
    found = members(plan, "control", folder)
    return [one for one in found if json.loads(one["spec"])["means"] is None]


def test_a_job_without_metrics_does_not_import_numpy():
    """Most jobs of a batch only look up kept trials, and the import would take half their time."""
    code = "import sys, snap.cli.main, snap.pipeline.batch; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
