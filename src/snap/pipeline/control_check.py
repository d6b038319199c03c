"""What the tables of the controls must contain, for the check at the end of a run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping

from snap.numbers import number_text
from snap.pipeline import methods, specs
from snap.pipeline.controls import final_trials, searched_trials
from snap.pipeline.methods import CLASS_MEANS, Method
from snap.pipeline.plan import Cell, Plan
from snap.pipeline.row_trials import fingerprints, key
from snap.pipeline.rows import Row
from snap.trial import Iid, Trial

Entry = tuple[str, ...]  # control, dataset, what was trained, and how it was chosen
Entries = tuple[set[Entry], set[Entry]]  # found and expected


def entries(
    plan: Plan, tables: Mapping[str, list[Row]], pair_of: Callable[[Cell], Row]
) -> dict[str, Entries]:
    """The entries of each table of the controls, and those that the plan expects."""
    expected: dict[str, set[Entry]] = {"controls": set(), "controls_search": set()}
    names: dict[str, Trial] = {}

    def name(method: Method, way: str, trial: Trial) -> Entry:
        names.update((fingerprint, trial) for fingerprint, _ in fingerprints(trial))
        return method.section, method.dataset, trial.text, way

    for method in methods.methods(plan):
        if not method.learner:
            for nearest in methods.nearest(plan):
                expected["controls"].add((method.section, method.dataset, nearest, ""))
            continue
        spec = json.loads(specs.control(plan, method))
        points = searched_trials(spec)
        expected["controls_search"] |= {name(method, way, trial) for way, trial in points}
        pairs = [pair_of(cell) for cell in methods.cells(plan, method)]
        chosen = final_trials(spec, pairs, _of(method, tables["controls_search"]))
        for way, trial in chosen:
            if spec["joint"] is not None:
                trial = dataclasses.replace(trial, experiment=Iid(spec["joint"]))
            expected["controls"].add(name(method, way, trial))
    found = {
        table: {_entry(row, names) for row in tables[table]}
        for table in ("controls", "controls_search")
    }
    sequences = {
        key(row)
        for row in tables["controls"]
        if row["control"] != methods.JOINT and row["accuracy"] != ""
    }
    with_curve = {name for name in sequences if name[0] != CLASS_MEANS}
    return {
        **{table: (found[table], expected[table]) for table in expected},
        "controls_matrix": ({key(row) for row in tables["controls_matrix"]}, sequences),
        "controls_curve": ({key(row) for row in tables["controls_curve"]}, with_curve),
    }


def _of(method: Method, rows: Iterable[Row]) -> list[Row]:
    who = (method.section, method.dataset, method.learner, method.configuration)
    columns = ("control", "dataset", "learner", "configuration")
    amounts = {"" if amount is None else number_text(amount) for amount in method.amounts}
    return [
        row
        for row in rows
        if tuple(row[name] for name in columns) == who and row["amount"] in amounts
    ]


def _entry(row: Row, names: Mapping[str, Trial]) -> Entry:
    """A row by the text of its trial; by its fingerprint if that is not expected."""
    trained = names.get(row["trial"])
    what = trained.text if trained else row["trial"] or row["configuration"]
    return row["control"], row["dataset"], what, row["chosen"]
