"""Which verdicts change with the seed, the reading, or one choice."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from snap.publishing.stability import Column, Part, _judged
from snap.report import claims
from snap.report.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED
from snap.report.frames import Tables
from workspace import ROOT

PUBLISHED = ROOT / "reports/paper/tables"
KEY = ("a-claim", "MNIST")


def column(*verdicts: str, equal: str | None = None) -> Column:
    return Column("", [{KEY: one} for one in verdicts], equal and {KEY: equal})


@pytest.mark.parametrize(
    ("choice", "cell"),
    [
        (column(REPRODUCED, PARTLY, NOT), "✓ ~ ✗"),
        (column(PARTLY, equal=PARTLY), "~"),
        (column(PARTLY, equal=NOT), "✗ → ~"),
        (column(NOT_TESTABLE, equal=NOT), "–"),
        (Column("", [{}]), "–"),  # a reading without this dataset
    ],
)
def test_a_cell_has_both_verdicts_where_they_differ(choice, cell):
    assert choice.cell(KEY) == cell


@pytest.mark.parametrize(
    ("choice", "agrees"),
    [
        (column(PARTLY, PARTLY), True),
        (column(PARTLY, NOT_TESTABLE), True),
        (column(PARTLY, NOT), False),
        (column(NOT, equal=NOT), True),  # at its λ the published run is not reproduced either
        (column(PARTLY, equal=NOT), False),
        (column(NOT_TESTABLE), True),
    ],
)
def test_what_cannot_be_tested_contradicts_nothing(choice, agrees):
    assert choice.agrees(KEY, PARTLY) is agrees


def test_a_part_of_the_tables_has_its_seeds_and_lambdas_only():
    whole = Tables(PUBLISHED)
    part = Part(PUBLISHED, seeds=frozenset({1}), some_lambdas=frozenset({16.0}))
    rows = whole.sequential
    kept = rows[(rows["seed"] == 1) & (rows["lambda"].isna() | (rows["lambda"] == 16))]
    assert 0 < len(kept) < len(rows)
    assert part.sequential["trial"].tolist() == kept["trial"].tolist()
    assert set(part.selected["learner"]) == {"hebbian", "sgd"}, "a pair belongs to no seed"
    assert set(part.lambdas) == {16.0}
    other = replace(part, seeds=frozenset({2}))
    assert other.whole is part.whole, "each table is read once"
    assert set(other.sequential["seed"]) == {2}


def test_one_seed_is_judged_by_its_own_numbers():
    """SGD's i.i.d. accuracies on FashionMNIST are within 0.05 with the seeds 0 and 2 only."""
    paper = yaml.safe_load((ROOT / "workflow/paper.yaml").read_text())
    paper["claims"] = [
        claim
        for claim in claims.load(ROOT / "workflow/claims.yaml")
        if claim.id == "iid-growth-equal-sgd"
    ]
    tables = Part(PUBLISHED)
    rows = tables.iid[(tables.iid["learner"] == "sgd") & (tables.iid["dataset"] == "FashionMNIST")]
    for seed, group in rows.groupby("seed"):
        apart = group["accuracy"].max() - group["accuracy"].min()
        verdicts = _judged(replace(tables, seeds=frozenset({seed})), paper)
        wanted = REPRODUCED if apart <= 0.05 else PARTLY
        assert verdicts["iid-growth-equal-sgd", "FashionMNIST"] == wanted
