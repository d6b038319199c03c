"""A run on a cluster, without SLURM: what its answers mean, what is checked, and the settings."""

from __future__ import annotations

import math

import pytest

from snap.errors import SnapError
from snap.pipeline.cluster import limits, queue
from snap.pipeline.cluster.limits import Offer, Partition, Request
from snap.pipeline.cluster.queue import GRACE, LOST, Watch
from snap.pipeline.cluster.settings import settings
from snap.pipeline.cluster.slurm import seconds
from snap.pipeline.work import STAGES, batches, slurm_job_names
from workspace import ROOT


class Slurm:
    """Answers of squeue and sacct; None for no answer."""

    def __init__(self, monkeypatch) -> None:
        self.squeue: list[str] | None = []
        self.sacct: list[str] | None = []
        self.asked: list[str] = []
        monkeypatch.setattr(queue, "ask", self.ask)

    def ask(self, command, *_, **__):
        self.asked.append(command)
        return {"squeue": self.squeue, "sacct": self.sacct}[command]


@pytest.fixture
def slurm(monkeypatch) -> Slurm:
    return Slurm(monkeypatch)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def watch(accounting: bool = True) -> tuple[Watch, Clock]:
    clock = Clock()
    return Watch("name", accounting, clock=clock), clock


ACTIVE, ENDED = True, False


@pytest.mark.parametrize(
    ("squeue", "sacct", "expected"),
    [
        ("RUNNING|None", "RUNNING", ACTIVE),
        ("COMPLETED|None", "RUNNING", ENDED),  # accounting lags behind
        ("PENDING|Resources", "NODE_FAIL", ACTIVE),  # requeued
        ("PENDING|BeginTime", "PREEMPTED", ACTIVE),  # requeued
        ("PREEMPTED|None", "PREEMPTED", ENDED),  # for good
        ("COMPLETING|None", "CANCELLED by 5001", ACTIVE),
        ("DREAMING|None", "RUNNING", ACTIVE),  # a state of a later version
        ("", "COMPLETED", ENDED),  # squeue has forgotten it
        ("", "CANCELLED by 5001", ENDED),
        ("", "NODE_FAIL", ENDED),
        ("", "PREEMPTED", ENDED),
        ("", "RUNNING", ACTIVE),  # for a while
        (None, "RUNNING", ACTIVE),
        (None, "COMPLETED", ENDED),
        (None, "FAILED", ENDED),
        (None, "NODE_FAIL", ACTIVE),  # the controller may requeue it
        (None, "PREEMPTED", ACTIVE),
        (None, None, ACTIVE),
        ("", None, ACTIVE),
    ],
)
def test_the_fate_of_a_job(slurm, squeue, sacct, expected):
    slurm.squeue = None if squeue is None else [f"12|{squeue}"] if squeue else []
    slurm.sacct = None if sacct is None else [f"12|{sacct}"]
    fate = watch()[0].look(["12"])["12"]
    assert fate.active == expected
    if not expected:
        assert fate.succeeded == (fate.state == "COMPLETED")
        assert " " not in fate.state


def test_accounting_is_asked_only_if_the_controller_does_not_know(slurm):
    slurm.squeue = ["12|RUNNING|None"]
    looking, _ = watch()
    looking.look(["12"])
    assert slurm.asked == ["squeue"]
    looking.look(["12", "13"])
    assert slurm.asked == ["squeue", "squeue", "sacct"]
    watch(accounting=False)[0].look(["13"])
    assert slurm.asked[3:] == ["squeue"]


@pytest.mark.parametrize(
    ("accounting", "sacct"), [(True, ["12|RUNNING"]), (True, []), (False, None)]
)
def test_a_job_that_slurm_has_forgotten_is_lost_after_a_while(slurm, accounting, sacct):
    slurm.sacct = sacct
    looking, clock = watch(accounting)
    assert looking.look(["12"])["12"].active
    clock.now += GRACE - 1
    assert looking.look(["12"])["12"].active
    clock.now += 2
    fate = looking.look(["12"])["12"]
    assert (fate.active, fate.state, fate.succeeded) == (False, LOST, False)


def test_a_job_that_is_listed_again_is_not_lost(slurm):
    looking, clock = watch()
    looking.look(["12"])
    clock.now += GRACE / 2
    slurm.squeue = ["12|RUNNING|None"]
    looking.look(["12"])
    slurm.squeue = []
    clock.now += GRACE
    assert looking.look(["12"])["12"].active


