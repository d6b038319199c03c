"""Check what the schema of a configuration cannot express; every error names the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snap.data import datasets
from snap.engines import CHOICES
from snap.errors import SnapError, printable
from snap.learners import LEARNERS
from snap.pipeline import methods
from snap.protocol import Protocol
from snap.trial import Configuration

if TYPE_CHECKING:
    from snap.pipeline.plan import Plan

MOST_TRIALS = 10_000_000  # of a search; planning a hundredth of that takes seconds


def check(plan: Plan) -> None:
    """Check what a schema cannot express."""
    config = plan.config
    for learner in LEARNERS.values():
        key = f"{learner.section}.configurations" if learner.section else "configurations"
        names = named_key(key, lambda at=learner: plan.configurations(at.name))
        if len(set(names)) < len(names):
            raise SnapError(f"config key {key}: a configuration is listed twice")
    if config["engine"] not in CHOICES:
        choices = ", ".join(CHOICES)
        raise SnapError(
            f"config key engine must be one of {choices}, got {printable(config['engine'])!r}"
        )
    named_key("protocol", lambda: Protocol.parse(config["protocol"]))
    names = plan.datasets
    for number, name in enumerate(names):
        named_key(f"datasets.{number}.name", lambda at=name: datasets.record(printable(at)))
    if len(set(names)) < len(names):
        raise SnapError("config key datasets: a dataset is listed twice")
    if plan.run == "trials":
        raise SnapError(
            "config key run must not be trials: results/trials holds the finished trials"
        )
    search = config["search"]
    if (search["grid"] is None) == (search["pairs"] is None):
        raise SnapError("config key search: give either grid or pairs, and null for the other")
    if search["grid"] is not None and search["grid"] not in config["grids"]:
        known = ", ".join(sorted(config["grids"]))
        raise SnapError(f"config key search.grid: {search['grid']!r} is not among grids: {known}")
    for cell in plan.all_cells:
        if not plan.searches_for(cell.learner) and not plan.paper_pair(cell):
            raise SnapError(
                f"config key search.pairs: the paper's table has no pair for {cell.dataset},"
                f" {cell.configuration}, λ = {cell.lambda_text}"
            )
    _check_size(plan)
    named_key("sequential", lambda: [plan.open_trial("sequential", c, 0) for c in plan.all_cells])
    _check_limits(plan)
    for key, given in (
        ("ladder.configurations", config["ladder"]["configurations"]),
        ("portraits", config["portraits"]),
    ):
        named_key(key, lambda at=given: [Configuration.parse(name) for name in at])
    named_key("controls", lambda: methods.check(plan))


def _check_size(plan: Plan) -> None:
    """Raise an error for more than could be planned, whatever the machine."""
    cells = plan.all_cells
    tried, seeds = 1, len(plan.seeds("search"))
    if plan.config["search"]["grid"] is not None:
        grid = plan.config["grids"][plan.config["search"]["grid"]]
        tried = len(grid["eta"]) * len(grid["alpha"])
    trials = len(cells) * seeds * tried
    if trials > MOST_TRIALS:
        raise SnapError(
            f"config key grids: {len(cells):,} cells with {tried:,} pairs and {seeds:,} seeds are"
            f" more than {MOST_TRIALS:,} trials: choose fewer"
        )


def _check_limits(plan: Plan) -> None:
    """Raise an error if a limit leaves a task without samples."""
    for name in plan.datasets:
        for split, first in zip(("train", "test"), datasets.record(name).first, strict=True):
            limit = plan.config["limits"][split]
            if limit is None or not first:
                continue
            for task in plan.config["sequential"]["tasks"]:
                least = min(first[int(label)] for label in task)
                if limit < least:
                    raise SnapError(
                        f"config key limits.{split}: the first {limit} samples of {name} hold none"
                        f" of the task with classes {', '.join(map(str, task))}: it takes {least}"
                    )


def named_key(key: str, make: Any) -> Any:
    try:
        return make()
    except SnapError as error:
        raise SnapError(f"config key {key}: {error}") from None
