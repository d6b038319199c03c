"""The costs of a run: the page's tables, their captions and README's passage say the same."""

from __future__ import annotations

import json
import re

import pytest
from jinja2 import Environment, PackageLoader, StrictUndefined

import little_run
from report_folder import provenance
from snap.pipeline.spending import spending
from snap.publishing.passages import MAKERS
from snap.report.words import duration, show

SEEDS = {"seeds": [0, 1]}
CONFIG = {"iid": SEEDS, "sequential": SEEDS, "limits": {"train": None}}


def stage(trials, trained, hours):
    return {
        "jobs": 5,
        "trials": trials,
        "trained": trained,
        "reused": trials - trained,
        "diverged": 2,
        "wall_seconds": 12345.0,  # of the jobs' last runs, which no table may show
        "core_seconds": 3600.0 * hours,
    }


def run(date, cpu, wall_hours, **stages):
    whole = 3600.0 * wall_hours
    costs = {"stages": stages, "wall_seconds": whole, "core_seconds": 2 * whole}
    costs["training_seconds"] = sum(one["core_seconds"] for one in stages.values())
    hardware = {"cpu": cpu, "cores": 2}
    return provenance() | {"date": date, "costs": costs, "hardware": hardware}


@pytest.fixture
def restored():
    """A run that took over the search of another run and trained only the final runs."""
    first = run("2031-02-01", "One", 4, search=stage(300, 290, 6.5), iid=stage(10, 10, 0.5))
    last = run("2031-02-03", "Two", 1, search=stage(300, 0, 0), iid=stage(20, 10, 1))
    return last | {"restored": [first], "config": CONFIG}


def shown(record):
    """The text of the page's part on costs, as tables of cells."""
    environment = Environment(
        loader=PackageLoader("snap.report", "template"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {"duration": duration, "show": show}
    page = environment.get_template("spending.html").render(spent=spending(record))
    tables = [
        [
            [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
            for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        ]
        for table in re.findall(r"<table.*?</table>", page, re.DOTALL)
    ]
    return page, tables


def passage(record, folder):
    little_run.write(folder / "tables", little_run.rows_of(little_run.as_in_the_paper()))
    (folder / "provenance.json").write_text(json.dumps(record))
    return MAKERS["cost"](folder, {})


def test_the_tables_add_up_to_the_passage(restored, tmp_path):
    said = passage(restored, tmp_path)
    _, (runs, stages) = shown(restored)
    head, *_, whole = stages
    by_head = dict(zip(head, whole, strict=True))
    assert by_head["Training, all"] == runs[-1][-1] == "8 h 00 min"
    assert "8.0 core hours of training" in said
    assert by_head["Trials"] == "320"
    assert "320 trials" in said
    assert runs[-1][-2] == "5 h 00 min"
    assert "took 5 h 00 min (4 h 00 min on 2 cores of One and 1 h 00 min on 2 cores of Two)" in said


def test_time_is_split_between_this_run_and_the_earlier_ones(restored):
    page, (runs, stages) = shown(restored)
    assert stages[0][-3:] == ["Training, this run", "Training, earlier", "Training, all"]
    assert stages[1] == ["search", "300", "2", "0", "300", "0.0 s", "6 h 30 min", "6 h 30 min"]
    assert stages[2] == ["iid", "20", "2", "10", "10", "1 h 00 min", "30 min", "1 h 30 min"]
    assert stages[3][-3:] == ["1 h 00 min", "7 h 00 min", "8 h 00 min"]
    assert [row[0] for row in runs[1:]] == ["2031-02-01", "2031-02-03", "All"]
    assert duration(12345.0) not in page  # the jobs' own time is no wall time of the run


def test_a_run_of_its_own_has_one_column_of_training(restored, tmp_path):
    alone = restored | {"restored": []}
    page, (stages,) = shown(alone)
    assert "Earlier runs" not in page
    assert "in the earlier ones" not in page
    assert stages[0][-1] == "Training"
    assert stages[-1][-1] == "1 h 00 min"
    assert "took 1 h 00 min on 2 cores of Two: 320 trials" in passage(alone, tmp_path)
    assert "1.0 core hours of training" in passage(alone, tmp_path)


def test_a_stage_that_only_an_earlier_run_had_is_counted(restored):
    first = restored["restored"][0]
    first["costs"]["stages"]["ladder"] = stage(7, 7, 2)
    spent = spending(restored)
    assert spent.stages["ladder"].trials == 0
    assert spent.stages["ladder"].training_seconds == 7200
    assert spent.whole.training_seconds == sum(p.training_seconds for p in spent.parts) == 36000


def test_a_run_without_an_account_says_so(restored, tmp_path):
    page, tables = shown(restored | {"restored": [], "costs": None})
    assert "The run left no account of its jobs." in page
    assert tables == []
    unknown = restored["restored"][0] | {"costs": None, "git": None}
    _, (runs, _) = shown(restored | {"restored": [unknown]})
    assert runs[1][-2:] == ["–", "–"]
    assert "took 1 h 00 min on 2 cores of Two" in passage(
        restored | {"restored": [unknown]}, tmp_path
    )
