"""What snap status says of a run that was stopped: its finished trials are kept and counted."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snap.data.datasets import checksum
from snap.files import write_result
from snap.learners import LEARNERS
from snap.pipeline import announcer, controls, jobs, ladder, methods, specs, status
from snap.pipeline.alive import STALE, goes_on
from snap.pipeline.config import merge
from snap.pipeline.kept import kept
from snap.pipeline.readings import load_all
from snap.pipeline.training import Workplace
from snap.pipeline.work import STAGES, work_of
from snap.trial import Trial
from workspace import PRESET, ROOT, SMOKE, Make, until

WORKFLOW = ROOT / "workflow"
PLACES = {
    "search": "{learner}/{dataset}/{layer}/{job}/seed={seed}.csv",
    "iid": "{learner}/{dataset}/{configuration}/{job}.csv",
    "sequential": "{learner}/{dataset}/{configuration}/{job}.csv",
    "ladder": "{learner}/{dataset}/{configuration}.csv",
    "portrait": "{dataset}.csv",
    "control": "{dataset}/{method}.csv",
}


class Planned:
    """A run that is planned in a folder, and none of whose jobs has finished."""

    def __init__(self, folder: Path, config, slurm: str | None = None) -> None:
        schema, paper = WORKFLOW / "schemas/config.schema.yaml", WORKFLOW / "paper.yaml"
        self.results = folder / "results"
        self.plans = load_all(config, schema, paper)
        self.jobs = [
            {"stage": stage, "output": f"results/{run}/{stage}/{PLACES[stage].format(**work)}"}
            | {"ledger": "", **work}
            for stage in STAGES
            for run, plan in self.plans.items()
            for work in work_of(plan, stage)
        ]
        self.file = self.results / "smoke/plan.json"
        status.write_plan(self.file, "smoke", 2, self.jobs, slurm, self.plans)

    def change(self, **values) -> dict:
        """Change plan.json; None removes a key."""
        content = json.loads(self.file.read_text()) | values
        content = {k: v for k, v in content.items() if k not in values or v is not None}
        write_result(self.file, json.dumps(content).encode())
        return content

    def counted(self) -> dict[str, int]:
        return kept(json.loads(self.file.read_text()), self.results, self.jobs)

    def select(self) -> None:
        """Write a selection for every cell."""
        for run, plan in self.plans.items():
            for cell in plan.all_cells:
                eta = 0.1 if LEARNERS[cell.learner].inhibits else None
                spec = json.loads(specs.select(plan, cell)) | {"given": [eta, 0.03]}
                jobs.select(spec, [], self.selected(run, cell))

    def selected(self, run: str, cell) -> Path:
        family = self.results / run / "select" / cell.learner / cell.dataset / cell.configuration
        return family / f"lambda={cell.lambda_text}.csv"

    def trials(self, job) -> list[Trial]:
        """The trials of a job, as the job itself finds them."""
        run = job["output"].removeprefix("results/").partition(f"/{job['stage']}/")[0]
        plan, stage = self.plans[run], job["stage"]
        if stage == "ladder":
            (cell,) = (
                c
                for c in plan.ladder_cells
                if all(getattr(c, key) == job[key] for key in ("learner", "dataset"))
                and c.configuration == job["configuration"]
            )
            spec = json.loads(specs.ladder(plan, cell))
            return ladder.ladder_trials(spec, [self.selected(run, cell)])
        name = job["layer"] if stage == "search" else job["configuration"]
        described = plan.job(stage, job["learner"], job["dataset"], name, job["job"])
        if stage == "search":
            return jobs.search_trials(json.loads(specs.search(plan, described, job["seed"])), [])
        spec = json.loads(specs.final(plan, stage, described))
        return jobs.final_trials(spec, [self.selected(run, cell) for cell in described.cells])

    def keep(self, trial: Trial, engine: str = "cpu") -> None:
        name = trial.fingerprint(checksum(trial.dataset), engine)
        path = self.results / "trials" / name[:2] / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


def said_by(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "snap", "status", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(said: str) -> tuple[int, int]:
    found = re.search(r"stopped; (\d+) of (\d+) trained and kept", said)
    assert found, said
    return int(found[1]), int(found[2])


def test_the_trials_of_every_job_are_counted(tmp_path):
    """As the jobs themselves find them: none, one of each job, all; also in another reading."""
    planned = Planned(tmp_path, PRESET)
    assert len(planned.plans) == 2
    in_store = [job for job in planned.jobs if job["stage"] not in ("portrait", "control")]

    def counted() -> dict[str, int]:
        counts = planned.counted()
        return {job["output"]: counts[job["output"]] for job in in_store}

    assert set(planned.counted().values()) == {0}
    planned.select()
    assert set(counted().values()) == {0}
    kept_now: set[Trial] = set()
    for some in (slice(0, 1), slice(None)):
        for job in in_store:
            kept_now.update(planned.trials(job)[some])
        for trial in kept_now:
            planned.keep(trial)
        assert counted() == {
            job["output"]: sum(trial in kept_now for trial in planned.trials(job))
            for job in in_store
        }
    assert counted() == {job["output"]: job["trials"] for job in in_store}


def test_the_trials_of_a_control_are_counted(tmp_path, synthetic_root):
    """Before and after it has been chosen, and when a final trial is missing."""
    planned = Planned(tmp_path, merge(PRESET, {"limits": {"train": 50, "test": 50}}))
    plan = planned.plans["smoke"]
    place = Workplace(planned.results / "trials", synthetic_root)
    planned.select()
    of_controls = [job for job in planned.jobs if job["stage"] == "control"]
    assert len(of_controls) > 3
    for job in of_controls:
        method = methods.find(plan, job["dataset"], job["method"])
        own = [] if method.own_search else methods.cells(plan, method)
        spec = json.loads(specs.control(plan, method))
        before = set(place.store.glob("??/*.json"))
        selected = [planned.selected("smoke", cell) for cell in own]
        controls.control(spec, selected, tmp_path / f"{method.name}.csv", place)
        recruits = len(own) if method.recruits else 0
        assert planned.counted()[job["output"]] == job["trials"] - recruits
        trained = sorted(
            set(place.store.glob("??/*.json")) - before, key=lambda path: path.stat().st_mtime_ns
        )
        if trained:
            trained[-1].unlink()
            assert planned.counted()[job["output"]] == job["trials"] - recruits - 1


def test_both_halves_of_a_coordinate_wise_search_are_counted(tmp_path, synthetic_root):
    search = {"method": "coordinate", "first_alpha": 0.01, "epochs": 1}
    planned = Planned(tmp_path, merge(SMOKE, {"search": search, "limits": {"train": 50}}))
    job = next(job for job in planned.jobs if job["learner"] == "hebbian")
    described = planned.plans["smoke"].job(
        "search", "hebbian", job["dataset"], job["layer"], job["job"]
    )
    spec = json.loads(specs.search(planned.plans["smoke"], described, job["seed"]))
    store = planned.results / "trials"
    jobs.search(spec, [], tmp_path / "out.csv", Workplace(store, synthetic_root))
    assert planned.counted()[job["output"]] == job["trials"]
    first = planned.trials(job)
    assert len(first) < job["trials"]
    for path in store.glob("??/*.json"):
        if json.loads(path.read_text())["result"]["trial"] not in {trial.text for trial in first}:
            path.unlink()
    assert planned.counted()[job["output"]] == len(first)
    for path in store.glob("??/*.json"):  # a damaged file is no reason to say nothing
        path.write_text("half")
    assert job["output"] not in planned.counted()
    assert len(planned.counted()) > 1


@pytest.mark.parametrize("slurm", [None, "a-name"])
def test_engines_of_the_nodes_of_a_cluster_count(tmp_path, slurm):
    planned = Planned(tmp_path, SMOKE, slurm)
    job = planned.jobs[0]
    planned.keep(planned.trials(job)[0], "torch")
    assert planned.counted()[job["output"]] == (slurm is not None)


def test_an_older_plan_counts_the_finished_jobs(tmp_path, monkeypatch):
    planned = Planned(tmp_path, SMOKE)
    planned.keep(planned.trials(planned.jobs[0])[0])
    monkeypatch.chdir(tmp_path)
    assert status.state(planned.file)["stages"]["search"]["trials_done"] == 1
    planned.change(plans=None, paper=None, pid=None, runner=None)
    assert status.state(planned.file)["stages"]["search"]["trials_done"] == 0
    done = Path(planned.jobs[0]["output"])
    done.parent.mkdir(parents=True)
    done.write_text("done", encoding="utf-8")
    now = status.state(planned.file)
    assert now["stages"]["search"]["trials_done"] == planned.jobs[0]["trials"]
    assert not now["stopped"]


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


NOW, LONG_AGO = {"started": time.time}, {"started": lambda: time.time() - 10 * STALE}
RUNS = {  # what plan.json says, and whether the run goes on
    "Snakemake": ({"pid": os.getpid, **NOW}, True),
    "killed": ({"pid": gone, **NOW}, False),
    "ended": ({"pid": os.getpid, "ended": time.time, **NOW}, False),
    "between the passes": ({"pid": gone, "runner": os.getpid, "ended": time.time, **NOW}, True),
    "after the passes": ({"pid": gone, "runner": gone, "ended": time.time, **NOW}, False),
    "another process with its number": ({"pid": os.getpid, **LONG_AGO}, False),
    "elsewhere": ({"host": lambda: "node7", "pid": gone, **NOW}, True),
    "elsewhere, silent": ({"host": lambda: "node7", "pid": os.getpid, **LONG_AGO}, False),
    "elsewhere, ended": ({"host": lambda: "node7", "runner": os.getpid, "ended": time.time}, False),
    "older version": ({**NOW}, True),
    "older version, silent": ({**LONG_AGO}, False),
    "older version, ended": ({"ended": time.time, **NOW}, False),
}


@pytest.mark.parametrize("case", RUNS)
def test_whether_a_run_goes_on(tmp_path, case):
    values, expected = RUNS[case]
    content = {"host": socket.gethostname()} | NOW | values
    content = {key: value() if callable(value) else value for key, value in content.items()}
    assert goes_on(content, tmp_path) is expected


def test_a_sign_of_life_of_a_run_elsewhere(tmp_path):
    content = {"host": "node7", "pid": 1, "started": time.time() - 10 * STALE}
    sign = tmp_path / "invocations/1.json"
    sign.parent.mkdir()
    sign.write_text("{}")
    assert goes_on(content, tmp_path)
    os.utime(sign, (0, 0))
    assert not goes_on(content, tmp_path)


def test_a_stopped_run_says_what_is_kept(tmp_path, monkeypatch):
    planned = Planned(tmp_path, SMOKE)
    for trial in planned.trials(planned.jobs[0])[:2]:
        planned.keep(trial)
    monkeypatch.chdir(tmp_path)
    total = sum(job["trials"] for job in planned.jobs)
    assert "stopped" not in status.report(status.state(planned.file))
    planned.change(pid=gone())
    now = status.state(planned.file)
    assert numbers(status.report(now)) == (2, total)
    assert "left" not in status.line(now)
    beat = status.Heartbeat(planned.file.parent / "heartbeats", planned.jobs[1]["output"], 8, 3)
    with beat:  # a job that survived Snakemake
        now = status.state(planned.file)
        assert "stopped" not in status.report(now)
        assert now["stages"]["search"]["trials_done"] == 5
        # One that has counted before goes by the heartbeats.
        assert status.state(planned.file, {})["stages"]["search"]["trials_done"] == 3


def test_the_announcer_counts_the_store_once(tmp_path, monkeypatch, capsys):
    planned = Planned(tmp_path, SMOKE)
    monkeypatch.chdir(tmp_path)
    counts = []

    def count(plan_file: Path) -> dict[str, int]:
        counts.append(plan_file)
        return {planned.jobs[0]["output"]: len(counts)}

    for module in (announcer, status):
        monkeypatch.setattr(module, "count_kept", count)
    at_work = announcer.Announcer(planned.file, every=0.01)
    at_work.start()
    said = ""
    end = time.time() + 20
    while said.count("\n") < 3 and time.time() < end:
        said += capsys.readouterr().err
    at_work.stop()
    assert len(counts) == 2
    assert said.count("smoke: trials search 1/") >= 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("smoke: trials search 2/")
    assert numbers(last) == (2, sum(job["trials"] for job in planned.jobs))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
def test_status_and_terminal_of_a_real_run(tmp_path, number):
    """Trials take long enough for the run to be stopped in the middle of its first jobs."""
    make = Make(tmp_path, merge(SMOKE, {"search": {"epochs": 1000}}))
    process = make.start()
    again = None
    try:
        until(lambda: len(make.stored()) >= 3, process)
        assert "stopped" not in said_by(tmp_path)
        os.killpg(process.pid, number)
        process.wait(timeout=60)
        stored = len(make.stored())
        finished = sum(
            len(path.read_text().splitlines()) - 1
            for path in tmp_path.glob("results/smoke/search/**/*.csv")
        )
        assert finished < stored, "no job was stopped between two trials"
        said = said_by(tmp_path)
        of = numbers(said)[1]
        assert numbers(said) == (stored, of)
        assert of > stored
        assert f"{stored} of" in said.splitlines()[1], "the bar of the search shows them"
        assert "the same command" in said
        assert "stopped" in said_by(tmp_path, "--follow"), "there is nothing left to follow"
        if number == signal.SIGINT:
            sentence = f"snap: stopped; {stored} of {of} trained and kept; run the same command"
            assert make.said().count(sentence) == 1
        again = make.start()
        until(lambda: len(make.stored()) > stored, again)
        said = said_by(tmp_path)
        assert "stopped" not in said
        counted = re.search(r"trials search (\d+)/", said)
        assert counted
        assert int(counted[1]) > stored
    finally:
        for one in filter(None, (process, again)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
