"""Passages that say which verdicts change with the seed, the reading, or one choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snap.numbers import number_text
from snap.publishing.passage_tables import Paper, markdown
from snap.report.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, judge
from snap.report.frames import Frame, Tables

SIGNS = {REPRODUCED: "✓", PARTLY: "~", NOT: "✗", NOT_TESTABLE: "–"}
Verdicts = Mapping[tuple[str, str], str]  # by claim and dataset


@dataclass(frozen=True)
class Part(Tables):
    """The rows of some seeds and λ. The selection of pairs has no seed, a learner may have no λ."""

    seeds: frozenset[int] | None = None
    some_lambdas: frozenset[float] | None = None
    whole: dict[str, Frame] = field(default_factory=dict, compare=False)  # what has been read

    def table(self, name: str) -> Frame:
        if name not in self.whole:
            self.whole[name] = super().table(name)
        frame = self.whole[name]
        if self.seeds is not None and "seed" in frame:
            frame = frame[frame["seed"].isin(self.seeds)]
        if self.some_lambdas is not None and "lambda" in frame:
            frame = frame[frame["lambda"].isna() | frame["lambda"].isin(self.some_lambdas)]
        return frame


@dataclass(frozen=True)
class Column:
    """Verdicts under a choice, and those of the published run at the same λ and seeds."""

    head: str
    verdicts: list[Verdicts]
    equal: Verdicts | None = None

    def cell(self, key: tuple[str, str]) -> str:
        signs = " ".join(SIGNS[one.get(key, NOT_TESTABLE)] for one in self.verdicts)
        before = None if self.equal is None else SIGNS[self.equal[key]]
        return signs if before in (None, signs) or signs == "–" else f"{before} → {signs}"

    def agrees(self, key: tuple[str, str], published: str) -> bool:
        """Whether a verdict is the same under this choice, as far as it can be told."""
        wanted = self.equal[key] if self.equal is not None else published
        found = {one.get(key, NOT_TESTABLE) for one in self.verdicts} - {NOT_TESTABLE}
        return found <= {wanted}


def stability(folder: Path, paper: Paper) -> str:
    """Every verdict as published, with each seed alone, in the other readings, in variations."""
    whole, *columns = _columns(folder, paper)
    (verdicts,) = whole.verdicts
    same = {
        column.head: sum(column.agrees(key, verdict) for key, verdict in verdicts.items())
        for column in columns
    }
    each = "; ".join(f"{head}: {count}" for head, count in same.items())
    short = {claim.id: claim.short for claim in paper["claims"]}
    rows = [
        (short[key[0]], key[1], *(column.cell(key) for column in (whole, *columns)))
        for key in verdicts
    ]
    table = markdown(("the claim", "", *(column.head for column in (whole, *columns))), rows)
    return f"Verdicts that do not change, of {len(verdicts)}, by choice: {each}.\n\n{table}"


def robust(folder: Path, paper: Paper) -> str:
    """How many verdicts are the same under every choice."""
    whole, *columns = _columns(folder, paper)
    (verdicts,) = whole.verdicts
    steady = sum(
        all(column.agrees(key, verdict) for column in columns) for key, verdict in verdicts.items()
    )
    return (
        f"{steady} of {len(verdicts)} verdicts stay the same with each seed alone, in every"
        " reading, and in every variation, as far as these can test them."
    )


def _columns(folder: Path, paper: Paper) -> list[Column]:
    tables = Part(folder / "tables")
    seeds = sorted({int(seed) for seed in tables.sequential["seed"]})
    alone = [_judged(replace(tables, seeds=frozenset({seed})), paper) for seed in seeds]
    columns = [
        Column("as published", [_judged(tables, paper)]),
        Column(f"seeds {', '.join(map(str, seeds))} alone", alone),
    ]
    columns += [
        Column(name.replace("-", " "), [_judged(other, paper)])
        for name, other in tables.readings.items()
    ]
    for place in sorted((folder / "variations").glob("*")):
        if not (place / "sequential.csv").exists():
            continue  # only searched
        other = Tables(place)
        same = replace(tables, seeds=_values(other, "seed"), some_lambdas=_values(other, "lambda"))
        head = f"{place.name.replace('-', ' ')}, λ = {_listed(other.lambdas)}"
        columns.append(Column(head, [_judged(other, paper)], _judged(same, paper)))
    return columns


def _judged(tables: Tables, paper: Paper) -> Verdicts:
    return {(v.id, v.dataset): v.verdict for v in judge(paper["claims"], tables, paper)}


def _values(tables: Tables, column: str) -> frozenset[Any]:
    return frozenset(tables.sequential[column].dropna())


def _listed(lambdas: Iterable[float]) -> str:
    return ", ".join(number_text(float(value)) for value in lambdas)
