"""Folders in which the workflow runs on the test cluster, and a search to disturb there."""

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
# The test cluster has no accounting, and the tests no patience.
HURRY = "--slurm-status-command squeue --slurm-init-seconds-before-status-checks 2".split()
# One search of points that take a second each, so that there is a middle in which to disturb it.
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
    """The workflow on the cluster, through the shipped profile or one that differs from it."""

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
        """Halt the jobs that are at work; SLURM takes them for running."""
        beats = (self.folder / "results/long/heartbeats").glob("*.json")
        pids = [json.loads(beat.read_text())["pid"] for beat in beats]
        alive = [
            pid for pid in pids if psutil.pid_exists(pid)
        ]  # a job that was killed left its beat
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
        """What the long search has logged."""
        return (self.folder / f"logs/{LONG_SEARCH}.log").read_text()

    def stored(self) -> dict[str, tuple[int, int]]:
        """Every finished point, with what would change if it were trained and stored anew."""
        files = (self.folder / "results/trials").rglob("[0-9a-f]*.json")
        return {path.name: ((s := path.stat()).st_ino, s.st_mtime_ns) for path in files}

    def until_points(self, count: int) -> None:
        self.until(lambda: len(self.stored()) >= count, f"{count} points")

    def until(self, there: Callable[[], bool], what: str, patience: float = 200) -> None:
        deadline = time.monotonic() + patience
        while not there():
            assert time.monotonic() < deadline, f"no {what}\n{self.output()[-5000:]}"
            assert self.process.poll() is None, f"ended without {what}\n{self.output()[-5000:]}"
            time.sleep(0.2)

    def jobs(self) -> dict[str, dict[str, str]]:
        """What SLURM knows of this run's jobs, or of those of its latest submission."""
        plan = next(self.folder.glob("results/*/plan.json"))
        return jobs_named(json.loads(plan.read_text())["slurm"])

    def states(self) -> Counter[str]:
        """How many of them are in which state; one that is about to end has until then."""
        deadline = time.monotonic() + 20
        while (found := self._states())["COMPLETING"] and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    def _states(self) -> Counter[str]:
        return Counter(row["state"] for row in self.jobs().values())

    def running(self) -> str:
        """The SLURM job that is running, when there is one."""

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
    found = (workspace.folder / "results").glob(pattern)
    return {str(path.relative_to(workspace.folder)): path.read_bytes() for path in found}
