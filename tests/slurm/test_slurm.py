"""The workflow on a real SLURM cluster, undisturbed and with the failures that clusters have.

A point that is trained again gets a new file in the store, so the tests compare these files. The
order of the tests matters only for speed: a job waits for its time limit while other tests run.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from on_slurm import (
    HURRY,
    LONG,
    LONG_SEARCH,
    LONG_SELECTED,
    LONG_TABLES,
    POINTS,
    STARTED,
    Run,
    results,
    slurm,
)

from snap.pipeline.config import merge
from workspace import ROOT, SMOKE, Workspace

pytestmark = pytest.mark.slurm

SELECTED = f"results/{LONG_SELECTED}.csv"
TRAINING = Counter(search=5, iid=5, sequential=5, ladder=1, portrait=1)


def tables(workspace: Workspace) -> dict[str, bytes]:
    return results(workspace, "*/tables/*.csv")


@pytest.fixture(scope="module")
def out_of_time(cluster, tmp_path_factory) -> tuple[Run, dict]:
    """A job that has just begun to hang half-way, with a time limit of one minute."""
    run = Run(tmp_path_factory.mktemp("limit"), LONG, {"{search: 60,": "{search: 1,"})
    run.start(SELECTED)
    run.until_points(2)
    run.freeze()
    return run, run.stored()


@pytest.fixture(scope="module")
def arrays(cluster, tmp_path_factory) -> tuple[subprocess.Popen[bytes], Path]:
    """A job array in which one task succeeds and then another fails."""
    folder = tmp_path_factory.mktemp("arrays")
    (folder / "Snakefile").write_text(
        "rule both:\n    input: 'good', 'bad'\n"
        "rule one:\n    output: '{name,good|bad}'\n"
        "    shell: '[ {output} = good ] && touch good || {{ sleep 12; exit 1; }}'\n"
    )
    command = [sys.executable, "-m", "snakemake", "--executor=slurm", "--jobs=5", *HURRY]
    command += ["--slurm-array-jobs=one", "--keep-going", "--latency-wait=5"]
    command += ["--default-resources", "mem_mb=300", "runtime=5", "slurm_partition=cpu"]
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=out, start_new_session=True
        )
    STARTED.append(process)
    return process, folder


@pytest.fixture(scope="module")
def local(cluster, tmp_path_factory) -> Workspace:
    """The smoke preset without SLURM."""
    workspace = Workspace(tmp_path_factory.mktemp("local"))
    workspace.configure(SMOKE)
    done = workspace.snakemake("tables")
    assert done.returncode == 0, done.stderr
    return workspace


def test_a_cancelled_job_is_retried_and_keeps_its_points(
    arrays, out_of_time, undisturbed, tmp_path
):
    """On CPU nodes, which one setting selects."""
    run = Run(tmp_path, LONG, {"train_on: gpu": "train_on: cpu"})
    run.start(SELECTED)
    run.until_points(3)
    status = run.snap("status")
    assert f"running: results/{LONG_SEARCH}.csv" in status
    assert re.search(rf"trial \d+ of {POINTS}", status)
    cancelled = run.running()
    slurm("scancel", cancelled)
    run.until(lambda: run.jobs()[cancelled]["state"] == "CANCELLED", "cancelled job")
    kept = run.stored()
    run.finish()
    assert run.states() == {"CANCELLED": 1, "COMPLETED": 1}
    assert {row["partition"] for row in run.jobs().values()} == {"cpu"}
    assert "no GPU granted" in run.log()
    assert f"{len(kept)} kept, {POINTS - len(kept)} to train" in run.log()
    assert kept.items() <= run.stored().items(), "a finished point was trained again"
    assert results(run).items() <= undisturbed.items()


def test_ctrl_c_cancels_the_jobs_in_the_queue(cluster, tmp_path):
    run = Run(tmp_path, LONG)
    run.start(SELECTED)
    run.until_points(1)
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(timeout=30) != 0
    assert run.states() == {"CANCELLED": 1}
    assert not list(tmp_path.glob(".snakemake/locks/*"))


def test_a_killed_snakemake_resumes(undisturbed, tmp_path):
    """Twice: once as make does it, once by hand. GPUs are requested with `gres`."""
    run = Run(tmp_path, LONG, {"gpu: 1 ": "gres: gpu:1 "})
    recover = [sys.executable, ROOT / "workflow/recover.py"]
    run.start(*LONG_TABLES)
    run.until_points(2)
    run.kill()
    run.freeze()  # the job must not end before the next run begins
    assert "RUNNING" in {row["state"] for row in run.jobs().values()}, "SLURM continues the job"
    done = subprocess.run(recover, cwd=run.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cancelled SLURM jobs left by the killed run" in done.stderr
    kept = run.stored()
    run.start(*LONG_TABLES)
    run.until_points(len(kept) + 2)
    run.kill()
    run.freeze()
    run.snakemake("--unlock")
    run.start(*LONG_TABLES)
    message = "cancelled SLURM jobs left by the killed run"
    run.until(lambda: message in run.output(), "end of earlier jobs")
    kept |= run.stored()
    run.finish()
    assert re.search(r"GPU granted: [01]$", run.log(), re.MULTILINE)
    assert kept.items() <= run.stored().items(), "a finished point was trained again"
    assert len(run.stored()) == POINTS + 1
    assert results(run) == undisturbed


def test_a_cancelled_population_goes_on_from_its_checkpoint(cluster, tmp_path, tmp_path_factory):
    """The networks of a GPU job finish together. Without CUDA, torch trains them on the CPU."""
    changes = {"engine": "triton", "search": {"epochs": 4}, "limits": {"train": 2000, "test": 300}}
    config = merge(LONG, changes | {"datasets": [{"name": "Synthetic", "hidden": 16}]})
    run = Run(tmp_path, config)
    run.environment = run.environment | {"SNAP_CHECKPOINT_SECONDS": "0.5"}
    unfinished = tmp_path / "results/trials/unfinished"
    run.start(SELECTED)
    run.until(lambda: any(unfinished.glob("*.npz")), "checkpoint")
    assert not run.stored(), "it must be cancelled before it has finished"
    slurm("scancel", run.running())
    run.finish()
    assert run.states() == {"CANCELLED": 1, "COMPLETED": 1}
    assert "the torch engine trains instead of triton: torch finds no CUDA device" in run.log()
    assert "the granted GPU is not used" in run.log()
    assert f"a population of {POINTS} networks goes on from a checkpoint" in run.log()
    assert not list(unfinished.iterdir())
    alone = Workspace(tmp_path_factory.mktemp("alone"))
    alone.configure(config)
    done = alone.snakemake(SELECTED)
    assert done.returncode == 0, done.stderr
    assert results(run) == results(alone)


def test_a_job_at_its_time_limit_is_retried_and_keeps_its_points(out_of_time, undisturbed):
    run, kept = out_of_time
    run.finish()
    assert run.states() == {"TIMEOUT": 1, "COMPLETED": 1}
    assert f"{len(kept)} kept, {POINTS - len(kept)} to train" in run.log()
    assert kept.items() <= run.stored().items(), "a finished point was trained again"
    assert results(run).items() <= undisturbed.items()


def test_failures_of_a_node(cluster, undisturbed, tmp_path):
    """slurmd is killed and restarted; the job is requeued; the node goes down and comes back."""
    run = Run(tmp_path, LONG, {"  search: 1 ": "  search: 2 "})
    run.start(SELECTED)
    run.until_points(1)
    job = run.running()
    cluster.kill("slurmd")
    run.until_points(2)
    cluster.start("slurmd")
    cluster.until_node("mixed", "allocated", "idle")
    run.until_points(4)
    assert list(run.jobs()) == [job], "the job continues without slurmd"
    kept = run.stored()
    slurm("scontrol", "requeue", job)
    run.until_points(len(kept) + 2)
    kept = run.stored()
    node = slurm("sinfo", "-h", "-o", "%n").split()[0]
    slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    cluster.resume(node)
    run.finish()
    assert list(run.jobs()) == [job], "SLURM itself started the same job again"
    restarts = re.search(r"Restarts=(\d+)", slurm("scontrol", "show", "job", job))
    assert restarts is not None
    assert int(restarts[1]) == 2
    assert "threads: 2, cores: 2," in run.log()
    assert kept.items() <= run.stored().items(), "a finished point was trained again"
    assert results(run).items() <= undisturbed.items()


@pytest.fixture(scope="module")
def smoke(cluster, tmp_path_factory) -> Run:
    """The smoke preset with the shipped profile; unlike locally, one job trains both λ."""
    run = Run(tmp_path_factory.mktemp("smoke"), merge(SMOKE, {"lambdas_per_job": 2}))
    run.start("tables")
    run.finish()
    return run


def test_the_tables_equal_those_of_a_local_run(smoke, local):
    assert tables(smoke) == tables(local)
    assert len(tables(smoke)) == 8


def test_only_training_was_submitted(smoke):
    """Each job is submitted once; fetching and drawing happen where the run was started."""
    jobs = smoke.jobs()
    assert {row["state"] for row in jobs.values()} == {"COMPLETED"}
    assert len(jobs) == TRAINING.total()
    rules = {re.match(r"rule_([a-z]+)_", row["rule"])[1] for row in jobs.values()}
    assert rules == set(TRAINING)


def test_every_training_job_was_granted_a_gpu_and_started_once(smoke):
    logs = [
        path for rule in TRAINING for path in (smoke.folder / f"logs/smoke/{rule}").rglob("*.log")
    ]
    assert len(logs) == TRAINING.total()
    ran = []
    for path in logs:
        text = path.read_text()
        granted = re.findall(
            r"^.* threads: 1, cores: 1, SLURM job: (\S+), GPU granted: [01]$", text, re.MULTILINE
        )
        assert len(granted) == 1, text[:1000]
        assert "\0" not in text, "two processes wrote this log"
        assert "the granted GPU is not used" in text, "this machine has none"
        ran += granted
    assert sorted(ran) == sorted(smoke.jobs()), "one command for each SLURM job"
    assert {row["partition"] for row in smoke.jobs().values()} == {"gpu"}


def test_costs_report_jobs_and_allocated_time(smoke):
    def seconds(text):
        minutes, rest = text.split(":")
        return 60 * int(minutes) + int(rest)

    costs = json.loads(smoke.snap("costs", "--json"))
    assert costs["slurm_jobs"] == TRAINING.total()
    allocated = sum(int(j["cores"]) * seconds(j["used"]) for j in smoke.jobs().values())
    assert costs["core_seconds"] == allocated
    ledgers = (smoke.folder / "logs/smoke").rglob("*.json")
    training = sum(json.loads(path.read_text())["training_seconds"] for path in ledgers)
    share = f"{training / allocated:.1%}"
    assert smoke.snap("costs").splitlines()[-1].endswith(f"of them in training: {share}")


def test_job_arrays_are_refused(cluster, tmp_path):
    run = Run(tmp_path, LONG)
    done = run.snakemake(SELECTED, "--slurm-array-jobs", "search")
    assert done.returncode != 0
    assert "remove --slurm-array-jobs" in done.stderr
    assert not list(tmp_path.glob("results/*/plan.json"))


def test_job_arrays_still_lose_results(arrays):
    """If this fails, the plugin has been fixed: use its arrays."""
    process, folder = arrays
    assert process.wait(timeout=200) != 0
    assert not (folder / "good").exists(), "it was made, then deleted because the other task failed"
