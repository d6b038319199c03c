"""Judge every claim of the paper on every dataset, from the tidy tables of a run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snap.data.datasets import DATASETS
from snap.files import write_result
from snap.pipeline.rows import write_rows
from snap.report import paper_places
from snap.report.claim_file import Ask, Claim, Group, Test, load
from snap.report.frames import Tables
from snap.report.paper_places import Place
from snap.report.quantities import PRINTED, QUANTITIES, GapError, Reading, Source

__all__ = ["VERDICTS", "Verdict", "judge", "load", "write"]

REPRODUCED, PARTLY, NOT, NOT_TESTABLE = VERDICTS = ("reproduced", "partly", "not", "not testable")
COLUMNS = (
    "run id dataset verdict seeds test what value wanted outcome short claim where figure reason"
    " numbers"
).split()
SYNTHETIC = "Synthetic data say nothing about the paper."
REDUCED = (
    "The claim is about accuracy after ten epochs on all data; this run is reduced, and its"
    " numbers stand here for information only."
)


@dataclass(frozen=True)
class Outcome:
    """The result of one test."""

    what: str
    value: float | None
    wanted: str
    outcome: str
    note: str = ""
    afterwards: bool = False  # worded when the results were known; it does not count
    by_seed: tuple[float, ...] = ()  # the value with each seed alone
    paper: float | None = None  # the same number in the paper, where it is printed
    made_of: str = ""  # the numbers that it was computed from
    limits: Mapping[str, Any] = field(default_factory=dict)  # the comparisons, and their margins


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim for a dataset; `numbers` has a sentence per test."""

    run: str
    id: str
    short: str
    claim: str
    where: str  # in words, for a reader of the paper
    figure: str
    dataset: str
    verdict: str
    reason: str
    numbers: str
    seeds: int
    tests: tuple[Outcome, ...]
    details: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()  # the figures and tables of the paper that `where` names


def judge(
    claims: Sequence[Claim], tables: Tables, paper: Mapping[str, Any], full: bool = True
) -> list[Verdict]:
    """Judge every claim on every dataset of the run, or on the paper's if the run has no results.

    `full` says whether each trial trains as much as in the paper: snap.pipeline.reduced decides.
    """
    datasets = tables.datasets or list(paper["pairs"])
    sources = [Source(tables, paper, dataset) for dataset in datasets]
    return [_verdict(claim, source, full) for claim in claims for source in sources]


# From a group of configurations to one number


@dataclass(frozen=True)
class Number:
    value: float
    text: str
    seeds: tuple[int, ...]  # how many, of each of its configurations
    low: float  # over the seeds
    high: float
    by_seed: Mapping[int, float]
    made_of: str = ""
    within_noise: bool = False  # a difference of two numbers whose ranges over seeds overlap


def _read(group: Group, source: Source) -> Number:
    """Return the number of a group.

    The best may leave out configurations that diverged, which the text then mentions. The lowest
    and the spread need all of them. Raises GapError if a number that is needed is missing.
    """
    quantity = QUANTITIES[group.quantity]
    readings: list[Reading] = []
    gaps: list[GapError] = []
    for configuration in group.configurations:
        try:
            readings.append(quantity.read(source, group.learner, configuration))
        except GapError as gap:
            if group.take != "best" or not gap.diverged:
                raise
            gaps.append(gap)
    if not readings:
        raise gaps[0]
    if group.take == "spread":
        least, most = (by(readings, key=lambda r: r.value) for by in (min, max))
        text = f"from {least.text} to {most.text}"
        apart = most.value - least.value
        by_seed = _difference(most.value, most.by_seed, least.value, least.by_seed)
        return Number(apart, text, (least.seeds, most.seeds), apart, apart, by_seed)
    if group.take == "lowest":
        one = min(readings, key=lambda r: r.value)
    else:
        one = max(readings, key=lambda r: r.rank)
    text = ", ".join([one.text, *map(str, gaps)])
    return Number(one.value, text, (one.seeds,), one.low, one.high, one.by_seed)


def _difference(
    value: float, by_seed: Mapping[int, float], other: float, other_by_seed: Mapping[int, float]
) -> dict[int, float]:
    """The difference with each seed that both have. A printed number has none, and is constant."""
    if not by_seed:
        return {seed: value - number for seed, number in other_by_seed.items()}
    if not other_by_seed:
        return {seed: number - other for seed, number in by_seed.items()}
    common = [seed for seed in by_seed if seed in other_by_seed]
    return {seed: by_seed[seed] - other_by_seed[seed] for seed in common}


def _answer(ask: Ask, source: Source) -> Number:
    """The number of a test, with a sentence that explains it."""
    of = _read(ask.of, source)
    minus = _read(ask.minus, source) if ask.minus else None
    # Rounded, because 0.3 - 0.28 must be at least a margin of 0.02.
    value = round(of.value - (minus.value if minus else 0.0), 9)
    seeds, text, overlap, by_seed = of.seeds, of.text, False, of.by_seed
    made_of = of.text
    if minus:
        seeds += minus.seeds
        by_seed = _difference(of.value, of.by_seed, minus.value, minus.by_seed)
        made_of = f"{of.text} minus {minus.text}"
        text = f"{made_of} = {value:z.3f}"
        overlap = of.low <= minus.high and minus.low <= of.high
        text += ", and their seeds overlap" if overlap else ""
    elif ask.of.take == "spread":
        text = f"{text}, {value:z.3f} apart"
    sentence = f"{_sentence(ask.what)}: {text}."
    return Number(value, sentence, seeds, of.low, of.high, by_seed, made_of, overlap)


