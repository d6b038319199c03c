"""What happens to clusters: after each fault the tables are right, and nothing is trained twice.

A point that is trained again gets a new file in the store, so the tests compare these files. Every
wait has a deadline: a run that hangs fails its test.
"""

from __future__ import annotations

import re
import time

import pytest
from cluster import USER
from on_slurm import (
    LONG,
    LONG_SEARCH,
    LONG_TABLES,
    ON_CPU,
    POINTS,
    PRETENDED,
    SELECTED,
    Run,
    results,
    tables,
)

from snap.pipeline.config import merge
from workspace import SMOKE, Workspace

pytestmark = pytest.mark.slurm

IID = "results/long/iid/hebbian/Synthetic/sigmoid-sigmoid-neuron/lambda=4.csv"


def search(started, settings: dict | None = None, points: int = 2, target: str = SELECTED) -> Run:
    """The long search, with some of its points done."""
    run = started(LONG, ON_CPU | (settings or {}))
    run.start(target)
    run.until_points(points)
    return run


def check(run: Run, kept: dict, undisturbed: dict[str, bytes]) -> None:
    """The results are those of an undisturbed run, and what was kept was not trained again."""
    made = results(run, "**/search/**/*.csv") | results(run, "**/select/**/*.csv")
    made |= results(run, "*/tables/*.csv")
    assert made
    assert made.items() <= undisturbed.items()
    assert kept
    assert kept.items() <= run.stored().items(), "a finished point was trained again"


def test_a_cancelled_job_is_retried(started, cluster, undisturbed):
    run = search(started, points=3)
    status = run.snap("status")
    assert f"running on cpu1: results/{LONG_SEARCH}.csv" in status
    assert re.search(rf"trial \d+ of {POINTS}", status)
    job = run.running()
    cluster.slurm("scancel", job)
    kept = run.stored()
    run.finish()
    assert run.states() == {"CANCELLED": 1, "COMPLETED": 1}
    assert "no GPU granted" in run.log()
    asked = [(row["timelimitraw"], row["reqmem"]) for row in run.jobs().values()]
    assert asked == [("60", "1000M")] * 2, "a cancelled job needs no more than before"
    check(run, kept, undisturbed)


@pytest.mark.long
def test_all_jobs_of_the_user_are_cancelled(started, cluster, undisturbed):
    run = search(started, {"core_minutes_per_job": 0.001}, target=LONG_TABLES[0])
    cluster.slurm("scancel", f"--user={USER}")
    kept = run.stored()
    run.finish()
    assert run.states()["COMPLETED"] == 2
    assert run.states()["CANCELLED"] >= 1
    check(run, kept, undisturbed)


def test_ctrl_c_cancels_the_jobs_in_the_queue(started, undisturbed):
    run = search(started, points=1)
    run.interrupt()
    assert run.process.wait(timeout=60) != 0
    assert run.states() == {"CANCELLED": 1}
    assert not list(run.folder.glob(".snakemake/locks/*"))


def test_accounting_is_away(started, cluster, undisturbed):
    """The controller knows enough. The run ends before accounting is back."""
    run = search(started)
    kept = run.stored()
    cluster.stop("slurmdbd")
    run.finish()
    assert "SLURM has not answered" not in run.output()
    cluster.start("slurmdbd")
    check(run, kept, undisturbed)


def test_the_controller_is_away(started, cluster, undisturbed):
    """The run says so, waits, and goes on."""
    run = search(started)
    kept = run.stored()
    cluster.stop("slurmctld")
    run.until_said(r"long: trials .*; SLURM has not answered since \d\d:\d\d:\d\d, waiting for it")
    assert "SLURM has not answered since" in run.snap("status")
    cluster.start("slurmctld")
    run.finish()
    check(run, kept, undisturbed)


