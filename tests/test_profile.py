"""The SLURM profile, without SLURM: the resources it requests, and the numbers in its README."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from snap.learners import HEBBIAN
from snap.pipeline.config import read
from snap.pipeline.readings import load_all
from snap.pipeline.work import STAGES, work_of
from workspace import ROOT, SMOKE, Workspace

PROFILE = ROOT / "workflow/profiles/slurm"
TRAINING = {"search", "iid", "sequential", "ladder", "portrait"}


def requested(tmp_path, old: str = "", new: str = "") -> dict[str, dict[str, str]]:
    """The resources of each rule in a dry run, after replacing a text in the profile."""
    workspace = Workspace(tmp_path)
    workspace.configure(SMOKE)
    text = (PROFILE / "config.yaml").read_text()
    assert old in text
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile/config.yaml").write_text(text.replace(old, new))
    workspace.options = ["--workflow-profile", str(tmp_path / "profile")]
    done = workspace.snakemake("-n")
    assert done.returncode == 0, done.stderr
    rules = re.findall(r"^(?:local)?rule (\w+):.*?resources: (.*?)$", done.stdout, re.M | re.S)
    return {rule: dict(item.split("=", 1) for item in text.split(", ")) for rule, text in rules}


def test_only_training_requests_a_gpu(tmp_path):
    rules = requested(tmp_path)
    assert rules.keys() >= TRAINING
    for rule, resources in rules.items():
        assert resources.get("gpu") == ("1" if rule in TRAINING else None), rule
        assert not {"tasks", "tasks_per_gpu"} & resources.keys()
    assert {rules[rule]["slurm_partition"] for rule in TRAINING} == {"gpu"}


def test_one_setting_sends_training_to_cpu_nodes(tmp_path):
    rules = requested(tmp_path, "train_on: gpu", "train_on: cpu")
    for rule in TRAINING:
        assert "gpu" not in rules[rule]
        assert rules[rule]["slurm_partition"] == "cpu"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('account: ""', "account: us", {"slurm_account": "us"}),
        ("{gpu: gpu, cpu: cpu}", "{gpu: all, cpu: any}", {"slurm_partition": "all"}),
        ('gpu_type: ""', "gpu_type: a100", {"gpu_model": "a100", "gpu": "1"}),
    ],
)
def test_the_three_settings_reach_the_jobs(tmp_path, old, new, expected):
    rules = requested(tmp_path, old, new)
    for rule in TRAINING:
        assert rules[rule].items() >= expected.items(), rule


def test_everything_but_training_is_local():
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    rules = set(re.findall(r"^(?:use )?rule (?:\w+ as )?(\w+)(?: with)?:", text, re.MULTILINE))
    blocks = re.findall(r"^localrules:\n((?:    \w+,\n)+)", text, re.MULTILINE)
    local = {name for block in blocks for name in re.findall(r"\w+", block)}
    assert rules - local == TRAINING


def test_without_slurm_its_tests_say_how_to_install_it(tmp_path):
    environment = os.environ | {"PATH": str(tmp_path)}
    code = "import cluster; cluster.SYSTEM = ''; print(cluster.missing())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "tests/slurm",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "apt-get install --no-install-recommends slurm-wlm munge" in done.stdout


def submitted(preset, **changes) -> int:
    """The number of SLURM jobs of a run."""
    overlay = [ROOT / f"workflow/presets/{preset}.yaml"] if preset else []
    plans = load_all(
        read([ROOT / "config.yaml", *overlay]) | changes,
        ROOT / "workflow/schemas/config.schema.yaml",
        ROOT / "workflow/paper.yaml",
    )
    return sum(len(work_of(plan, stage)) for plan in plans.values() for stage in STAGES)


def test_the_stated_numbers_of_jobs_are_right():
    """For `quick` and for the whole paper, on CPU and on GPU nodes."""
    stated = " ".join((PROFILE / "README.md").read_text().split())
    for preset, words in (
        ("quick", "{} SLURM jobs on CPU nodes and {} on GPU nodes"),
        (None, "paper: {} jobs on CPU nodes and {} on GPU nodes"),
    ):
        assert words.format(submitted(preset), submitted(preset, lambdas_by_default=5)) in stated


@pytest.mark.parametrize(
    ("gpu_type", "processors", "cache_mb"), [("a100", 108, 40), ("H100", 132, 50)]
)
def test_a_search_job_fills_a_gpu_and_fits_into_its_cache(tmp_path, gpu_type, processors, cache_mb):
    """One hidden layer for each multiprocessor, for both widths of the paper."""
    requested(tmp_path, 'gpu_type: ""', f"gpu_type: {gpu_type}")
    text = (tmp_path / "profile/config.yaml").read_text()
    from yte import process_yaml

    (setting,) = process_yaml(text)["config"]
    layers = int(setting.removeprefix("lambdas_by_default=")) * 25
    assert layers >= processors
    assert layers * 96 * 784 * 4 <= cache_mb * 1e6


def test_on_cpu_nodes_the_configuration_decides_the_size_of_jobs(tmp_path):
    requested(tmp_path, "train_on: gpu", "train_on: cpu")
    from yte import process_yaml

    assert "config" not in process_yaml((tmp_path / "profile/config.yaml").read_text())


def test_the_stated_kernels_and_bytes_of_the_torch_engine_are_right():
    """Kernels per step and megabytes per sample, over the paper's configurations."""
    from launches import per_step
    from snap.trial import Configuration

    names = HEBBIAN.paper_configurations
    counted = [per_step(Configuration.parse(name)) for name in names]
    launches, megabytes = [n for n, _ in counted], [b / 1e6 for _, b in counted]
    stated = " ".join((PROFILE / "README.md").read_text().split())
    assert f"{min(launches)} to {max(launches)} kernels" in stated
    assert f"{min(megabytes):.1f} to {max(megabytes):.1f} MB" in stated
