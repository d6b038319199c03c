"""The tables of metrics of learning in sequence, which the paper does not tabulate.

To add a metric that is in QUANTITIES, add it to METRICS or TRANSFER with the head of its column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snap.learners import LEARNERS, Learner
from snap.report.frames import Tables
from snap.report.quantities import Source
from snap.report.table_formats import Cell, PaperTable, plain, run_words
from snap.report.table_parts import columns, configurations_of, lambda_cell, letters, names_of, read

METRICS = {
    "Accuracy": "sequential_accuracy",
    "Forgetting": "forgetting",
    "… known": "forgetting_known",
    "… own": "forgetting_own",
}
TRANSFER = {
    "Average accuracy": "average_accuracy",
    "Backward transfer": "backward_transfer",
    "Forward transfer": "forward_transfer",
}
AT = "After the last task, at the λ with the highest accuracy in sequence:"


def metrics(
    name: str, dataset: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    """Accuracy and forgetting in sequence, and i.i.d. accuracy, by learner and configuration."""
    source = Source(tables, paper, dataset)
    rows = []
    for row in _measured(source, config, METRICS):
        iid, reading = read("iid_accuracy", source, row.learner, row.configuration)
        rows.append((*row.cells, iid, lambda_cell(reading)))
    return PaperTable(
        name,
        f"Accuracy and forgetting: {dataset}",
        plain(
            f"{AT} accuracy over all classes; forgetting (best accuracy on a task before the last"
            " one was learned, minus that at the end); and the same with the outputs limited to the"
            " classes known when a task ended, and to its own classes. Last, i.i.d. accuracy at the"
            f" λ that is best for it. {_measured_caption(config)}"
        ),
        columns("Configuration", "λ", *METRICS, "i.i.d.", "i.i.d. λ"),
        tuple(rows),
    )


def transfer(
    name: str, dataset: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    """Average accuracy, backward and forward transfer, by learner and configuration."""
    rows = _measured(Source(tables, paper, dataset), config, TRANSFER)
    return PaperTable(
        name,
        f"Transfer: {dataset}",
        plain(
            f"{AT} the mean accuracy over tasks; backward transfer (mean change of a task's"
            " accuracy since it was learned); and forward transfer (accuracy on a task just before"
            " it is learned, minus that of the untrained network)."
            f" {_measured_caption(config)}"
        ),
        columns("Configuration", "λ", *TRANSFER),
        tuple(row.cells for row in rows),
    )


@dataclass(frozen=True)
class Measured:
    """The start of a row: a learner and configuration, its λ and some quantities."""

    learner: Learner
    configuration: str
    cells: tuple[Cell, ...]


def _measured(
    source: Source, config: Mapping[str, Any], quantities: Mapping[str, str]
) -> list[Measured]:
    rows = []
    for learner in LEARNERS.values():
        for configuration, shown in names_of(configurations_of(config, learner), learner).items():
            found = [read(key, source, learner, configuration) for key in quantities.values()]
            cells = plain(shown), lambda_cell(found[0][1]), *(cell for cell, _ in found)
            rows.append(Measured(learner, configuration, cells))
    return rows


def _measured_caption(config: Mapping[str, Any]) -> str:
    return f"Mean over seeds ± half the range. {letters(config)} {run_words(config)}"
