"""The progress of a run: what is done, what is running, and how long it may still take.

`plan.json` lists every job of the run with the number of its trials and a rough cost. A training
job writes a heartbeat, a small file that says what it is doing, and removes it when it ends. From
these files and the store of trials, the state of a run can be read in any terminal, also after the
run was stopped or killed.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from snap.errors import SnapError
from snap.files import read_result, write_atomically, write_result
from snap.numbers import parse_number
from snap.pipeline.alive import STALE, goes_on, is_alive
from snap.pipeline.cluster import queue
from snap.pipeline.resources import slurm_job
from snap.pipeline.shapes import BEAT, PLAN, PLAN_MORE, check
from snap.reading import parse_json, read_text
from snap.trial import Trial

if TYPE_CHECKING:
    from snap.pipeline.plan import Plan

LEDGER = ("trials", "trained", "diverged", "training_seconds", "ever_trained_seconds")
RUNNER = "SNAP_RUNNER"  # names the process that runs Snakemake several times, if there is one


class Heartbeat:
    """A file that says what a job is doing.

    It is updated at most once a second by progress, and as often by trials that are done.
    """

    def __init__(
        self, folder: Path | None, label: str, total: int, done: int, threads: int = 1
    ) -> None:
        self.path = folder / f"{socket.gethostname()}-{os.getpid()}.json" if folder else None
        self.state: dict[str, Any] = {"job": label, "trials": total, "done": done, "share": 0.0}
        self.state |= {"pid": os.getpid(), "host": socket.gethostname(), "threads": threads}
        self.learned: dict[Trial, int] = {}
        self.written = self.counted = 0.0
        self.lock = threading.Lock()

    def __enter__(self) -> Self:
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def progress(self, trial: Trial, learned: int, rest: int) -> None:
        with self.lock:
            self.learned[trial] = self.learned.get(trial, 0) + learned
            share = self.learned[trial] / (self.learned[trial] + rest)
            self.state |= {"trial": trial.text, "share": share}
            if time.time() - self.written >= 1:
                self._write()

    def trial_done(self) -> None:
        with self.lock:
            self.state["done"] += 1
            self.state["share"] = 0.0
            if time.time() - self.counted >= 1:  # those of a population are done at the same time
                self.counted = time.time()
                self._write()

    def _write(self) -> None:
        self.written = time.time()
        if self.path is not None:
            content = json.dumps(self.state | {"at": self.written}).encode()
            write_atomically(self.path, content, durable=False)


def write_plan(
    path: Path,
    run: str,
    cores: int | None,
    jobs: Sequence[Mapping[str, Any]],
    slurm: str | None = None,
    plans: Mapping[str, Plan] | None = None,
) -> None:
    """Write plan.json. Each job has stage, output, ledger, benchmark, trials, cost and wildcards.

    On a cluster, the number of cores is unknown: `cores` is None, and `slurm` is the name of the
    SLURM jobs. From `plans`, the plan of the run and those of its other readings by their folders,
    the trials of a job that has not finished are known.
    """
    content: dict[str, Any] = {
        "run": run,
        "cores": cores,
        "slurm": slurm,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "runner": int(os.environ[RUNNER]) if RUNNER in os.environ else None,
        "allocation": slurm_job(),  # the SLURM job that the run itself is in
        "jobs": list(jobs),
        "started": time.time(),
    }
    if plans is not None:
        content["plans"] = {name: plan.config for name, plan in plans.items()}
        content["paper"] = plans[run].paper
    write_result(path, json.dumps(content).encode())


def read_plan(path: Path) -> dict[str, Any]:
    """The content of a plan.json, which must be as a run has written it."""
    text = read_result(path)
    try:
        content: dict[str, Any] = json.loads(text)
        check(content, PLAN, "it")
        check(content, {key: PLAN_MORE[key] for key in PLAN_MORE if key in content}, "it")
    except (ValueError, RecursionError):
        raise SnapError(f"{path} is not the plan of a run: remove it, then run again") from None
    return content


def end_plan(path: Path) -> None:
    """Record that Snakemake has ended, whether or not it succeeded."""
    content = read_plan(path) | {"ended": time.time()}
    write_result(path, json.dumps(content).encode())


def plan_file_of(results: Path, run: str | None) -> Path:
    """The plan.json of a run, or of the run that was started last."""
    if run is not None:
        plan_file = results / run / "plan.json"
        if not plan_file.is_file():
            raise SnapError(f"no run {run!r} has been started in {results}")
        return plan_file
    plan_files = sorted(results.glob("*/plan.json"), key=lambda path: path.stat().st_mtime)
    if not plan_files:
        raise SnapError(f"no run has been started in {results}: try make reproduce")
    return plan_files[-1]


def count_kept(plan_file: Path) -> dict[str, int]:
    """The trials in the store of every job that has not finished, by the output of the job."""
    from snap.pipeline.kept import kept

    content = read_plan(plan_file)
    open_jobs = [job for job in content["jobs"] if not _done(job, content)]
    return kept(content, plan_file.parents[1], open_jobs)


def state(plan_file: Path, in_store: Mapping[str, int] | None = None) -> dict[str, Any]:
    """The state of a run: jobs and trials by stage, what is running, seconds left.

    `in_store` is an earlier result of `count_kept`, for those who ask often. The heartbeats say
    what has been trained since.
    """
    if in_store is None:
        in_store = count_kept(plan_file)
    content = read_plan(plan_file)
    open_jobs = {job["output"] for job in content["jobs"] if not _done(job, content)}
    running = _heartbeats(plan_file.parent / "heartbeats")
    beats = {beat["job"]: beat for beat in running}
    stages: dict[str, dict[str, float]] = {}
    for job in content["jobs"]:
        stage = stages.setdefault(
            job["stage"],
            {"jobs": 0, "jobs_done": 0, "trials": 0, "trials_done": 0}
            | {"guess": 0.0, "spent": 0.0, "cost_left": 0.0},
        )
        stage["jobs"] += 1
        stage["trials"] += job["trials"]
        ledger = ledger_of(job)
        stage["guess"] += job["cost"] * ledger["trained"] / max(job["trials"], 1)
        stage["spent"] += ledger["training_seconds"]
        if job["output"] not in open_jobs:
            stage["jobs_done"] += 1
            stage["trials_done"] += job["trials"]
            continue
        beat = beats.get(job["output"], {"done": 0, "share": 0.0})
        done = max(in_store.get(job["output"], 0), beat["done"])
        stage["trials_done"] += done
        share = min((done + beat["share"]) / max(job["trials"], 1), 1)
        stage["cost_left"] += job["cost"] * (1 - share)
    # Scale the guess for the rest of a stage by the ratio of measured to guessed time so far.
    left = sum(
        stage["cost_left"] * (stage["spent"] / stage["guess"] if stage["guess"] else 1.0)
        for stage in stages.values()
    )
    left /= content["cores"] or max(1, sum(beat["threads"] for beat in running))
    return {
        "run": content["run"],
        "stages": stages,
        "running": running,
        "stopped": bool(open_jobs) and not running and not goes_on(content, plan_file.parent),
        "seconds_left": left,
        "queue": queue.read_state(plan_file.parent) if _on_slurm(content) else {},
    }


def _on_slurm(content: Mapping[str, Any]) -> bool:
    """Whether the run of a plan has jobs on SLURM. A killed run leaves its queue.json behind."""
    return content.get("slurm") is not None and "ended" not in content


def _done(job: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Whether a job's output exists and is not an old one that is due to be made again."""
    try:
        made = Path(job["output"]).stat().st_mtime
    except OSError:
        return False
    return not job.get("due", False) or made >= float(content["started"])


