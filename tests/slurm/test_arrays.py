"""The plugin's job arrays, which lose results: the reason why they are refused."""

from __future__ import annotations

import sys

import pytest
from on_slurm import HURRY, LONG, ON_CPU

pytestmark = [pytest.mark.slurm, pytest.mark.long]


def test_job_arrays_still_lose_results(started):
    """One task succeeds, then another fails. If this fails, the plugin was mended: use arrays."""
    run = started(LONG, ON_CPU)
    (run.folder / "Snakefile").write_text(
        "rule both:\n    input: 'good', 'bad'\n"
        "rule one:\n    output: '{name,good|bad}'\n"
        "    shell: '[ {output} = good ] && touch good || {{ sleep 12; exit 1; }}'\n"
    )
    command = [sys.executable, "-m", "snakemake", "--executor=slurm", "--jobs=5", *HURRY]
    command += ["--slurm-array-jobs=one", "--keep-going", "--latency-wait=5"]
    command += ["--default-resources", "mem_mb=300", "runtime=5", "slurm_partition=cpu"]
    done = run.run_on_login(command)
    assert done.returncode != 0
    assert not (run.folder / "good").exists(), "it was made, then deleted: the other task failed"
