"""After a change and a failed job, no run exits with code 0 and old results.

A single job is killed by SIGKILL, as the kernel does when memory runs out. The results of the next
run are compared with those of an undisturbed run of the same configuration.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest

from snap.pipeline.config import merge
from workspace import SMOKE, Workspace, with_files

# One more η, one more α of SGD, one more seed of the i.i.d. runs and one more of the ladder.
CHANGED = merge(
    SMOKE,
    {
        "grids": {"text": {"eta": [0.3, 0.03, 0.2]}},
        "sgd": {"alpha": [0.1, 0.01, 0.03]},
        "iid": {"seeds": [0, 1, 2]},
        "ladder": {"seeds": [0, 1]},
    },
)
KILLER = """\
import os, signal, sys
words = os.environ.get("KILL_JOB", "").split()
if words and all(word in sys.orig_argv for word in words):
    os.kill(os.getpid(), signal.SIGKILL)
"""
RESULTS = ("tables/*.csv", "figures/*.csv", "claims.csv")


def run(workspace: Workspace, kill: str = "") -> subprocess.CompletedProcess[str]:
    """Run both passes, as make does. Processes whose command contains these words are killed."""
    hook = workspace.folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(KILLER)
    environment = workspace.environment | {"KILL_JOB": kill, "PYTHONPATH": str(hook)}
    return subprocess.run(
        workspace.run_command(),
        cwd=workspace.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def results(workspace: Workspace) -> dict[str, bytes]:
    return {k: v for pattern in RESULTS for k, v in workspace.files(pattern).items()}


@pytest.fixture(scope="session")
def first(tmp_path_factory) -> Workspace:
    workspace = Workspace(tmp_path_factory.mktemp("first"))
    workspace.configure(SMOKE)
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    return workspace


@pytest.fixture(scope="session")
def undisturbed(first, tmp_path_factory) -> dict[str, bytes]:
    """The results of the changed configuration, from a run in a separate folder."""
    workspace = Workspace(tmp_path_factory.mktemp("undisturbed"))
    shutil.copytree(first.folder / "results/trials", workspace.folder / "results/trials")
    workspace.configure(CHANGED)
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    return results(workspace)


@pytest.mark.parametrize("kill", ["job search", "job iid", "job ladder", "job table"])
def test_a_killed_job_is_run_again(first, undisturbed, tmp_path, kill):
    workspace = first.copy(tmp_path / "work")
    workspace.configure(CHANGED)
    assert run(workspace, kill).returncode != 0
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    assert results(workspace) == undisturbed
    page = (workspace.folder / "results/smoke/report.html").read_text()
    assert "0.2" in page.partition("η searched")[2][:200]


def test_damaged_data(first, undisturbed, tmp_path):
    workspace = first.copy(tmp_path / "work")
    workspace.configure(CHANGED)
    file = next((workspace.folder / "data/Synthetic/raw").glob("train-images*"))
    whole = file.read_bytes()
    file.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    assert f"{file.relative_to(workspace.folder)} has been altered" in done.stderr
    assert file.read_bytes() == whole
    assert results(workspace) == undisturbed


def test_a_clock_that_was_set_back(first, undisturbed, tmp_path):
    """The files of the previous run are dated in the future."""
    workspace = first.copy(tmp_path / "work")
    tomorrow = time.time() + 86_400
    for path in workspace.folder.rglob("*"):
        os.utime(path, (tomorrow, tomorrow))
    workspace.configure(CHANGED)
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    assert results(workspace) == undisturbed


def test_a_caption_whose_figure_was_killed(first, tmp_path):
    workspace = first.copy(tmp_path / "work")
    caption = with_files(workspace, "reports/captions/iid.rst")
    assert run(workspace).returncode == 0
    caption.write_text(caption.read_text().replace("Test accuracy", "What is right"))
    assert run(workspace, "figure iid").returncode != 0
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    assert "What is right" in (workspace.folder / "results/smoke/report.html").read_text()
