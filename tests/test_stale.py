"""No run ends with exit code 0 and old results, after a change and a job that failed.

A job is killed as the kernel does when memory runs out: it alone, by a signal that it cannot catch.
What the next run makes is compared with a run of the same configuration that nobody disturbed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest

from snap.pipeline.config import merge
from workspace import SMOKE, Workspace, with_files

# One more η, α of SGD, seed of the i.i.d. runs and seed of the ladder, all at once.
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
    """Both passes, as make runs them; processes whose command has these words are killed."""
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
    """The results of the changed configuration in a folder of its own."""
    workspace = Workspace(tmp_path_factory.mktemp("undisturbed"))
    shutil.copytree(first.folder / "results/trials", workspace.folder / "results/trials")
    workspace.configure(CHANGED)
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    return results(workspace)


@pytest.mark.parametrize("kill", ["job search", "job iid", "job ladder", "job table"])
def test_a_job_that_was_killed_is_made_up_for(first, undisturbed, tmp_path, kill):
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
    assert run(workspace).returncode != 0
    file.write_bytes(whole)
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    assert results(workspace) == undisturbed


def test_a_clock_that_was_set_back(first, undisturbed, tmp_path):
    """To files that are written now, those of the run before come from the future."""
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
