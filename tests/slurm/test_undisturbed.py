"""The workflow on the cluster with the shipped profile, undisturbed: same tables, few jobs."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from cluster import USER, no_slow_files
from on_slurm import ON_CPU, PRETENDED, Run, tables

from snap.pipeline.config import merge
from snap.pipeline.work import STAGES
from workspace import SMOKE

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def smoke(cluster) -> Run:
    """The smoke preset on GPU nodes; unlike locally, one job trains both λ."""
    run = Run(cluster, "smoke", merge(SMOKE, {"lambdas_per_job": 2}), PRETENDED)
    run.start("tables")
    run.finish()
    return run


def test_the_tables_equal_those_of_a_local_run(smoke, local):
    """Those of the controls too."""
    assert tables(smoke) == tables(local)
    names = {Path(path).stem for path in tables(smoke)}
    assert len(names) == 12
    assert names > {"controls", "controls_search", "controls_matrix", "controls_curve"}
    methods = smoke.folder / "results/smoke/tables/controls.csv"
    assert len(methods.read_text().splitlines()) > 20


def test_search_final_runs_and_controls_are_a_slurm_job_each(smoke):
    """Controls train on CPU nodes. Fetching and drawing happen where the run was started."""
    jobs = smoke.jobs()
    assert {row["state"] for row in jobs.values()} == {"COMPLETED"}
    assert sorted(row["partition"] for row in jobs.values()) == ["cpu", "gpu", "gpu"]
    assert {row["timelimitraw"] for row in jobs.values()} == {"60"}


def test_every_training_job_was_granted_a_gpu_and_started_once(smoke):
    """The jobs in a SLURM job run one after the other, and each has its GPU."""
    logs = [
        (stage, path)
        for stage in STAGES
        for path in (smoke.folder / f"logs/smoke/{stage}").rglob("*.log")
    ]
    assert len(logs) == 24
    ran = set()
    for stage, path in logs:
        text = path.read_text()
        gpu = "no GPU granted" if stage == "control" else "GPU granted: [01]"
        granted = re.findall(rf"^.* threads: 1, .*SLURM job: (\S+), {gpu}$", text, re.M)
        assert len(granted) == 1, text[:1000]
        assert "\0" not in text, "two processes wrote this log"
        ran |= set(granted)
        if "to train with engine" in text and " 0 to train" not in text:
            said = "the granted GPU is not used: torch" in text
            assert said == (stage != "control"), "this machine has none"
    assert ran == set(smoke.jobs())


def test_a_slurm_job_starts_no_second_snakemake(smoke, cluster):
    """The plugin would start it as a step of its own."""
    query = f"-n -P --format=jobid --jobs={','.join(smoke.jobs())}".split()
    steps = [job for job in cluster.slurm("sacct", *query).split() if "." in job]
    assert {step.partition(".")[2] for step in steps} == {"batch"}


def test_the_first_job_of_a_slurm_job_trains_for_all(smoke):
    """The others find their trials in the store."""
    folder = smoke.folder / "logs/smoke"
    for stages in ({"search"}, {"iid", "sequential", "ladder"}, {"control"}):
        logs = [p.read_text() for stage in stages for p in (folder / stage).rglob("*.log")]
        trained = [text for text in logs if re.search(r"[1-9]\d* to train", text)]
        assert len(trained) == 1, stages


def test_costs_report_jobs_and_allocated_time(smoke):
    costs = json.loads(smoke.snap("costs", "--json"))
    assert costs["slurm_jobs"] == 3
    assert costs["stages"]["control"]["trained"] > 0
    allocated = sum(int(j["ncpus"]) * int(j["elapsedraw"]) for j in smoke.jobs().values())
    assert costs["core_seconds"] == pytest.approx(allocated, abs=2)
    ledgers = (smoke.folder / "logs/smoke").rglob("*.json")
    training = sum(json.loads(path.read_text())["training_seconds"] for path in ledgers)
    share = f"{training / costs['core_seconds']:.1%}"
    assert smoke.snap("costs").splitlines()[-1].endswith(f"of them in training: {share}")


def test_provenance_does_not_know_the_settings(smoke):
    """cluster.yaml is not part of the repository."""
    assert (smoke.folder / "cluster.yaml").exists()
    assert "unusable_gpu" not in next(smoke.folder.glob("results/*/plan.json")).read_text()


@pytest.mark.long
def test_a_file_system_with_a_delay_of_30_s(started, cluster, local):
    if reason := no_slow_files():
        pytest.skip(reason)
    run = started(SMOKE, ON_CPU, slow=True)
    node, probe = cluster.nodes["cpu1"], run.seen / "probe"
    node.run("ls", str(probe), user=USER, check=False)
    (run.folder / "probe").touch()
    assert node.run("ls", str(probe), user=USER, check=False) == "", "the node sees it late"
    begun = time.monotonic()
    run.start("tables")
    run.finish(seconds=600)
    assert time.monotonic() - begun > 30
    assert tables(run) == tables(local)
