"""What is checked before anything is submitted: one message with all that is wrong."""

from __future__ import annotations

import pytest
from on_slurm import LONG, ON_CPU, PRETENDED, SELECTED

pytestmark = pytest.mark.slurm


def refusal(run, *arguments: str) -> str:
    """What a refused run says; nothing may have been submitted."""
    done = run.make(SELECTED, *arguments)
    assert done.returncode != 0
    assert not list(run.folder.glob("results/*/plan.json"))
    assert not list(run.folder.glob(".snakemake/slurm_logs/*"))
    assert "Traceback" not in done.stderr
    return done.stderr


def test_everything_that_is_wrong_is_in_one_message(started):
    settings = {"account": "chemistry", "gpu_type": "h100", "minutes": 600, "memory_mb": 64_000}
    said = refusal(started(LONG, settings | {"qos": "express", "constraint": "zen9"}))
    for part in (
        "this run does not fit the cluster, and nothing was submitted:",
        "account chemistry: you have physics (search)",
        "QOS express: you have normal (search, iid, sequential, ladder, portrait, control)",
        "partition gpu: a time limit of 600 min exceeds its 120 (search, ",
        "partition gpu: 64000 MB of memory exceed the 9000 of its largest node (search, ",
        "partition cpu: a time limit of 600 min exceeds its 60 (control)",
        "partition gpu: no node has 1 GPU of type h100; there is a100 (search, ",
        "partition gpu: no node has the feature zen9 (search, ",
        "Correct it in cluster.yaml",
    ):
        assert said.count(part) == 1, said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"partitions": {"cpu": "fast"}} | ON_CPU, "partition fast: there are cpu, gpu, spare"),
        ({"partitions": {"gpu": "cpu"}}, "partition cpu: its nodes have no GPU (search, "),
        (
            {"resources": {"portrait": {"mem_mb": 50_000}}} | ON_CPU,
            "partition cpu: 50000 MB of memory exceed the 4000 of its largest node (portrait)",
        ),
        ({"threads": 64} | ON_CPU, "partition cpu: 64 cores exceed the 4 of its largest node"),
    ],
)
def test_a_wrong_partition(started, settings, said):
    assert said in refusal(started(LONG, settings))


def test_a_user_who_may_submit_nothing(started, cluster):
    cluster.limit(MaxSubmitJobs=0)
    assert "may not submit any job" in refusal(started(LONG, ON_CPU))


@pytest.mark.parametrize(
    ("settings", "options", "said"),
    [
        ({"acount": "physics"}, [], "cluster.yaml: key acount is unknown: choose from account,"),
        ({"train_on": "tpu"}, [], "cluster.yaml: key train_on must be one of gpu, cpu, got 'tpu'"),
        ({"snakemake": {"job": 3}}, [], "Snakemake has no option job: did you mean jobs?"),
        ({}, ["--workflow-profile", "profiles/slrum"], "there is no profile profiles/slrum"),
    ],
)
def test_a_wrong_key_or_profile_is_one_sentence(started, settings, options, said):
    run = started(LONG, ON_CPU | settings)
    if options:
        run.options = options
    lines = refusal(run).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("snap: error: ")
    assert said in lines[0]


def test_resources_on_the_command_line_that_drop_the_profiles(started):
    said = refusal(started(LONG, ON_CPU), "--set-resources", "search:constraint=zen4")
    assert "--set-resources on the command line replaces all of them" in said


def test_resources_in_the_settings_are_added(started, undisturbed):
    run = started(LONG, ON_CPU | {"resources": {"search": {"mem_mb": 700}}})
    run.start(SELECTED)
    run.finish()
    (job,) = run.jobs().values()
    assert (job["partition"], job["reqmem"], job["timelimitraw"]) == ("cpu", "700M", "60")


def test_job_arrays_are_refused(started):
    assert "remove --slurm-array-jobs" in refusal(
        started(LONG, ON_CPU), "--slurm-array-jobs", "search"
    )


def test_a_granted_gpu_that_cannot_be_used_is_a_failure(started):
    """Unless a setting allows the CPU, as in the other tests."""
    run = started(LONG, {})
    done = run.snakemake(SELECTED, "--retries", "0")
    assert done.returncode != 0
    assert "snap: error: the granted GPU is not used: torch" in run.log()
    assert "`unusable_gpu: cpu` in cluster.yaml" in run.log()
    assert "the granted GPU is not used" in done.stderr, "and so does the run"
    assert run.stored() == {}
    assert PRETENDED == {"unusable_gpu": "cpu"}
