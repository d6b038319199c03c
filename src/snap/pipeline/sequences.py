"""A trained sequence as rows: its outcome, its accuracy matrix, and its curve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.pipeline.rows import Row, write_rows
from snap.trial import Sequential, Trial

Result = Mapping[str, Any]


def outcome(who: Row, result: Result) -> Row:
    """The accuracy at the end, and the metrics of the matrix."""
    from snap import metrics  # imports numpy, which the other steps do not need for kept trials

    ended = {key: result[key] for key in ("accuracy", "samples", "diverged")}
    return who | ended | (metrics.of_sequence(result) or {})


def matrix_rows(who: Row, trial: Trial, result: Result) -> Iterator[Row]:
    """The accuracy on every task after every task."""
    epochs, reached = result["epochs_per_task"], result["reached"]
    limited = zip(result["matrix_known"], result["matrix_own"], strict=True)
    for after, (row, known_own) in enumerate(zip(result["matrix"], limited, strict=True)):
        values = zip(tasks_of(trial), row, *known_own, strict=True)
        for task, (classes, value, known, own) in enumerate(values, start=1):
            cell = {"after": after, "task": task, "accuracy": value}
            cell |= {"accuracy_known": known, "accuracy_own": own}
            cell["classes"] = "+".join(map(str, classes))
            if task == after:
                cell |= {"epochs": epochs[after - 1], "reached": reached[after - 1]}
            yield who | cell


def curve_rows(who: Row, result: Result) -> Iterator[Row]:
    """The accuracies through the sequence."""
    for point in result["history"]:
        by_task = {f"task{n}": value for n, value in enumerate(point["tasks"], start=1)}
        yield who | point | {"training": point["task"]} | by_task


def write_beside(output: Path, kind: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write the rows of a kind to a file next to the outcomes."""
    write_rows(output.with_name(f"{output.stem}.{kind}.csv"), columns, rows)


def curve_columns(columns: Sequence[str], trials: Iterable[Trial]) -> list[str]:
    """The columns of a curve, and one for each task."""
    tasks = max((len(tasks_of(trial)) for trial in trials), default=0)
    return [*columns, *(f"task{n}" for n in range(1, tasks + 1))]


def tasks_of(trial: Trial) -> tuple[tuple[int, ...], ...]:
    assert isinstance(trial.experiment, Sequential)
    return trial.experiment.tasks
