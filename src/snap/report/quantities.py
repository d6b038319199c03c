"""The numbers in claims and tables, each for one learner, dataset and configuration.

To add a quantity, write a function from a Source, a learner and a configuration to a Reading, and
add it to QUANTITIES with its name and description; claims.yaml can then use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.numbers import number_text
from snap.report.frames import Frame, Tables, at_best_lambda, only
from snap.trial import Configuration


@dataclass(frozen=True)
class Source:
    """Where numbers come from: a run's tables for one dataset, and the paper's printed numbers."""

    tables: Tables
    paper: Mapping[str, Any]
    dataset: str


@dataclass(frozen=True)
class Reading:
    """A number, the configuration it belongs to, and its seeds; the paper's numbers have none."""

    name: str
    value: float
    rank: float  # the best of several configurations is the one with the highest rank
    lambda_: float | None = None  # the λ it was read at
    by_seed: Mapping[int, float] = field(default_factory=dict)
    lost: int = 0  # seeds that diverged
    without: tuple[float, ...] = ()  # every λ at which all seeds diverged

    @property
    def seeds(self) -> int:
        return len(self.by_seed)

    @property
    def low(self) -> float:
        return min(self.by_seed.values(), default=self.value)

    @property
    def high(self) -> float:
        return max(self.by_seed.values(), default=self.value)

    @property
    def half_range(self) -> float | None:
        """Half the range over the seeds; None for a single seed."""
        return (self.high - self.low) / 2 if self.seeds > 1 else None

    @property
    def text(self) -> str:
        """For example: S.S. neuron (λ = 16) 0.821 ± 0.004"""
        at = "" if self.lambda_ is None else f" (λ = {number_text(self.lambda_)})"
        spread = "" if self.half_range is None else f" ± {self.half_range:.3f}"
        lost = f" ({self.lost} of {self.lost + self.seeds} seeds diverged)" if self.lost else ""
        if self.without:
            lost += f" (diverged at λ = {', '.join(map(number_text, self.without))})"
        return f"{self.name}{at} {self.value:z.3f}{spread}{lost}"


class GapError(Exception):
    """A number is missing, because its runs diverged or do not exist."""

    def __init__(self, sentence: str, diverged: bool = False) -> None:
        super().__init__(sentence)
        self.diverged = diverged

    @property
    def word(self) -> str:
        return "diverged" if self.diverged else "missing"


def short(configuration: str, learner: str = HEBBIAN.name) -> str:
    """The paper's abbreviation: S.L. neuron for sigmoid-linear-neuron; SGD gets a prefix."""
    growth = Configuration.parse(configuration)
    letters = f"{growth.hidden[0]}.{growth.output[0]}.".upper()
    linear = growth.hidden == growth.output == "linear"
    name = letters if linear else f"{letters} {growth.focus}"
    return f"{LEARNERS[learner].prefix}{name}"


# Reading the tables


def table(tables: Tables, name: str) -> Frame:
    """A tidy table; raises GapError if the run does not have it."""
    if name not in tables.names:
        raise GapError(f"the run has no table {name}")
    frame: Frame = getattr(tables, name)
    return frame


def family(source: Source, name: str, learner: str, configuration: str) -> Frame:
    """The rows of a table for a learner and configuration; raises GapError if there are none."""
    who = {"learner": learner, "dataset": source.dataset, "configuration": configuration}
    rows = only(table(source.tables, name), **who)
    if not len(rows):
        chosen = only(source.tables.selected, **who)
        if len(chosen) and (chosen["status"] == "all diverged").all():
            raise GapError(
                f"{short(configuration, learner)} diverged with every pair", diverged=True
            )
        raise GapError(f"{short(configuration, learner)} is missing from the table {name}")
    return rows


