"""A job ends when its shell or its Snakemake has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from killed_run import reset_signals
from snap.pipeline import keeper

JOB = (
    "import os, sys, time; from snap.pipeline import keeper\n"
    "keeper.end_with_parents()\n"
    "print(os.getpid(), os.environ.get(keeper.PARENTS), flush=True)\n"
    "time.sleep(60)\n"
)


@pytest.fixture
def snakemake():
    """A process that stands for Snakemake."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV])
def test_a_job_ends_with_its_shell(snakemake, number):
    shell = shell_with_job(snakemake.pid)
    job = psutil.Process(int(shell.stdout.readline().split()[0]))
    assert job.parent().pid == shell.pid
    shell.send_signal(number)
    wait_for_end(job)
    shell.communicate()


def test_a_job_ends_with_its_snakemake(snakemake):
    shell = shell_with_job(snakemake.pid)
    number, variable = shell.stdout.readline().split()
    assert variable == "None", "what a job starts is no job"
    job = psutil.Process(int(number))
    snakemake.kill()
    snakemake.wait()
    wait_for_end(job)
    shell.communicate(timeout=30)
    assert shell.returncode == 128 + signal.SIGKILL


def wait_for_end(process: psutil.Process, seconds: float = 30) -> None:
    """Wait until a process has ended. The one that adopted it may not ask for its exit code."""
    end = time.monotonic() + seconds
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < end, "the process has not ended"
            time.sleep(0.02)


def shell_with_job(snakemake: int) -> subprocess.Popen[str]:
    """A shell that starts a job as the workflow's shells do."""
    command = f'snap() {{ {keeper.PARENTS}="$$ {snakemake}" "$0" -c "$@"; }}; snap "$1" 2>&1'
    return subprocess.Popen(
        ["bash", "-c", command, sys.executable, JOB],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=reset_signals,
    )


def test_a_job_whose_parents_died_before_it_began_ends_at_once(snakemake):
    dead = subprocess.Popen(["true"])
    dead.wait()
    for parents in (f"{dead.pid}", f"{os.getpid()} {dead.pid}", f"{snakemake.pid}"):
        environment = os.environ | {keeper.PARENTS: parents}
        done = subprocess.run([sys.executable, "-c", JOB], env=environment, timeout=20)
        assert done.returncode == -signal.SIGKILL, parents


def test_a_command_that_a_user_starts_has_no_parents_to_end_with(monkeypatch):
    before = threading.active_count()
    monkeypatch.delenv(keeper.PARENTS, raising=False)
    keeper.end_with_parents()
    assert threading.active_count() == before
