"""The workflow with the `smoke` preset: which jobs run, and which run again after a change.

Jobs are counted in Snakemake's log, trained points by the files in the trial store.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from snap.data.datasets import checksum
from snap.errors import SnapError
from snap.files import write_result
from snap.pipeline import published, specs
from snap.pipeline.config import merge
from snap.pipeline.restore import restore
from snap.pipeline.rows import COLUMNS, read_rows
from snap.pipeline.training import Workplace, train
from snap.pipeline.trial_store import TrialStore
from snap.publishing import publish
from snap.publishing.passages import MAKERS
from snap.report import catalog, claims, paper_tables
from snap.trial import SEMANTICS, Trial
from workspace import ROOT, Make, Workspace, until, with_files
from workspace import SMOKE as WITH_CONTROLS

SMOKE = merge(WITH_CONTROLS, {"controls": None})
TABLES = (
    "search",
    "selected",
    "iid",
    "sequential",
    "matrix",
    "curve",
    "ladder",
    "consolidation",
)
# Of the page of a run with controls, which this one has not; tests/test_page.py looks for them.
OF_CONTROLS = ("controls", "controls-Synthetic", "control-questions", "recruitment")
FIGURES = len(catalog.names(["Synthetic"]))
DRAWN = Counter(figure=FIGURES - 1, diagram=1)
REPORT = DRAWN + Counter(paper_tables=1, claims=1, page=1)


TRAINING = Counter(search=8, select=8, iid=8, sequential=8, ladder=1, portrait=1)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Workspace:
    """A workspace with a finished run."""
    workspace = Workspace(tmp_path_factory.mktemp("finished"))
    workspace.configure(SMOKE)
    jobs, trained = workspace.run("all")
    # 3 configurations × 2 λ, and 2 of SGD; 4 pairs each, 2 rates for SGD; two seeds in final runs.
    assert jobs == Counter(data=1) + TRAINING + Counter(table=len(COLUMNS), check=1) + REPORT
    # The i.i.d. run with seed 0 is a trial of the search and is not trained again. One rung of the
    # ladder, `reference`, is a trial of the final runs; the 12 others are new.
    assert trained == (6 * 4 + 2 * 2) + 8 * (2 - 1) + 8 * 2 + 2 * 12
    return workspace


@pytest.fixture
def workspace(finished, tmp_path) -> Workspace:
    return finished.copy(tmp_path / "work")


def changed(**changes):
    return merge(SMOKE, changes)


def test_every_table_exists_and_is_marked_as_reduced(finished):
    for name in TABLES:
        lines = (finished.folder / f"results/smoke/tables/{name}.csv").read_text().splitlines()
        assert len(lines) > 1
        assert all("smoke (reduced:" in line for line in lines[1:])


def test_logs_and_benchmarks_mirror_results(finished):
    for path in finished.folder.glob("results/smoke/*/hebbian/**/*.csv"):
        if path.name.endswith((".matrix.csv", ".curve.csv")):
            continue
        place = path.relative_to(finished.folder / "results").with_suffix("")
        assert (finished.folder / "logs" / f"{place}.log").is_file()
        assert (finished.folder / "benchmarks" / f"{place}.tsv").is_file()


def test_without_a_change_nothing_runs(workspace):
    assert workspace.would_run() == Counter()


def test_touching_files_runs_nothing(workspace):
    """Touch data, results, configuration, and sources of the package and the workflow."""
    now = time.time() + 5
    for path in workspace.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path, (now, now))
    for name in (
        "Snakefile",
        "workflow/rules/search.smk",
        "src/snap/pipeline/jobs.py",
        "src/snap/trial.py",
    ):
        os.utime(ROOT / name)
    assert workspace.would_run() == Counter()


def test_comments_and_key_order_run_nothing(workspace):
    reversed_config = dict(reversed(list(copy.deepcopy(SMOKE).items())))
    text = yaml.safe_dump(reversed_config, sort_keys=False)
    (workspace.folder / "config.yaml").write_text("# another comment\n" + text)
    assert workspace.would_run() == Counter()


def test_one_more_eta_trains_the_new_points_only(workspace):
    before = workspace.files("select/**/*.csv")

    def pair(content):
        return content.splitlines()[1].split(b",")[4:6]

    workspace.configure(changed(grids={"text": {"eta": [0.3, 0.03, 0.003]}}))
    jobs, trained = workspace.run()
    after = workspace.files("select/**/*.csv")
    moved = [path for path in after if after[path] != before[path]]
    new_pair = [path for path in after if pair(after[path]) != pair(before[path])]
    assert jobs["search"] == jobs["select"] == 6, "SGD has no η"
    assert jobs["iid"] == jobs["sequential"] == len(moved)
    # 2 new points in each search job; for each new pair, seed 1 i.i.d. and both seeds in sequence
    assert trained == 6 * 2 + len(new_pair) * 3


def test_one_more_lambda_runs_its_own_jobs(workspace):
    workspace.configure(changed(lambdas=[1, 4, 16]))
    jobs = workspace.would_run()
    for stage in ("search", "select", "iid", "sequential"):
        assert jobs[stage] == 3
    assert jobs["portrait"] == 1, "the best λ may have changed"
    assert jobs["ladder"] == jobs["data"] == 0


def test_removing_a_configuration_runs_no_search_or_final_job(workspace):
    workspace.configure(changed(configurations=SMOKE["configurations"][:2]))
    assert workspace.would_run() == Counter(table=7, portrait=1, check=1) + REPORT


def test_a_configuration_that_shares_its_hidden_layer(workspace):
    """It shares search jobs with its sibling, which keeps its results and is not trained again."""
    more = [*SMOKE["configurations"], "sigmoid-linear-neuron"]
    before = workspace.files("select/**/sigmoid-sigmoid-neuron/*.csv")
    workspace.configure(changed(configurations=more))
    jobs, trained = workspace.run()
    assert jobs["search"] == 2, "one per λ, for both configurations"
    assert jobs["select"] == 4
    assert jobs["iid"] == jobs["sequential"] == 2, "only for the new configuration"
    assert trained == 2 * 4 + 2 * (2 - 1) + 2 * 2
    assert workspace.files("select/**/sigmoid-sigmoid-neuron/*.csv") == before
    workspace.configure(SMOKE)
    jobs, trained = workspace.run()
    assert (jobs["search"], jobs["select"]) == (2, 2), "rewritten without it, from the store"
    assert jobs["iid"] == jobs["sequential"] == trained == 0


def test_changed_epochs_run_every_search(workspace):
    workspace.configure(changed(search={"epochs": 3}))
    jobs = workspace.would_run()
    assert jobs["search"] == 8
    assert jobs["data"] == 0


def test_a_new_table_format_trains_nothing(workspace, own_package):
    edit(own_package / "pipeline/specs.py", f"FORMAT = {specs.FORMAT}", "FORMAT = 999")
    jobs, trained = workspace.run()
    assert jobs == TRAINING + Counter(table=len(COLUMNS), check=1)
    assert trained == 0


def test_one_more_final_seed_trains_only_that_seed(workspace):
    workspace.configure(changed(sequential={"seeds": [0, 1, 2]}))
    jobs, trained = workspace.run()
    # Every table has the number of seeds in its column `run`.
    assert jobs == Counter(sequential=8, portrait=1, table=len(COLUMNS), check=1)
    assert trained == 8


@pytest.fixture
def own_package(workspace, tmp_path):
    """A copy of the package that the workspace uses and a test can edit."""
    package = tmp_path / "src"
    shutil.copytree(ROOT / "src", package, ignore=shutil.ignore_patterns("__pycache__"))
    workspace.environment["PYTHONPATH"] = str(package)
    return package / "snap"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_changed_docstring_runs_nothing(workspace, own_package):
    for name in ("pipeline/jobs.py", "trial.py"):
        edit(own_package / name, '"""\n\nfrom __future__', ' Changed."""\n\nfrom __future__')
    assert workspace.would_run() == Counter()


def test_a_changed_style_redraws_only_figures_and_the_report(workspace):
    style = with_files(workspace, "workflow/style.yaml")
    workspace.snakemake("all", "--touch")  # the copied files have other paths
    assert workspace.would_run() == Counter()
    edit(style, '"#0072b2"', '"#0072b3"')
    assert workspace.would_run() == DRAWN + Counter(page=1)


def test_changed_drawing_code_redraws_only_its_figures(workspace, own_package):
    edit(own_package / "report/figures/network.py", "zorder=3", "zorder=4")
    assert workspace.would_run() == Counter(diagram=1, page=1)


def test_a_changed_number_format_redraws_everything_that_imports_it(workspace, own_package):
    """numbers.py is outside snap.report, but figures, tables and verdicts import it."""
    edit(own_package / "numbers.py", "< 16:", "< 15:")
    jobs = workspace.would_run()
    assert jobs["figure"] > 5
    assert (jobs["claims"], jobs["paper_tables"], jobs["page"]) == (1, 1, 1)


def test_changed_publishing_code_redraws_nothing(workspace, own_package):
    edit(own_package / "publishing/passages.py", "PUBLIC_CODE = 2.8e-3", "PUBLIC_CODE = 2.9e-3")
    edit(own_package / "pipeline/costs.py", "def _wall(", "def _wall_time(")
    edit(own_package / "pipeline/costs.py", "_wall([", "_wall_time([")
    assert workspace.would_run() == Counter()


def test_a_changed_caption_redraws_its_figure(workspace):
    caption = with_files(workspace, "reports/captions/iid.rst")
    workspace.snakemake("all", "--touch")
    edit(caption, "Test accuracy", "The accuracy")
    assert workspace.would_run() == Counter(figure=1, page=1)


def test_everything_is_in_the_report(finished):
    """Every figure and table is on the page, and Snakemake's own report can be made."""
    run = finished.folder / "results/smoke"
    page = (run / "report.html").read_text()
    for kind in catalog.KINDS:
        if kind.name in OF_CONTROLS:
            continue
        name = f"{kind.name}-Synthetic" if kind.per_dataset else kind.name
        assert f'id="figure-{name.lower()}"' in page.lower(), name
        for suffix in ("png", "pdf", "svg", *(["csv"] if kind.data else [])):
            assert (run / f"figures/{name}.{suffix}").stat().st_size
    for name in paper_tables.names(["Synthetic"]):
        assert name in OF_CONTROLS or name.lower() in page.lower()
        for suffix in ("csv", "md", "tex"):
            assert (run / f"paper_tables/{name}.{suffix}").stat().st_size
    done = finished.snakemake("--report", "snakemake.html")
    assert done.returncode == 0, done.stderr
    report = (finished.folder / "snakemake.html").read_text()
    for word in ("Figures", "Tables", "Claims", "headline", "lateral inhibition"):
        assert word in report