def test_silence_of_accounting_is_told_if_a_job_depends_on_it(slurm):
    looking, _ = watch()
    slurm.squeue, slurm.sacct = ["12|RUNNING|None"], None
    looking.look(["12"])
    assert looking.accounting_silent_since is None
    looking.look(["12", "13"])
    (said,) = queue.words({"accounting_silent_since": looking.accounting_silent_since})
    assert said.startswith("SLURM's accounting (sacct) has not answered since ")
    slurm.sacct = ["13|COMPLETED"]
    assert looking.look(["13"])["13"].succeeded
    assert looking.accounting_silent_since is None


def test_silence_is_told_and_ends(slurm):
    looking, clock = watch()
    slurm.squeue = slurm.sacct = None
    looking.look(["12"])
    clock.now += 60
    looking.look(["12"])
    assert looking.silent_since == 1000
    (said,) = queue.words({"silent_since": looking.silent_since})
    assert said.startswith("SLURM has not answered since ")
    slurm.squeue = ["12|RUNNING|None"]
    looking.look(["12"])
    assert looking.silent_since is None


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("Priority", False),
        ("Resources", False),
        ("None", False),
        ("AssocGrpCpuLimit", False),
        ("AssocGrpCPURunMinutesLimit", False),
        ("AssocGrpCPUMinutesLimit", True),  # the budget is used up
        ("QOSGrpBillingMinutes", True),
        ("QOSMaxJobsPerUserLimit", False),
        ("PartitionTimeLimit", True),
        ("AssocMaxWallDurationPerJobLimit", True),
        ("JobHeldUser", True),
        ("BadConstraints", True),
        ("Nodes required for job are DOWN, DRAINED or reserved", True),
    ],
)
def test_reasons_that_do_not_end_by_themselves_are_told(slurm, reason, told):
    looking, clock = watch()
    slurm.squeue = [f"12|PENDING|{reason}"]
    looking.look(["12"])
    clock.now += 60
    looking.look(["12"])
    assert looking.waiting == ({"12": {"reason": reason, "since": 1000}} if told else {})
    assert bool(queue.words({"waiting": looking.waiting})) == told


def test_an_unknown_state_is_named(slurm):
    looking, _ = watch()
    slurm.squeue = ["12|DREAMING|None"]
    looking.look(["12"])
    assert looking.unknown == {"12": "DREAMING"}
    (said,) = queue.words({"unknown": looking.unknown})
    assert said == "SLURM job 12 is in the state DREAMING, which is unknown here"


# What a cluster allows

SCONTROL = {
    "partition": [
        "PartitionName=gpu AllowAccounts=physics,maths Default=NO MaxTime=1-00:00:00 State=UP"
        " MaxMemPerNode=UNLIMITED",
        "PartitionName=cpu AllowAccounts=ALL Default=YES MaxTime=UNLIMITED State=UP"
        " MaxMemPerNode=2000",
        "PartitionName=old AllowAccounts=ALL Default=NO MaxTime=UNLIMITED State=DOWN",
    ],
    "config": [
        "AccountingStorageEnforce = associations,limits",
        "AccountingStorageType   = accounting_storage/slurmdbd",
    ],
}
SINFO = [
    "gpu|9000|8|gpu:a100:2(S:0-1)|zen3,nvme",
    "gpu|18000+|16|gpu:a100:4,gpu:h100:1,shard:8|zen4",
    "cpu|4000|4|(null)|(null)",
    "other|1|1|gpu:2|x",
]
SACCTMGR = {"associations": ["physics|normal,long|", "maths|normal|50"], "qos": ["normal|10"]}


@pytest.fixture
def offered(monkeypatch) -> Offer:
    def ask(command, *arguments, **_):
        if command == "scontrol":
            return SCONTROL[arguments[1]]
        if command == "sinfo":
            return SINFO
        return SACCTMGR[arguments[3]]

    monkeypatch.setattr(limits, "ask", ask)
    return limits.offer()