@pytest.mark.long
def test_accounting_and_controller_are_away(started, cluster, undisturbed):
    """Another job is due meanwhile: its submission is refused, waited out, and no retry."""
    run = started(LONG, ON_CPU)
    run.start(IID)
    run.until_points(POINTS - 1)
    kept = run.stored()
    cluster.stop("slurmdbd")
    cluster.stop("slurmctld")
    run.until_said("SLURM has not answered since")
    time.sleep(20)
    cluster.start("slurmdbd")
    cluster.start("slurmctld")
    run.finish()
    assert (run.folder / IID).exists()
    check(run, kept, undisturbed)


@pytest.mark.long
def test_preemption_by_requeue(started, cluster, undisturbed):
    run = search(started)
    job = run.running()
    preempt(cluster, run, job)
    kept = run.stored()
    run.finish()
    assert list(run.jobs()) == [job], "SLURM started the same job again"
    check(run, kept, undisturbed)


def test_preemption_by_cancellation(started, cluster, undisturbed):
    """The job ends as PREEMPTED and does not come back, so it is submitted again."""
    run = search(started, {"partitions": {"cpu": "spare"}})
    preempt(cluster, run, run.running())
    kept = run.stored()
    run.finish()
    assert run.states() == {"PREEMPTED": 1, "COMPLETED": 1}
    check(run, kept, undisturbed)


def preempt(cluster, run: Run, job: str) -> None:
    """Take the node of a job for a more urgent one, of ten seconds."""
    node = cluster.slurm("squeue", "--noheader", f"--jobs={job}", "-o%N").strip()
    urgent = [
        "sbatch",
        "--partition=urgent",
        f"--nodelist={node}",
        "--exclusive",
        "--wrap=sleep 10",
    ]
    cluster.nodes["login2"].run(*urgent, "--output=/dev/null", user=USER)
    gone = f"--jobs={job}"
    run.until(
        lambda: node not in cluster.slurm("squeue", "--noheader", gone, "-o%N", check=False),
        "preemption",
    )


def test_power_cut_of_a_node(started, cluster, undisturbed):
    """The job goes on on the other node, and later jobs are submitted as before."""
    run = started(LONG, ON_CPU)
    run.start(IID)
    run.until_points(2)
    job = run.running()
    node = cluster.slurm("squeue", "--noheader", f"--jobs={job}", "-o%N").strip()
    cluster.power_cut(node)
    kept = run.stored()
    run.finish()
    jobs = run.jobs()
    assert jobs[job]["nodelist"] != node, "SLURM started it again elsewhere"
    assert len(jobs) == 2
    assert {row["state"] for row in jobs.values()} == {"COMPLETED"}
    check(run, kept, undisturbed)


@pytest.mark.long
def test_a_job_at_its_time_limit_gets_more_time(started, undisturbed):
    run = search(started, {"minutes": 1})
    run.freeze()
    kept = run.stored()
    run.finish()
    asked = [(r["state"], r["timelimitraw"], r["reqmem"]) for r in run.jobs().values()]
    assert asked == [("TIMEOUT", "1", "1000M"), ("COMPLETED", "2", "1000M")]
    check(run, kept, undisturbed)


def test_a_job_with_too_little_memory_gets_more(started, undisturbed):
    run = started(LONG, ON_CPU | {"memory_mb": 250})
    run.start(SELECTED)
    run.finish()
    asked = [(r["state"], r["timelimitraw"], r["reqmem"]) for r in run.jobs().values()]
    assert asked[0] == ("FAILED", "60", "250M"), "OUT_OF_MEMORY on clusters with cgroups"
    assert asked[-1][0] == "COMPLETED"
    assert [memory for _, _, memory in asked] == ["250M", "500M", "1000M"][: len(asked)]
    assert {time for _, time, _ in asked} == {"60"}
    assert "ended as FAILED (OUT_OF_MEMORY)" in run.output()
    check(run, run.stored(), undisturbed)


@pytest.mark.long
def test_a_submit_limit_is_waited_out(started, cluster, local):
    """31 jobs, of which three may be in the queue; no submission counts as a failure."""
    cluster.limit(MaxSubmitJobs=3)
    run = started(SMOKE, ON_CPU | {"core_minutes_per_job": 1e-6})
    run.start("tables")
    run.finish(seconds=600)
    assert "you may have 3 jobs in the queue" in run.output()
    assert "SLURM has refused jobs since" in run.output()
    assert run.states() == {"COMPLETED": 31}
    assert tables(run) == tables(local)