def test_a_new_semantics_version_runs_everything(workspace, own_package):
    """But the tables of the controls, which have no rows."""
    edit(own_package / "trial.py", f"SEMANTICS = {SEMANTICS}", "SEMANTICS = 999")
    assert workspace.would_run() == TRAINING + Counter(table=len(TABLES), check=1) + REPORT


@pytest.mark.parametrize("sharing", [{"lambdas_per_job": 2}, {"points_per_job": 3}])
def test_the_size_of_jobs_changes_no_result(finished, workspace, sharing):
    """Nothing is trained again either, because every point is in the store."""
    shutil.rmtree(workspace.folder / "results/smoke")
    workspace.configure(merge(SMOKE, sharing))
    _, trained = workspace.run()
    assert trained == 0
    assert workspace.files("tables/*.csv") == finished.files("tables/*.csv")


def test_one_core_and_another_order_give_the_same_tables(finished, tmp_path):
    alone = Workspace(tmp_path)
    alone.configure(SMOKE)
    done = alone.snakemake("tables", "--cores", "1", "--scheduler", "greedy")
    assert done.returncode == 0, done.stderr
    assert alone.files("tables/*.csv") == finished.files("tables/*.csv")


def stopped(make: Make, process: subprocess.Popen[bytes], stop: Callable[[], None]) -> None:
    """Stop a run once it has trained something."""
    before = len(make.stored())
    until(lambda: len(make.stored()) > before + 1, process)
    begun = time.time()
    stop()
    process.wait(timeout=60)
    took = time.time() - begun
    print(f"{took:.1f} s from the signal to the end")
    assert took < 15
    assert process.returncode != 0
    end = r"^snap: stopped; \d+ of \d+ trained and kept; run the same command again to resume$"
    assert len(re.findall(end, make.said(), re.MULTILINE)) == 1
    assert make.alive() == 0
    assert not make.locked()
    # Without a terminal, progress is plain lines: no colours and no carriage returns.
    assert re.search(r"^smoke: trials search \d+/28, .*; jobs \d+/26; .* left$", make.said(), re.M)
    assert not re.search(r"[\r\x1b]", make.said())