def ledger_of(job: Mapping[str, Any]) -> dict[str, float]:
    """The ledger of a job; all zeros if there is none."""
    try:
        ledger = parse_json(read_text(Path(job["ledger"])), "the ledger")
        check(ledger, {}, "it")
        # Older ledgers have fewer keys.
        return {key: parse_number(ledger.get(key, 0), key) for key in LEDGER}
    except (OSError, SnapError):
        return dict.fromkeys(LEDGER, 0.0)


def _heartbeats(folder: Path) -> list[dict[str, Any]]:
    """The heartbeats of the jobs that are alive."""
    beats = []
    for path in sorted(folder.glob("*.json")):
        try:
            beat = parse_json(read_text(path), "the heartbeat")
            check(beat, BEAT, "it")
        except (OSError, SnapError):  # the job has just ended
            continue
        gone = beat["host"] == socket.gethostname() and not is_alive(beat["pid"])
        if not gone and time.time() - beat["at"] < STALE:
            beats.append(beat)
    return beats


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes < 60:
        return f"about {minutes} min"
    hours = minutes // 60
    if hours < 48:
        return f"about {hours} h {minutes % 60:02d} min"
    return f"about {round(hours / 24):,} days"


def announcement(core_hours: float, memory: float, cores: int | None) -> str:
    """A rough duration of a whole run, printed before it starts, with a warning if it is days.

    `memory` is what a job needs at least, in bytes.
    """
    text = f"Training from scratch takes about {core_hours:,.1f} core hours"
    if cores:
        text += f": {duration(3600 * core_hours / cores)} on {cores} cores"
    text += f", with at least {memory / 1e9:,.1f} GB of memory in each job"
    if core_hours > 24 * (cores or 100):
        text += ". This takes days: press Ctrl-C to stop, or choose a smaller grid"
    return text + "."