def best(rows: Frame, source: Source, learner: str, configuration: str) -> Frame:
    """The rows of a family at the λ with the highest mean accuracy.

    Raises GapError while a λ of the run has no result; a diverged run counts as a result.
    """
    if LEARNERS[learner].inhibits:
        chosen = only(
            source.tables.selected,
            learner=learner,
            dataset=source.dataset,
            configuration=configuration,
        )
        due = chosen[chosen["status"] != "all diverged"]["lambda"]
        absent = sorted(set(due) - set(rows["lambda"]))
        if absent:
            raise GapError(
                f"{short(configuration)} has no result at λ = {', '.join(map(number_text, absent))}"
            )
    at_best = at_best_lambda(rows)
    if at_best.empty:
        diverged = bool(rows["diverged"].notna().any())
        why = "diverged in every run" if diverged else "has no accuracy"
        raise GapError(f"{short(configuration, learner)} {why}", diverged)
    means = rows.groupby("lambda")["accuracy"].mean()
    return at_best.assign(without=[tuple(means[means.isna()].index)] * len(at_best))


def _reading(
    rows: Frame, values: Mapping[int, float] | str, learner: str, configuration: str
) -> Reading:
    """Make a reading at the λ of `rows`, from a column or from one value per seed."""
    name, lambda_ = short(configuration, learner), float(rows["lambda"].iloc[0])
    if isinstance(values, str):
        values = dict(zip(rows["seed"], rows[values], strict=True))
    numbers = {int(seed): float(value) for seed, value in values.items() if math.isfinite(value)}
    if not numbers:
        raise GapError(f"{name} has no number where one is needed")
    mean = sum(numbers.values()) / len(numbers)
    return Reading(
        name=name,
        value=mean,
        rank=float(rows["accuracy"].mean()) if "accuracy" in rows else mean,
        lambda_=None if math.isnan(lambda_) else lambda_,
        by_seed=numbers,
        lost=int(rows["diverged"].notna().sum()) if "diverged" in rows else 0,
        without=rows["without"].iloc[0] if "without" in rows else (),
    )


# The quantities


def _iid_accuracy(source: Source, learner: str, configuration: str) -> Reading:
    rows = best(family(source, "iid", learner, configuration), source, learner, configuration)
    return _reading(rows, "accuracy", learner, configuration)


def _in_sequence(column: str) -> Callable[[Source, str, str], Reading]:
    """A column of the table `sequential`, at the λ with the highest accuracy in sequence."""

    def read(source: Source, learner: str, configuration: str) -> Reading:
        rows = best(
            family(source, "sequential", learner, configuration), source, learner, configuration
        )
        if column not in rows:
            raise GapError(f"the table sequential has no column {column}")
        return _reading(rows, column, learner, configuration)

    return read


def _at_paper_lambda(column: str) -> Callable[[Source, str, str], Reading]:
    """A column of the table `sequential`, at the λ that the paper shows."""

    def read(source: Source, learner: str, configuration: str) -> Reading:
        shown = source.paper.get("curves", {}).get(source.dataset, {}).get(configuration)
        if learner != HEBBIAN.name or shown is None:
            raise GapError(f"the paper shows no λ for {short(configuration, learner)}")
        rows = only(family(source, "sequential", learner, configuration), lambda_=float(shown))
        if not len(rows):
            raise GapError(f"{short(configuration)} has no result at λ = {number_text(shown)}")
        return _reading(rows, column, learner, configuration)

    return read


def _halving(source: Source, learner: str, configuration: str) -> Reading:
    """The share of the next task's first epoch after which a task's accuracy has halved.

    It measures how slowly a task is forgotten, and is 1 if the accuracy has not halved within that
    epoch. Each seed's value is the mean over tasks.
    """
    rows = best(
        family(source, "sequential", learner, configuration), source, learner, configuration
    )
    lambda_ = rows["lambda"].iloc[0]
    curve = only(
        family(source, "curve", learner, configuration),
        lambda_=None if math.isnan(lambda_) else lambda_,
    )
    # Leave out diverged runs: they end early, and their first tasks alone would look too good.
    curve = curve[curve["seed"].isin(rows["seed"][rows["accuracy"].notna()])]
    shares: dict[int, float] = {}
    for seed, points in curve.groupby("seed"):
        tasks = range(2, int(points["training"].max()) + 1)
        by_task = [share for task in tasks if (share := _share_to_half(points, task)) is not None]
        if by_task:
            shares[seed] = sum(by_task) / len(by_task)
    if not shares:
        raise GapError(f"{short(configuration, learner)} has no curve past its first task")
    return _reading(rows, shares, learner, configuration)