def test_a_run_that_is_stopped_twice_gives_the_same_tables(finished, tmp_path):
    """Stop by Ctrl-C, which reaches all processes, and by SIGTERM, which reaches only make.

    The store also holds the trials of another run.
    """
    other = {"run": "other", "configurations": ["linear-linear"], "lambdas": [4]}
    make = Make(tmp_path, changed(**other, grids={"text": {"eta": [0.3, 0.5]}}))
    done = make.snakemake("pairs")
    assert done.returncode == 0, done.stderr
    kept = make.stored()
    make.configure(SMOKE)
    for kind in ("Ctrl-C", "SIGTERM"):
        process = make.start()
        ctrl_c = functools.partial(os.killpg, process.pid, signal.SIGINT)
        stopped(make, process, ctrl_c if kind == "Ctrl-C" else process.terminate)
        assert kept.items() <= make.stored().items()
        kept = make.stored()
    done = make.snakemake("tables")
    assert done.returncode == 0, done.stderr
    assert kept.items() <= make.stored().items(), "a finished point was trained again"
    assert make.files("tables/*.csv") == finished.files("tables/*.csv")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"lambdas": [-1]}, "lambdas.0"),
        ({"colour": "red"}, "colour"),
        ({"run": "../../elsewhere"}, "run"),
    ],
)
def test_a_bad_configuration_stops_the_run_before_it_writes_files(tmp_path, change, key):
    workspace = Workspace(tmp_path)
    workspace.configure(merge(SMOKE, change))
    done = workspace.snakemake()
    assert done.returncode != 0
    sentences = [text for text in done.stderr.splitlines() if "config key" in text]
    assert len(sentences) == 1
    assert key in sentences[0]
    assert "Traceback" not in done.stderr
    made = {path.name for path in tmp_path.iterdir()} - {"config.yaml", ".snakemake"}
    assert made == set()


