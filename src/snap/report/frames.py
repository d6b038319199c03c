"""The tidy tables of a run as data frames, and the few questions that are asked of them.

A result that is missing or diverged is NaN or absent here; whoever draws or judges says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from snap import metrics
from snap.errors import SnapError
from snap.files import packed, unpacked

Frame: TypeAlias = pd.DataFrame
TEXT_COLUMNS = (
    "run learner dataset configuration protocol split trial status classes switch layer quantity"
).split()
CELL = ["learner", "dataset", "configuration", "lambda"]


def read(path: Path) -> Frame:
    """A tidy table: text where it is text, numbers elsewhere, NaN for what is missing."""
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(TEXT_COLUMNS, "str"), keep_default_na=True)
    except (OSError, ValueError) as error:
        raise SnapError(f"{path} cannot be read as a table: {error}") from None
    # A column without a single value has no type of its own.
    blank = [c for c in frame.columns if c not in TEXT_COLUMNS and frame[c].isna().all()]
    return frame.astype(dict.fromkeys(blank, float))


@dataclass(frozen=True)
class Tables:
    """The tidy tables in a folder, packed or not, read when they are asked for.

    `declared` names the only ones that may be read: what a figure is drawn from decides when it is
    drawn again, so it must not read more than it says.
    """

    folder: Path
    declared: tuple[str, ...] | None = None

    @property
    def names(self) -> set[str]:
        """Of the tables that are there."""
        files = [*self.folder.glob("*.csv"), *self.folder.glob("*.csv.gz")]
        return {path.name.partition(".")[0] for path in files}

    def table(self, name: str) -> Frame:
        if self.declared is not None and name not in self.declared:
            raise SnapError(
                f"this figure reads the table {name}, which snap.report.catalog does not name"
            )
        path = self.folder / f"{name}.csv"
        return read(packed(path) if packed(path).exists() else path)

    def checksum(self, name: str) -> str:
        """By which a figure or a verdict can be told to be from this table."""
        return hashlib.sha256(unpacked(self.folder / f"{name}.csv")).hexdigest()

    @cached_property
    def search(self) -> Frame:
        return self.table("search")

    @cached_property
    def selected(self) -> Frame:
        return self.table("selected")

    @cached_property
    def iid(self) -> Frame:
        """The i.i.d. runs after their last epoch, a row per trial; NaN accuracy where diverged."""
        frame = self.table("iid")
        last = frame.groupby([*CELL, "seed"], dropna=False)["epoch"].transform("max")
        return frame[(frame["epoch"] == last) | frame["epoch"].isna()]

    @cached_property
    def sequential(self) -> Frame:
        return self.table("sequential")

    @cached_property
    def matrix(self) -> Frame:
        return self.table("matrix")

    @cached_property
    def curve(self) -> Frame:
        return self.table("curve")

    @cached_property
    def consolidation(self) -> Frame:
        return self.table("consolidation")

    @cached_property
    def ladder(self) -> Frame:
        return self.table("ladder")

    @property
    def run(self) -> str:
        """The name of the run, and in what way it is reduced."""
        frame = self.selected
        return str(frame["run"].iloc[0]) if len(frame) else ""

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(self.selected["dataset"]))

    def configurations(self, learner: str) -> list[str]:
        frame = self.selected
        return list(dict.fromkeys(frame[frame["learner"] == learner]["configuration"]))

    @property
    def lambdas(self) -> list[float]:
        return sorted(self.selected["lambda"].dropna().unique())

    def best_lambda(self, learner: str, dataset: str, configuration: str) -> float | None:
        """The λ with the highest accuracy in sequence; None where there is none."""
        family = only(
            self.sequential, learner=learner, dataset=dataset, configuration=configuration
        )
        lambdas = at_best_lambda(family)["lambda"].dropna()
        return float(lambdas.iloc[0]) if len(lambdas) else None


def lost_lambdas(tables: Tables, learner: str, dataset: str, configuration: str) -> list[float]:
    """The λ of the run at which a configuration has no accuracy in sequence."""
    who = {"learner": learner, "dataset": dataset, "configuration": configuration}
    wanted = only(tables.selected, **who)["lambda"].dropna()
    found = only(tables.sequential, **who).dropna(subset=["accuracy"])["lambda"]
    return sorted(set(wanted) - set(found))


def only(frame: Frame, **values: Any) -> Frame:
    """The rows with these values; `lambda_` is the column lambda, None a value that is missing."""
    for name, value in values.items():
        column = frame[name.rstrip("_")]
        frame = frame[column.isna() if value is None else column == value]
    return frame


def over_seeds(frame: Frame, by: Sequence[str], value: str) -> Frame:
    """Mean, lowest, highest and number of seeds of a value; NaN where no seed has one."""
    grouped = frame.groupby(list(by), dropna=False, sort=False)[value]
    return grouped.agg(mean="mean", low="min", high="max", seeds="count").reset_index()


def at_best_lambda(family: Frame) -> Frame:
    """Of the rows of one learner, dataset and configuration, those at the λ with the best accuracy.

    All of them for a learner without λ; none where no row has an accuracy.
    """
    accuracies: dict[float | None, list[float]] = {}
    ordered = family.sort_values("lambda", kind="stable")
    for lambda_, accuracy in zip(ordered["lambda"], ordered["accuracy"], strict=True):
        accuracies.setdefault(None if pd.isna(lambda_) else float(lambda_), []).append(accuracy)
    if not any(pd.notna(value) for values in accuracies.values() for value in values):
        return family.iloc[:0]
    return only(family, lambda_=metrics.best(accuracies))
