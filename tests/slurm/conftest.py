"""The SLURM cluster for the tests, and the results that they compare with."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from cluster import Cluster, missing
from on_slurm import LONG, LONG_TABLES, STARTED, results

from workspace import Workspace


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    if reason := missing():
        pytest.skip(reason)
    # Not in pytest's folders: their names are too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix="snap-slurm-"))
    with Cluster(folder) as started:
        yield started
        for process in STARTED:  # left behind by a failed test
            process.kill()
    # A slurmd that was killed and restarted can lose track of processes of a job that it ended.
    here = f"{tmp_path_factory.getbasetemp()}/"
    for process in psutil.process_iter(["cmdline"]):
        if any(part.startswith(here) for part in process.info["cmdline"] or ()):
            process.kill()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def undisturbed(cluster, tmp_path_factory) -> dict[str, bytes]:
    """All result files of the long search, from a local run."""
    workspace = Workspace(tmp_path_factory.mktemp("undisturbed"))
    workspace.configure(LONG)
    done = workspace.snakemake(*LONG_TABLES)
    assert done.returncode == 0, done.stderr
    return results(workspace)
