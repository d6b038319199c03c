"""The tidy tables of a run as data frames, and the few questions that are asked of them.

A result that is missing or diverged is NaN or absent here; whoever draws or judges says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

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
    """The tidy tables in a folder, packed or not, read when they are asked for."""

    folder: Path

    @property
    def names(self) -> set[str]:
        """Of the tables that are there."""
        files = [*self.folder.glob("*.csv"), *self.folder.glob("*.csv.gz")]
        return {path.name.partition(".")[0] for path in files}

    def table(self, name: str) -> Frame:
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

    def best_lambda(
        self, learner: str, dataset: str, configuration: str, by: str = "accuracy"
    ) -> float | None:
        """The λ with the highest mean over seeds in sequence; None where there is none."""
        frame = only(self.sequential, learner=learner, dataset=dataset, configuration=configuration)
        means = frame.groupby("lambda")[by].mean().dropna()
        return float(means.idxmax()) if len(means) else None


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


def best_cell(frame: Frame, value: str, among: Iterable[str]) -> pd.Series | None:
    """Of the configurations given, the configuration and λ with the highest mean over seeds."""
    chosen = frame[frame["configuration"].isin(list(among))]
    means = over_seeds(chosen, CELL, value).dropna(subset=["mean"])
    return None if means.empty else means.loc[means["mean"].idxmax()]
