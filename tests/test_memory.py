"""What a job needs of memory is estimated, and refused before the first job if it is not there."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from snap import SnapError
from snap.pipeline.config import merge
from snap.pipeline.resources import usable_memory
from snap.pipeline.work import check_memory, memory
from test_reading import hidden, load
from workspace import SMOKE, Workspace


def test_the_estimate_is_what_a_job_needs(synthetic_root):
    """Within a third, for a layer that needs about 0.6 GB."""
    wide = 30_000
    command = [sys.executable, "-m", "snap", "train", "--dataset", "Synthetic", "--alpha", "0.1"]
    command += ["--configuration", "linear-linear", "--lambda", "1", "--eta", "0.1", "--epochs"]
    command += ["1", "--train-limit", "3", "--test-limit", "2", "--hidden", str(wide)]
    command += ["--dir", str(synthetic_root), "--engine", "cpu"]
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    needed = int(done.stdout) * (1 if sys.platform == "darwin" else 1024)
    estimate = memory(load(merge(SMOKE, hidden(wide))))
    assert 0.67 < needed / estimate < 1.33


def test_more_than_the_machine_has_is_an_error():
    plans = [load(merge(SMOKE, hidden(width))) for width in (12, 1_000_000)]
    check_memory(plans[:1], usable_memory())
    check_memory(plans, None)
    with pytest.raises(
        SnapError, match=r"a job needs at least 12\.7 GB of memory, but here are 10"
    ):
        check_memory(plans, 10**10)


def test_a_run_is_refused_before_its_first_job(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.configure(merge(SMOKE, hidden(1_000_000)))
    done = subprocess.run(
        workspace.command("pairs"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=little_memory,
    )
    assert done.returncode != 0
    assert "a job needs at least 12.7 GB of memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_network_that_does_not_fit_is_one_sentence(synthetic_root):
    """The engines say it in different ways."""
    for engine in ("cpu", "torch"):
        command = [sys.executable, "-m", "snap", "train", "--dataset", "Synthetic", "--alpha", "1"]
        command += ["--configuration", "linear-linear", "--lambda", "1", "--eta", "0.1"]
        command += ["--hidden", "600000", "--dir", str(synthetic_root), "--engine", engine]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=little_memory)
        assert done.returncode == 2, done.stderr
        assert done.stderr.splitlines()[-1].startswith("snap: error: not enough memory")
        assert "Traceback" not in done.stderr


def little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (6 * 10**9, 6 * 10**9))
