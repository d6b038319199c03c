"""The conda environments and pyproject.toml name the same versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PYPI_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib"}


def pinned() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    versions = {}
    for requirement in (r for group in groups for r in group):
        version, _, _ = requirement.partition(";")  # the rest says on which platforms
        match = re.fullmatch(r"([a-z0-9-]+)==([0-9][0-9.]*)", version)
        assert match, f"{requirement} is not pinned to one version"
        versions[match[1]] = match[2]
    return versions


def test_every_dependency_is_pinned():
    assert {"torch", "numba", "numpy"} <= set(pinned())


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.name)
def test_conda_environments_agree(path):
    known = pinned()
    for line in yaml.safe_load(path.read_text())["dependencies"]:
        name, version = line.split()
        if name == "python":
            project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            assert version == project["requires-python"]
        else:
            assert version == "=" + known[PYPI_NAMES.get(name, name)], f"{name} in {path.name}"


def test_the_training_environment_has_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {requirement.split("==")[0] for requirement in project["dependencies"]}
    # These start the jobs and are not needed in them.
    needed -= {"psutil", "snakemake", "snakemake-executor-plugin-slurm"}
    lines = yaml.safe_load((ROOT / "envs" / "snap.yaml").read_text())["dependencies"]
    named = {PYPI_NAMES.get(line.split()[0], line.split()[0]) for line in lines}
    assert needed <= named
