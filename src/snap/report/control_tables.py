"""The tables of the controls: all methods, what they say about SNAP, and recruited neurons."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from snap.numbers import number_text
from snap.report.control_frames import (
    IID,
    METHOD,
    SEQUENCE,
    Answers,
    rank_correlation,
    recruited,
    summary,
)
from snap.report.frames import Frame, Tables, only
from snap.report.table_formats import Cell, PaperTable, gap, number, plain, run_words
from snap.report.table_parts import columns

MEASURES = ("accuracy", "forgetting")
ASKED = {
    "SNAP: accuracy": Answers.snap,
    "… as a share of that with all classes at once": Answers.snap_share,
    "… minus the best with a random hidden layer": Answers.over_random,
    "… minus the best class means": Answers.over_means,
    "… minus plain SGD": Answers.over_sgd,
    "… minus linear growth": Answers.lead,
    "Sigmoidal minus linear growth, random hidden layer": Answers.lead_random,
    "SGD with all classes at once: accuracy": Answers.ceiling,
    "Linear growth: accuracy": Answers.linear,
    "… as a share of that with all classes at once ": Answers.linear_share,
}


def methods(
    name: str, dataset: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    """Every method on a dataset, chosen in both ways, the most accurate first."""
    found = only(summary(tables), dataset=dataset)
    groups = [group for _, group in found.groupby(METHOD, dropna=False, sort=False)]
    groups.sort(key=lambda group: -group["accuracy"].max())
    return PaperTable(
        name,
        f"Controls: {dataset}",
        plain(
            "Accuracy over all classes and forgetting after the last task, at the λ with the"
            " highest accuracy. First with the rate that is best on i.i.d. data, as in the paper; a"
            " penalty has nothing to protect there, and its smallest strength is taken. Then with"
            " what is best by accuracy after the sequence, on held-out training samples. The"
            " numbers are those kept of earlier tasks besides the weights"
            f"{_weights(found)}: a pixel, a label and what is known of a weight count as one each."
            " Mean over seeds ± half the range."
            f" {run_words(config)}"
        ),
        columns(
            "Method",
            "Keeps",
            "Numbers",
            *("λ", "Accuracy", "Forgetting"),
            *("… by sequence: λ", "… accuracy", "… forgetting"),
        ),
        tuple(_row(group) for group in groups),
    )


def _weights(found: Frame) -> str:
    most = found["weights"].max() if len(found) else 0
    return f" of the network, which are {int(most):,}" if most else ""


def _row(group: Frame) -> tuple[Cell, ...]:
    first = group.iloc[0]
    count = int(first["stored"])
    stored = Cell(f"{count:,}", f"${count}$", float(count))
    parts = [_chosen(group[group["chosen"].isin(chosen)]) for chosen in ((IID, ""), (SEQUENCE,))]
    return plain(first["label"]), plain(first["keeps"]), stored, *itertools.chain(*parts)


def _chosen(rows: Frame) -> tuple[Cell, ...]:
    """λ, accuracy and forgetting of one way of choosing."""
    if rows.empty:
        return gap("–"), gap("–"), gap("–")
    row = rows.iloc[0]
    lambda_ = gap("–")
    if row["lambda"] == row["lambda"]:
        text = number_text(float(row["lambda"]))
        lambda_ = Cell(text, f"${text}$", float(row["lambda"]))
    return lambda_, *(_spread(row, measure) for measure in MEASURES)


def _spread(row: Any, measure: str) -> Cell:
    if row[measure] != row[measure]:
        return gap("–")
    return number(row[measure], (row[f"{measure}_high"] - row[f"{measure}_low"]) / 2)


def questions(name: str, tables: Tables, config: Mapping[str, Any]) -> PaperTable:
    """What the controls say about SNAP, in numbers."""
    datasets = [dataset["name"] for dataset in config["datasets"]]
    found = summary(tables)
    answers = [Answers(only(found, dataset=dataset)) for dataset in datasets]
    rows = []
    for question, ask in ASKED.items():
        values = [ask(answer) for answer in answers]
        cells = (gap("–") if value is None else number(value) for value in values)
        rows.append((plain(question), *cells))
    return PaperTable(
        name,
        "What the controls say",
        plain(
            "Mean accuracies over all classes after the last task, each at its best λ, with what"
            f" was chosen as in the paper. {run_words(config)}"
        ),
        columns("Question", *datasets),
        tuple(rows) if len(found) else (),
    )


def recruitment(name: str, tables: Tables, config: Mapping[str, Any]) -> PaperTable:
    """The hidden neurons that SNAP recruits at each λ, and whether accuracy follows them."""
    datasets = [dataset["name"] for dataset in config["datasets"]]
    counted = {dataset: recruited(tables, dataset) for dataset in datasets}
    lambdas = sorted({float(at) for frame in counted.values() for at in frame["lambda"]})
    rows = []
    for lambda_ in lambdas:
        cells: list[Cell] = []
        for frame in counted.values():
            at = only(frame, lambda_=lambda_)
            if at.empty:
                cells += [gap("–"), gap("–")]
                continue
            count, units = int(at["consolidated"].iloc[0]), int(at["units"].iloc[0])
            of = f"{count} of {units}"
            cells += [Cell(of, of, float(count)), number(float(at["accuracy"].iloc[0]))]
        rows.append((Cell(number_text(lambda_), f"${number_text(lambda_)}$", lambda_), *cells))
    follows = "; ".join(
        f"{dataset} {rank_correlation(frame):+.2f}".replace("-", "−")
        for dataset, frame in counted.items()
        if len(frame) > 2
    )
    says = f" Rank correlation of the two over λ: {follows}." if follows else ""
    return PaperTable(
        name,
        "Neurons that SNAP recruits",
        plain(
            "Hidden neurons that have consolidated after the last task, with sigmoidal growth of"
            " both layers, and the accuracy over all classes of the same network. One seed, with"
            f" what was chosen as in the paper.{says} {run_words(config)}"
        ),
        columns("λ", *(f"{d}: {what}" for d in datasets for what in ("recruited", "accuracy"))),
        tuple(rows),
    )
