"""Kill the workflow at random moments and check that it recovers.

Run by `make test-kill KILLS=200`. It starts the `smoke` preset as make does, kills the process
group with SIGKILL at a random moment, and starts the same command again. When a run has finished,
the next one begins in an empty folder. To spread the kills over the run, each one waits for a step
of a certain kind to start, and then for a random time. Every table, figure and verdict is compared
byte for byte with those of an undisturbed run.

The last line reports the number of kills, how many of them the run survived, how many points were
trained more than once (those under way when killed, and finished ones, which should be 0), how many
processes outlived a kill, and how many bytes differ.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from workspace import SMOKE, Workspace

COMPARED = ("tables/*.csv", "figures/*.csv", "figures/*.png", "paper/*", "claims.*")
PATIENCE = 900  # seconds within which an undisturbed run must finish

# Steps to wait for, in the order of a run, and the longest delay in seconds until the kill.
MOMENTS = (
    ("start", 3.0),
    ("search", 2.0),
    ("search", 2.0),
    ("select", 1.0),
    ("iid", 2.0),
    ("sequential", 2.0),
    ("table", 1.0),
    ("figure", 2.0),
    ("figure", 4.0),
    ("page", 0.5),
)


@dataclass
class Tally:
    kills: int = 0
    survived: int = 0
    finished_again: int = 0
    under_way: int = 0
    outlived: int = 0
    bytes_off: int = 0
    steps: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.survived} survived,"
            f" {self.under_way + self.finished_again} points repeated"
            f" ({self.under_way} under way when killed, {self.finished_again} finished),"
            f" {self.outlived} processes outlived a kill, {self.bytes_off} bytes differ"
        )

    @property
    def good(self) -> bool:
        wrong = self.finished_again or self.outlived or self.bytes_off
        return self.survived == self.kills and not wrong


class Run:
    """A run in its own folder, which can be started and killed many times."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.workspace = Workspace(folder)
        self.workspace.configure(SMOKE)
        self.output = folder / "output.txt"

    def start(self) -> subprocess.Popen[bytes]:
        with self.output.open("ab") as output:
            return subprocess.Popen(
                self.workspace.run_command(),
                cwd=self.workspace.folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def steps(self, process: subprocess.Popen[bytes]) -> set[str]:
        """The kinds of steps that are running."""
        kinds = set()
        for child in psutil.Process(process.pid).children(recursive=True):
            try:
                command = child.cmdline()
            except psutil.Error:  # the process has just ended
                continue
            if command[1:3] == ["-m", "snap"]:
                kinds.add(command[4] if command[3] in ("job", "report") else command[3])
        return kinds

    def kill(self, process: subprocess.Popen[bytes]) -> int:
        """Kill the whole process group; return how many processes are left in this folder."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        end = time.time() + 5
        while (left := self.workspace.alive()) and time.time() < end:
            time.sleep(0.05)
        return left

    def forget_heartbeats(self) -> int:
        beats = list(self.workspace.folder.glob("results/smoke/heartbeats/*.json"))
        for beat in beats:
            beat.unlink()
        return len(beats)

    def outcome(self) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for pattern in COMPARED:
            contents |= self.workspace.files(pattern)
        return contents


def differing(actual: dict[str, bytes], expected: dict[str, bytes]) -> int:
    """The number of bytes that differ; all bytes of a missing or extra file count."""
    count = 0
    for name in actual.keys() | expected.keys():
        one, two = actual.get(name, b""), expected.get(name, b"")
        count += sum(a != b for a, b in zip(one, two, strict=False)) + abs(len(one) - len(two))
    return count


def reach(run: Run, process: subprocess.Popen[bytes], step: str, within: float) -> bool:
    """Wait for a step of this kind, then for `within` seconds; False if the run has ended."""
    end = time.time() + PATIENCE
    while step != "start" and process.poll() is None and time.time() < end:
        if step in run.steps(process):
            break
        time.sleep(0.1)
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        return True
    return False


def disturb(run: Run, expected: dict[str, bytes], kills: int, rng: random.Random) -> Tally:
    """Kill a run up to `kills` times, let it finish, and compare its files."""
    tally, known, failed = Tally(), run.workspace.stored(), False
    for step, most in sorted(rng.sample(MOMENTS, min(kills, len(MOMENTS))), key=MOMENTS.index):
        process = run.start()
        if not reach(run, process, step, rng.uniform(0, most)):
            failed = process.returncode != 0
            break
        tally.steps.update(run.steps(process) or {"start-up or between steps"})
        tally.outlived += run.kill(process)
        tally.kills += 1
        tally.under_way += run.forget_heartbeats()
        now = run.workspace.stored()
        tally.finished_again += sum(now.get(name) != inode for name, inode in known.items())
        known = now
    code = run.start().wait(PATIENCE)
    now = run.workspace.stored()
    tally.finished_again += sum(now.get(name) != inode for name, inode in known.items())
    # A start that fails by itself, after a kill or at the end, counts as one kill not survived.
    tally.survived = tally.kills if code == 0 and not failed else max(tally.kills - 1, 0)
    tally.bytes_off = differing(run.outcome(), expected)
    if not tally.good:
        print(tally, run.output.read_text()[-3000:], sep="\n", flush=True)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    total = Tally()
    with tempfile.TemporaryDirectory() as place:
        begun = time.time()
        untouched = Run(Path(place).resolve() / "untouched")
        if untouched.start().wait(PATIENCE):
            print(untouched.output.read_text()[-3000:])
            return 1
        expected = untouched.outcome()
        print(f"untouched: {time.time() - begun:.0f} s, {len(expected)} files", flush=True)
        while total.kills < options.kills:
            run = Run(Path(place).resolve() / "killed")
            tally = disturb(run, expected, options.kills - total.kills, rng)
            for name, value in vars(tally).items():
                setattr(total, name, getattr(total, name) + value)
            print(f"{time.time() - begun:.0f} s: {total.kills} kills", flush=True)
            if not tally.good or not tally.kills:
                break
    for step, count in total.steps.most_common():
        print(f"killed during {step}: {count}")
    print(total)
    return 0 if total.good and total.kills >= options.kills else 1


if __name__ == "__main__":
    sys.exit(main())
