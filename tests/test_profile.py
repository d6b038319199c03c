"""The SLURM profile, without SLURM: the resources it requests, and the numbers in its README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest
import yaml
import yte

from snap.learners import HEBBIAN
from snap.pipeline.config import read
from snap.pipeline.readings import load_all
from snap.pipeline.work import CORE_MINUTES, STAGES, slurm_job_names, work_of
from workspace import ROOT, SMOKE, Workspace

PROFILE = ROOT / "workflow/profiles/slurm"
TRAINING = set(STAGES)
ON_GPU = TRAINING - {"control"}  # most controls exist only in the engines for the CPU


def requested(tmp_path, **settings: Any) -> dict[str, dict[str, str]]:
    """The resources of each rule in a dry run, with these settings in cluster.yaml."""
    workspace = Workspace(tmp_path)
    workspace.configure(SMOKE)
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(settings))
    workspace.options = ["--workflow-profile", str(PROFILE)]
    done = workspace.snakemake("-n")
    assert done.returncode == 0, done.stderr
    rules = re.findall(r"^ *(?:local)?rule (\w+):.*?resources: (.*?)$", done.stdout, re.M | re.S)
    return {rule: dict(item.split("=", 1) for item in text.split(", ")) for rule, text in rules}


def rendered(tmp_path, monkeypatch, **settings: Any) -> dict[str, Any]:
    """The profile as Snakemake reads it."""
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump(settings))
    monkeypatch.setenv("SNAP_CLUSTER", str(file))
    return dict(yte.process_yaml((PROFILE / "config.yaml").read_text()))


def test_only_training_requests_a_gpu(tmp_path):
    rules = requested(tmp_path)
    assert rules.keys() >= TRAINING
    for rule, resources in rules.items():
        assert resources.get("gpu") == ("1" if rule in ON_GPU else None), rule
        assert not {"tasks", "tasks_per_gpu"} & resources.keys()
    assert {rules[rule]["slurm_partition"] for rule in ON_GPU} == {"gpu"}
    assert rules["control"]["slurm_partition"] == "cpu"


def test_one_setting_sends_training_to_cpu_nodes(tmp_path):
    rules = requested(tmp_path, train_on="cpu")
    for rule in TRAINING:
        assert "gpu" not in rules[rule]
        assert rules[rule]["slurm_partition"] == "cpu"


def test_the_settings_reach_the_jobs(tmp_path):
    """Names that Snakemake would evaluate as Python, such as `all`, stay names."""
    rules = requested(
        tmp_path,
        account="us",
        partitions={"gpu": "all", "cpu": "any"},
        gpu_type="a100",
        minutes=45,
        memory_mb=5000,
        qos="max",
        constraint="zen4",
        mail="me@example.org",
        resources={"search": {"mem_mb": 700, "reservation": "course"}},
    )
    expected = {"slurm_account": "us", "slurm_partition": "all", "gpu_model": "a100", "gpu": "1"}
    expected |= {"runtime": "45", "qos": "max", "constraint": "zen4", "unusable_gpu": "fail"}
    expected |= {"slurm_extra": "--mail-type=END,FAIL --mail-user=me@example.org", "mem_mb": "5000"}
    for rule in ON_GPU - {"search"}:
        assert rules[rule].items() >= expected.items(), rule
    on_cpu = {name: value for name, value in expected.items() if not name.startswith("gpu")}
    assert rules["control"].items() >= (on_cpu | {"slurm_partition": "any"}).items()
    expected |= {"mem_mb": "700", "reservation": "course"}
    assert rules["search"].items() >= expected.items()


def test_a_gpu_can_be_requested_as_gres(tmp_path):
    rules = requested(tmp_path, gpu_type="a100", gpu_option="gres")
    for rule in ON_GPU:
        assert rules[rule]["gres"] == "gpu:a100:1"
        assert "gpu" not in rules[rule]


def test_further_options_reach_snakemake(tmp_path, monkeypatch):
    options = {"slurm-status-command": "squeue", "latency-wait": 90}
    assert rendered(tmp_path, monkeypatch, snakemake=options).items() >= options.items()


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
    assert (
        "apt-get install --no-install-recommends slurm-wlm slurmdbd mariadb-server munge"
        in done.stdout
    )


def submitted(preset, nodes: str, **changes) -> int:
    """The number of SLURM jobs of a run."""
    overlay = [ROOT / f"workflow/presets/{preset}.yaml"] if preset else []
    plans = load_all(
        read([ROOT / "config.yaml", *overlay]) | changes,
        ROOT / "workflow/schemas/config.schema.yaml",
        ROOT / "workflow/paper.yaml",
    )
    costs = {}
    for stage in STAGES:
        works = [work for plan in plans.values() for work in work_of(plan, stage)]
        costs[stage] = {str(number): work["cost"] for number, work in enumerate(works)}
    names = slurm_job_names(costs, CORE_MINUTES[nodes], {"train_on": nodes, "resources": {}})
    return len({name for jobs in names.values() for name in jobs.values()})


def test_the_stated_numbers_of_jobs_are_right():
    """For `quick` and for the whole paper, on CPU and on GPU nodes."""
    stated = " ".join((PROFILE / "README.md").read_text().split())
    for preset, words in (
        ("quick", "{} SLURM jobs with `train_on: cpu` and {} with `train_on: gpu`"),
        (None, "paper: {} with `train_on: cpu` and {} with `train_on: gpu`"),
    ):
        counts = submitted(preset, "cpu"), submitted(preset, "gpu", lambdas_by_default=5)
        assert words.format(*counts) in stated, counts


@pytest.mark.parametrize(
    ("gpu_type", "processors", "cache_mb"), [("a100", 108, 40), ("H100", 132, 50)]
)
def test_a_search_job_fills_a_gpu_and_fits_into_its_cache(
    tmp_path, monkeypatch, gpu_type, processors, cache_mb
):
    """One hidden layer for each multiprocessor, for both widths of the paper."""
    profile = rendered(tmp_path, monkeypatch, gpu_type=gpu_type)
    layers = profile["config"]["lambdas_by_default"] * 25
    assert layers >= processors
    assert layers * 96 * 784 * 4 <= cache_mb * 1e6


def test_a_slurm_job_holds_some_ten_minutes_of_work(tmp_path, monkeypatch):
    """On CPU nodes; the configuration alone decides the size of the training jobs in it."""
    assert rendered(tmp_path, monkeypatch, train_on="cpu")["config"] == {"core_minutes_per_job": 15}
    assert rendered(tmp_path, monkeypatch)["config"]["core_minutes_per_job"] == 400


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


@pytest.mark.parametrize(
    ("profile", "settings", "said"),
    [
        ("profiles/slrum", "", "there is no profile profiles/slrum (profiles/slrum/config.yaml is"),
        ("own", "", "own/config.yaml: Snakemake has no option job: did you mean jobs?"),
        ("broken", "", "broken/config.yaml cannot be read: while parsing a flow node"),
        ("list", "", "list/config.yaml must be a mapping of Snakemake's options to values"),
        (str(PROFILE), "acount: us", "cluster.yaml: key acount is unknown: choose from account,"),
        (str(PROFILE), "[", "cluster.yaml cannot be read: "),
    ],
)
def test_a_wrong_profile_is_one_sentence(tmp_path, profile, settings, said):
    for name, text in {"own": "job: 3\n", "broken": "jobs: [\n", "list": "- jobs\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(text)
    (tmp_path / "cluster.yaml").write_text(settings)
    done = subprocess.run(
        [sys.executable, ROOT / "workflow/run.py", "--workflow-profile", profile],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"snap: error: {said}")


def test_the_shipped_profiles_have_only_options_of_snakemake(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import profile_check

    for folder in (PROFILE, PROFILE.parent / "default"):
        profile_check.check(["--workflow-profile", str(folder)])
        profile_check.check([f"--workflow-profile={folder}"])
    assert profile_check.given(["--cores", "2"]) is None
