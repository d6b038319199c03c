"""Folders in which the workflow runs on the test cluster, and a long search to interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from snap.pipeline.config import merge
from workspace import ROOT, SMOKE, Workspace

SHIPPED = ROOT / "workflow/profiles/slurm/config.yaml"
# The test cluster has no accounting. Check the status early, to save time.
HURRY = "--slurm-status-command squeue --slurm-init-seconds-before-status-checks 2".split()
# A search whose points take a second each, so that it can be interrupted half-way.
LONG = merge(
    SMOKE,
    {
        "run": "long",
        "datasets": [{"name": "Synthetic", "hidden": 64}],
        "configurations": ["sigmoid-sigmoid-neuron"],
        "lambdas": [4],
        "grids": {"text": {"eta": [0.3, 0.1, 0.03, 0.01, 0.003], "alpha": [0.1, 0.01]}},
        "search": {"epochs": 60},
        "sgd": {"configurations": ["linear-linear"], "alpha": [0.1]},
        "limits": {"train": 2000, "test": 300},
    },
)
LONG_SEARCH = "long/search/hebbian/Synthetic/sigmoid-neuron/lambda=4/seed=0"
LONG_SELECTED = "long/select/hebbian/Synthetic/sigmoid-sigmoid-neuron/lambda=4"
LONG_TABLES = [f"results/long/tables/{name}.csv" for name in ("search", "selected")]
POINTS = 10


STARTED: list[subprocess.Popen[bytes]] = []


class Run(Workspace):
    """The workflow on the cluster, with the shipped profile or a changed copy of it."""

    def __init__(self, folder: Path, config: dict, changes: dict[str, str] | None = None) -> None:
        super().__init__(folder)
        self.configure(config)
        text = SHIPPED.read_text()
        for old, new in (changes or {}).items():
            assert old in text, f"the shipped profile has no line {old!r}"
            text = text.replace(old, new)
        profile = folder / "profile/config.yaml"
        profile.parent.mkdir()
        profile.write_text(text)
        self.options = ["--workflow-profile", str(profile.parent), *HURRY]

    def start(self, *targets: str) -> None:
        with (self.folder / "snakemake.out").open("ab") as out:
            self.process = subprocess.Popen(
                self.command(*targets),
                cwd=self.folder,
                env=self.environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        STARTED.append(self.process)

    def output(self) -> str:
        return (self.folder / "snakemake.out").read_text()

    def finish(self) -> None:
        assert self.process.wait(timeout=400) == 0, self.output()[-5000:]

    def freeze(self) -> None:
        """Stop the processes of the running jobs; SLURM still sees the jobs as running."""
        beats = (self.folder / "results/long/heartbeats").glob("*.json")
        pids = [json.loads(beat.read_text())["pid"] for beat in beats]
        # A killed job has left its heartbeat behind.
        alive = [pid for pid in pids if psutil.pid_exists(pid)]
        assert alive
        for pid in alive:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.5)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def snap(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "snap", *arguments]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=True
        ).stdout

    def log(self) -> str:
        """The log of the long search."""
        return (self.folder / f"logs/{LONG_SEARCH}.log").read_text()

    def stored(self) -> dict[str, tuple[int, int]]:
        """Every finished point, with the inode and time that change if it is stored again."""
        files = (self.folder / "results/trials").rglob("[0-9a-f]*.json")
        return {path.name: ((s := path.stat()).st_ino, s.st_mtime_ns) for path in files}

    def until_points(self, count: int) -> None:
        self.until(lambda: len(self.stored()) >= count, f"{count} points")

    def until(self, condition: Callable[[], bool], what: str, patience: float = 200) -> None:
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, f"no {what}\n{self.output()[-5000:]}"
            assert self.process.poll() is None, f"ended without {what}\n{self.output()[-5000:]}"
            time.sleep(0.2)

    def jobs(self) -> dict[str, dict[str, str]]:
        """The rows of squeue for the jobs of this run's latest submission."""
        plan_file = next(self.folder.glob("results/*/plan.json"))
        return jobs_named(json.loads(plan_file.read_text())["slurm"])

    def states(self) -> Counter[str]:
        """The number of jobs in each state, after waiting for those that are completing."""
        deadline = time.monotonic() + 20
        while (counts := self._states())["COMPLETING"] and time.monotonic() < deadline:
            time.sleep(0.2)
        return counts

    def _states(self) -> Counter[str]:
        return Counter(row["state"] for row in self.jobs().values())

    def running(self) -> str:
        """Wait for a running SLURM job; return its id."""

        def ids() -> list[str]:
            return [job for job, row in self.jobs().items() if row["state"] == "RUNNING"]

        self.until(lambda: bool(ids()), "running job")
        return ids()[0]


def jobs_named(name: str) -> dict[str, dict[str, str]]:
    columns = {"state": "%T", "partition": "%P", "rule": "%k", "cores": "%C", "used": "%M"}
    form = "|".join(["%i", *columns.values()])
    done = slurm("squeue", "--noheader", "--array", "--states=all", f"--name={name}", f"-o{form}")
    rows = [line.split("|") for line in done.splitlines()]
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows}


def slurm(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def results(workspace: Workspace, pattern: str = "**/*.csv") -> dict[str, bytes]:
    """The result files of a workspace."""
    paths = (workspace.folder / "results").glob(pattern)
    return {str(path.relative_to(workspace.folder)): path.read_bytes() for path in paths}
