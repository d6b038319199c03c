"""The SLURM cluster for the tests, and the results that they compare with."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator

import pytest
from cluster import Cluster, missing
from on_slurm import LONG, LONG_TABLES, Run, compile_modules, results

from workspace import SMOKE, Workspace

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if reason := missing():
        pytest.skip(reason)
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated"))  # end the cluster too
    compile_modules()
    with Cluster() as started:
        yield started


@pytest.fixture
def started(request, cluster) -> Callable[..., Run]:
    """A function that makes a run, named after the test."""
    made = []

    def make(config: dict, settings: dict, slow: bool = False) -> Run:
        name = f"{request.node.originalname.removeprefix('test_')}-{next(NUMBERS)}"
        made.append(Run(cluster, name, config, settings, slow))
        return made[-1]

    yield make
    for run in made:  # left behind by a failed test
        if getattr(run, "process", None) is not None and run.process.poll() is None:
            run.kill()
    cluster.restore()


@pytest.fixture(scope="session")
def undisturbed(cluster, tmp_path_factory) -> dict[str, bytes]:
    """All result files of the long search, from a local run."""
    workspace = Workspace(tmp_path_factory.mktemp("undisturbed"))
    workspace.configure(LONG)
    done = workspace.snakemake(*LONG_TABLES)
    assert done.returncode == 0, done.stderr
    return results(workspace)


@pytest.fixture(scope="session")
def local(cluster, tmp_path_factory) -> Workspace:
    """The smoke preset without SLURM."""
    workspace = Workspace(tmp_path_factory.mktemp("local"))
    workspace.configure(SMOKE)
    done = workspace.snakemake("tables")
    assert done.returncode == 0, done.stderr
    return workspace
