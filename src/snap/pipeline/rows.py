"""Results as rows: the columns of every kind of file, and functions to read and write CSV."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from snap.errors import SnapError, printable
from snap.files import read_result, write_result
from snap.numbers import number_text, parse_number

Row = dict[str, Any]

SEARCH = (
    "learner,dataset,configuration,protocol,lambda,eta,alpha,seed,split,epochs,accuracy,diverged,"
    "trial"
).split(",")
SELECTED = (
    "learner,dataset,configuration,lambda,eta,alpha,accuracy,runner_up_eta,runner_up_alpha,"
    "runner_up_accuracy,margin,points,diverged,status"
).split(",")
IID = (
    "learner,dataset,configuration,protocol,lambda,eta,alpha,seed,epoch,samples,accuracy,diverged,"
    "trial"
).split(",")
SEQUENTIAL = (
    "learner,dataset,configuration,protocol,lambda,eta,alpha,seed,accuracy,average_accuracy,"
    "forgetting,forgetting_known,forgetting_own,backward_transfer,forward_transfer,samples,diverged,"
    "trial"
).split(",")
MATRIX = (
    "learner,dataset,configuration,lambda,eta,alpha,seed,after,task,classes,accuracy,"
    "accuracy_known,accuracy_own,epochs,reached"
).split(",")
CURVE = (
    "learner,dataset,configuration,lambda,eta,alpha,seed,training,epoch,samples,accuracy"
).split(",")
LADDER = (
    "learner,dataset,configuration,step,switch,protocol,lambda,eta,alpha,seed,iid_accuracy,"
    "iid_diverged,sequential_accuracy,forgetting,sequential_diverged"
).split(",")
CONSOLIDATION = (
    "learner,dataset,configuration,lambda,eta,alpha,seed,training,epoch,samples,own_accuracy,layer,"
    "quantity,p0,p5,p25,p50,p75,p95,p100,consolidated,units"
).split(",")
CONTROLS = (
    "control,learner,dataset,configuration,protocol,lambda,eta,alpha,amount,chosen,seed,accuracy,"
    "average_accuracy,forgetting,forgetting_known,forgetting_own,samples,weights,stored,consolidated,"
    "units,diverged,trial"
).split(",")
CONTROLS_SEARCH = (
    "control,learner,dataset,configuration,protocol,lambda,eta,alpha,amount,chosen,seed,split,"
    "accuracy,diverged,trial"
).split(",")
CONTROLS_MATRIX = (
    "control,learner,dataset,configuration,lambda,eta,alpha,amount,chosen,seed,after,task,classes,"
    "accuracy,accuracy_known,accuracy_own,epochs,reached"
).split(",")
CONTROLS_CURVE = (
    "control,learner,dataset,configuration,lambda,eta,alpha,amount,chosen,seed,training,epoch,"
    "samples,accuracy"
).split(",")
# The columns of text; all others have numbers, which may be missing.
REACHED = "reached"  # True or False
TEXT = (
    "run learner dataset configuration protocol split trial status classes switch layer quantity"
    f" control chosen {REACHED}"
).split()
CELL = ("learner", "dataset", "configuration", "lambda")
METHOD = ("control", "amount", "chosen", *CELL)  # a table without controls has only the cell
COLUMNS = {
    "search": SEARCH,
    "selected": SELECTED,
    "iid": IID,
    "sequential": SEQUENTIAL,
    "matrix": MATRIX,
    "curve": CURVE,
    "ladder": LADDER,
    "consolidation": CONSOLIDATION,
    "controls": CONTROLS,
    "controls_search": CONTROLS_SEARCH,
    "controls_matrix": CONTROLS_MATRIX,
    "controls_curve": CONTROLS_CURVE,
}


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write rows as CSV: numbers in their canonical text, missing values empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_text(row.get(column)) for column in columns] for row in rows)
    write_result(path, buffer.getvalue().encode())


def _text(value: Any) -> str:
    if value is None:
        return ""
    return number_text(value) if isinstance(value, float) else str(value)


def read_rows(path: Path, columns: Sequence[str] = (), filled: Sequence[str] = ()) -> list[Row]:
    """Read the rows of a CSV file; see `parse_rows`. Those of `filled` must have a value."""
    rows = _read(path, columns)[1]
    for name in filled:
        if any(row[name] == "" for row in rows):
            raise SnapError(f"{printable(str(path), 200)} has a row without {name}")
    return rows


def _read(path: Path, columns: Sequence[str]) -> tuple[list[str], list[Row]]:
    try:
        return parse_rows(read_result(path), columns)
    except UnreadableError as error:
        raise SnapError(f"{printable(str(path), 200)} {error}") from None


class UnreadableError(SnapError):
    """What is wrong with a table, after its name."""


def parse_rows(content: bytes, columns: Sequence[str]) -> tuple[list[str], list[Row]]:
    """The columns and the rows of a CSV file. All values are text, and no number is malformed.

    It must have at least the columns that are given.
    """
    try:
        lines = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnreadableError(f"is not a table of comma-separated values: {error}") from None
    head = lines[0] if lines else []
    missing = [name for name in columns if name not in head]
    if missing or len(set(head)) < len(head):
        raise UnreadableError(f"lacks the columns {', '.join(missing) or 'with different names'}")
    numbers = [place for place, name in enumerate(head) if name not in TEXT]
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(head):
            raise UnreadableError(f"has {len(line)} values instead of {len(head)} in line {number}")
        for place in numbers:
            if line[place]:
                try:
                    parse_number(line[place], printable(head[place]))
                except SnapError as error:
                    raise UnreadableError(f"is damaged in line {number}: {error}") from None
    return head, [dict(zip(head, line, strict=True)) for line in lines[1:]]


def table(inputs: Sequence[Path], output: Path, run: str, reduced: str) -> None:
    """Write one tidy table from the files of many jobs, with a column that names the run.

    The file name determines the kind of table. All columns of that kind are written, even if they
    are empty. Rows of one cell are adjacent and keep their order.
    """
    if output.stem not in COLUMNS:
        name = printable(output.name)
        raise SnapError(f"there is no table {name!r}: --output must be one of {', '.join(COLUMNS)}")
    columns: list[str] = ["run", *COLUMNS[output.stem]]
    rows: list[Row] = []
    named = f"{run} (reduced: {reduced})" if reduced else run
    for path in inputs:
        names, found = _read(path, CELL)
        columns += [name for name in names if name not in columns]
        rows += [{"run": named, **row} for row in found]
    # The table must not depend on how cells are grouped into jobs.
    cells: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row.get(name, "") for name in METHOD), []).append(row)
    write_rows(output, columns, itertools.chain(*cells.values()))