def test_a_reason_to_wait_that_does_not_end_is_told(started, cluster, undisturbed):
    run = started(LONG, ON_CPU)
    busy = ["sbatch", "--partition=urgent", "--nodes=2", "--nodelist=cpu1,cpu2", "--exclusive"]
    cluster.nodes["login2"].run(*busy, "--output=/dev/null", "--wrap=sleep 600", user=USER)
    run.start(SELECTED)
    run.until(lambda: "PENDING" in {r["state"] for r in jobs_or_none(run)}, "pending job")
    (job,) = run.jobs()
    cluster.slurm("scontrol", "hold", job)
    run.until_said(rf"SLURM job {job} \(search0_search\) has been waiting since .*: JobHeldAdmin")
    assert f"SLURM job {job} (search0_search) has been waiting since" in run.snap("status")
    cluster.slurm("scancel", f"--user={USER}", "--partition=urgent")
    cluster.slurm("scontrol", "release", job)
    run.finish()
    check(run, run.stored(), undisturbed)


def jobs_or_none(run: Run) -> list[dict[str, str]]:
    return list(run.jobs().values()) if list(run.folder.glob("results/*/plan.json")) else []


@pytest.mark.parametrize("login", ["login1", pytest.param("login2", marks=pytest.mark.long)])
def test_a_killed_submitter_is_started_again(started, undisturbed, login):
    """On the same login node, or on the other one; as make does it."""
    run = started(LONG, ON_CPU)
    run.start("searches", make=True)
    run.until_points(2)
    run.kill()
    run.freeze()  # the job must not end before the next run begins
    kept = run.stored()
    run.login = login
    run.start("searches", make=True)
    run.until_said("cancelled SLURM jobs left by the killed run")
    kept |= run.stored()
    run.finish()
    if login == "login2":
        assert "was started on login1 and active" in run.output()
    check(run, kept, undisturbed)
    assert len(run.stored()) == POINTS + 1


@pytest.mark.long
def test_a_cancelled_population_goes_on_from_its_checkpoint(started, cluster, tmp_path):
    """The networks of a GPU job finish together. Without CUDA, torch trains them on the CPU."""
    changes = {"engine": "triton", "search": {"epochs": 4}, "limits": {"train": 2000, "test": 300}}
    config = merge(LONG, changes | {"datasets": [{"name": "Synthetic", "hidden": 16}]})
    run = started(config, PRETENDED | {"gpu_option": "gres"})
    run.environment |= {"SNAP_CHECKPOINT_SECONDS": "0.5"}
    unfinished = run.folder / "results/trials/unfinished"
    run.start(SELECTED)
    run.until(lambda: any(unfinished.glob("*.npz")), "checkpoint")
    assert not run.stored(), "it must be cancelled before it has finished"
    cluster.slurm("scancel", run.running())
    run.finish()
    assert run.states() == {"CANCELLED": 1, "COMPLETED": 1}
    assert "the torch engine trains instead of triton: torch finds no CUDA device" in run.log()
    assert f"a population of {POINTS} networks goes on from a checkpoint" in run.log()
    assert not list(unfinished.iterdir())
    alone = Workspace(tmp_path)
    alone.configure(config)
    done = alone.snakemake(SELECTED)
    assert done.returncode == 0, done.stderr
    assert results(run) == results(alone)


@pytest.mark.long
def test_the_daemon_of_a_node_is_restarted(started, cluster, undisturbed):
    """The job goes on without it, and with two threads."""
    run = search(started, {"threads": 2}, points=1)
    job = run.running()
    node = cluster.slurm("squeue", "--noheader", f"--jobs={job}", "-o%N").strip()
    cluster.stop(node)
    run.until_points(3)
    cluster.start(node)
    kept = run.stored()
    run.finish()
    assert list(run.jobs()) == [job], "the job continues without slurmd"
    assert "threads: 2" in run.log()
    check(run, kept, undisturbed)
