"""The evidence for a claim: a number line for every test, with thresholds, seeds and the paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from snap.report.claim_file import UPWARD
from snap.report.words import decimals, listed, minus

ROOM = 0.06  # of a number line, beyond its outermost marks
REGIONS = ("reproduced", "partly")


def lines(claim: Mapping[str, Any], words: Sequence[str]) -> list[dict[str, Any]]:
    """The tests of a claim, each with a line per dataset and reading.

    `claim` has the verdicts by dataset, and under `others` those of each reading in `words`. All
    lines of a test have the same scale, so that its numbers can be compared.
    """
    entries = [("", claim["verdicts"]), *((name, claim["others"].get(name, {})) for name in words)]
    tests: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for reading, verdicts in entries:
        for dataset, entry in verdicts.items():
            for test in entry["tests"]:
                tests.setdefault(str(test["what"]), []).append((dataset, reading, test))
    return [_test(what, found) for what, found in tests.items()]


def _test(what: str, found: Sequence[tuple[str, str, Mapping[str, Any]]]) -> dict[str, Any]:
    one = found[0][2]
    limits = {name: one["limits"][name] for name in REGIONS if name in one["limits"]}
    marks = [margin for _, margin in limits.values()]
    for _, _, test in found:
        marks += [v for v in (test["value"], test["paper"], *test["by_seed"]) if v is not None]
    low, high = (min(marks), max(marks)) if marks else (0.0, 1.0)
    room = ROOM * (high - low or 1.0)
    low, high = low - room, high + room

    def at(value: float) -> float:
        """A place on the line in per cent."""
        return round(100 * (value - low) / (high - low), 3)

    digits = _digits([test["value"] for _, _, test in found], [m for _, m in limits.values()])
    return {
        "what": what,
        "wanted": minus(one["wanted"]),
        "afterwards": one["afterwards"],
        "regions": _regions(limits, at),
        "ticks": _ticks(limits, at),
        "zero": at(0.0) if low < 0 < high else None,
        "rows": [_row(*each, at, digits) for each in found],
    }


def _digits(values: Sequence[float | None], margins: Sequence[float]) -> int:
    """Three decimals, or as many as tell every number from the margins."""
    for digits in (3, 4, 5):
        told = {round(m, digits): m for m in margins}
        if all(v is None or told.get(round(v, digits), v) == v for v in values):
            return digits
    return 6


def _regions(limits: Mapping[str, Any], at: Any) -> list[dict[str, Any]]:
    """Where a number meets the condition; the weaker condition first, so that it lies below."""
    regions = []
    for name in reversed(REGIONS):
        if name in limits:
            words, margin = limits[name]
            start, end = (at(margin), 100.0) if words in UPWARD else (0.0, at(margin))
            regions.append({"name": name, "start": start, "width": round(end - start, 2)})
    return regions


def _ticks(limits: Mapping[str, Any], at: Any) -> list[dict[str, Any]]:
    """The margins, from low to high; two of them have their labels on their outer sides."""
    margins = sorted({float(margin) for _, margin in limits.values()})
    sides = ["middle"] if len(margins) == 1 else ["end", *["start"] * len(margins)][: len(margins)]
    return [
        {"at": at(margin), "text": minus(f"{margin:g}"), "side": side}
        for margin, side in zip(margins, sides, strict=True)
    ]


def _row(
    dataset: str, reading: str, test: Mapping[str, Any], at: Any, digits: int
) -> dict[str, Any]:
    def text(number: float) -> str:
        return decimals(number, digits)

    value, paper = test["value"], test["paper"]
    row = {
        "who": f"{dataset}, {reading}" if reading else dataset,
        "outcome": test["outcome"],
        "made_of": minus(test["made_of"]),
        "note": test["note"],
        "value": None,
        "seeds": [],
        "paper": None,
        "said": "no number",
    }
    if value is None:
        return row
    made_of = row["made_of"]
    if not any(word in made_of for word in (" minus ", " to ")):
        # The number stands beside it; the spread after it does not.
        made_of = re.sub(r" −?\d+\.\d+(?= ±|$)", "", made_of, count=1)
    elif paper is not None and "the paper's" in made_of:
        paper = None  # the paper's number is part of the difference
    if paper is not None:
        made_of = f"{made_of}; the paper: {text(paper)}" if made_of else f"the paper: {text(paper)}"
    row["made_of"] = made_of
    seeds = [float(seed) for seed in test["by_seed"]]
    said = [text(value)]
    if len(seeds) > 1:
        said.append(f"by seed {listed([text(seed) for seed in seeds])}")
    if paper is not None:
        said.append(f"in the paper {text(paper)}")
    return row | {
        "value": {"at": at(value), "text": text(value)},
        "seeds": [{"at": at(seed), "text": text(seed)} for seed in seeds],
        "paper": None if paper is None else {"at": at(paper), "text": text(paper)},
        "said": "; ".join(said),
    }
