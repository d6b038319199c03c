"""A folder in which the workflow runs, for the tests that run it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import yaml

from snap.pipeline.config import complete, merge, read

ROOT = Path(__file__).parents[1]
SCHEMA = read([ROOT / "workflow/schemas/config.schema.yaml"])
PAPER = complete(read([ROOT / "config.yaml"]), SCHEMA)
PRESET = read([ROOT / "config.yaml", ROOT / "workflow/presets/smoke.yaml"])
# Without other readings and SGD's ladder: tests/test_readings.py runs the preset as it is.
SMOKE = merge(PRESET, {"readings": None, "ladder": {"sgd_alpha": None}})
TARGETS = ("all", "pairs", "tables")


class Workspace:
    """A folder in which the workflow runs, with a configuration of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.snakefile = ROOT / "Snakefile"
        self.environment = dict(os.environ)
        self.options = ["--cores", "2"]

    def command(self, *arguments: str) -> list[str]:
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(self.snakefile)]
        return [*command, "--directory", str(self.folder), *self.options, *arguments]

    def run_command(self) -> list[str]:
        """The command that make runs."""
        command = [
            sys.executable,
            str(ROOT / "workflow/run.py"),
            "--snakefile",
            str(self.snakefile),
        ]
        return [*command, *self.options]

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def configure(self, config) -> None:
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    def would_run(self) -> Counter[str]:
        """The jobs of a dry run, by rule."""
        done = self.snakemake("-n")
        assert done.returncode == 0, done.stderr + done.stdout
        stats = re.search(r"Job stats:\n(.*?)\ntotal", done.stdout + done.stderr, re.DOTALL)
        if stats is None:
            assert "Nothing to be done" in done.stdout + done.stderr
            return Counter()
        rows = [row.split() for row in stats[1].splitlines()[2:]]
        return Counter({name: int(count) for name, count in rows if name not in TARGETS})

    def run(self, until: str = "tables") -> tuple[Counter[str], int]:
        """Run both passes, as make does; return the jobs by rule and the number of new points."""
        before, jobs = self.points(), Counter()
        for target in ("pairs", until):
            done = self.snakemake(target)
            assert done.returncode == 0, done.stderr + done.stdout
            logs = sorted(self.folder.glob(".snakemake/log/*.log"), key=lambda p: p.stat().st_mtime)
            jobs.update(re.findall(r"Finished jobid: \d+ \(Rule: (\w+)\)", logs[-1].read_text()))
        for name in TARGETS:
            jobs.pop(name, None)
        return jobs, self.points() - before

    def points(self) -> int:
        return len(list((self.folder / "results/trials").rglob("*.json")))

    def files(self, pattern: str) -> dict[str, bytes]:
        paths = sorted((self.folder / "results/smoke").glob(pattern))
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}

    def copy(self, folder: Path) -> Workspace:
        shutil.copytree(self.folder, folder, copy_function=shutil.copy2)
        return Workspace(folder)

    def stored(self) -> dict[str, int]:
        """The inode of every finished point; a point that is trained again has another inode."""
        paths = (self.folder / "results/trials").glob("*/*.json")
        return {path.name: path.stat().st_ino for path in paths}

    def locked(self) -> bool:
        return any((self.folder / ".snakemake/locks").glob("*"))

    def alive(self) -> int:
        """The number of processes in this folder."""
        count = 0
        for process in psutil.process_iter():
            try:
                count += process.cwd() == str(self.folder)
            except psutil.Error:  # the process has ended or belongs to another user
                continue
        return count


class Make(Workspace):
    """A folder in which `make paper` runs with its own configuration."""

    def __init__(self, folder: Path, config) -> None:
        super().__init__(folder)
        self.configure(config)
        self.output = folder / "output.txt"
        for name in ("Makefile", "Snakefile", "workflow", "profiles", "reports", "envs"):
            (folder / name).symlink_to(ROOT / name)

    def start(self, *targets: str) -> subprocess.Popen[bytes]:
        command = ["make", "--assume-old", f"{sys.prefix}/installed", f"VENV={sys.prefix}"]
        command += targets or ("paper",)
        with self.output.open("wb") as output:
            return subprocess.Popen(
                command, cwd=self.folder, stdout=output, stderr=output, start_new_session=True
            )

    def said(self) -> str:
        return self.output.read_bytes().decode()


def until(condition, process: subprocess.Popen, seconds: float = 200) -> None:
    """Wait for a condition while the process runs."""
    end = time.time() + seconds
    while not condition():
        assert process.poll() is None, "the process has ended too early"
        assert time.time() < end, "the condition takes too long"
        time.sleep(0.1)


def with_files(workspace: Workspace, name: str) -> Path:
    """Give a workspace its own copy of the workflow; return the path of one file in it."""
    copy = workspace.folder / "own"
    for part in ("Snakefile", "workflow", "reports/captions", "envs"):
        place = copy / part
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, place)
        else:
            shutil.copy2(ROOT / part, place)
    workspace.snakefile = copy / "Snakefile"
    return copy / name