def test_the_answers_are_understood(offered):
    gpu, cpu = offered.of("gpu"), offered.of("")
    assert (gpu.minutes, gpu.memory_mb, gpu.cores) == (1440, 18000, 16)
    assert gpu.gpus == {"": 5, "a100": 4, "h100": 1}
    assert gpu.features == {"zen3", "nvme", "zen4"}
    assert gpu.accounts == {"physics", "maths"}
    assert (cpu.minutes, cpu.memory_mb, cpu.gpus) == (math.inf, 2000, {"": 0})
    assert offered.accounts == {"physics", "maths"}
    assert offered.submit_limit == math.inf
    assert offered.accounting


GOOD = Request("search", "gpu", "physics", "normal", "zen4", 60, 4000, 1, 1, "H100")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"partition": "", "gpus": 0, "constraint": "", "memory_mb": 1}, None),
        ({"constraint": "zen4|zen5"}, None),  # an expression is SLURM's business
        ({"gpus": 4, "gpu_type": "a100"}, None),
        ({"partition": "old,gpu"}, None),  # SLURM takes the one that fits
        ({"partition": "gpu,fast"}, "partition fast: there are cpu, gpu, old (search)"),
        ({"account": "art"}, "account art: you have maths, physics (search)"),
        ({"qos": "express"}, "QOS express: you have long, normal (search)"),
        ({"partition": "fast"}, "partition fast: there are cpu, gpu, old (search)"),
        ({"minutes": 2000}, "partition gpu: a time limit of 2000 min exceeds its 1440 (search)"),
        ({"memory_mb": 20000}, "partition gpu: 20000 MB of memory exceed the 18000 of its largest"),
        ({"cores": 17}, "partition gpu: 17 cores exceed the 16 of its largest node"),
        (
            {"gpu_type": "v100"},
            "partition gpu: no node has 1 GPU of type v100; there is a100, h100",
        ),
        ({"gpus": 2}, "partition gpu: no node has 2 GPU of type H100"),
        ({"constraint": "zen9"}, "partition gpu: no node has the feature zen9"),
        ({"partition": "cpu", "memory_mb": 1, "constraint": ""}, "cpu: its nodes have no GPU"),
        ({"partition": "old"}, "partition old: it is not up"),
    ],
)
def test_a_request_that_does_not_fit_is_named(offered, changes, problem):
    found = limits.problems([Request(**{**vars(GOOD), **changes})], offered)
    assert len(found) == (problem is not None)
    if problem is not None:
        assert problem in found[0]


def test_a_user_without_an_account(monkeypatch, offered):
    monkeypatch.setitem(SACCTMGR, "associations", [])
    expected = ["you have no account on this cluster, and it requires one"]
    assert limits.problems([GOOD], limits.offer()) == expected
    monkeypatch.setitem(SCONTROL, "config", ["AccountingStorageType = accounting_storage/none"])
    assert limits.problems([GOOD], limits.offer()) == []
    assert not limits.offer().accounting


def test_equal_problems_of_several_rules_are_one(offered):
    requests = [Request(rule, "fast") for rule in ("search", "iid", "iid")]
    assert limits.problems(requests, offered) == [
        "partition fast: there are cpu, gpu, old (search, iid)"
    ]


def test_where_slurm_does_not_answer_nothing_is_checked(monkeypatch):
    monkeypatch.setattr(limits, "ask", lambda *_, **__: None)
    request = Request("search", "anything", "anybody", "any", "any", 10**6, 10**9, 999, 9, "any")
    assert limits.problems([request], limits.offer()) == []
    assert limits.offer().of("anything") == Partition()


def test_times_are_understood():
    times = {"59": 59, "10:00": 600, "2:00:00": 7200, "1-00:00:00": 86400, "7-12:00:00": 648000}
    assert {text: seconds(text) for text in times} == times
    assert seconds("UNLIMITED") is None
    assert seconds("INVALID") is None


# Settings

EXAMPLE = ROOT / "workflow/profiles/slurm/cluster.example.yaml"


def test_the_example_has_the_defaults(tmp_path):
    assert settings(EXAMPLE) == settings(tmp_path / "missing.yaml")


