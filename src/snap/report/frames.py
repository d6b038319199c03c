"""The tidy tables of a run as data frames, and a few queries on them.

A result that is missing or diverged is NaN or absent here; figures and verdicts report it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from snap import metrics
from snap.errors import SnapError, printable
from snap.files import packed, unpack
from snap.learners import HEBBIAN, LEARNERS
from snap.pipeline.layout import READINGS
from snap.pipeline.published import read_whole
from snap.pipeline.rows import COLUMNS, REACHED, TEXT

Frame: TypeAlias = pd.DataFrame
CELL = ["learner", "dataset", "configuration", "lambda"]
# Columns that the tables of earlier versions lack.
LATER = {"ladder": ("learner",), "sequential": ("forgetting_known", "forgetting_own")}
MOST = 500_000_000  # bytes of a table that a packed file may expand to


def read_any(path: Path) -> Frame:
    """Read a table. Missing values are NaN."""
    text = io.BytesIO(content_of(path))
    kinds = dict.fromkeys((name for name in TEXT if name != REACHED), "str")
    try:
        frame: Frame = pd.read_csv(text, dtype=kinds, keep_default_na=True, index_col=False)
    except (ValueError, OverflowError) as error:
        reason = printable(str(error), 200)
        raise SnapError(f"{path} cannot be read as a table: {reason}") from None
    return frame


def read(path: Path) -> Frame:
    """Read a tidy table, which must have its columns: rows.TEXT are text, all others numbers."""
    frame = read_any(path)
    name = path.name.partition(".")[0]
    missing = {"run", *COLUMNS.get(name, ())} - {*frame.columns, *LATER.get(name, ())}
    if missing:
        raise SnapError(f"{path} lacks the columns {', '.join(sorted(missing))}")
    # pandas cannot infer the type of a column without values.
    numbers = [c for c in frame.columns if c not in TEXT]
    frame = frame.astype(dict.fromkeys((c for c in numbers if frame[c].isna().all()), float))
    for column in numbers:
        kind = frame[column].dtype.kind
        if kind not in "iuf" or (kind == "f" and np.isinf(frame[column]).any()):
            shown = printable(str(column))
            raise SnapError(f"{path} has a value in the column {shown} that is not a number")
    return frame


def content_of(path: Path) -> bytes:
    """The text of a table, packed or not, which must match its record if it has one."""
    content = read_whole(path)
    return unpack(content, MOST, str(path)) if path.suffix == ".gz" else content


@dataclass(frozen=True)
class Tables:
    """The tidy tables in a folder, packed or not, each read on first use.

    Only the tables in `declared` may be read, if it is given. A figure is drawn again when one of
    its declared tables changes, so it must not read any other.
    """

    folder: Path
    declared: tuple[str, ...] | None = None

    @property
    def names(self) -> set[str]:
        """The names of the tables that exist."""
        files = [*self.folder.glob("*.csv"), *self.folder.glob("*.csv.gz")]
        return {path.name.partition(".")[0] for path in files}

    def table(self, name: str) -> Frame:
        if self.declared is not None and name not in self.declared:
            raise SnapError(
                f"this figure reads the table {name}, which its entry in snap.report.catalog does"
                " not list"
            )
        return read(self._path(name))

    def checksum(self, name: str) -> str:
        """The SHA-256 of a table, which records what a figure was drawn from."""
        return hashlib.sha256(content_of(self._path(name))).hexdigest()

    def _path(self, name: str) -> Path:
        path = self.folder / f"{name}.csv"
        return packed(path) if packed(path).exists() else path

    @cached_property
    def search(self) -> Frame:
        return self.table("search")

    @cached_property
    def selected(self) -> Frame:
        return self.table("selected")

    @cached_property
    def iid(self) -> Frame:
        """The i.i.d. runs after their last epoch, a row per trial; accuracy is NaN if diverged."""
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
        frame = self.table("ladder")
        # Runs before the reading `code` had no ladder for SGD, and no column for the learner.
        return frame if "learner" in frame else frame.assign(learner=HEBBIAN.name)

    @property
    def readings(self) -> dict[str, Tables]:
        """The tables of the other readings of the run, by name."""
        if self.declared is not None:
            raise SnapError("a figure reads the tables of its own run only")
        folders = sorted((self.folder.parent / READINGS).glob("*/tables"))
        return {folder.parent.name: Tables(folder) for folder in folders}

    @property
    def run(self) -> str:
        """The name of the run, and how it is reduced."""
        frame = self.selected
        return str(frame["run"].iloc[0]) if len(frame) else ""

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(self.selected["dataset"]))

    def configurations(self, learner: str) -> list[str]:
        frame = self.selected
        return list(dict.fromkeys(frame[frame["learner"] == learner]["configuration"]))

    @property
    def families(self) -> list[tuple[str, str]]:
        """Every learner and configuration of the run, in the one order of all figures."""
        return [(learner, name) for learner in LEARNERS for name in self.configurations(learner)]

    @property
    def lambdas(self) -> list[float]:
        return sorted(self.selected["lambda"].dropna().unique())

    def best_lambda(self, learner: str, dataset: str, configuration: str) -> float | None:
        """The λ with the highest accuracy in sequence; None if there is none."""
        family = only(
            self.sequential, learner=learner, dataset=dataset, configuration=configuration
        )
        lambdas = at_best_lambda(family)["lambda"].dropna()
        return float(lambdas.iloc[0]) if len(lambdas) else None


def lost_lambdas(tables: Tables, learner: str, dataset: str, configuration: str) -> list[float]:
    """The λ of the run at which a configuration has no accuracy in sequence."""
    who = {"learner": learner, "dataset": dataset, "configuration": configuration}
    selected = only(tables.selected, **who)["lambda"].dropna()
    finished = only(tables.sequential, **who).dropna(subset=["accuracy"])["lambda"]
    return sorted(set(selected) - set(finished))


def only(frame: Frame, **values: Any) -> Frame:
    """The rows with these values; `lambda_` is the column lambda, None matches a missing value."""
    for name, value in values.items():
        column = frame[name.rstrip("_")]
        frame = frame[column.isna() if value is None else column == value]
    return frame


def over_seeds(frame: Frame, by: Sequence[str], value: str) -> Frame:
    """The mean, lowest and highest value and the number of seeds; NaN if no seed has a value."""
    grouped = frame.groupby(list(by), dropna=False, sort=False)[value]
    return grouped.agg(mean="mean", low="min", high="max", seeds="count").reset_index()


def at_best_lambda(family: Frame) -> Frame:
    """The rows at the λ with the best accuracy, for one learner, dataset and configuration.

    Returns all rows for a learner without λ, and none if no row has an accuracy.
    """
    accuracies: dict[float | None, list[float]] = {}
    ordered = family.sort_values("lambda", kind="stable")
    for lambda_, accuracy in zip(ordered["lambda"], ordered["accuracy"], strict=True):
        accuracies.setdefault(None if pd.isna(lambda_) else float(lambda_), []).append(accuracy)
    if not any(pd.notna(value) for values in accuracies.values() for value in values):
        return family.iloc[:0]
    return only(family, lambda_=metrics.best(accuracies))
