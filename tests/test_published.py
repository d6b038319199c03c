"""The published results are consistent, and the documents quote them correctly."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml

from snap.errors import SnapError
from snap.pipeline import published, readings
from snap.pipeline.config import read
from snap.publishing import publish
from snap.report import claims
from snap.report.answer import answer
from snap.report.frames import Tables, only
from snap.report.words import minus
from workspace import ROOT

PUBLISHED = ROOT / "reports/paper"
DOCUMENTS = ("README.md", "REPRODUCIBILITY.md")
PAPER = yaml.safe_load((ROOT / "workflow/paper.yaml").read_text()) | {
    "claims": claims.load(ROOT / "workflow/claims.yaml")
}


def test_every_file_matches_the_record():
    assert published.damaged(PUBLISHED) == []


def test_figures_were_drawn_from_the_tables_beside_them():
    assert publish.foreign(PUBLISHED) == []
    assert len(list((PUBLISHED / "figures").glob("*.png"))) == 24


def test_the_verdicts_follow_from_the_tables():
    """Every claim is judged again from the published tables."""
    judged = claims.judge(
        claims.load(ROOT / "workflow/claims.yaml"), Tables(PUBLISHED / "tables"), PAPER
    )
    again = json.loads(json.dumps([dataclasses.asdict(verdict) for verdict in judged]))
    assert again == json.loads((PUBLISHED / "claims.json").read_text())


def test_the_page_belongs_to_the_same_run():
    page = html.unescape((PUBLISHED / "report.html").read_text()).replace("\xa0", " ")
    provenance = json.loads((PUBLISHED / "provenance.json").read_text())
    assert provenance["date"] in page
    assert provenance["git"]["commit"] in page
    for entry in json.loads((PUBLISHED / "claims.json").read_text()):
        for test in entry["tests"]:
            if " minus " in test["made_of"]:  # a single number stands beside its name
                assert minus(test["made_of"]) in page
    for sentence in answer(Tables(PUBLISHED / "tables")):
        assert sentence in page


def test_the_page_keeps_its_evidence_and_stays_small():
    """It links to no file beside it, has the data of every figure, and stays below 8 MB."""
    path = PUBLISHED / "report.html"
    page = path.read_text()
    assert not re.search(r'href="(?!#|data:|https://)', page)
    for about in map(json.loads, (p.read_text() for p in (PUBLISHED / "figures").glob("*.json"))):
        offered = re.search(f'download="figure-{about["name"].lower()}.csv(.gz)?"', page)
        assert bool(offered) == (about["data"] and not about["left_out"]), about["name"]
    assert path.stat().st_size < 8_000_000


def test_the_published_trials_keep_their_names():
    """The configuration asks for all of them by name, so none is trained again after a restore."""
    schema = ROOT / "workflow/schemas/config.schema.yaml"
    plans = readings.load_all(read([ROOT / "config.yaml"]), schema, ROOT / "workflow/paper.yaml")
    counted = Counter()
    for place, plan in plans.items():
        tables = Tables(PUBLISHED / Path(place).relative_to("paper") / "tables")
        for stage in ("search", "iid", "sequential"):
            wanted = {
                trial.fingerprint(trial.record.checksum, "cpu")
                for cell in plan.all_cells
                for eta, alpha in pairs_of(plan, stage, cell, tables.selected)
                for seed in plan.seeds(stage)
                for trial in [plan.trial(stage, cell, eta, alpha, seed)]
            }
            assert wanted == {*tables.table(stage)["trial"]}, (place, stage)
            counted[stage] += len(wanted)
    stages = json.loads((PUBLISHED / "provenance.json").read_text())["costs"]["stages"]
    assert counted == {stage: stages[stage]["trials"] for stage in counted}


def pairs_of(plan, stage, cell, selected):
    """The pairs of a search, or the one that was selected."""
    if stage == "search":
        return plan.pairs(cell) if plan.searches_for(cell.learner) else []
    (row,) = only(
        selected,
        learner=cell.learner,
        dataset=cell.dataset,
        configuration=cell.configuration,
        lambda_=cell.lateral_inhibition,
    ).itertuples()
    return [(None if math.isnan(row.eta) else row.eta, row.alpha)]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_quote_the_published_results(name):
    text = (ROOT / name).read_text()
    assert publish.PASSAGE.search(text)
    assert publish.filled(text, PUBLISHED, PAPER) == text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_accuracies_appear_only_in_passages(name):
    """Prose quotes no accuracy by hand, so none can be wrong. It explains the margin of 0.02."""
    prose = _prose(publish.PASSAGE.sub("", (ROOT / name).read_text()))
    numbers = re.findall(r"(?<![\d.\w=])0?(\.\d\d+)(?![\d\w])", prose)
    assert {*numbers} <= {".02"}


def _prose(text: str) -> str:
    """The text of a document without code, which may contain other numbers."""
    return re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)


def test_the_repository_stays_small():
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in files.stdout.decode().split("\0") if name]
    assert sum((ROOT / name).stat().st_size for name in names) < 25_000_000


def test_an_unknown_passage_is_an_error():
    with pytest.raises(SnapError, match="no passage 'nothing'"):
        publish.filled("<!-- published: nothing -->\n<!-- end -->", PUBLISHED, PAPER)
