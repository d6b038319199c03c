"""What a killed Snakemake leaves behind, and that one which is alive is left alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from workspace import ROOT, SMOKE, Workspace


def recover(folder) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "workflow/recover.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    found = Workspace(tmp_path)
    found.configure(SMOKE)
    return found


def test_nothing_to_recover(workspace):
    done = recover(workspace.folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_lock_is_removed_when_its_snakemake_is_dead_and_not_before(workspace):
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


@pytest.mark.parametrize("ended", [False, True])
def test_a_run_on_another_machine_is_respected_until_it_ends(workspace, ended):
    lock = workspace.folder / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/smoke/tables/search.csv\n")
    plan = {"run": "smoke", "host": "elsewhere", "slurm": None} | ({"ended": 1.0} if ended else {})
    path = workspace.folder / "results/smoke/plan.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(plan))
    done = recover(workspace.folder)
    assert done.returncode == (0 if ended else 1)
    assert workspace.locked() != ended
    assert ended or "smoke, started on elsewhere; if it is not: snakemake --unlock" in done.stderr


def test_make_starts_it_without_a_shell():
    """A shell in between would keep a signal to itself."""
    for target in ("reproduce", "paper"):
        command = ["make", "--dry-run", "--always-make", target, "PROFILE=profiles/slurm"]
        lines = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        (line,) = [line for line in lines if "workflow/run.py" in line]
        assert line.startswith(".venv/bin/python workflow/run.py ")
        assert line.endswith(" --workflow-profile profiles/slurm")
        assert not set(line) & set("$;&|<>'\"`")
