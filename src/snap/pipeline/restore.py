"""Restore the trials of published results to the store of finished trials.

For a final run, the published tables contain everything that later steps need. For a search, they
contain only the accuracy of each pair after the last epoch. A search can use a trial restored from
them; a step that needs the trial's history trains it again. The ladder and the portraits are not
restored: they are trained again.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from snap.controls import KINDS
from snap.data.datasets import checksum
from snap.errors import SnapError
from snap.files import unpacked, write_atomically
from snap.pipeline import readings
from snap.pipeline.layout import READINGS
from snap.pipeline.plan import Plan
from snap.pipeline.provenance import RESTORED, read_restored
from snap.pipeline.published import damaged
from snap.pipeline.row_trials import key, number, trial_of, trial_of_control
from snap.pipeline.rows import Row
from snap.pipeline.trial_store import TrialStore
from snap.trial import SEMANTICS, Trial

# The columns of the matrix table, and the fields of a result that they restore.
MATRICES = {
    "accuracy": "matrix",
    "accuracy_known": "matrix_known",
    "accuracy_own": "matrix_own",
}


def restore(published: Path, results: Path) -> dict[str, int]:
    """Put the trials of a published run into the store; return how many were missing, by engine."""
    provenance = _provenance(published)
    plan = Plan(provenance["config"], {})
    tables = [(plan, published / "tables")]
    for name, config in readings.configurations(plan).items():
        tables.append((Plan(config, {}), published / READINGS / name / "tables"))
    missing: dict[Path, tuple[TrialStore, Trial, Row]] = {}
    for trial, engine, values in itertools.chain(*itertools.starmap(_trials, tables)):
        store = TrialStore(results / "trials", checksum(trial.dataset), engine)
        known = store.get(trial)
        fuller = known is None or not set(values) <= set(known)
        if fuller and store.path(trial) not in missing:
            result = {"trial": trial.text, "engine": engine, **values}
            missing[store.path(trial)] = store, trial, result
    if missing:
        _note(provenance, results / plan.run)
    for store, trial, values in missing.values():
        store.keep(trial, values)
    return dict(Counter(store.engine for store, _, _ in missing.values()))


def _note(provenance: Mapping[str, Any], folder: Path) -> None:
    """Record in a run's folder which published runs its trials come from, each run once."""
    own = {key: value for key, value in provenance.items() if key not in ("config", "restored")}
    earlier = [*read_restored(folder), *provenance.get("restored", []), own]
    content = list({part["date"]: part for part in earlier}.values())
    write_atomically(folder / RESTORED, json.dumps(content, indent=1, ensure_ascii=False).encode())


def _provenance(published: Path) -> dict[str, Any]:
    try:
        wrong = damaged(published)
        provenance: dict[str, Any] = json.loads((published / "provenance.json").read_text())
    except FileNotFoundError as error:
        raise SnapError(
            f"{published} is not a published run: {error.filename} is missing"
        ) from None
    if wrong:
        raise SnapError(f"{published}: files do not match the record: {', '.join(wrong)}")
    if provenance["semantics"] != SEMANTICS:
        raise SnapError(
            f"{published} was trained by version {provenance['semantics']} of the training rules,"
            f" but this is version {SEMANTICS}: its trials cannot be used"
        )
    return provenance


def _trials(plan: Plan, tables: Path) -> Iterator[tuple[Trial, str, Row]]:
    """Every trial in the tables, with its engine and its result; those with a history first."""
    sequences = _sequences(tables / "matrix.csv", tables / "curve.csv")
    for row in _rows(tables / "sequential.csv"):
        yield *trial_of(plan, "sequential", row), _outcome(row) | sequences[key(row)]
    histories: dict[str, list[Row]] = {}
    for row in _rows(tables / "iid.csv"):
        histories.setdefault(row["trial"], []).append(row)
    for rows in histories.values():
        points = [
            {"epoch": int(row["epoch"]), "accuracy": number(row["accuracy"])}
            | {"samples": int(row["samples"])}
            for row in rows
            if not row["diverged"]
        ]
        yield *trial_of(plan, "iid", rows[-1]), _outcome(rows[-1]) | {"history": points}
    for row in _rows(tables / "search.csv"):
        yield *trial_of(plan, "search", row), _outcome(row)
    if any(tables.glob("controls.csv*")):  # runs published before the controls have none
        yield from _of_controls(plan, tables)


def _of_controls(plan: Plan, tables: Path) -> Iterator[tuple[Trial, str, Row]]:
    """Every trial of the controls that is not one of the paper's methods."""
    sequences = _sequences(tables / "controls_matrix.csv", tables / "controls_curve.csv")
    for row in _rows(tables / "controls.csv"):
        if row["control"] in KINDS:
            yield *trial_of_control(plan, row), _outcome(row) | sequences[key(row)]
    for row in _rows(tables / "controls_search.csv"):
        yield *trial_of_control(plan, row), _outcome(row)


def _outcome(row: Row) -> Row:
    """The final accuracy of a trial, its divergence and its number of samples."""
    outcome: Row = {"accuracy": number(row["accuracy"])}
    outcome["diverged"] = int(row["diverged"]) if row["diverged"] else None
    if row.get("samples"):
        outcome["samples"] = int(row["samples"])
    return outcome


def _sequences(matrices: Path, curves: Path) -> dict[tuple[str, ...], Row]:
    """The matrix and the history of every sequential trial."""
    sequences: dict[tuple[str, ...], Row] = {}

    def of(row: Row) -> Row:
        empty: Row = {"matrix": [], "epochs_per_task": [], "reached": [], "history": []}
        return sequences.setdefault(key(row), empty)

    for row in _rows(matrices):
        sequence = of(row)
        for column, name in MATRICES.items():
            if row.get(column):
                matrix = sequence.setdefault(name, [])
                if row["task"] == "1":
                    matrix.append([])
                matrix[-1].append(number(row[column]))
        if row["epochs"]:
            sequence["epochs_per_task"].append(int(row["epochs"]))
            sequence["reached"].append(row["reached"] == "True")
    for row in _rows(curves):
        tasks = [number(value) for name, value in row.items() if name.startswith("task") and value]
        point = {"task": int(row["training"]), "epoch": int(row["epoch"]), "tasks": tasks}
        point |= {"accuracy": number(row["accuracy"]), "samples": int(row["samples"])}
        of(row)["history"].append(point)
    return sequences


def _rows(path: Path) -> list[Row]:
    return list(csv.DictReader(io.StringIO(unpacked(path).decode(), newline="")))