def line(now: Mapping[str, Any]) -> str:
    """The state of a run in one line."""
    parts = [
        f"{name} {stage['trials_done']:.0f}/{stage['trials']:.0f}"
        for name, stage in now["stages"].items()
        if stage["trials"]
    ]
    jobs = sum(stage["jobs"] for stage in now["stages"].values())
    done = sum(stage["jobs_done"] for stage in now["stages"].values())
    left = "all trained" if done == jobs else f"{duration(now['seconds_left'])} left"
    if now["stopped"]:
        left = f"stopped; {kept_words(now)}"
    text = f"{now['run']}: trials {', '.join(parts)}; jobs {done:.0f}/{jobs:.0f}; {left}"
    waits = queue.words(now["queue"])
    more = f" (and {len(waits) - 2} more: snap status)" if len(waits) > 2 else ""
    return "; ".join([text, *waits[:2]]) + more


def kept_words(now: Mapping[str, Any]) -> str:
    """How much of a run would not be lost if it stopped now."""
    stages = now["stages"].values()
    kept, total = (sum(stage[key] for stage in stages) for key in ("trials_done", "trials"))
    return f"{kept:.0f} of {total:.0f} trained and kept"


def report(now: Mapping[str, Any]) -> str:
    """The state of a run as text: a progress bar for each stage, and what is running."""
    lines = [line({**now, "queue": {}})]
    for name, stage in now["stages"].items():
        total, done = stage["trials"], stage["trials_done"]
        bar = "█" * round(30 * done / max(total, 1))
        lines.append(f"  {name:11} {bar:·<30} {done:.0f} of {total:.0f} trials")
    for beat in now["running"]:
        host = "" if beat["host"] == socket.gethostname() else f" on {beat['host']}"
        lines.append(
            f"  running{host}: {beat['job']}: trial {min(beat['done'] + 1, beat['trials'])}"
            f" of {beat['trials']}, {beat['share']:.0%} done"
        )
    counts = now["queue"].get("counts", {})
    if counts:
        words = (f"{count} {kind}" for kind, count in sorted(counts.items()))
        lines.append(f"  SLURM jobs at {queue.clock(now['queue']['at'])}: {', '.join(words)}")
    lines += [f"  {words}" for words in queue.words(now["queue"])]
    if now["stopped"]:
        lines.append("  start it again with the same command to train the rest")
    elif not now["running"]:
        lines.append("  nothing is training right now")
    return "\n".join(lines)