def test_the_commented_lines_of_the_example_are_valid(tmp_path):
    """Each commented setting, with its comment removed."""
    text = EXAMPLE.read_text()
    for line in text.splitlines():
        if line.startswith(("# resources:", "#   s", "# snakemake:", "#   a")) or (
            line.startswith("# ") and line[2:].split(":")[0].isidentifier() and ":" in line
        ):
            text = text.replace(f"\n{line}\n", f"\n{line.removeprefix('# ')}\n")
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    found = settings(file)
    assert found["qos"] == "normal"
    assert found["constraint"] == "zen4"
    assert found["mail"] == "you@example.org"
    assert found["container"].startswith("docker://")
    mail = "--mail-type=END,FAIL --mail-user=you@example.org"
    asked = {"constraint": "bigmem", "mem_mb": 8000, "slurm_extra": mail}
    assert found["resources"]["search"] == asked
    extra = found["resources"]["sequential"]["slurm_extra"]
    assert extra == f"{mail} --reservation=course", "added, not replaced"
    assert found["snakemake"]["apptainer-args"] == "--nv --bind /scratch"


def test_a_wrong_setting_is_one_sentence(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text("minutes: soon\n")
    with pytest.raises(SnapError, match=r"cluster.yaml: key minutes must be a whole number, got"):
        settings(file)
    file.write_text("resources: {serach: {mem_mb: 1}}\n")
    with pytest.raises(SnapError, match="serach"):
        settings(file)


def test_a_named_file_of_settings_must_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("SNAP_CLUSTER", str(tmp_path / "typo.yaml"))
    with pytest.raises(SnapError, match=r"SNAP_CLUSTER names .*typo.yaml, which does not exist"):
        settings()


# The size of SLURM jobs


def test_jobs_are_put_into_batches_in_order():
    costs = dict(zip("abcdefg", [6, 5, 4, 7, 20, 6, 1], strict=True))
    assert batches(costs, 10) == {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2, "f": 3, "g": 3}
    assert set(batches(costs, 1000).values()) == {0}
    assert batches({}, 10) == {}


def test_a_small_rest_joins_the_last_batch():
    assert batches({"a": 10, "b": 10, "c": 4}, 10) == {"a": 0, "b": 1, "c": 1}
    assert batches({"a": 10, "b": 10, "c": 6}, 10) == {"a": 0, "b": 1, "c": 2}
    assert batches({"a": 4}, 10) == {"a": 0}
    assert batches({"a": 10, "b": 0}, 10) == {"a": 0, "b": 0}


def names(costs: dict[str, float], seconds: float, **resources) -> dict[str, str]:
    """The SLURM job of the only training job of each stage."""
    jobs = {stage: {"job": cost} for stage, cost in costs.items()}
    site = {"train_on": "cpu", "resources": resources}
    found = slurm_job_names(jobs, seconds / 60, site)
    return {stage: jobs["job"] for stage, jobs in found.items()}


def test_final_runs_of_all_stages_share_slurm_jobs():
    costs = dict.fromkeys(STAGES, 10)
    shared = dict.fromkeys(STAGES, "final0") | {"search": "search0"}
    assert names(costs, 100) == shared
    # In this order, so that no SLURM job waits for a later one.
    split = {"iid": "final0", "sequential": "final1", "ladder": "final2", "portrait": "final3"}
    assert names(costs, 10) == split | {"control": "final4", "search": "search0"}
    # Snakemake has no group of jobs whose partitions or features differ.
    ladder = shared | {"ladder": "ladder0"}
    assert names(costs, 100, ladder={"constraint": "zen4"}) == ladder
    assert names(costs, 100, portrait={"mem_mb": 9}) == shared | {"portrait": "portrait0"}
    assert names(costs, 100, **{stage: {"mem_mb": 9} for stage in costs}) == shared
    assert names({"search": 1}, 100) == {"search": "search0"}


@pytest.mark.parametrize(
    ("text", "jobs", "of_controls"),
    [
        ("", 1, 2),
        ("core_minutes_per_job: 10", 4, 4),
        ("train_on: cpu", 4, 0),
        ("{train_on: cpu, core_minutes_per_job: 60}", 1, 0),
    ],
)
def test_controls_train_on_cpu_nodes(tmp_path, text, jobs, of_controls):
    """In SLURM jobs of their own, and small ones, if the other stages train on GPUs."""
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    costs = {stage: {str(n): 600.0 for n in range(4)} for stage in ("iid", "control")}
    site = settings(file)
    found = slurm_job_names(costs, site["core_minutes_per_job"], site)
    expected = {f"final{n}" for n in range(jobs)} | {f"control{n}" for n in range(of_controls)}
    assert {name for stage in found.values() for name in stage.values()} == expected
