"""Passages that are tables of published results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.numbers import number_text
from snap.protocol import SWITCHES, Protocol
from snap.report.frames import CELL, Frame, Tables, at_best_lambda, only, over_seeds
from snap.report.page import in_code
from snap.report.result_tables import (
    AS_GOOD,
    AS_RUN,
    CLOSE,
    SAME,
    UNTRIED,
    WORSE,
    as_good,
    compared_with_paper,
    printed_pair,
)

Paper = Mapping[str, Any]
# The changes that the table of variations reports.
MEASURED = {"iid": "change of i.i.d. accuracy", "sequential": "change of accuracy in sequence"}


def best(folder: Path, paper: Paper) -> str:
    """Each configuration at its best λ: accuracy i.i.d. and in sequence, and forgetting."""
    return best_of(Tables(folder / "tables"))


def best_with_papers(folder: Path, paper: Paper) -> str:
    """The same table with the pairs of the paper's tables, if that variation was run."""
    place = folder / "variations/paper-pairs"
    return best_of(Tables(place)) if place.exists() else "This variation has not been run."


def best_of(tables: Tables) -> str:
    """Each configuration at its best λ: accuracy i.i.d. and in sequence, and forgetting."""
    rows = []
    for learner in LEARNERS:
        for configuration in tables.configurations(learner):
            cells = []
            for dataset in tables.datasets:
                who = {"learner": learner, "dataset": dataset, "configuration": configuration}
                iid = at_best_lambda(only(tables.iid, **who))
                sequence = at_best_lambda(only(tables.sequential, **who))
                cells += [_at(iid), _at(sequence)]
                forgotten = sequence["forgetting"].mean()
                cells.append("–" if sequence.empty else f"{forgotten:.3f}")
            rows.append((learner, configuration, *cells))
    measured = ("i.i.d.", "in sequence", "forgotten")
    head = [f"{dataset}, {what}" for dataset in tables.datasets for what in measured]
    return markdown(("learner", "configuration", *head), rows)


def spread(folder: Path, paper: Paper) -> str:
    """The range of accuracy over the seeds of a cell."""
    tables = Tables(folder / "tables")
    rows = []
    for dataset in tables.datasets:
        for learner in LEARNERS:
            ranges = []
            for frame in (tables.iid, tables.sequential):
                cells = over_seeds(only(frame, dataset=dataset, learner=learner), CELL, "accuracy")
                cells = cells[cells["seeds"] > 1]
                ranges.append(_median_and_largest(cells["high"] - cells["low"], ".3f"))
            rows.append((dataset, learner, *ranges))
    head = ("i.i.d.: median, largest", "in sequence: median, largest")
    return markdown(("", "learner", *head), rows)


def sgd(folder: Path, paper: Paper) -> str:
    """The only accuracies that the paper prints, and ours."""
    tables = Tables(folder / "tables")
    other = tables.readings.get(AS_RUN)
    rows = []
    for dataset in tables.datasets:
        for configuration, theirs in paper["sgd_iid"].get(dataset, {}).items():
            who = {"learner": SGD.name, "dataset": dataset, "configuration": configuration}
            row = [dataset, configuration, f"{theirs:.4f}"]
            if other is not None:
                row.append(_seeds(only(other.iid, **who)))
            alpha = _numbers(only(tables.selected, **who)["alpha"])
            rows.append((*row, _seeds(only(tables.iid, **who)), alpha))
    run = ("as run, by seed",) if other is not None else ()
    return markdown(("", "growth", "paper", *run, "ours, by seed", "our α"), rows)


def pairs(folder: Path, paper: Paper) -> str:
    """How the selected pairs compare with those in the paper's tables, by configuration."""
    tables = Tables(folder / "tables")
    rows = []
    for dataset in tables.datasets:
        printed = paper["pairs"].get(dataset, {})
        for configuration in printed:
            who = {"learner": HEBBIAN.name, "dataset": dataset, "configuration": configuration}
            chosen, searched = only(tables.selected, **who), only(tables.search, **who)
            marks = Counter(
                compared_with_paper(
                    only(chosen, lambda_=lambda_),
                    only(searched, lambda_=lambda_),
                    printed_pair(printed[configuration], lambda_),
                ).mark
                for lambda_ in chosen["lambda"]
            )
            flat = [
                int(as_good(only(searched, lambda_=lambda_)["accuracy"], best).sum())
                for lambda_, best in zip(chosen["lambda"], chosen["accuracy"], strict=True)
            ]
            counts = [str(marks[mark]) for mark in (SAME, CLOSE, WORSE, UNTRIED)]
            edges = str(int(_at_an_edge(chosen, searched).sum()))
            rows.append((dataset, configuration, *counts, f"{min(flat)} to {max(flat)}", edges))
    head = ("", "configuration", "same pair", "as good", "worse", "not in the grid")
    return markdown((*head, f"pairs within {AS_GOOD} of the best", "ours at an edge"), rows)


