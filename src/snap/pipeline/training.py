"""Train the trials of a job, except for those that are in the store already."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snap.data.datasets import checksum
from snap.files import write_atomically
from snap.pipeline import resources
from snap.pipeline.rows import Row
from snap.pipeline.status import Heartbeat
from snap.pipeline.trial_store import TrialStore
from snap.trial import Trial

if TYPE_CHECKING:  # numpy comes with it
    from snap.experiments import Result


@dataclass(frozen=True)
class Workplace:
    """Where a job finds its data and keeps its trials, and where it says what it does."""

    store: Path
    data: Path | None = None
    threads: int = 1
    heartbeats: Path | None = None  # the folder of heartbeats
    ledger: Path | None = None  # the file that counts what was trained
    label: str = ""  # what the heartbeat calls the job


def log(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def train(
    trials: Sequence[Trial], engine: str, place: Workplace, history: bool = True
) -> list[Row]:
    """Results of the trials as dictionaries: from the store where they are, else trained.

    A result that was restored from a search table has no history. It counts only where no
    `history` is needed.
    """
    from snap.engines import resolve

    engine, device = resolve(engine)
    known: dict[Trial, Row] = {}
    if trials:
        store = TrialStore(place.store, checksum(trials[0].dataset), engine, say=log)
        for trial in set(trials):
            result = store.get(trial)
            if result is not None and (not history or "history" in result):
                known[trial] = result
    missing = list(dict.fromkeys(trial for trial in trials if trial not in known))
    log(
        f"{len(trials)} trials: {len(trials) - len(missing)} kept, {len(missing)} to train"
        f" with engine {engine} on {device}"
    )
    if missing and device == "cpu" and resources.gpus():
        log("the GPU that was granted is not used: torch finds no CUDA, or another engine is set")

    def finished(result: Result) -> None:
        store.put(result)
        known[result.trial] = result.to_dict()

    if missing:
        run_trials(missing, len(trials), engine, device, place, finished)
    if place.ledger is not None:
        write_ledger(place.ledger, [known[t] for t in trials], [known[t] for t in missing])
    return [known[trial] for trial in trials]


def run_trials(
    trials: Sequence[Trial],
    of: int,
    engine: str,
    device: str,
    place: Workplace,
    finished: Any = lambda result: None,
    record: bool = False,
) -> list[Result]:
    """Train trials, the last of `of`, with a heartbeat and a line in the log for each."""
    from snap.data.store import load
    from snap.experiments import run

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
            progress=heartbeat.progress,
            finished=one_done,
        )


def write_ledger(
    ledger: Path, results: Iterable[Mapping[str, Any]], trained: Iterable[Mapping[str, Any]]
) -> None:
    """Count the trials of a job, those it has trained now, and the time that training took."""
    results, trained = list(results), list(trained)
    seconds = sum(result["seconds"] for result in trained)
    account = {
        "trials": len(results),
        "trained": len(trained),
        "diverged": sum(result["diverged"] is not None for result in results),
        "training_seconds": seconds,
        "ever_trained_seconds": seconds + _earlier(ledger),
    }
    write_atomically(ledger, json.dumps(account).encode())


def _earlier(ledger: Path) -> float:
    """Training time from earlier runs of the job."""
    try:
        return float(json.loads(ledger.read_text())["ever_trained_seconds"])
    except (OSError, ValueError, KeyError):
        return 0.0
