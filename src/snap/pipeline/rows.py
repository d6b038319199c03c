"""Results as rows: the columns of every kind of file, and functions to read and write CSV."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from snap.files import read_result, write_result
from snap.numbers import number_text

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


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a CSV file; all values are text."""
    return list(csv.DictReader(io.StringIO(read_result(path).decode(), newline="")))


def table(inputs: Sequence[Path], output: Path, run: str, reduced: str) -> None:
    """Write one tidy table from the files of many jobs, with a column that names the run.

    The file name determines the kind of table. All columns of that kind are written, even if they
    are empty. Rows of one cell are adjacent and keep their order.
    """
    columns: list[str] = ["run", *COLUMNS[output.stem]]
    rows: list[Row] = []
    named = f"{run} (reduced: {reduced})" if reduced else run
    for path in inputs:
        reader = csv.DictReader(io.StringIO(read_result(path).decode(), newline=""))
        columns += [name for name in reader.fieldnames or () if name not in columns]
        rows += [{"run": named, **row} for row in reader]
    # The table must not depend on how cells are grouped into jobs.
    cells: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row.get(name, "") for name in METHOD), []).append(row)
    write_rows(output, columns, itertools.chain(*cells.values()))