def _share_to_half(points: Frame, task: int) -> float | None:
    """The share of a task's first epoch after which the previous task's accuracy has halved."""
    before = points[points["training"] == task - 1].sort_values("samples")
    after = points[(points["training"] == task) & (points["epoch"] == 1)].sort_values("samples")
    if not len(before) or not len(after):
        return None
    start, length = (
        before["samples"].iloc[-1],
        after["samples"].iloc[-1] - before["samples"].iloc[-1],
    )
    column = f"task{task - 1}"
    at, level = 0.0, float(before[column].iloc[-1])
    half = level / 2
    for samples, value in zip(after["samples"], after[column], strict=True):
        share = (samples - start) / length
        if value <= half:
            return at + (share - at) * (level - half) / (level - value) if level > value else at
        at, level = share, float(value)
    return 1.0


def _after_first_task(column: str) -> Callable[[Source, str, str], Reading]:
    """A column of the table `consolidation` for the hidden layer, at the end of the first task."""

    def read(source: Source, learner: str, configuration: str) -> Reading:
        rows = only(
            family(source, "consolidation", learner, configuration),
            training=1,
            layer="hidden",
            quantity="strength",
        )
        last = rows[rows["samples"] == rows.groupby("seed")["samples"].transform("max")]
        if not len(last):
            raise GapError(
                f"{short(configuration, learner)} has no weights recorded in its first task"
            )
        return _reading(last, column, learner, configuration)

    return read


def _paper_sgd_iid(source: Source, learner: str, configuration: str) -> Reading:
    printed = source.paper.get("sgd_iid", {}).get(source.dataset, {}).get(configuration)
    if learner != SGD.name or printed is None:
        raise GapError(f"the paper prints no accuracy of {short(configuration, learner)}")
    return Reading(f"the paper's {short(configuration, learner)}", float(printed), float(printed))


@dataclass(frozen=True)
class Quantity:
    """A quantity: its description within a sentence, and the function that reads it."""

    words: str
    read: Callable[[Source, str, str], Reading]


QUANTITIES = {
    "iid_accuracy": Quantity("i.i.d. accuracy at its best λ", _iid_accuracy),
    "sequential_accuracy": Quantity("accuracy in sequence", _in_sequence("accuracy")),
    "average_accuracy": Quantity("average accuracy", _in_sequence("average_accuracy")),
    "forgetting": Quantity("forgetting", _in_sequence("forgetting")),
    "forgetting_known": Quantity(
        "forgetting with the outputs limited to the classes known when a task ended",
        _in_sequence("forgetting_known"),
    ),
    "forgetting_own": Quantity(
        "forgetting with the outputs limited to a task's own classes",
        _in_sequence("forgetting_own"),
    ),
    "backward_transfer": Quantity("backward transfer", _in_sequence("backward_transfer")),
    "forward_transfer": Quantity("forward transfer", _in_sequence("forward_transfer")),
    "forgetting_at_paper_lambda": Quantity(
        "forgetting at the paper's λ", _at_paper_lambda("forgetting")
    ),
    "halving": Quantity("share of an epoch until a task's accuracy halves", _halving),
    "first_task_accuracy": Quantity(
        "accuracy on the first task when it ends", _after_first_task("own_accuracy")
    ),
    "first_task_strength_median": Quantity(
        "median strength of the hidden layer when the first task ends", _after_first_task("p50")
    ),
    "first_task_strength_95": Quantity(
        "95th percentile of the hidden layer's strength when the first task ends",
        _after_first_task("p95"),
    ),
    "paper_sgd_iid": Quantity("accuracy printed in the paper", _paper_sgd_iid),
}

# A quantity, and the one that has the same numbers as the paper prints them.
PRINTED = {"iid_accuracy": "paper_sgd_iid", "paper_sgd_iid": "paper_sgd_iid"}
