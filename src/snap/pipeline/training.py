"""Train the trials of a job, except those that are already in the store."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snap.data.datasets import checksum
from snap.errors import SnapError
from snap.files import write_atomically
from snap.pipeline import resources
from snap.pipeline.rows import Row
from snap.pipeline.trial_store import UNFINISHED, TrialStore
from snap.trial import Trial

if TYPE_CHECKING:  # these import numpy
    from snap.experiments import Watch
    from snap.result import Result


Trained = tuple[int, float]  # a number of trials, and the seconds of their training


@dataclass(frozen=True)
class Workplace:
    """Where a job reads its data, stores its trials, and reports its progress."""

    store: Path
    data: Path | None = None
    threads: int = 1
    heartbeats: Path | None = None  # the folder of heartbeats
    ledger: Path | None = None  # the file with counts and times of training
    in_advance: Trained = (0, 0.0)  # trained for this job before it, in the same SLURM job
    without_gpu: bool = True  # whether to train on the CPU if a granted GPU cannot be used
    label: str = ""  # the name of the job in its heartbeat


def log(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


class _Kept:
    """What the store has of a job's trials for an engine, and what is missing."""

    def __init__(
        self, place: Workplace, engine: str, trials: Sequence[Trial], needs: Sequence[str]
    ) -> None:
        self.known: dict[Trial, Row] = {}
        self.partial: dict[Trial, Row] = {}  # kept, but without a field that is needed
        if trials:
            self.store = TrialStore(place.store, checksum(trials[0].dataset), engine, say=log)
        for trial in set(trials):
            result = self.store.get(trial)
            if result is not None:
                complete = all(field in result for field in needs)
                (self.known if complete else self.partial)[trial] = result
        self.missing = list(dict.fromkeys(t for t in trials if t not in self.known))

    def add(self, result: Result) -> None:
        """Store a result. Kept numbers stay, even if this processor rounds differently."""
        values = result.to_dict()
        kept = self.partial.get(result.trial, values)
        if kept["diverged"] == values["diverged"]:
            values |= kept | {"seconds": values["seconds"]}
        self.store.keep(result.trial, values)
        self.known[result.trial] = values


def train(
    trials: Sequence[Trial],
    engine: str,
    place: Workplace,
    needs: Sequence[str] = ("history",),
) -> list[Row]:
    """Return the results of the trials as dictionaries; train those that are not in the store.

    A kept result counts only if it has the fields in `needs`. One that was restored from a search
    table has no history.
    """
    rows, trained = train_missing(trials, engine, place, needs)
    if place.ledger is not None:
        new = [row for trial, row in zip(trials, rows, strict=True) if trial in trained]
        write_ledger(place.ledger, rows, new, place.in_advance)
    return rows


def train_missing(
    trials: Sequence[Trial], engine: str, place: Workplace, needs: Sequence[str]
) -> tuple[list[Row], set[Trial]]:
    """The results of the trials, and which of them were not in the store and were trained."""
    from snap.engines import resolve, settle

    engine, device = resolve(engine)
    kept = _Kept(place, engine, trials, needs)
    if kept.missing:
        settled, device = settle(engine, device, kept.missing, say=log)
        if settled != engine:  # the results of another engine have other names in the store
            engine, kept = settled, _Kept(place, settled, trials, needs)
    missing = kept.missing
    log(
        f"{len(trials)} trials: {len(trials) - len(missing)} kept, {len(missing)} to train"
        f" with engine {engine} on {device}"
    )
    if missing:
        run_trials(missing, len(trials), engine, device, place, kept.add)
    return [kept.known[trial] for trial in trials], set(missing)


def run_trials(
    trials: Sequence[Trial],
    of: int,
    engine: str,
    device: str,
    place: Workplace,
    finished: Any = lambda result: None,
    record: bool = False,
    watch: Watch | None = None,
) -> list[Result]:
    """Train the trials that are left of a job's `of`, with a heartbeat and a log line for each."""
    from snap.data.store import load
    from snap.experiments import run
    from snap.pipeline.status import Heartbeat  # which jobs that train nothing do not need

    if device == "cpu" and resources.gpus() and not all(map(only_on_cpu, trials)):
        why = f"the granted GPU is not used: {_why_on_cpu(engine)}"
        if not place.without_gpu:
            raise SnapError(
                f"{why}; `unusable_gpu: cpu` in cluster.yaml trains on the CPU of such a node, and"
                " `train_on: cpu` asks for no GPU"
            )
        log(why)
    done = of - len(trials)
    with Heartbeat(place.heartbeats, place.label, of, done, place.threads) as heartbeat:

        def one_done(result: Result) -> None:
            finished(result)
            ended = (
                f"diverged at sample {result.diverged}"
                if result.diverged is not None
                else f"accuracy {result.accuracy:.4f}"
            )
            log(f"{result.trial.text}: {ended}, {result.seconds:.1f} s")
            heartbeat.trial_done()

        return run(
            trials,
            load(trials[0].dataset, place.data),
            engine,
            device,
            place.threads,
            record=record,
            watch=watch,
            progress=heartbeat.progress,
            finished=one_done,
            checkpoints=place.store / UNFINISHED,
            say=log,
        )


def only_on_cpu(trial: Trial) -> bool:
    """Whether no engine for a GPU has the trial's control."""
    return trial.control is not None and trial.control.kind.engines is not None


def _why_on_cpu(engine: str) -> str:
    """Why an engine that is about to train does not use a GPU."""
    import torch

    if not torch.cuda.is_available():
        return f"torch {torch.__version__} finds no CUDA device"
    return f"the engine {engine} is configured, which runs on the CPU"


def write_ledger(
    ledger: Path,
    results: Iterable[Mapping[str, Any]],
    trained: Iterable[Mapping[str, Any]],
    in_advance: Trained = (0, 0.0),
) -> None:
    """Write the number of a job's trials, how many were trained now, and the training time.

    Those that were trained `in_advance` for the job count too.
    """
    results, trained = list(results), list(trained)
    seconds = in_advance[1] + sum(result["seconds"] for result in trained)
    account = {
        "trials": len(results),
        "trained": in_advance[0] + len(trained),
        "diverged": sum(result["diverged"] is not None for result in results),
        "training_seconds": seconds,
        "ever_trained_seconds": seconds + _earlier(ledger),
    }
    write_atomically(ledger, json.dumps(account).encode())


def _earlier(ledger: Path) -> float:
    """The training time of earlier runs of the job."""
    try:
        return float(json.loads(ledger.read_bytes())["ever_trained_seconds"])
    except (OSError, ValueError, KeyError):
        return 0.0