def ladder(folder: Path, paper: Paper) -> str:
    """Accuracy on every rung of the ladder, i.i.d. and in sequence."""
    frame = only(Tables(folder / "tables").ladder, learner=HEBBIAN.name)
    columns = list(dict.fromkeys(zip(frame["dataset"], frame["configuration"], strict=True)))
    rows = []
    for _, rung in frame.groupby("step", sort=True):
        switch, protocol = rung["switch"].iloc[0], Protocol.parse(rung["protocol"].iloc[0])
        known = switch in SWITCHES
        name = f"`{switch}`: {getattr(protocol, switch)}" if known else "the text as it is"
        cells = []
        for dataset, configuration in columns:
            row = only(rung, dataset=dataset, configuration=configuration)
            cells.append(f"{_share(row, 'iid')} / {_share(row, 'sequential')}")
        rows.append((name, *cells))
    return markdown(("and then", *(f"{d}, {c}" for d, c in columns)), rows)


def switches(folder: Path, paper: Paper) -> str:
    """The readings: every switch, its value in each, and what it decides."""
    rows = [
        (f"`{name}`", switch.values[0], switch.reference, in_code(switch), switch.meaning)
        for name, switch in SWITCHES.items()
    ]
    return markdown(("switch", "`text`", "`reference`", "`code`", "what it decides"), rows)


def variations(folder: Path, paper: Paper) -> str:
    """How the results change when one choice is varied."""
    base = Tables(folder / "tables")
    rows = []
    for other in sorted((folder / "variations").glob("*")):
        if not (other / "iid.csv").exists():
            continue  # only searched
        tables = Tables(other)
        rows += [(other.name, *_compared(base, tables, dataset)) for dataset in tables.datasets]
    head = (
        "variation",
        "",
        "cells",
        "same pair",
        *(f"{says}: median, largest" for says in MEASURED.values()),
    )
    return markdown(head, rows) if rows else "No variation has been run."


# Parts of passages


def _at(rows: Frame) -> str:
    """The mean accuracy of a cell, with its λ."""
    if rows.empty:
        return "–"
    lambda_ = rows["lambda"].iloc[0]
    where = "" if lambda_ != lambda_ else f" (λ = {number_text(float(lambda_))})"
    return f"{rows['accuracy'].mean():.3f}{where}"


def _seeds(rows: Frame) -> str:
    return " / ".join(f"{value:.4f}" for value in rows["accuracy"]) or "–"


def _numbers(values: Any) -> str:
    return ", ".join(number_text(float(value)) for value in values)


def _share(row: Frame, stage: str) -> str:
    """The mean accuracy of a rung over its seeds; "diverged" if any seed did."""
    if not len(row):
        return "–"
    mean = row[f"{stage}_accuracy"].mean(skipna=False)
    return "diverged" if mean != mean else f"{mean:.2f}".replace("0.", ".", 1)


def _compared(base: Tables, other: Tables, dataset: str) -> tuple[str, ...]:
    """The number of cells in both runs, of those with the same pair, and the accuracy changes."""
    cell = ["learner", "configuration", "lambda"]
    mine, theirs = (_cells(t.selected, dataset) for t in (base, other))
    both = mine.merge(theirs, on=cell, suffixes=("", "_other"))
    same = (both["alpha"] == both["alpha_other"]) & (
        (both["eta"] == both["eta_other"]) | both["eta"].isna()
    )
    changes = []
    for measured in MEASURED:
        mine, theirs = (_cells(getattr(t, measured), dataset) for t in (base, other))
        seeds = mine.merge(theirs, on=[*cell, "seed"], suffixes=("", "_other"))  # common seeds
        seeds["change"] = seeds["accuracy_other"] - seeds["accuracy"]
        change = seeds.groupby(cell, dropna=False)["change"].mean().dropna()
        changes.append(_median_and_largest(change, "+.3f"))
    return dataset, str(len(both)), str(int(same.sum())), *changes


def _median_and_largest(values: Any, form: str) -> str:
    if not len(values):
        return "–"
    ends = values.median(), values.loc[values.abs().idxmax()]
    return ", ".join(f"{end:{form}}".replace("-", "−") for end in ends)


def _at_an_edge(chosen: Frame, searched: Frame) -> Any:
    """Whether each pair is at an edge of the searched grid; a better one may lie beyond."""
    ends = {name: searched[name].agg(["min", "max"]) for name in ("eta", "alpha")}
    return chosen["eta"].isin(ends["eta"]) | chosen["alpha"].isin(ends["alpha"])


def _cells(frame: Frame, dataset: str) -> Frame:
    """The rows of a dataset, with λ as float even if all values are whole."""
    return only(frame, dataset=dataset).astype({"lambda": float})


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
