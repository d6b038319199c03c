"""Check that the tables of a run contain exactly the trials of its plan.

Snakemake decides which jobs to run; this check confirms that it decided correctly. Every run that
exits with code 0 has passed it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path

from snap.errors import SnapError
from snap.metrics import best
from snap.numbers import number_text
from snap.pipeline import control_check
from snap.pipeline.jobs import best_eta, optimum
from snap.pipeline.plan import Cell, Pair, Plan
from snap.pipeline.row_trials import fingerprints, key, number
from snap.pipeline.rows import COLUMNS, Row, read_rows
from snap.trial import Trial

Rows = Mapping[str, list[Row]]
CellKey = tuple[str, ...]  # learner, dataset, configuration and λ
SelectedPair = tuple[float | None, float | None]  # both are None for a cell without a pair


def check(plan: Plan, folder: Path) -> dict[str, int]:
    """Return the number of rows of each table; the error names each table that differs."""
    tables = {name: read_rows(folder / f"{name}.csv", COLUMNS[name]) for name in COLUMNS}
    faults = [*_faults(plan, tables), *_repeated(tables)]
    if faults:
        raise SnapError(
            f"{folder}: the tables do not match the configuration: {'; '.join(faults)};"
            f" remove {folder.parent} and run again (finished trials are kept)"
        )
    return {name: len(rows) for name, rows in tables.items()}


def _faults(plan: Plan, tables: Rows) -> Iterable[str]:
    searched = [cell for cell in plan.all_cells if plan.given_pair(cell) is None]
    points = [
        plan.trial("search", cell, *pair, seed)
        for cell in searched
        for pair in _searched(plan, cell, tables["search"])
        for seed in plan.seeds("search")
    ]
    yield from _compare("search", _trained(tables["search"], points), _texts(points))
    pairs = _selected(plan, tables["search"])
    chosen = {
        _cell_key(row): (number(row["eta"]), number(row["alpha"])) for row in tables["selected"]
    }
    yield from _compare("selected", _items(chosen), _items(pairs))
    for stage in ("iid", "sequential"):
        trials = [
            plan.trial(stage, cell, eta, alpha, seed)
            for cell in plan.all_cells
            for eta, alpha in [pairs[_key_of(cell)]]
            if alpha is not None
            for seed in plan.seeds(stage)
        ]
        yield from _compare(stage, _trained(tables[stage], trials), _texts(trials))
    sequences = {"|".join(key(row)) for row in tables["sequential"]}
    for name in ("matrix", "curve"):
        yield from _compare(name, {"|".join(key(row)) for row in tables[name]}, sequences)
    rungs = {
        "|".join((*family, str(step), protocol.text_for(cell.learner), str(seed)))
        for cell in plan.ladder_cells
        if pairs[_key_of(cell)][1] is not None
        for family in [(cell.learner, cell.dataset, cell.configuration)]
        for step, (_, protocol, _) in enumerate(plan.rungs(cell))
        for seed in plan.seeds("ladder")
    }
    columns = ("learner", "dataset", "configuration", "step", "protocol", "seed")
    trained = {"|".join(row[c] for c in columns) for row in tables["ladder"]}
    yield from _compare("ladder", trained, rungs)
    portrayed = {"|".join(key(row)) for row in tables["consolidation"]}
    yield from _compare("consolidation", portrayed, set(_portraits(plan, tables["sequential"])))

    def pair_of(cell: Cell) -> Row:
        return dict(zip(("eta", "alpha"), pairs[_key_of(cell)], strict=True))

    for name, (found, wanted) in control_check.entries(plan, tables, pair_of).items():
        yield from _compare(name, map("|".join, found), map("|".join, wanted))


def _searched(plan: Plan, cell: Cell, rows: Iterable[Row]) -> list[Pair]:
    """The pairs that the search of a cell tries; some depend on the results of others."""
    pairs = plan.pairs(cell)
    then = plan.then_alphas(cell)
    if then:
        alphas = {alpha for _, alpha in pairs}
        first = [
            row
            for row in rows
            if _cell_key(row) == _key_of(cell) and number(row["alpha"]) in alphas
        ]
        if first:
            pairs = [*pairs, *((best_eta(first), alpha) for alpha in then)]
    return pairs


def _compare(table: str, actual: Iterable[str], expected: Iterable[str]) -> Iterable[str]:
    found, wanted = set(actual), set(expected)
    missing, extra = len(wanted - found), len(found - wanted)
    if missing or extra:
        yield f"{table} has {missing} of {len(wanted)} entries missing and {extra} unexpected"


def _repeated(tables: Rows) -> Iterable[str]:
    """Tables that contain a trial, or the pair of a cell, more than once."""
    for name, of in (
        ("search", _trial),
        ("selected", _cell_key),
        ("sequential", _trial),
        ("controls", _entry),
    ):
        repeated = len(tables[name]) - len({of(row) for row in tables[name]})
        if repeated:
            yield f"{name} has {repeated} repeated rows"


def _trial(row: Row) -> CellKey:
    return (row["trial"],)


def _entry(row: Row) -> CellKey:
    return row["control"], row["dataset"], row["configuration"], row["chosen"], row["trial"]


def _texts(trials: Iterable[Trial]) -> set[str]:
    return {trial.text for trial in trials}


def _trained(rows: Iterable[Row], expected: Iterable[Trial]) -> set[str]:
    """The texts of a table's trials; an unexpected trial is represented by its fingerprint."""
    texts = {name: trial.text for trial in expected for name, _ in fingerprints(trial)}
    names: list[str] = [row["trial"] for row in rows]
    return {texts.get(name, name) for name in names}


def _cell_key(row: Row) -> CellKey:
    return row["learner"], row["dataset"], row["configuration"], row["lambda"]


def _key_of(cell: Cell) -> CellKey:
    inhibition = cell.lateral_inhibition
    text = "" if inhibition is None else number_text(inhibition)
    return cell.learner, cell.dataset, cell.configuration, text


def _selected(plan: Plan, searched: Iterable[Row]) -> dict[CellKey, SelectedPair]:
    """The pair of each cell: either given, or the optimum of its points in the search table."""
    points: dict[CellKey, list[Row]] = {}
    for row in searched:
        points.setdefault(_cell_key(row), []).append(row)
    pairs: dict[CellKey, SelectedPair] = {}
    for cell in plan.all_cells:
        pair: SelectedPair | None = plan.given_pair(cell)
        if pair is None:
            row = optimum(points.get(_key_of(cell), []))
            pair = number(row.get("eta", "")), number(row.get("alpha", ""))
        pairs[_key_of(cell)] = pair
    return pairs


def _items(pairs: Mapping[CellKey, SelectedPair]) -> set[str]:
    return {f"{'|'.join(cell)}|{pair}" for cell, pair in pairs.items()}


def _portraits(plan: Plan, sequential: Iterable[Row]) -> Iterable[str]:
    """The keys of the trials whose weights are recorded."""
    families = set(itertools.chain(*(plan.portrait_families(d) for d in plan.datasets)))
    seed = str(plan.seeds("sequential")[0])
    cells: dict[tuple[str, ...], dict[tuple[str, ...], list[float | None]]] = {}
    for row in sequential:
        family = row["learner"], row["dataset"], row["configuration"]
        if family in families:
            cell = key(row)[:-1]
            cells.setdefault(family, {}).setdefault(cell, []).append(number(row["accuracy"]))
    for family_cells in cells.values():
        chosen = best(family_cells)
        if chosen is not None:
            yield "|".join((*chosen, seed))
