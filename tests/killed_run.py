"""A run in its own folder, whose processes can be killed one by one, and what is left of it."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from snap.pipeline.config import merge
from workspace import SMOKE, Workspace

TARGETS = ("group", "run.py", "snakemake", "shell", "job")
SIGNALS = ("KILL", "TERM", "HUP", "QUIT", "PIPE", "SEGV")
# The steps of a run in order. Some run at the same time.
STEPS = ("data", "search", "select", "iid", "sequential", "ladder", "portrait", "control", "table")
STEPS += ("check", "figure", "tables", "claims", "page")
PATIENCE = 900  # seconds within which an undisturbed run must finish
# What depends on the time, on the machine, or on how often a run was interrupted.
VOLATILE = re.compile(
    r"\.?(plan|provenance)\.json(\.sha256)?|\.report\.html\.sha256|(heartbeats|invocations)/.*"
    r"|(.*/)?\..*\.part"
)
VOLATILE_PARTS = re.compile(rb'<time.*?</time>|<section id="provenance".*?</section>', re.DOTALL)

SMALL: dict[str, Any] = merge(
    SMOKE,
    {
        "configurations": ["sigmoid-sigmoid-neuron"],
        "lambdas": [4],
        "search": {"epochs": 100},
        "iid": {"epochs": 50, "seeds": [0]},
        "sequential": {"max_epochs": 10},
        "sgd": {"configurations": ["linear-linear"]},
    },
)
# Two experiments with files of the same names. Half of the search is the same in both.
EXPERIMENTS = (SMALL, merge(SMALL, {"grids": {"text": {"alpha": [0.1, 0.03]}}}))


def reset_signals() -> None:
    """Undo what nohup or a background shell has set, and let no process leave a core file."""
    for name in ("INT", *SIGNALS):
        if name != "KILL":
            signal.signal(signal.Signals[f"SIG{name}"], signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Run:
    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.workspace = Workspace(folder)
        self.folder = folder
        self.output = folder / "output.txt"
        self.trained: dict[str, int] = {}  # the finished points, with their inodes

    def start(self, **variables: str) -> subprocess.Popen[bytes]:
        with self.output.open("ab") as output:
            return subprocess.Popen(
                self.workspace.run_command(),
                cwd=self.folder,
                env=os.environ | variables,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=reset_signals,
            )

    def said(self) -> str:
        return self.output.read_text(errors="replace")[-4000:]

    def jobs(self, process: subprocess.Popen[bytes]) -> list[tuple[psutil.Process, str]]:
        """The jobs that are running, each with the step that it belongs to."""
        found = []
        try:
            children = psutil.Process(process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        for child in children:
            try:
                command = child.cmdline()
            except psutil.Error:  # it has just ended
                continue
            if command[1:3] == ["-m", "snap"]:
                found.append((child, command[4] if command[3] in ("job", "report") else command[3]))
        return found

    def reach(self, process: subprocess.Popen[bytes], step: str, seconds: float) -> bool:
        """Wait for a step or a later one, then for some seconds; False if the run has ended."""
        if step != "start":
            due = STEPS[STEPS.index(step) :]
            wait_for(lambda: any(name in due for _, name in self.jobs(process)), process)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def victim(
        self, process: subprocess.Popen[bytes], target: str, rng: random.Random
    ) -> psutil.Process | None:
        """One process of a kind, as soon as there is one; None if the run ends before."""
        found: list[psutil.Process] = []

        def look() -> bool:
            try:
                if target == "snakemake":
                    children = psutil.Process(process.pid).children()
                    found.extend(child for child in children if "snakemake" in child.cmdline())
                elif target in ("shell", "job"):
                    jobs = [job for job, _ in self.jobs(process)]
                    found.extend(
                        jobs if target == "job" else filter(None, (j.parent() for j in jobs))
                    )
                else:
                    found.append(psutil.Process(process.pid))
            except psutil.Error:  # it has just ended
                found.clear()
            return bool(found)

        wait_for(look, process)
        return rng.choice(found) if found else None

    def left(self, seconds: float = 10) -> int:
        """The number of processes in this folder, if they do not end within some seconds."""
        end = time.monotonic() + seconds
        while (count := self.workspace.alive()) and time.monotonic() < end:
            time.sleep(0.05)
        return count

    def under_way(self) -> int:
        """The number of jobs that were killed in training since the last call."""
        beats = list(self.folder.glob("results/smoke/heartbeats/*.json"))
        for beat in beats:
            beat.unlink()
        return len(beats)

    def trained_again(self) -> int:
        """The number of finished points that were trained again since the last call."""
        now = self.workspace.stored()
        again = sum(now.get(name) != inode for name, inode in self.trained.items())
        self.trained = now
        return again

    def outcome(self) -> dict[str, bytes]:
        """The contents of all results."""
        results = self.folder / "results/smoke"
        return {
            name: VOLATILE_PARTS.sub(b"", path.read_bytes())
            for path in sorted(results.rglob("*"))
            if path.is_file() and not VOLATILE.fullmatch(name := str(path.relative_to(results)))
        }

    def faults(self) -> list[str]:
        """What `snap verify` finds."""
        command = [sys.executable, "-m", "snap", "verify"]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE
        )
        return [] if done.returncode == 0 else [done.stdout + done.stderr]


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for a condition, or for the end of a run."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and not condition():
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(process.args, PATIENCE)
        time.sleep(0.05)


def differing(actual: dict[str, bytes], expected: dict[str, bytes]) -> dict[str, int]:
    """The bytes that differ, by file; all bytes of a missing or extra file count, at least one."""
    counts = {}
    for name in actual.keys() | expected.keys():
        one, two = actual.get(name, b""), expected.get(name, b"")
        if one == two and name in actual and name in expected:
            continue
        count = sum(a != b for a, b in zip(one, two, strict=False)) + abs(len(one) - len(two))
        counts[name] = max(count, 1)
    return counts
