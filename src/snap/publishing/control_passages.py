"""Passages on the controls: the paper's methods beside others in the same protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snap.numbers import number_text
from snap.publishing.passage_tables import Paper, markdown
from snap.report.control_frames import METHOD, SEQUENCE, recruited, summary
from snap.report.control_words import paragraphs
from snap.report.frames import Frame, Tables, only

NOT_RUN = "The controls have not been run for the published results."


def controls(folder: Path, paper: Paper) -> str:
    """SNAP beside its controls, in words."""
    return "\n\n".join(paragraphs(Tables(folder / "tables"))) or NOT_RUN


def controls_table(folder: Path, paper: Paper) -> str:
    """Every control: accuracy and forgetting, chosen in both ways, and what it keeps."""
    tables = Tables(folder / "tables")
    found = summary(tables)
    if found.empty:
        return NOT_RUN
    rows = []
    for _, group in found.groupby(METHOD, dropna=False, sort=False):
        cells = [
            _outcome(only(group, dataset=dataset), by_sequence)
            for dataset in tables.datasets
            for by_sequence in (False, True)
        ]
        first = group.iloc[0]
        rows.append((first["label"], first["keeps"], f"{int(first['stored']):,}", *cells))
    ways = ("chosen i.i.d.", "chosen by the sequence")
    head = [f"{dataset}, {way}" for dataset in tables.datasets for way in ways]
    return markdown(("method", "keeps", "numbers kept", *head), rows)


def _outcome(rows: Frame, by_sequence: bool) -> str:
    """Accuracy and forgetting, and the λ at which they were measured."""
    own = rows[(rows["chosen"] == SEQUENCE) == by_sequence]
    if own.empty or own["accuracy"].isna().all():
        return "–"
    row: Any = own.iloc[0]
    forgotten = "" if row["forgetting"] != row["forgetting"] else f", {row['forgetting']:.3f}"
    where = "" if row["lambda"] != row["lambda"] else f" (λ = {number_text(float(row['lambda']))})"
    return f"{row['accuracy']:.3f}{forgotten}{where}"


def recruitment(folder: Path, paper: Paper) -> str:
    """The hidden neurons that SNAP recruits at each λ, and the accuracy of these networks."""
    tables = Tables(folder / "tables")
    counted = {dataset: recruited(tables, dataset) for dataset in tables.datasets}
    lambdas = sorted({float(at) for frame in counted.values() for at in frame["lambda"]})
    if not lambdas:
        return NOT_RUN
    rows = []
    for lambda_ in lambdas:
        cells: list[str] = []
        for frame in counted.values():
            at = only(frame, lambda_=lambda_)
            known = "–", "–"
            if len(at):
                row: Any = at.iloc[0]
                known = f"{row['consolidated']:.0f} of {row['units']:.0f}", f"{row['accuracy']:.3f}"
            cells += known
        rows.append((number_text(lambda_), *cells))
    head = [f"{dataset}, {what}" for dataset in counted for what in ("recruited", "accuracy")]
    return markdown(("λ", *head), rows)
