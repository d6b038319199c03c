"""What the workflow's jobs do: plain functions from a specification and files to files."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snap import granted
from snap.data.checksums import checksum
from snap.errors import SnapError
from snap.files import write_atomically
from snap.rows import CURVE, IID, MATRIX, SEARCH, SELECTED, SEQUENTIAL, Row, read_rows, write_rows
from snap.trial import Sequential, Trial

# Training


def train(
    trials: Sequence[Trial],
    engine: str,
    threads: int,
    store: Path,
    data: Path | None = None,
    heartbeat: Path | None = None,
    ledger: Path | None = None,
    label: str = "",
    history: bool = True,
) -> list[Row]:
    """Results of the trials as dictionaries: from the store where they are, else trained.

    Without a need for the `history`, a result that was restored from a table will do. The ledger
    is told how many were trained and kept, and how long training took.
    """
    from snap.engines import resolve
    from snap.status import Heartbeat
    from snap.trials import Trials

    name, device = resolve(engine)
    known: dict[Trial, Row] = {}
    missing: list[Trial] = []
    if trials:
        kept = Trials(store, checksum(trials[0].dataset), name, say=log)
        known = {trial: found for trial in set(trials) if (found := kept.get(trial)) is not None}
        if history:
            known = {trial: found for trial, found in known.items() if "history" in found}
        missing = list(dict.fromkeys(trial for trial in trials if trial not in known))
    log(
        f"{len(trials)} trials: {len(trials) - len(missing)} kept, {len(missing)} to train"
        f" with engine {name} on {device}"
    )
    if missing and device == "cpu" and granted.gpus():
        log("the GPU that was granted is not used: torch finds no CUDA, or another engine is set")
    if missing:
        from snap.data.store import load
        from snap.experiments import Result, run

        with Heartbeat(heartbeat, label, len(trials), len(trials) - len(missing), threads) as beat:

            def finished(result: Result) -> None:
                kept.put(result)
                known[result.trial] = result.to_dict()
                ended = (
                    f"diverged at sample {result.diverged}"
                    if result.diverged is not None
                    else f"accuracy {result.accuracy:.4f}"
                )
                log(f"{result.trial.text}: {ended}, {result.seconds:.1f} s")
                beat.trial_done()

            run(
                missing,
                load(trials[0].dataset, data),
                name,
                device,
                threads,
                progress=beat.progress,
                finished=finished,
            )
    if ledger is not None:
        seconds = sum(known[trial]["seconds"] for trial in missing)
        account = {
            "trials": len(trials),
            "trained": len(missing),
            "diverged": sum(known[trial]["diverged"] is not None for trial in trials),
            "training_seconds": seconds,
            "ever_trained_seconds": seconds + _earlier(ledger),
        }
        write_atomically(ledger, json.dumps(account).encode())
    return [known[trial] for trial in trials]


def _earlier(ledger: Path) -> float:
    """Training that a job's ledger has from times before."""
    try:
        return float(json.loads(ledger.read_text())["ever_trained_seconds"])
    except (OSError, ValueError, KeyError):
        return 0.0


