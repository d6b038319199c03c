"""Kill the workflow at random moments and check that it recovers.

Run by `make test-kill KILLS=200`. It starts a small run as make does, waits for a step of a certain
kind and then for a random time, and sends a signal: to all processes of the run, or to one of them,
which is run.py, Snakemake, a job, or the shell of a job. A run that this ends is started again, and
after up to five kills it is left to finish. Then the configuration is changed, and the run that
follows is killed in the same way. Each pair of every target and signal is tried before one is tried
again. Python ignores PIPE, and bash ignores QUIT: there the run must go on.

When a run has finished, every result is compared byte for byte with those of an undisturbed run of
the same configuration. They are compared as well whenever a run ends with exit code 0.

The output ends with the number of kills by target and signal, those that the run survived of those
that were sent, and the sums: how many points were trained more than once (those under way when
killed, and finished ones, which should be 0), how many processes outlived a run or their shell, how
many bytes differ, and how many runs ended with exit code 0 though a result was missing, stale or
damaged.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from killed_run import EXPERIMENTS, PATIENCE, SIGNALS, TARGETS, Run, differing

MOST = 5  # kills before a run is left to finish
# Steps to wait for, and the longest delay in seconds until the kill.
MOMENTS = (
    ("start", 3.0),
    ("search", 2.0),
    ("search", 2.0),
    ("select", 1.0),
    ("iid", 2.0),
    ("sequential", 2.0),
    ("control", 2.0),
    ("table", 1.0),
    ("figure", 2.0),
    ("figure", 4.0),
    ("page", 0.5),
)
Pair = tuple[str, str]  # a target and a signal


@dataclass
class Tally:
    kills: Counter[Pair] = field(default_factory=Counter)
    survived: Counter[Pair] = field(default_factory=Counter)
    finished_again: int = 0
    under_way: int = 0
    left: int = 0
    bytes_off: int = 0
    false_successes: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)  # what else went wrong

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def good(self) -> bool:
        return not (
            self.wrong or self.finished_again or self.left or self.bytes_off or self.false_successes
        )

    def __str__(self) -> str:
        rows = [["survived/kills", *SIGNALS]]
        for target in TARGETS:
            pairs = [(target, number) for number in SIGNALS]
            rows.append([target, *(f"{self.survived[p]}/{self.kills[p]}" for p in pairs)])
        lines = ["".join(f"{cell:<16}" for cell in row).rstrip() for row in rows]
        steps = ", ".join(f"{step} {count}" for step, count in self.steps.most_common())
        sums = (
            f"{self.kills.total()} kills, {self.survived.total()} survived,"
            f" {self.under_way + self.finished_again} points repeated"
            f" ({self.under_way} under way when killed, {self.finished_again} finished),"
            f" {self.left} processes left, {self.bytes_off} bytes different,"
            f" {self.false_successes} false successes"
        )
        return "\n".join([*lines, f"killed during: {steps}", *self.wrong, sums])


class Sequence:
    """Several kills of a run, which is then left to finish."""

    def __init__(self, run: Run, expected: dict[str, bytes], rng: random.Random) -> None:
        self.run, self.expected, self.rng = run, expected, rng
        self.tally = Tally()
        self.process: subprocess.Popen[bytes] | None = None
        self.disturbed = False  # whether a signal was sent since the run was started

    def go(self, pairs: list[Pair]) -> Tally:
        """Send the signals, let the run finish, and compare its results."""
        self.run.trained_again()
        try:
            moments = sorted(self.rng.sample(MOMENTS, len(pairs)), key=MOMENTS.index)
            for (step, most), pair in zip(moments, pairs, strict=True):
                if not self.kill(step, self.rng.uniform(0, most), pair):
                    break
            self.finish()
        except subprocess.TimeoutExpired:
            self.tally.wrong.append("a run does not end")
        finally:
            if self.process is not None and self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        if self.tally.good:
            self.tally.survived = self.tally.kills.copy()
        else:
            print(self.tally, self.run.said(), sep="\n", flush=True)
        return self.tally

    def start(self, **variables: str) -> None:
        self.process, self.disturbed = self.run.start(**variables), False

    def kill(self, step: str, seconds: float, pair: Pair) -> bool:
        """Kill once; False if the run has ended with success before."""
        target, name = pair
        number = signal.Signals[f"SIG{name}"]
        if self.process is None:
            self.start(SNAP_CHECKPOINT_SECONDS="0")
        assert self.process is not None
        process, victim = self.process, None
        if self.run.reach(process, step, seconds):
            victim = self.run.victim(process, target, self.rng)
        if victim is None:
            return self.ended() != 0
        running = {step for _, step in self.run.jobs(process)}
        try:
            below = victim.children() if target == "shell" else []
            os.killpg(process.pid, number) if target == "group" else victim.send_signal(number)
        except (psutil.NoSuchProcess, ProcessLookupError):  # it has just ended
            return True
        self.disturbed = True
        self.tally.kills[pair] += 1
        self.tally.steps.update(running or {"start-up or between steps"})
        if target == "shell":
            if not psutil.wait_procs([victim], timeout=2)[1]:  # bash ignores QUIT
                self.tally.left += still_running(below)
        elif target != "job" and name != "PIPE" and pair != ("snakemake", "TERM"):
            process.wait(60)
        return process.poll() is None or self.ended() != 0

    def ended(self) -> int:
        """The exit code of a run that has ended, or is about to."""
        assert self.process is not None
        code = self.process.wait(PATIENCE)
        self.process = None
        self.tally.left += self.run.left()
        self.tally.under_way += self.run.under_way()
        self.tally.finished_again += self.run.trained_again()
        if code == 0 and differing(self.run.outcome(), self.expected):
            self.tally.false_successes += 1
        if code != 0 and not self.disturbed:
            self.tally.wrong.append(f"an undisturbed run has failed with exit code {code}")
        return code

    def finish(self) -> None:
        """Let the run finish. Only one that was disturbed may fail."""
        code = self.ended() if self.process is not None else None
        if code != 0:
            self.start()
            self.ended()
        off = differing(self.run.outcome(), self.expected)
        self.tally.bytes_off += sum(off.values())
        self.tally.wrong += [f"{name}: {count} bytes differ" for name, count in off.items()]
        self.tally.wrong += self.run.faults()


def still_running(processes: list[psutil.Process]) -> int:
    """How many processes do not end within some seconds. A zombie has ended."""
    count = 0
    for process in psutil.wait_procs(processes, timeout=10)[1]:
        with contextlib.suppress(psutil.NoSuchProcess):
            count += process.status() != psutil.STATUS_ZOMBIE
    return count


def deck(rng: random.Random) -> Iterator[Pair]:
    """Each pair of a target and a signal in random order, again and again."""
    while True:
        pairs = [(target, name) for target in TARGETS for name in SIGNALS]
        rng.shuffle(pairs)
        yield from pairs


def undisturbed(place: Path) -> list[dict[str, bytes]]:
    """The results of an undisturbed run of each experiment."""
    runs = []
    for number, experiment in enumerate(EXPERIMENTS):
        run = Run(place / f"undisturbed{number}")
        run.workspace.configure(experiment)
        runs.append((run, run.start()))
    for run, process in runs:
        if process.wait(PATIENCE):
            sys.exit(run.said())
    return [run.outcome() for run, _ in runs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    pairs = deck(rng)
    total = Tally()
    place = Path(tempfile.mkdtemp(prefix="snap-kill-")).resolve()
    begun = time.monotonic()
    expected = undisturbed(place)
    files = len(expected[0])
    print(f"undisturbed: {time.monotonic() - begun:.0f} s, {files} files", flush=True)
    order, idle = [0, 1], 0
    with contextlib.suppress(KeyboardInterrupt):
        while total.good and total.kills.total() < options.kills and idle < 3:
            run = Run(place / "killed")
            for experiment in order:
                count = min(rng.randint(3, MOST), options.kills - total.kills.total())
                if count == 0 or not total.good:
                    break
                run.workspace.configure(EXPERIMENTS[experiment])
                sequence = Sequence(run, expected[experiment], rng)
                tally = sequence.go([next(pairs) for _ in range(count)])
                idle = 0 if tally.kills else idle + 1
                total.add(tally)
                took = time.monotonic() - begun
                print(f"{took:.0f} s: {total.kills.total()} kills", flush=True)
            order.reverse()
    print(total)
    if total.good and total.kills.total() >= options.kills:
        shutil.rmtree(place)
        return 0
    print(f"seed {options.seed}; the folder is kept: {place}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
