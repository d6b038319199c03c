"""Cleaning up after a killed Snakemake, and leaving an active one alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from snap.pipeline import keeper
from workspace import ROOT, SMOKE, Workspace

PLAN = {"run": "smoke", "cores": 2, "slurm": None, "jobs": [], "started": 1.0}


def recover(folder, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "workflow/recover.py"]
    environment = os.environ | environment
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.configure(SMOKE)
    return workspace


def test_nothing_to_recover(workspace):
    done = recover(workspace.folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_lock_is_removed_only_if_its_snakemake_is_dead(workspace):
    process = subprocess.Popen(
        workspace.command("tables"),
        cwd=workspace.folder,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not list(workspace.folder.glob("results/trials/*/*.json")):
            assert process.poll() is None
            time.sleep(0.1)
        done = recover(workspace.folder)
        assert done.returncode == 1
        assert f"process {process.pid} on {socket.gethostname()}" in done.stderr
        assert workspace.locked()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert workspace.locked()
    done = recover(workspace.folder)
    assert done.returncode == 0, done.stderr
    assert "removing its lock" in done.stderr
    assert not workspace.locked()
    points = workspace.points()
    again = workspace.snakemake("pairs")
    assert again.returncode == 0, again.stderr
    assert workspace.points() > points


def test_only_a_run_counts_as_a_run(workspace):
    """Not a command that names the workflow's files, with or without a lock."""
    folder = workspace.folder
    (folder / "workflow").mkdir()
    (folder / "workflow/run.py").touch()
    (folder / "snakemake").touch()
    commands = [["tail", "-f", "workflow/run.py"], ["tail", "-f", "snakemake"]]
    readers = [subprocess.Popen(command, cwd=folder) for command in commands]
    try:
        assert recover(folder).returncode == 0
        lock(folder)
        done = recover(folder)
        assert (done.returncode, "removing its lock" in done.stderr) == (0, True)
    finally:
        for process in readers:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/usr/bin/python3.12", "-u", "workflow/run.py", "--cores", "2"], "workflow/run.py"),
        ([".venv/bin/python", "-m", "snakemake", "all"], "snakemake"),
        (["python", "/opt/bin/snakemake", "all"], "/opt/bin/snakemake"),
        (["python", "-m", "snap", "job"], "snap"),
        (["vim", "workflow/run.py"], ""),
        (["python"], ""),
        ([], ""),
    ],
)
def test_the_program_of_a_process(monkeypatch, command, expected):
    monkeypatch.syspath_prepend(ROOT / "workflow")
    from recover import program

    assert program(command) == expected


def test_a_recorded_process_that_lives_is_active(workspace):
    """Another user's Snakemake cannot be seen to run in this folder, but it can be seen to live."""
    lock(workspace.folder)
    record = PLAN | {"host": socket.gethostname(), "pid": os.getpid()}
    record |= {"started": time.time()}
    (workspace.folder / "results/smoke").mkdir(parents=True)
    (workspace.folder / "results/smoke/plan.json").write_text(json.dumps(record))
    done = recover(workspace.folder)
    assert done.returncode == 1
    assert f"another run is active in this folder: process {os.getpid()} on " in done.stderr
    assert workspace.locked()


@pytest.mark.parametrize(
    "command",
    [
        "job table search.csv --run smoke --output search.csv",
        "report tables pairs-MNIST --tables . --paper paper.yaml --config {} --output .",
    ],
    ids=["job", "report"],
)
def test_jobs_that_a_killed_run_has_left_are_stopped(workspace, command):
    """A job ends with its Snakemake, but not in every container or system."""
    lock(workspace.folder)
    arguments = [sys.executable, "-m", "snap", *command.split()]
    others = subprocess.Popen(arguments, cwd=workspace.folder)
    environment = os.environ | {keeper.PARENTS: str(os.getpid())}
    job = subprocess.Popen(arguments, cwd=workspace.folder, env=environment)
    for process in (others, job):
        process.send_signal(signal.SIGSTOP)  # it does not end by itself
    try:
        done = recover(workspace.folder)
        assert (done.returncode, job.wait(timeout=10)) == (0, -signal.SIGKILL)
        assert "snap: stopped jobs left by the killed run: 1\n" in done.stderr
        assert others.poll() is None, "a command that a user has started goes on"
    finally:
        for process in (job, others):
            process.kill()
            process.wait()


def test_files_that_a_killed_job_has_begun_are_removed(workspace):
    """After a kill all of them, else those that nobody can be writing any more."""
    paths = [
        workspace.folder / folder / ".name.csv.abcd1234.part"
        for folder in ("results/smoke/tables", "results/trials/00", "data/MNIST", "logs/smoke")
    ]
    mine = workspace.folder / "results/smoke/tables/name.csv.part"

    def left(age: float) -> set[str]:
        for path in [*paths, mine]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            os.utime(path, (time.time() - age,) * 2)
        assert recover(workspace.folder).returncode == 0
        return {path.name for path in [*paths, mine] if path.exists()}

    assert left(age=60) == {paths[0].name, mine.name}
    assert left(age=3600) == {mine.name}
    lock(workspace.folder)
    assert left(age=0) == {mine.name}


def test_a_run_that_was_killed_just_now_is_cleaned_up_too(workspace, monkeypatch):
    """It has left its locks after this one has looked whether there are any."""
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import folder_lock
    import recover

    monkeypatch.chdir(workspace.folder)
    monkeypatch.setattr(folder_lock, "take", lambda: lock(workspace.folder))
    assert recover.main() == 0
    assert not workspace.locked()


def lock(folder) -> None:
    """Lock a folder as Snakemake does."""
    (folder / ".snakemake/locks").mkdir(parents=True)
    (folder / ".snakemake/locks/0.output.lock").touch()


