"""Folders in which the workflow runs on the test cluster, and a long search to interrupt."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import yaml
from cluster import UID, USER, Cluster

from snap.engines import compiling
from snap.pipeline.config import merge
from workspace import ROOT, SMOKE, Workspace

PROFILE = ROOT / "workflow/profiles/slurm"
HURRY = "--slurm-init-seconds-before-status-checks 2".split()  # to save time
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
SELECTED = f"results/{LONG_SELECTED}.csv"
LONG_TABLES = [f"results/long/tables/{name}.csv" for name in ("search", "selected")]
POINTS = 10
ON_CPU = {"train_on": "cpu"}
PRETENDED = {"unusable_gpu": "cpu"}  # the GPUs of the cluster are

DEADLINE = 240  # seconds that a run on the cluster may take; a run that hangs takes longer


class Run(Workspace):
    """The workflow on the cluster, with the shipped profile and the user's settings."""

    def __init__(
        self, cluster: Cluster, name: str, config: dict, settings: dict, slow: bool = False
    ) -> None:
        # The nodes see the folder `disk` as `slow`, with a delay.
        self.cluster, self.login = cluster, "login1"
        self.seen = cluster.folder / ("slow" if slow else "shared") / USER / name
        super().__init__(cluster.folder / ("disk" if slow else "shared") / USER / name)
        self.folder.mkdir()
        self.configure(config)
        (self.folder / "cluster.yaml").write_text(yaml.safe_dump(settings))
        own(self.folder)
        self.options = ["--workflow-profile", str(PROFILE), *HURRY]
        self.environment = {"NUMBA_CACHE_DIR": str(compiled_loops(cluster))}

    def on_login(self, command: list[str]) -> list[str]:
        node = self.cluster.nodes[self.login]
        return node.command(command, USER, self.environment, self.seen)

    def command(self, *arguments: str) -> list[str]:
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(self.snakefile)]
        return [*command, *self.options, *arguments]

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run_on_login(self.command(*arguments))

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the workflow as make does."""
        return self.run_on_login(self.make_command(*arguments))

    def make_command(self, target: str, *options: str) -> list[str]:
        python, script, *rest = self.run_command()
        return [python, script, target, *rest, *options]

    def run_on_login(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.on_login(command), capture_output=True, text=True, timeout=DEADLINE
        )

    def start(self, *targets: str, make: bool = False) -> None:
        """Start the workflow, or the command that make runs."""
        command = self.make_command(*targets) if make else self.command(*targets)
        with self.log_file.open("ab") as out:
            self.process = subprocess.Popen(
                self.on_login(command), stdout=out, stderr=out, start_new_session=True
            )

    @property
    def log_file(self) -> Path:
        return self.cluster.folder / f"log/{self.folder.name}.run"

    def output(self) -> str:
        return self.log_file.read_text() if self.log_file.exists() else ""

    def finish(self, seconds: float = DEADLINE) -> None:
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            state = self.cluster.slurm("squeue", "--states=all", check=False)
            raise AssertionError(f"the run hangs\n{self.output()[-5000:]}\n{state}") from None
        assert code == 0, self.output()[-5000:]

    def freeze(self) -> None:
        """Stop the processes of the running jobs; SLURM still sees the jobs as running."""
        trainers = [p for p in psutil.process_iter(["cmdline"]) if self._trains(p)]
        assert trainers
        for process in trainers:
            process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)

    def _trains(self, process: psutil.Process) -> bool:
        command = process.info["cmdline"] or []
        try:
            return command[1:4] == ["-m", "snap", "job"] and process.cwd() == str(self.seen)
        except psutil.Error:
            return False

    def kill(self) -> None:
        """Kill the submitting Snakemake with everything that it started on the login node."""
        parent = psutil.Process(self.process.pid)
        for process in (*parent.children(recursive=True), parent):
            process.kill()
        self.process.wait()

    def interrupt(self) -> None:
        """Ctrl-C."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            if process.cmdline()[1:3] == ["-m", "snakemake"]:
                process.send_signal(signal.SIGINT)
                return

    def snap(self, *arguments: str) -> str:
        done = self.run_on_login([sys.executable, "-m", "snap", *arguments])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def log(self) -> str:
        """The log of the long search."""
        return (self.folder / f"logs/{LONG_SEARCH}.log").read_text()

    def stored(self) -> dict[str, tuple[int, int]]:
        """Every finished point, with the inode and time that change if it is stored again."""
        files = (self.folder / "results/trials").rglob("[0-9a-f]*.json")
        return {path.name: ((s := path.stat()).st_ino, s.st_mtime_ns) for path in files}

    def until_points(self, count: int) -> None:
        self.until(lambda: len(self.stored()) >= count, f"{count} points")

    def until_said(self, words: str, seconds: float = DEADLINE) -> None:
        self.until(lambda: re.search(words, self.output()) is not None, words, seconds)

    def until(self, condition: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"no {what}\n{self.output()[-5000:]}"
            assert self.process.poll() is None, f"ended without {what}\n{self.output()[-5000:]}"
            time.sleep(0.2)

    def jobs(self) -> dict[str, dict[str, str]]:
        """What accounting says about the jobs of this run's latest submission."""
        plan_file = next(self.folder.glob("results/*/plan.json"))
        return jobs_named(self.cluster, json.loads(plan_file.read_text())["slurm"])

    def states(self) -> Counter[str]:
        """The number of jobs in each state, after waiting for those that are completing."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            counts = Counter(row["state"] for row in self.jobs().values())
            if not counts["COMPLETING"] and not counts["RUNNING"]:
                break
            time.sleep(0.2)
        return counts

    def running(self) -> str:
        """Wait for a running SLURM job; return its id."""

        def ids() -> list[str]:
            name = json.loads(next(self.folder.glob("results/*/plan.json")).read_text())["slurm"]
            return self.cluster.slurm(
                "squeue", "--noheader", f"--name={name}", "--states=RUNNING", "-o%i"
            ).split()

        self.until(lambda: bool(ids()), "running job")
        return ids()[0]


def jobs_named(cluster: Cluster, name: str) -> dict[str, dict[str, str]]:
    columns = "state partition reqmem timelimitraw elapsedraw ncpus nodelist".split()
    form = ",".join(["jobidraw", *columns])
    query = f"-X -n -P --name={name} --starttime=2020-01-01 --format={form}".split()
    rows = [line.split("|") for line in cluster.slurm("sacct", *query).splitlines()]
    jobs = {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows}
    for row in jobs.values():
        row["state"] = row["state"].split()[0]
    return jobs


def compiled_loops(cluster: Cluster) -> Path:
    """The compiled loops, where the user can write them, so that nothing is compiled again."""
    place = cluster.folder / "shared" / USER / "loops"
    if not place.exists():
        loops = compiling.cache_folder()
        shutil.copytree(loops, place / loops.name)
        own(place)
    return place


def compile_modules() -> None:
    """Compile the package. The user cannot write here, and every process would do it again."""
    assert compileall.compile_dir(ROOT / "src", quiet=1)


def own(folder: Path) -> None:
    """Give a folder to the user."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, UID, UID, follow_symlinks=False)


def results(workspace: Workspace, pattern: str = "**/*.csv") -> dict[str, bytes]:
    """The result files of a workspace."""
    paths = (workspace.folder / "results").glob(pattern)
    return {str(path.relative_to(workspace.folder)): path.read_bytes() for path in paths}


def tables(workspace: Workspace) -> dict[str, bytes]:
    return results(workspace, "*/tables/*.csv")
