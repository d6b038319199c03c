"""Read the trials of a published run from its tables, which anyone may have written.

What is read is checked like a configuration: a value that no run can write is an error that names
its file. So nothing gets into the store of trials that a later run cannot use.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from snap.controls import KINDS
from snap.errors import SnapError, printable
from snap.files import packed, read_regular, unpack
from snap.numbers import parse_number, parse_whole
from snap.pipeline.plan import Plan
from snap.pipeline.row_trials import CONTROL_KEY, KEY, key, trial_of, trial_of_control
from snap.pipeline.rows import Row, UnreadableError, parse_rows
from snap.trial import Iid, Sequential, Trial

MOST = 64_000_000  # bytes of a table
# The columns of the matrix table, and the fields of a result that they restore.
MATRICES = {
    "accuracy": "matrix",
    "accuracy_known": "matrix_known",
    "accuracy_own": "matrix_own",
}
COLUMNS = {
    "sequential": ("accuracy", "samples", "diverged", "trial"),
    "matrix": ("after", "task", "accuracy", "epochs", "reached"),
    "curve": ("training", "epoch", "samples", "accuracy"),
    "iid": ("epoch", "samples", "accuracy", "diverged", "trial"),
    "search": ("accuracy", "diverged", "trial"),
}
# Tables of the controls, by the table that has the same columns otherwise.
CONTROLS = {
    "sequential": "controls",
    "matrix": "controls_matrix",
    "curve": "controls_curve",
    "search": "controls_search",
}
Found = tuple[Trial, str, Row]  # a trial, the engine that trained it, and its result


def trials(plan: Plan, folder: Path) -> Iterator[Found]:
    """Every trial in a folder of tables, with its engine and its result."""
    tables = {name: _Table(plan, folder, name) for name in COLUMNS}
    yield from _sequential(tables)
    yield from _iid(tables["iid"])
    yield from _each(tables["search"], _outcome)
    if any(folder.glob("controls.csv*")):  # runs published before the controls have none
        controls = {name: _Table(plan, folder, name, other) for name, other in CONTROLS.items()}
        for name in ("sequential", "matrix", "curve"):
            controls[name].leave_out_papers()
        yield from _sequential(controls)
        yield from _each(controls["search"], _outcome)


def _sequential(tables: dict[str, _Table]) -> Iterator[Found]:
    matrices, curves = tables["matrix"].groups(key), tables["curve"].groups(key)

    def result(trial: Trial, row: Row) -> Row:
        outcome = _outcome(trial, row)
        matrix = _matrix(trial, matrices.pop(key(row), []), outcome["diverged"] is not None)
        return outcome | matrix | {"history": _curve(trial, curves.pop(key(row), []))}

    yield from _each(tables["sequential"], result)
    for name, rest in (("matrix", matrices), ("curve", curves)):
        if rest:
            raise tables[name].error("it has a sequence that the sequential table lacks")


def _iid(table: _Table) -> Iterator[Found]:
    for rows in table.groups(lambda row: row["trial"]).values():
        with table:
            trial, engine = table.trial(rows[-1])
            outcome = _outcome(trial, rows[-1])
            diverged = outcome["diverged"] is not None
            points = [] if diverged else rows
            history = [_point(trial, row) | {"epoch": _epoch(trial, row)} for row in points]
            epochs = [point["epoch"] for point in history]
            whole = len(rows) == 1 if diverged else epochs == [*range(1, _epochs(trial) + 1)]
            if not whole or len(set(map(key, rows))) > 1:
                raise SnapError(f"trial {_shown(rows[0]['trial'])} does not have each epoch once")
        yield trial, engine, outcome | {"history": history}


def _each(table: _Table, result: Callable[[Trial, Row], Row]) -> Iterator[Found]:
    """The trials of a table that has one row for each, or for each way in which it was chosen."""
    seen = set()
    for row in table.rows:
        with table:
            trial, engine = table.trial(row)
            entry = trial, row.get("chosen")
            if entry in seen:
                raise SnapError(f"trial {printable(row['trial'])} is in it twice")
            seen.add(entry)
            found = result(trial, row)
        yield trial, engine, found


# The parts of a result


def _outcome(trial: Trial, row: Row) -> Row:
    """The final accuracy of a trial, its divergence and its number of samples."""
    outcome: Row = {"accuracy": _share(row["accuracy"], "accuracy") if row["accuracy"] else None}
    diverged = row["diverged"]
    outcome["diverged"] = _count(trial, diverged, "diverged", 1) if diverged else None
    if (outcome["accuracy"] is None) == (outcome["diverged"] is None):
        raise SnapError("a trial must have either an accuracy or the sample at which it diverged")
    if row.get("samples"):
        outcome["samples"] = _count(trial, row["samples"], "samples")
    return outcome


def _point(trial: Trial, row: Row) -> Row:
    """A point of a history."""
    samples = _count(trial, row["samples"], "samples")
    return {"accuracy": _share(row["accuracy"], "accuracy"), "samples": samples}


def _matrix(trial: Trial, rows: Sequence[Row], diverged: bool) -> Row:
    """The accuracies on every task after every task, and how long each took."""
    tasks = _tasks(trial)
    result: Row = {"matrix": [], "epochs_per_task": [], "reached": []}
    after = len(rows) // tasks
    if [(row["after"], row["task"]) for row in rows] != [
        (str(n), str(task)) for n in range(after) for task in range(1, tasks + 1)
    ] or not (1 <= after <= tasks if diverged else after == tasks + 1):
        raise SnapError(f"the matrix of a sequence of {tasks} tasks does not have all its rows")
    for column, name in MATRICES.items():
        values = [row.get(column) for row in rows]
        if column == "accuracy" or any(values):  # older runs did not measure the others
            shares = iter([_share(value, column) for value in values])
            result[name] = [list(itertools.islice(shares, tasks)) for _ in range(after)]
    for row in rows:
        if row["after"] == row["task"]:
            result["epochs_per_task"].append(_epoch(trial, row, "epochs"))
            if row["reached"] not in ("True", "False"):
                raise SnapError(f"reached must be True or False, got {_shown(row['reached'])}")
            result["reached"].append(row["reached"] == "True")
    return result


def _curve(trial: Trial, rows: Sequence[Row]) -> list[Row]:
    """The history of a sequence."""
    tasks = _tasks(trial)
    names = [f"task{n}" for n in range(1, tasks + 1)]
    history = []
    for row in rows:
        task = parse_whole(row["training"], "training", least=0)
        if task > tasks:
            raise SnapError(f"training must be at most {tasks}, got {task}")
        point = {"task": task, "epoch": _epoch(trial, row, least=int(task > 0))}
        shares = [_share(row.get(name), name) for name in names]
        history.append(point | {"tasks": shares} | _point(trial, row))
    if not history or history != sorted(history, key=lambda point: point["samples"]):
        raise SnapError("the curve of a sequence must have points, with samples that grow")
    return history


def _share(text: Any, name: str) -> float:
    share = parse_number(text, name)
    if not 0 <= share <= 1:
        raise SnapError(f"{name} must be between 0 and 1, got {share}")
    return share


def _count(trial: Trial, text: Any, name: str, least: int = 0) -> int:
    """A number of samples, which cannot be more than all tasks at their longest."""
    count = parse_whole(text, name, least)
    most = 2 * (trial.train_limit or trial.record.training_samples) * _epochs(trial)
    if count > most:
        raise SnapError(f"{name} must be at most {most}, got {_shown(text)}")
    return count


def _epoch(trial: Trial, row: Row, name: str = "epoch", least: int = 1) -> int:
    epoch = parse_whole(row[name], name, least)
    if epoch > _epochs(trial):
        raise SnapError(f"{name} must be at most {_epochs(trial)}, got {_shown(row[name])}")
    return epoch


def _epochs(trial: Trial) -> int:
    experiment = trial.experiment
    return experiment.epochs if isinstance(experiment, Iid) else experiment.max_epochs


def _tasks(trial: Trial) -> int:
    assert isinstance(trial.experiment, Sequential)
    return len(trial.experiment.tasks)


def _shown(text: Any) -> str:
    return printable(repr(text))


# Files


class _Table:
    """A table with the columns that its trials need. As a context, it names itself in errors."""

    def __init__(self, plan: Plan, folder: Path, name: str, controls: str = "") -> None:
        self.plan, self.families, self.stage = plan, set(plan.families), name
        path = folder / f"{controls or name}.csv"
        self.path = path if path.exists() else packed(path)
        if not self.path.exists():
            raise SnapError(f"{path} is missing, which every published run has")
        with self:
            split = ("split",) if controls and name == "search" else ()
            self.rows = self._read([*(CONTROL_KEY if controls else KEY), *COLUMNS[name], *split])

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, SnapError):
            raise self.error(str(error)) from None

    def error(self, text: str) -> SnapError:
        return SnapError(f"{self.path}: {printable(text, 300).removeprefix(f'{self.path} ')}")

    def _read(self, columns: Sequence[str]) -> list[Row]:
        content = read_regular(self.path, MOST + 1)
        if self.path.suffix == ".gz":
            content = unpack(content, MOST, str(self.path))
        if len(content) > MOST:
            raise SnapError(f"it has more than {MOST:,} bytes")
        try:
            return parse_rows(content, columns)[1]
        except UnreadableError as error:
            raise SnapError(f"it {error}") from None

    def leave_out_papers(self) -> None:
        """Keep only the trials with a control: others are in other tables, or have no network."""
        self.rows = [row for row in self.rows if row["control"] in KINDS]

    def groups(self, of: Callable[[Row], Any]) -> dict[Any, list[Row]]:
        grouped: dict[Any, list[Row]] = {}
        for row in self.rows:
            grouped.setdefault(of(row), []).append(row)
        return grouped

    def trial(self, row: Row) -> tuple[Trial, str]:
        """The trial of a row and its engine."""
        if (row["learner"], row["dataset"], row["configuration"]) not in self.families:
            family = f"{row['learner']}, {row['dataset']}, {row['configuration']}"
            raise SnapError(f"{printable(family)} is not part of its run")
        for name in ("lambda", "eta", "alpha"):
            if row[name] or name == "alpha":
                parse_number(row[name], name)
        parse_whole(row["seed"], "seed", least=0)
        if "control" in row:
            if row["amount"]:
                parse_number(row["amount"], "amount")
            return trial_of_control(self.plan, row)
        return trial_of(self.plan, self.stage, row)