def log(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def with_pair(text: str, eta: float | None, alpha: float) -> Trial:
    return dataclasses.replace(Trial.parse(text), eta=eta, alpha=alpha)


def identity(trial: Trial, result: Row) -> Row:
    """Who a row is about; `trial` is the name of its file in the store."""
    return {
        "trial": trial.fingerprint(checksum(trial.dataset), result["engine"]),
        "learner": trial.learner,
        "dataset": trial.dataset,
        "configuration": trial.configuration.name,
        "protocol": trial.protocol.text,
        "lambda": trial.lateral_inhibition,
        "eta": trial.eta,
        "alpha": trial.alpha,
        "seed": trial.seed,
    }


# The stages


def search(spec: Row, output: Path, **running: Any) -> None:
    """Accuracy of every pair after the last epoch."""
    trials = [
        with_pair(text, eta, alpha)
        for cell in spec["cells"]
        for text in cell["trials"]
        for eta, alpha in cell["pairs"]
    ]
    rows = []
    results = train(trials, spec["engine"], history=False, **running)
    for trial, result in zip(trials, results, strict=True):
        row = identity(trial, result)
        row |= {"split": trial.split, "epochs": trial.experiment.items()["epochs"]}
        row |= {"accuracy": result["accuracy"], "diverged": result["diverged"]}
        rows.append(row)
    write_rows(output, SEARCH, rows)


def select(spec: Row, inputs: Sequence[Path], output: Path) -> None:
    """The optimal pair of a cell: the highest mean accuracy over the seeds of the search.

    Of equals, the smaller α wins, then the smaller η: of two that are as good, the gentler. A pair
    that diverged with any seed is never selected; if all did, the cell has no pair and says so.
    """
    row: Row = {key: spec[key] for key in ("learner", "dataset", "configuration")}
    row["lambda"] = None if spec["lambda"] == "none" else spec["lambda"]
    if spec["given"] is not None:
        row |= {"eta": spec["given"][0], "alpha": spec["given"][1], "status": "given"}
        write_rows(output, SELECTED, [row])
        return
    points: dict[tuple[str, str], list[Row]] = {}
    for path in inputs:
        for point in read_rows(path):
            who = point["configuration"], point["lambda"]
            if who == (row["configuration"], row["lambda"] or ""):
                points.setdefault((point["eta"], point["alpha"]), []).append(point)
    if not points:
        raise SnapError(f"no search result for {row} in {', '.join(map(str, inputs))}")
    means = {
        pair: sum(float(p["accuracy"]) for p in runs) / len(runs)
        for pair, runs in points.items()
        if not any(p["diverged"] for p in runs)
    }
    ranked = sorted(means, key=lambda pair: (-means[pair], float(pair[1]), float(pair[0] or 0)))
    row |= {"points": len(points), "diverged": len(points) - len(means)}
    row["status"] = "selected" if ranked else "all diverged"
    if ranked:
        row |= {"eta": ranked[0][0], "alpha": ranked[0][1], "accuracy": means[ranked[0]]}
    if len(ranked) > 1:
        second = ranked[1]
        row |= {"runner_up_eta": second[0], "runner_up_alpha": second[1]}
        row["runner_up_accuracy"] = means[second]
        row["margin"] = round(means[ranked[0]] - means[second], 9)
    write_rows(output, SELECTED, [row])


def _final_trials(spec: Row, selected: Sequence[Path]) -> list[Trial]:
    """The trials of a final job with the selected pairs; none for a cell that has no pair."""
    trials = []
    for cell, path in zip(spec["cells"], selected, strict=True):
        (row,) = read_rows(path)
        if row["alpha"]:
            eta = float(row["eta"]) if row["eta"] else None
            trials += [with_pair(text, eta, float(row["alpha"])) for text in cell["trials"]]
    return trials


def iid(spec: Row, selected: Sequence[Path], output: Path, **running: Any) -> None:
    """Accuracy after every epoch, with the selected pairs."""
    trials = _final_trials(spec, selected)
    rows = []
    for trial, result in zip(trials, train(trials, spec["engine"], **running), strict=True):
        if result["diverged"] is not None:
            rows.append(identity(trial, result) | {"diverged": result["diverged"]})
        for point in result["history"] if result["diverged"] is None else ():
            rows.append(identity(trial, result) | point)
    write_rows(output, IID, rows)


def sequential(
    spec: Row, selected: Sequence[Path], output: Path, matrix: Path, curve: Path, **running: Any
) -> None:
    """Tasks in sequence, with the selected pairs: the outcome, the matrix and the curves."""
    trials = _final_trials(spec, selected)
    outcomes, cells, points = [], [], []
    tasks = max((len(_tasks(Trial.parse(c["trials"][0]))) for c in spec["cells"]), default=0)
    for trial, result in zip(trials, train(trials, spec["engine"], **running), strict=True):
        who = identity(trial, result)
        outcome = who | {key: result[key] for key in ("accuracy", "samples", "diverged")}
        outcomes.append(outcome | (result.get("metrics") or {}))
        epochs, reached = result["epochs_per_task"], result["reached"]
        for after, row in enumerate(result.get("matrix") or ()):
            for task, (classes, value) in enumerate(zip(_tasks(trial), row, strict=True), start=1):
                cell = {"after": after, "task": task, "accuracy": value}
                cell["classes"] = "+".join(map(str, classes))
                if task == after:
                    cell |= {"epochs": epochs[after - 1], "reached": reached[after - 1]}
                cells.append(who | cell)
        for point in result["history"]:
            by_task = {f"task{n}": value for n, value in enumerate(point["tasks"], start=1)}
            points.append(who | point | {"training": point["task"]} | by_task)
    write_rows(output, SEQUENTIAL, outcomes)
    write_rows(matrix, MATRIX, cells)
    write_rows(curve, [*CURVE, *(f"task{n}" for n in range(1, tasks + 1))], points)


def _tasks(trial: Trial) -> tuple[tuple[int, ...], ...]:
    assert isinstance(trial.experiment, Sequential)
    return trial.experiment.tasks


def load_spec(text: str) -> Row:
    try:
        spec: Row = json.loads(text)
    except ValueError:
        raise SnapError(f"a job's specification must be JSON, got {text[:60]!r}") from None
    return spec