@pytest.mark.parametrize(
    ("ended", "lock_age", "file_age", "alive"),
    [
        (False, 3600, 10, True),  # the run is active
        (False, 3600, 600, False),  # its machine went down
        (True, 3600, 600, False),  # the lock belongs to a run that is dead
        (True, 5, 600, True),  # the run has ended and is starting again
    ],
)
def test_a_run_on_another_machine_blocks_while_it_is_active(
    workspace, ended, lock_age, file_age, alive
):
    """An active run changes its files; one that has been silent for long is dead."""

    def file(name, text, age):
        path = workspace.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - age,) * 2)

    record = PLAN | {"host": "elsewhere", "started": time.time() - 3600}
    record |= {"ended": time.time() - 600} if ended else {}
    file(".snakemake/locks/0.output.lock", "results/smoke/tables/search.csv\n", lock_age)
    file("results/smoke/plan.json", json.dumps(record), file_age)
    file("results/smoke/invocations/1.json", "{}", file_age)
    touched = workspace.folder / (
        ".snakemake/locks/0.output.lock" if ended else "results/smoke/invocations/1.json"
    )
    over = threading.Event()

    def act() -> None:
        while not over.wait(1):
            os.utime(touched)

    activity = threading.Thread(target=act)
    if alive:
        activity.start()
    done = recover(workspace.folder)
    over.set()
    assert done.returncode == int(alive), done.stderr
    assert workspace.locked() == alive
    assert ("smoke was started on elsewhere and active" in done.stderr) == alive
    assert ("another run is active in this folder: smoke, started on" in done.stderr) == alive


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"[]", b"{", b"\xff"])
def test_a_damaged_plan_beside_a_stale_lock(workspace, content):
    """Nobody knows where its run was started; it is dead if it has been silent for long."""
    for name, text in (
        (".snakemake/locks/0.output.lock", b"results\n"),
        ("results/smoke/plan.json", content),
    ):
        path = workspace.folder / name
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
        os.utime(path, (time.time() - 600,) * 2)
    done = recover(workspace.folder)
    assert done.returncode == 0, done.stderr
    assert "results/smoke/plan.json is not the plan of a run" in done.stderr
    assert "Traceback" not in done.stderr
    assert not workspace.locked()


@pytest.mark.parametrize(("job", "answer"), [("77", "exit 1"), ("78", "true")])
def test_a_run_in_an_allocation_is_dead_at_once_when_the_allocation_is(
    workspace, tmp_path_factory, job, answer
):
    """The same allocation, requeued on another node; and one that SLURM no longer lists."""
    squeue = tmp_path_factory.mktemp("bin") / "squeue"
    squeue.write_text(f"#!/bin/sh\n{answer}\n")
    squeue.chmod(0o755)
    (workspace.folder / ".snakemake/locks").mkdir(parents=True)
    (workspace.folder / ".snakemake/locks/0.output.lock").write_text("results\n")
    (workspace.folder / "results/smoke").mkdir(parents=True)
    record = PLAN | {"host": "elsewhere", "started": time.time()}
    (workspace.folder / "results/smoke/plan.json").write_text(
        json.dumps(record | {"allocation": "77"})
    )
    path = f"{squeue.parent}{os.pathsep}{os.environ['PATH']}"
    before = time.monotonic()
    done = recover(workspace.folder, PATH=path, SLURM_JOB_ID=job)
    assert done.returncode == 0, done.stderr
    assert not workspace.locked()
    assert time.monotonic() - before < 60, "without waiting for a sign of life"


def test_the_lock_stays_if_slurm_does_not_answer(workspace, tmp_path_factory):
    """SLURM jobs of the killed run may still be running."""
    squeue = tmp_path_factory.mktemp("bin") / "squeue"
    squeue.write_text("#!/bin/sh\nexit 1\n")
    squeue.chmod(0o755)
    (workspace.folder / ".snakemake/locks").mkdir(parents=True)
    (workspace.folder / ".snakemake/locks/0.output.lock").write_text("results\n")
    (workspace.folder / "results/smoke").mkdir(parents=True)
    record = PLAN | {"host": socket.gethostname(), "slurm": "name", "started": 1.0}
    (workspace.folder / "results/smoke/plan.json").write_text(json.dumps(record))
    path = f"{squeue.parent}{os.pathsep}{os.environ['PATH']}"
    done = recover(workspace.folder, PATH=path)
    assert done.returncode == 1
    assert "SLURM does not say whether jobs of an earlier run are left" in done.stderr
    assert workspace.locked()


def test_make_starts_run_py_without_a_shell():
    """A shell in between would not pass on signals."""
    for target, runs in (("reproduce", 1), ("paper", 1), ("variations", 5)):
        command = ["make", "--dry-run", "--always-make", target, "PROFILE=profiles/slurm"]
        lines = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        commands = [line for line in lines if "workflow/run.py" in line]
        assert len(commands) == runs
        for line in commands:
            assert line.startswith(".venv/bin/python workflow/run.py ")
            assert line.endswith(" --workflow-profile profiles/slurm")
            assert not set(line) & set("$;&|<>'\"`")


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        (["--cores", "2"], ["pairs --cores 2", "all --cores 2"]),
        (["tables", "--cores", "2"], ["pairs --cores 2", "tables --cores 2"]),
        ([], ["pairs", "all"]),
    ],
)
def test_run_py_makes_the_pairs_and_then_its_target(tmp_path, given, passes):
    (tmp_path / "snakemake.py").write_text("import sys\nprint(*sys.argv[1:])\n")
    (tmp_path / "config.yaml").write_text("run: paper\n")
    done = subprocess.run(
        [sys.executable, ROOT / "workflow/run.py", *given],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, passes)
