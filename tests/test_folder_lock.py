"""One folder, one run: whoever starts the second, and however the first ended."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workspace import ROOT

FIRST, SECOND = 65533, 65534  # two users who may not look at one another's processes
# What workflow/run.py does before it starts Snakemake, as a given user. The modules are imported
# first, because they may be in a folder that is closed to other users.
RUN = f"""
import os, subprocess, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT / "workflow")!r})
import folder_lock, recover
user, then = int(sys.argv[1]), sys.argv[2]
if user:
    os.setgroups([]), os.setgid(user), os.setuid(user)
code = recover.main()
if then == "train":
    if code == 0:
        os.close(os.open("training", os.O_CREAT | os.O_EXCL))
        time.sleep(0.3)
        os.remove("training")
    sys.exit(code)
if code == 0 and then != "end":
    Path(".snakemake/locks").mkdir(exist_ok=True)
    Path(".snakemake/locks/0.output.lock").touch()
print(code, flush=True)
if code == 0 and then != "end":
    if then == "start Snakemake":
        process = subprocess.Popen(["sleep", "60"], pass_fds=folder_lock.inherited())
        print(process.pid, flush=True)
    sys.stdin.read()
sys.exit(code)
"""
root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as two users")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can reach and write to: pytest's own are closed."""
    path = Path(tempfile.mkdtemp(dir="/tmp", prefix="snap-test-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start a run as a user; it has printed its code."""
    started = []

    def one(user: int = 0, then: str = "go on") -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(user), then],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "0\n", process.communicate()
        return process

    yield one
    for process in started:
        process.kill()
        process.communicate()


def second(folder: Path, user: int = 0) -> tuple[int, str]:
    """The exit code of another run that a user starts, and what it says."""
    command = [sys.executable, "-c", RUN, str(user), "end"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_a_second_run_is_refused_until_the_first_has_ended(folder, start):
    first = start()
    code, said = second(folder)
    assert code == 1
    who = f"process {first.pid} on {socket.gethostname()}, since "
    assert said.startswith(f"snap: error: another run is active in this folder: {who}")
    assert said.count("\n") == 1
    assert (folder / ".snakemake/locks/0.output.lock").exists()
    first.kill()
    first.wait()
    assert second(folder) == (
        0,
        "snap: the last run was killed; removing its lock and continuing\n",
    )
    assert second(folder) == (0, "")


def test_the_lock_is_held_as_long_as_snakemake_lives(folder, start):
    first = start(then="start Snakemake")
    snakemake = int(first.stdout.readline())
    first.kill()
    first.wait()
    try:
        code, said = second(folder)
        assert (code, "another run is active in this folder" in said) == (1, True)
    finally:
        os.kill(snakemake, 9)
        first.communicate()  # until Snakemake has closed its output
    assert second(folder)[0] == 0


@root_only
@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_another_user_is_refused(folder, start, mode):
    """Who may not look at the first run's process: what cannot be looked at is alive."""
    (folder / ".snakemake").mkdir()
    (folder / ".snakemake").chmod(mode)
    os.chown(folder / ".snakemake", FIRST, FIRST)
    first = start(FIRST)
    code, said = second(folder, SECOND)
    assert code == 1
    who = f"process {first.pid} on {socket.gethostname()}, since "
    assert f"another run is active in this folder: {who}" in said
    assert f", of {FIRST}" in said
    assert said.count("\n") == 1
    assert (folder / ".snakemake/locks/0.output.lock").exists()


@root_only
def test_a_folder_that_a_user_cannot_write_to_is_refused(folder, start):
    first = start(FIRST)
    first.kill()
    first.wait()
    code, said = second(folder, SECOND)
    assert (code, said) == (
        1,
        f"snap: error: you cannot write to {folder}/.snakemake, which belongs to user {FIRST}: use"
        " a folder of your own\n",
    )
    assert second(folder, FIRST)[0] == 0
    shutil.rmtree(folder / ".snakemake")
    folder.chmod(0o755)
    code, said = second(folder, SECOND)
    assert (code, said) == (
        1,
        f"snap: error: you cannot write to {folder}, which belongs to root: use a folder of your"
        " own\n",
    )


@root_only
def test_users_who_share_a_folder_take_turns(folder, start):
    """The lock of the first is left to the others who can write to the folder."""
    (folder / ".snakemake/locks").mkdir(parents=True)
    for path in (folder / ".snakemake", folder / ".snakemake/locks"):
        path.chmod(0o777)
    first = start(FIRST)
    assert second(folder, SECOND)[0] == 1
    first.kill()
    first.wait()
    code, said = second(folder, SECOND)
    assert code == 0, said
    assert second(folder, FIRST)[0] == 0


@root_only
def test_runs_that_two_users_start_at_once_never_train_at_once(folder):
    """Whoever is refused is told by whom, and nobody takes the lock of another for stale."""
    (folder / ".snakemake/locks").mkdir(parents=True)
    for path in (folder / ".snakemake", folder / ".snakemake/locks"):
        path.chmod(0o777)
    (folder / ".snakemake/locks/0.output.lock").touch()  # of a run that was killed
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(user), "train"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        for user in (FIRST, SECOND) * 4
    ]
    said = [run.communicate(timeout=120)[1] for run in runs]
    assert {run.returncode for run in runs} <= {0, 1}, said
    assert any(run.returncode == 0 for run in runs)
    for run, text in zip(runs, said, strict=True):
        if run.returncode == 1:
            assert "another run is active in this folder: " in text
            assert text.count("snap: error: ") == 1
        assert "Traceback" not in text
    assert not (folder / "training").exists()


@root_only
def test_a_lock_that_a_user_cannot_remove_is_named(folder, start):
    (folder / ".snakemake").mkdir()
    (folder / ".snakemake").chmod(0o777)
    first = start(FIRST)
    first.kill()
    first.wait()
    code, said = second(folder, SECOND)
    assert code == 1
    assert "snap: error: .snakemake/locks cannot be removed: Permission denied" in said
    assert "Traceback" not in said
