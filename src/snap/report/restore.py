"""Go on from published results: their trials, back in the store of finished ones.

Published tables tell of a final run all that its trial's file did, and of a searched pair only its
accuracy after the last epoch. A trial restored from the latter serves a search, and is trained when
its history is asked for. The ladder and the portraits are trained anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from snap.data.checksums import checksum
from snap.engines import ENGINES
from snap.errors import SnapError
from snap.files import write_atomically
from snap.plan import Cell, Plan
from snap.report.provenance import RESTORED
from snap.report.publish import damaged
from snap.rows import Row, read_rows
from snap.trial import SEMANTICS, Trial
from snap.trials import Trials

METRICS = ("average_accuracy", "forgetting", "backward_transfer", "forward_transfer")


def restore(published: Path, results: Path) -> int:
    """Put the trials of a published run into the store; how many were not there before."""
    provenance = _provenance(published)
    plan = Plan(provenance["config"], {})
    missing: dict[Trial, tuple[Trials, Row]] = {}
    for trial, engine, values in _trials(plan, published / "tables"):
        store = Trials(results / "trials", checksum(trial.dataset), engine)
        if trial not in missing and store.get(trial) is None:
            missing[trial] = store, {"trial": trial.text, "engine": engine, **values}
    if missing:
        own = {key: value for key, value in provenance.items() if key not in ("config", "restored")}
        content = json.dumps([*provenance.get("restored", []), own], indent=1, ensure_ascii=False)
        write_atomically(results / plan.run / RESTORED, content.encode())
    for trial, (store, values) in missing.items():
        store.keep(trial, values)
    return len(missing)


def _provenance(published: Path) -> dict[str, Any]:
    try:
        wrong = damaged(published)
        provenance: dict[str, Any] = json.loads((published / "provenance.json").read_text())
    except FileNotFoundError as error:
        raise SnapError(
            f"{published} holds no published run: {error.filename} is missing"
        ) from None
    if wrong:
        raise SnapError(f"{published}: not what was published: {', '.join(wrong)}")
    if provenance["semantics"] != SEMANTICS:
        raise SnapError(
            f"{published} was trained by version {provenance['semantics']} of the training rules,"
            f" and this is version {SEMANTICS}: none of its trials can be used"
        )
    return provenance


def _trials(plan: Plan, tables: Path) -> Iterator[tuple[Trial, str, Row]]:
    """Every trial that the tables tell of, with its engine and its result: whole ones first."""
    sequences = _sequences(tables)
    for row in read_rows(tables / "sequential.csv"):
        yield *_who(plan, "sequential", row), _outcome(row) | sequences[_key(row)]
    histories: dict[str, list[Row]] = {}
    for row in read_rows(tables / "iid.csv"):
        histories.setdefault(row["trial"], []).append(row)
    for rows in histories.values():
        points = [
            {"epoch": int(row["epoch"]), "accuracy": _number(row["accuracy"])}
            | {"samples": int(row["samples"])}
            for row in rows
            if not row["diverged"]
        ]
        yield *_who(plan, "iid", rows[-1]), _outcome(rows[-1]) | {"history": points}
    for row in read_rows(tables / "search.csv"):
        yield *_who(plan, "search", row), _outcome(row)


def _who(plan: Plan, stage: str, row: Row) -> tuple[Trial, str]:
    """The trial that a row is about, and the engine that trained it: the row has their hash."""
    (hidden,) = (d["hidden"] for d in plan.config["datasets"] if d["name"] == row["dataset"])
    power, eta = _number(row["lambda"]), _number(row["eta"])
    cell = Cell(row["learner"], row["dataset"], hidden, row["configuration"], power)
    trial = plan.trial(stage, cell, eta, float(row["alpha"]), int(row["seed"]))
    for engine in ENGINES:
        if trial.fingerprint(checksum(trial.dataset), engine) == row["trial"]:
            return trial, engine
    raise SnapError(f"the {stage} table has a trial that its run cannot have: {trial.text}")


def _outcome(row: Row) -> Row:
    """How a trial ended."""
    found: Row = {"accuracy": _number(row["accuracy"])}
    found["diverged"] = int(row["diverged"]) if row["diverged"] else None
    if row.get("samples"):
        found["samples"] = int(row["samples"])
    if row.get("forgetting"):
        found["metrics"] = {name: _number(row[name]) for name in METRICS}
    return found


def _sequences(tables: Path) -> dict[tuple[str, ...], Row]:
    """The matrix and the history of every sequential trial."""
    found: dict[tuple[str, ...], Row] = {}

    def of(row: Row) -> Row:
        empty: Row = {"matrix": [], "epochs_per_task": [], "reached": [], "history": []}
        return found.setdefault(_key(row), empty)

    for row in read_rows(tables / "matrix.csv"):
        sequence = of(row)
        if row["task"] == "1":
            sequence["matrix"].append([])
        sequence["matrix"][-1].append(_number(row["accuracy"]))
        if row["epochs"]:
            sequence["epochs_per_task"].append(int(row["epochs"]))
            sequence["reached"].append(row["reached"] == "True")
    for row in read_rows(tables / "curve.csv"):
        tasks = [_number(value) for name, value in row.items() if name.startswith("task") and value]
        point = {"task": int(row["training"]), "epoch": int(row["epoch"]), "tasks": tasks}
        point |= {"accuracy": _number(row["accuracy"]), "samples": int(row["samples"])}
        of(row)["history"].append(point)
    return found


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    names = ("learner", "dataset", "configuration", "lambda", "eta", "alpha", "seed")
    return tuple(row[name] for name in names)


def _number(text: str) -> float | None:
    return float(text) if text else None
