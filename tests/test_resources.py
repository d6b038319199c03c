"""A job uses no more threads than it was granted, and its log names what it was granted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from snap import SnapError
from snap.pipeline import resources
from snap.pipeline.cluster import queue, slurm


def in_process(code: str, **environment: str) -> str:
    bare = {key: value for key, value in os.environ.items() if key not in resources.LIMITS}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=bare | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
@pytest.mark.parametrize("threads", [1, 2])
def test_torch_and_numba_use_the_threads_of_the_job(threads):
    code = (
        f"from snap.pipeline import resources; resources.bind({threads})\n"
        "import numba, torch\n"
        "print(torch.get_num_threads(), numba.get_num_threads())\n"
    )
    assert in_process(code).split() == [str(threads)] * 2


def test_a_job_gets_no_more_threads_than_cores():
    """Bind the process to one core, as SLURM does for a job that requested one."""
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "from snap.pipeline import resources\n"
        "print(resources.bind(8), {os.environ[name] for name in resources.LIMITS})\n"
    )
    assert in_process(code).strip() == "1 {'1'}"


def test_the_log_names_job_and_gpu(monkeypatch):
    for name in ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    assert resources.text(1).endswith("no GPU granted")
    assert "SLURM" not in resources.text(1)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert resources.text(1).endswith(", SLURM job: 12, GPU granted: 1")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "11")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    assert "SLURM job: 11_3," in resources.text(1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0:07", 7), ("12:00", 720), ("1:02:03", 3723), ("2-00:00:01", 172801), ("INVALID", 0)],
)
def test_slurm_times_are_parsed(text, seconds):
    assert (slurm.seconds(text) or 0) == seconds


def test_without_slurm_costs_are_empty_and_cancelling_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert queue.core_seconds("a-name") == {}
    with pytest.raises(SnapError, match="SLURM does not say"):
        queue.cancel("a-name")
