"""Hundreds of configurations: each gives a plan with plain paths, or one clear sentence."""

from __future__ import annotations

import copy
import itertools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snap import SnapError
from snap.numbers import number_text
from snap.pipeline import specs
from snap.pipeline.config import merge, read
from snap.pipeline.plan import Plan
from snap.pipeline.status import announcement
from snap.pipeline.work import STAGES, core_hours, work_of
from snap.report import catalog, paper_tables

ROOT = Path(__file__).parents[1]
# Multiplies the number of examples: see `make test-random`.
MORE = int(os.environ.get("MORE_EXAMPLES", "1"))
SMOKE = read([ROOT / "config.yaml", ROOT / "workflow/presets/smoke.yaml"])
HOSTILE = (
    "$(touch owned)",
    "`touch owned`",
    "; touch owned #",
    "x' ; touch owned ; '",
    'x" && touch owned && "',
    "../../elsewhere",
    "/etc/passwd",
    "a\nb",
    "a\0b",
    "{wildcards.dataset}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "lambda=1..2",
    "ünïcödé λ 漢字 🙂",
    "-rf",
    "",
    " ",
    "paper\u202egnp.exe",
)


def load(config) -> Plan:
    return Plan.load(
        config, ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"
    )


def places(value, at=()):
    """Yield every place in a configuration, as the keys that lead to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in items:
        yield (*at, key)
        if isinstance(below, dict | list):
            yield from places(below, (*at, key))


PLACES = list(places(SMOKE))
numbers = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.sampled_from([0, -1, 1e-300, 1e300, math.nan, math.inf, -math.inf, 2**63]),
)
plain = st.one_of(st.none(), st.booleans(), numbers, st.sampled_from(HOSTILE), st.text(max_size=30))
junk = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def configurations(draw):
    config = copy.deepcopy(SMOKE)
    for _ in range(draw(st.integers(1, 3))):
        *way, key = draw(st.sampled_from(PLACES))
        try:
            parent = config
            for step in way:
                parent = parent[step]
            change = draw(st.sampled_from(["replace", "remove", "add"]))
            if change == "replace":
                parent[key] = draw(junk)
            elif change == "remove":
                del parent[key]
            elif isinstance(parent, dict):
                parent[draw(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8)))] = draw(junk)
            elif isinstance(parent, list):
                parent.append(draw(junk))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed this place
    return config


def follow(plan: Plan) -> None:
    """Check all that the workflow derives from a plan before it runs: paths and specifications."""
    pieces = [plan.run, *catalog.names(plan.datasets), *paper_tables.names(plan.datasets)]
    for stage in STAGES:
        for work in work_of(plan, stage):
            pieces += [str(value) for key, value in work.items() if key not in ("cost", "trials")]
            assert math.isfinite(work["cost"])
    for cell in plan.all_cells:
        pieces.append(cell.lambda_text)
        json.loads(specs.select(plan, cell))
    for learner, dataset in itertools.product(("hebbian", "sgd"), plan.datasets):
        for layer in plan.layers(learner):
            for job in plan.jobs("search", learner, dataset, layer):
                json.loads(specs.search(plan, job, 0))
    for family in plan.families:
        for stage in ("iid", "sequential"):
            for job in plan.jobs(stage, *family):
                json.loads(specs.final(plan, stage, job))
    for cell in plan.ladder_cells:
        json.loads(specs.ladder(plan, cell))
    for dataset in plan.datasets:
        json.loads(specs.portrait(plan, dataset))
    for piece in pieces:
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_=.,+-]*", piece), piece
        assert ".." not in piece.replace("lambda=", "").strip("0123456789e+-.") or "lambda" in piece


@settings(max_examples=400 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
@given(configurations())
def test_a_configuration_gives_a_plan_or_one_sentence(config):
    try:
        plan = load(config)
    except SnapError as error:
        sentence = str(error)
        assert sentence.startswith("config key "), sentence
        assert "\n" not in sentence
        assert len(sentence) < 600
        return
    follow(plan)


@settings(max_examples=150 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=200) | st.binary(max_size=100).map(lambda b: b.decode("latin-1")))
def test_any_text_as_a_configuration_file(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "config.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    sentence = ""
    try:
        load(read([path]))
    except SnapError as error:
        sentence = str(error)
    assert "\n" not in sentence


def snakemake(folder: Path, config, *arguments):
    (folder / "config.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--directory", str(folder), *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )


@pytest.mark.parametrize("value", HOSTILE[:4] + HOSTILE[5:7])
def test_a_hostile_name_never_reaches_a_path_or_a_shell(tmp_path, value):
    done = snakemake(tmp_path, merge(SMOKE, {"run": value}), "-n")
    assert done.returncode != 0
    assert "config key run" in done.stderr
    assert "Traceback" not in done.stderr
    assert {p.name for p in tmp_path.iterdir()} <= {"config.yaml", ".snakemake"}


@pytest.mark.parametrize("value", [1e-300, 0.1, 3, 1e300])
def test_any_number_has_one_plain_spelling(value):
    assert re.fullmatch(r"[0-9.e+-]+", number_text(value))


def test_the_announcement_says_if_a_run_takes_days():
    many = [round(n * 1e-4, 4) for n in range(1, 201)]
    plan = load(
        merge(read([ROOT / "config.yaml"]), {"grids": {"text": {"eta": many, "alpha": many}}})
    )
    text = announcement(core_hours(plan), 3.2e9, 2)
    assert "3.2 GB of memory in each job" in text
    assert re.search(r"about [\d,]+ days on 2 cores", text)
    assert "This takes days" in text
    assert "days" not in announcement(core_hours(load(read([ROOT / "config.yaml"]))), 1e9, 2)
