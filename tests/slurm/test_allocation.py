"""The whole run in one allocation: workflow/profiles/slurm/one-node.sh."""

from __future__ import annotations

import re
import sys
import time

import pytest
from cluster import USER
from on_slurm import DEADLINE, LONG, Run, own, results

from workspace import ROOT

pytestmark = pytest.mark.slurm

SCRIPT = "workflow/profiles/slurm/one-node.sh"


class Allocation:
    """The script in the queue."""

    def __init__(self, run: Run, *options: str) -> None:
        for name in ("Snakefile", "workflow", "profiles", "reports", "envs"):
            (run.folder / name).symlink_to(ROOT / name)
        (run.folder / "cluster.yaml").unlink()
        own(run.folder)
        run.environment |= {"SNAP_PYTHON": sys.executable, "UNUSABLE_GPU": "cpu"}
        self.run, self.cluster = run, run.cluster
        done = run.run_on_login(["sbatch", "--parsable", *options, SCRIPT, "searches"])
        assert done.returncode == 0, done.stderr
        self.job = done.stdout.strip()

    def state(self) -> dict[str, str]:
        text = self.cluster.slurm("scontrol", "show", "job", self.job)
        return dict(re.findall(r"(\w+)=(\S*)", text))

    def until(self, condition, what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < deadline, f"no {what}\n{self.said()}\n{self.state()}"
            time.sleep(0.2)

    def said(self) -> str:
        path = self.run.folder / f"one-node-{self.job}.log"
        return path.read_text() if path.exists() else ""

    def finish(self) -> None:
        self.until(lambda: self.state()["JobState"] == "COMPLETED", "end")


SMALL = ["--partition=cpu", "--cpus-per-task=2", "--time=30"]


def test_it_is_warned_requeued_and_goes_on_on_another_node(started, cluster, undisturbed):
    """SLURM's warning is a SIGTERM to the script. The next node takes over without waiting."""
    allocation = Allocation(started(LONG, {}), *SMALL)
    run = allocation.run
    allocation.until(lambda: len(run.stored()) >= 2, "points")
    node = allocation.state()["NodeList"]
    cluster.slurm("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    cluster.slurm("scancel", "--batch", "--signal=TERM", allocation.job)
    allocation.until(lambda: allocation.state()["Restarts"] == "1", "requeue")
    kept = run.stored()
    allocation.finish()
    cluster.slurm("scontrol", "update", f"nodename={node}", "state=resume")
    assert allocation.state()["NodeList"] != node
    assert "one-node.sh: requeued; what is trained is kept" in allocation.said()
    assert "to see whether it still is" not in allocation.said(), "it does not wait"
    assert results(run).items() >= undisturbed.items()
    assert kept.items() <= run.stored().items(), "a finished point was trained again"


@pytest.mark.long
def test_its_node_loses_power(started, cluster, undisturbed):
    """The lock of the dead run is no obstacle on the other node. Two GPUs, each for one job."""
    allocation = Allocation(started(LONG, {}), "--partition=gpu", "--gpus=2", *SMALL[1:])
    run = allocation.run
    allocation.until(lambda: len(run.stored()) >= 2, "points")
    node = allocation.state()["NodeList"]
    cluster.power_cut(node)
    kept = run.stored()
    allocation.finish()
    assert allocation.state()["NodeList"] != node
    assert "the last run was killed; removing its lock and continuing" in allocation.said()
    assert "to see whether it still is" not in allocation.said(), "it does not wait"
    assert results(run).items() >= undisturbed.items()
    assert kept.items() <= run.stored().items(), "a finished point was trained again"
    logs = [path.read_text() for path in (run.folder / "logs/long/search").rglob("*.log")]
    assert all(re.search(r"GPU granted: [01]$", text, re.MULTILINE) for text in logs)


@pytest.mark.long
def test_it_is_not_requeued_after_scancel(started, cluster):
    allocation = Allocation(started(LONG, {}), *SMALL)
    allocation.until(lambda: len(allocation.run.stored()) >= 1, "points")
    cluster.nodes["login1"].run("scancel", allocation.job, user=USER)
    allocation.until(lambda: allocation.state()["JobState"] == "CANCELLED", "end")
    time.sleep(15)
    assert allocation.state()["JobState"] == "CANCELLED"