def test_parsing_the_rules_imports_no_heavy_module():
    code = (
        "import sys, snap.pipeline.work, snap.pipeline.specs, snap.pipeline.status;"
        "import snap.report.catalog, snap.report.paper_tables, snap.report.versions;"
        "print(sorted({'torch', 'numba', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_snakemake_scans_for_ready_jobs_only_when_a_job_ends(workspace):
    """With Snakemake's default rate limit there would be more scans than jobs."""
    shutil.rmtree(workspace.folder / "results/smoke/select")
    done = workspace.snakemake("pairs", "--verbose", "--cores", "1")
    assert done.returncode == 0, done.stderr
    scans = (done.stdout + done.stderr).count("Ready jobs:")
    assert 0 < scans <= TRAINING["select"] + 2  # the first scan, and the target


def test_publishing(finished, workspace):
    """Publishing a finished run gives a consistent folder and fills the passages of a document."""
    paper = yaml.safe_load((ROOT / "workflow/paper.yaml").read_text())
    paper["claims"] = claims.load(ROOT / "workflow/claims.yaml")
    run, to = finished.folder / "results/smoke", workspace.folder / "published"
    assert publish.publish(run, to, {"same": run}) < 5_000_000
    assert published.damaged(to) == publish.foreign(to) == []
    document = workspace.folder / "document.md"
    passages = "".join(f"<!-- published: {name} -->\nOUTDATED\n<!-- end -->\n" for name in MAKERS)
    document.write_text(f"Before.\n{passages}After.\n")
    publish.fill([document], to, paper)
    text = document.read_text()
    assert "OUTDATED" not in text
    assert text.startswith("Before.\n<!-- published: ")
    assert text.endswith("<!-- end -->\nAfter.\n")
    assert "| same | Synthetic | 8 | 8 | +0.000, +0.000 | +0.000, +0.000 |" in text
    assert publish.filled(text, to, paper) == text
    (to / "claims.csv").write_text("other")
    assert published.damaged(to) == ["claims.csv"]


def test_an_inconsistent_or_unfinished_run_is_not_published(workspace):
    run, to = workspace.folder / "results/smoke", workspace.folder / "published"
    table = run / "tables/ladder.csv"
    altered = table.read_text().replace("smoke", "other")
    table.write_text(altered)
    with pytest.raises(SnapError, match=r"ladder\.csv does not match its checksum"):
        publish.publish(run, to)
    write_result(table, altered.encode())
    with pytest.raises(SnapError, match="not drawn from its tables: ladder"):
        publish.publish(run, to)
    (run / "claims.json").unlink()
    with pytest.raises(SnapError, match=r"not a finished run: it has no claims\.json"):
        publish.publish(run, to)
    assert not to.exists()


def test_a_run_continues_from_published_results(finished, tmp_path, monkeypatch):
    """A run in a new folder trains only the ladder's trials and gives the same tables."""
    monkeypatch.setattr(publish, "LARGE", 5_000)  # compress some of the tables
    publish.publish(finished.folder / "results/smoke", tmp_path / "published")
    assert publish.foreign(tmp_path / "published") == []
    kinds = {path.suffix for path in (tmp_path / "published/tables").iterdir()}
    assert kinds == {".csv", ".gz"}
    work = Workspace(tmp_path / "work")
    work.folder.mkdir()
    work.configure(SMOKE)
    kept = len(read_rows(finished.folder / "results/smoke/tables/search.csv")) + 8 * (2 - 1) + 8 * 2
    assert restore(tmp_path / "published", work.folder / "results") == {"cpu": kept}
    assert restore(tmp_path / "published", work.folder / "results") == {}
    jobs, trained = work.run("all")
    assert jobs == Counter(data=1) + TRAINING + Counter(table=len(COLUMNS), check=1) + REPORT
    assert trained == 2 * 12
    assert work.files("tables/*.csv") == finished.files("tables/*.csv")
    # The restored run is named on the page and in what is published next.
    provenance = json.loads((work.folder / "results/smoke/provenance.json").read_text())
    first = json.loads((finished.folder / "results/smoke/provenance.json").read_text())
    assert [part["date"] for part in provenance["restored"]] == [first["date"]]
    assert "Earlier runs" in (work.folder / "results/smoke/report.html").read_text()
    publish.publish(work.folder / "results/smoke", tmp_path / "again")
    assert restore(tmp_path / "again", tmp_path / "third") == {"cpu": kept}
    chain = json.loads((tmp_path / "third/smoke/restored.json").read_text())
    assert [part["date"] for part in chain] == [first["date"], provenance["date"]]


def test_a_restored_trial_without_history_is_trained_if_its_history_is_needed(finished, tmp_path):
    publish.publish(finished.folder / "results/smoke", tmp_path / "published")
    restore(tmp_path / "published", tmp_path / "results")
    rows = read_rows(finished.folder / "results/smoke/tables/search.csv")
    final = read_rows(finished.folder / "results/smoke/tables/iid.csv")
    (row, *_) = [row for row in rows if row["trial"] not in {other["trial"] for other in final}]
    file = f"trials/{row['trial'][:2]}/{row['trial']}.json"
    restored = json.loads((tmp_path / "results" / file).read_text())["result"]
    whole = json.loads((finished.folder / "results" / file).read_text())["result"]
    assert restored.items() <= whole.items()
    trials, ledger = [Trial.parse(whole["trial"])], tmp_path / "ledger.json"
    place = Workplace(tmp_path / "results/trials", finished.folder / "data", ledger=ledger)
    assert train(trials, "auto", place, needs=()) == [restored]
    (again,) = train(trials, "auto", place)
    assert json.loads(ledger.read_text())["trained"] == 1
    assert again | {"seconds": 0} == whole | {"seconds": 0}
    # A result with history replaces one without, but not the reverse.
    assert restore(tmp_path / "published", tmp_path / "results") == {}
    kept = tmp_path / "results" / f"trials/{final[0]['trial'][:2]}/{final[0]['trial']}.json"
    content = json.loads(kept.read_text())["result"]
    store = TrialStore(tmp_path / "results/trials", checksum("Synthetic"), "cpu")
    without = {key: value for key, value in content.items() if key != "history"}
    store.keep(Trial.parse(content["trial"]), without)
    assert restore(tmp_path / "published", tmp_path / "results") == {"cpu": 1}
    assert json.loads(kept.read_text())["result"] == content


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"semantics": 1}, "trained by version 1 of the training rules"),
        ({"config": {"beta": 0.5}}, "a trial that is not part of its run"),
        ({}, "do not match the record: claims.csv"),
        (None, "is not a published run"),
    ],
)
def test_an_invalid_published_run_is_not_restored(finished, tmp_path, change, says):
    to, results = tmp_path / "published", tmp_path / "results"
    if change is not None:
        publish.publish(finished.folder / "results/smoke", to)
        provenance, record = to / "provenance.json", to / "record.json"
        provenance.write_text(json.dumps(merge(json.loads(provenance.read_text()), change)))
        content = json.loads(record.read_text())
        content["files"]["provenance.json"] = sha256(provenance.read_bytes()).hexdigest()
        record.write_text(json.dumps(content))
    if change == {}:
        (to / "claims.csv").write_text("other")
    with pytest.raises(SnapError, match=says):
        restore(to, results)
    assert not results.exists()


def test_status_and_costs(finished):
    def snap(*arguments):
        command = [sys.executable, "-m", "snap", *arguments]
        return subprocess.run(
            command, cwd=finished.folder, capture_output=True, text=True, check=True
        ).stdout

    assert "jobs 26/26; all trained" in snap("status")
    assert "outside both" in snap("costs")