def _printed(ask: Ask, source: Source) -> float | None:
    """The number of a test, from what the paper prints; None if it does not print enough."""

    def printed(group: Group) -> Group:
        return dataclasses.replace(group, quantity=PRINTED[group.quantity])

    try:
        minus = printed(ask.minus) if ask.minus else None
        return _answer(Ask(ask.what, printed(ask.of), minus), source).value
    except (KeyError, GapError):
        return None


# From numbers to a verdict


def _verdict(claim: Claim, source: Source, full: bool) -> Verdict:
    outcomes: list[Outcome] = []
    numbers: list[Number] = []
    gaps: dict[str, list[str]] = {}  # what is missing, and the tests that need it
    refused = _refusal(claim, source, full)
    for test in claim.tests:
        try:
            tested, outcome = _try(test, source)
        except GapError as gap:
            if not test.afterwards:
                gaps.setdefault(str(gap), []).append(test.ask.what)
            outcomes.append(
                Outcome(test.ask.what, None, test.wanted, NOT_TESTABLE, afterwards=test.afterwards)
            )
            continue
        numbers += tested
        kept = NOT_TESTABLE if refused else outcome
        unclear = outcome == PARTLY and test.reproduced.holds(tested[0].value)
        note = "the seeds overlap" if unclear else ""
        outcomes.append(
            Outcome(
                test.ask.what,
                tested[0].value,
                test.wanted,
                kept,
                note,
                test.afterwards,
                tuple(tested[0].by_seed.values()),
                _printed(test.ask, source),
                tested[0].made_of,
                test.limits,
            )
        )
    if DATASETS[source.dataset].made:
        numbers = []
        outcomes = [dataclasses.replace(o, value=None, by_seed=(), paper=None) for o in outcomes]
    counting = [outcome for outcome in outcomes if not outcome.afterwards]
    verdict = NOT_TESTABLE if refused or gaps else _together([o.outcome for o in counting])
    missing = [f"{_sentence(gap)}; needed for: {'; '.join(w)}." for gap, w in gaps.items()]
    return Verdict(
        run=source.tables.run,
        id=claim.id,
        short=claim.short,
        claim=claim.claim,
        where=paper_places.in_words(claim.where),
        figure=claim.figure,
        dataset=source.dataset,
        verdict=verdict,
        reason=refused or " ".join(missing) or _reason(counting),
        numbers=" ".join(number.text for number in numbers),
        seeds=min((seeds for n in numbers for seeds in n.seeds if seeds), default=0),
        tests=tuple(outcomes),
        details=claim.details,
        places=paper_places.named(claim.where),
    )


def _refusal(claim: Claim, source: Source, full: bool) -> str:
    """Why this run cannot test the claim, whatever its numbers; empty if it can."""
    if DATASETS[source.dataset].made:
        return SYNTHETIC
    if claim.needs == "full" and not full:
        return REDUCED
    return ""


def _try(test: Test, source: Source) -> tuple[list[Number], str]:
    """The numbers that the test compared, and its outcome."""
    number = _answer(test.ask, source)
    if test.reproduced.holds(number.value):
        # A difference within the range of the seeds does not show that one number is higher.
        unclear = number.within_noise and test.reproduced.claims_difference
        return [number], PARTLY if unclear else REPRODUCED
    if test.partly is None:
        return [number], NOT
    numbers = [number, _answer(test.instead, source)] if test.instead else [number]
    return numbers, PARTLY if test.partly.holds(numbers[-1].value) else NOT


def _together(outcomes: Sequence[str]) -> str:
    """The common outcome of all tests; partly if they differ."""
    same = set(outcomes)
    return same.pop() if len(same) == 1 else PARTLY


def _reason(outcomes: Sequence[Outcome]) -> str:
    """How many tests are met; which are not, and their values."""
    met = sum(o.outcome == REPRODUCED for o in outcomes)
    if met == len(outcomes):
        return "The test is met." if met == 1 else f"All of the {met} tests are met."
    words = {NOT: "Not met", PARTLY: "Met by the wider margin only"}
    missed = [
        f"{f'Met, but {o.note}' if o.note else words[o.outcome]}: {o.what} is {o.value:z.3f},"
        f" wanted {o.wanted}."
        for o in outcomes
        if o.outcome != REPRODUCED
    ]
    if len(outcomes) > 1:
        missed.insert(0, f"{met} of {len(outcomes)} tests met.")
    return " ".join(missed)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# Files


def write(verdicts: Iterable[Verdict], json_path: Path, csv_path: Path) -> None:
    """Write all verdicts as JSON, and as CSV with a row per claim, dataset and test."""
    entries = [dataclasses.asdict(verdict) for verdict in verdicts]
    text = json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False)
    write_result(json_path, f"{text}\n".encode())
    rows = [
        {**entry, **test, "test": number}
        for entry in entries
        for number, test in enumerate(entry["tests"], start=1)
    ]
    write_rows(csv_path, COLUMNS, rows)
