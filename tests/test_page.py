"""The report page and its provenance, without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import report_folder
from report_folder import CLAIMS, DATASETS, KINDS, LEFT_OUT, TABLES, UNTESTED, Run
from snap.errors import SnapError
from snap.pipeline import provenance
from snap.pipeline.config import read
from snap.protocol import AGREED, SWITCHES
from snap.report import answer, claims, control_words, evidence, page, words
from snap.report.frames import Tables
from snap.trial import SEMANTICS

SVG = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror="alert(1)">',
    "{{7*7}}",
    "</script></style></textarea></pre>",
    "' onmouseover='alert(1)",
]
NO_END = {"meta", "link", "img", "br", "hr", "input", "wbr", "col"}


class Reader(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.words: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in NO_END:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())  # also of no-break spaces

    def values(self, attribute: str) -> list[str]:
        return [a[attribute] for _, a in self.elements if a.get(attribute) is not None]


ROOT = Path(__file__).parents[1]
CONFIG = read([ROOT / "config.yaml"]) | {"limits": {"train": None, "test": None}}


@pytest.fixture
def run(tmp_path) -> Run:
    return report_folder.build(tmp_path)


def written(run: Run) -> Reader:
    return Reader(run.write().read_text())


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory) -> Run:
    return report_folder.build(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def read(unchanged) -> Reader:
    return written(unchanged)


# Content


def test_every_figure_is_on_the_page_with_its_texts_and_data(unchanged, read):
    run = unchanged
    ids, links, labels = read.values("id"), read.values("href"), read.values("aria-label")
    files = downloads(read)
    for name in run.figures:
        about = json.loads((run.folder / "figures" / f"{name}.json").read_text())
        anchor = f"figure-{name.lower()}"
        assert anchor in ids
        assert about["title"] in read.text
        if name == LEFT_OUT:
            assert about["left_out"] in read.text
            assert about["alt"] not in labels
            assert f"#{anchor}" not in links, "it is not in the contents"
            continue
        assert f"#{anchor}" in links or name in ("headline", "controls")
        assert about["alt"] in labels
        assert f"{name}-0" in ids, "the drawing, with its own ids"
        for gap in about["gaps"]:
            assert gap in read.text
        for one in about["paper"]:
            assert f"In the paper: {one['number']}, {one['about']} ({one['label']})" in read.text
        if about["data"]:
            data = (run.folder / "figures" / f"{name}.csv").read_text()
            assert files[f"{anchor}.csv"] == data
        else:
            assert f"{anchor}.csv" not in files
        assert ", ".join(about["sources"]) in read.text
    drawings = [tag for tag, a in read.elements if tag == "svg" and "viewbox" in a]
    assert len(drawings) == len(run.figures) - 1 + 1, "one is left out, the headline is there twice"


def downloads(read: Reader) -> dict[str, str]:
    """The files that the page offers, by name."""
    files = {}
    for tag, attributes in read.elements:
        if tag == "a" and "download" in attributes:
            kind, _, content = attributes["href"].partition(",")
            assert kind == "data:application/gzip;base64"
            text = gzip.decompress(base64.b64decode(content)).decode()
            files[attributes["download"].removesuffix(".gz")] = text
    return files


def test_the_question_and_its_answer_come_first(unchanged, read):
    at = [read.text.index(text) for text in (answer.QUESTION, "After three tasks in sequence")]
    assert at == sorted(at)
    assert read.text.index("After three tasks") < read.text.index("Claims and evidence What")
    for sentence in answer.answer(Tables(unchanged.folder / "tables")):
        assert sentence in read.text
    assert "SNAP, sigmoidal growth in both layers, classifies 80 and 80 %" in read.text


def test_a_number_is_not_parted_from_its_percent_sign(unchanged):
    said = " ".join(answer.answer(Tables(unchanged.folder / "tables")))
    assert " %" in said
    assert said.replace(" %", "\N{NO-BREAK SPACE}%") in unchanged.write().read_text()


def test_sections_follow_in_order(read):
    ids = read.values("id")
    sections = list(dict.fromkeys(section for _, _, section, _, _ in KINDS[1:]))
    order = ["top", "figure-headline", "claims", "controls", "explore", "develop"]
    order += [f"section-{words.slug(section)}" for section in sections]
    order += ["tables", "protocol", "provenance"]
    assert [i for i in ids if i in order] == order
    assert "section-headline" not in ids


def test_every_table_is_on_the_page_with_its_files(read):
    files = downloads(read)
    for number, (name, title) in enumerate(TABLES.items(), start=1):
        assert title in read.text
        assert f"In the paper: Table {number}, something of the paper" in read.text
        for ending in page.FORMATS:
            assert files[f"table-{name.lower()}.{ending}"] == f"{title} as {ending}\n"
    assert read.text.count("0.708 ± 0.004") >= len(TABLES)
    assert "diverged" in read.text
    assert "missing" in read.text


def test_the_controls_have_a_section_with_sentences_a_figure_and_tables(unchanged, read):
    section = read.text.partition("Controls Compared with what?")[2].partition("Explore the runs")[
        0
    ]
    for sentence in control_words.paragraphs(Tables(unchanged.folder / "tables")):
        assert sentence in section
    assert "On MNIST, SNAP ends at 82 %. More accurate after the same sequence" in section
    assert "SNAP among its controls" in section
    assert "Controls: MNIST" in section
    assert "#controls" in read.values("href")


def test_the_verdicts_link_to_their_evidence(read):
    links = read.values("href")
    for name, short, claim, _, *verdicts in CLAIMS:
        assert f"claim-{name}" in read.values("id")
        assert f"{claim}." in read.text
        if verdicts == [UNTESTED, UNTESTED]:
            assert short not in read.text
        else:
            assert short in read.text
            assert links.count(f"#claim-{name}") >= 1 + len(DATASETS)


def test_every_claim_links_to_the_figures_and_tables_that_show_it(read):
    links = read.values("href")
    for target in ("figure-curves-mnist", "figure-curves-fashionmnist", "table-sgd-iid"):
        assert f"#{target}" in links
    shown = read.text.partition(TABLES["sgd-iid"])[2]
    assert "claim 2" in shown, "the table links to the claim that it shows"


def test_a_test_is_one_number_line_per_dataset(read):
    lines = [
        a["aria-label"] for _, a in read.elements if a.get("class") == "line" and a.get("role")
    ]
    wanted = "wanted at least 0.05; partly: at least −0.05"
    first = f"0.373; by seed 0.360, 0.370 and 0.389; in the paper 0.410; {wanted}"
    second = f"−0.012; by seed −0.020, −0.012 and −0.004; {wanted}"
    assert lines.count(first) == len(CLAIMS)
    assert lines.count(second) == len(CLAIMS)
    assert "no number; wanted below 0.3" in lines
    assert "-0.0" not in read.text, "a true minus everywhere"
    assert read.text.count("S.S. neuron (λ = 8) 0.713 ± 0.015 minus") == 2 * len(CLAIMS)


def test_a_single_number_is_said_once_and_its_spread_stays():
    test = {
        "what": "Forgetting",
        "wanted": "at most 0.02",
        "afterwards": False,
        "limits": {"reproduced": ["at most", 0.02]},
        "outcome": "not reproduced",
        "value": 0.117,
        "paper": None,
        "made_of": "S.S. neuron (λ = 16) 0.117 ± 0.015",
        "note": "",
        "by_seed": [0.102, 0.132],
    }
    claim = {"verdicts": {"MNIST": {"tests": [test]}}, "others": {}}
    (row,) = evidence.lines(claim, [])[0]["rows"]
    assert row["value"]["text"] == "0.117"
    assert row["made_of"] == "S.S. neuron (λ = 16) ± 0.015"


def test_claims_that_the_run_cannot_test_are_folded_away(read):
    before, _, folded = read.text.partition("1 claim that this run cannot test")
    assert "SGD is accurate early." in folded
    assert "SGD is accurate early." not in before
    assert "1 more cannot be tested by this run" in before
    assert "so −0.1 cannot be told" in folded
    assert "Not testable" not in read.text.partition("Claims and evidence What")[0]


def test_a_run_that_can_test_no_claim_says_so_once(run):
    run.change("claims.json", verdict=UNTESTED)
    read = written(run)
    assert "This run cannot test the paper’s claims." in read.text
    assert f"{len(CLAIMS)} claims that this run cannot test" in read.text
    assert "verdicts" not in read.values("class")


def test_the_summary_counts_verdicts_in_words(read):
    assert "MNIST: 4 of 8 claims reproduced, 1 partly, 2 not, 1 not testable." in read.text
    assert "FashionMNIST: 2 of 8 claims reproduced, 3 partly, 2 not, 1 not testable." in read.text


def test_page_and_claims_have_the_same_verdicts():
    assert tuple(page.VERDICTS) == claims.VERDICTS


def test_every_verdict_has_its_own_symbol(read):
    for verdict in page.VERDICTS:
        assert f"icon-{words.slug(verdict)}" in read.values("id")
        assert f"#icon-{words.slug(verdict)}" in read.values("href")


def test_protocol_switches_and_provenance_are_on_the_page(read):
    for name, switch in SWITCHES.items():
        assert f"{name} {switch.values[0]} {switch.reference}".replace(" ", "") in "".join(
            read.text.split()
        )
        assert switch.meaning in read.text
    for name, meaning in AGREED.items():
        assert f"{name}{meaning}" in read.text
    record = report_folder.provenance()
    for text in (record["date"], record["git"]["commit"], "with changes not committed", "8.0 GiB"):
        assert text in read.text
    assert "protocol: reference" in read.text, "the config, as YAML"
    assert "Reduced run: 16,000 training" in read.text


def test_a_full_run_has_no_banner_and_unknown_provenance_is_marked(run):
    run.change("provenance.json", reduced="", git=None, costs=None)
    read = written(run)
    assert "Reduced run" not in read.text
    assert "not in a git repository" in read.text
    assert "no account of its jobs" in read.text


def test_the_page_is_well_formed(read):
    """Every element is closed, ids are unique, and every link within the page has its target."""
    assert read.unbalanced == []
    assert read.open == []
    ids = read.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in read.values("href") if link.startswith("#")} <= set(ids)


def test_the_page_loads_nothing_and_links_only_to_the_paper_and_its_code(unchanged, read):
    outside = {link for link in read.values("href") if not link.startswith(("data:", "#"))}
    assert outside == {
        "https://arxiv.org/abs/2410.15318",
        "https://github.com/lshiyan/biological-deep-learning/tree/fundamentals_sgd",
    }
    for attribute in ("src", "srcset", "action", "poster"):
        for value in read.values(attribute):
            assert value.startswith("data:image/"), value
    style = unchanged.page.read_text().partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(a["content"] for t, a in read.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe-eval" not in policy
    assert not [name for _, a in read.elements for name in a if name.startswith("on")]


def test_another_reading_stands_beside_ours(run):
    """Its figures keep their ids apart from those of the main run."""
    own = run.folder / "readings/as-run"
    for name in ("figures", "paper_tables", "claims.json"):
        if (run.folder / name).is_dir():
            shutil.copytree(run.folder / name, own / name)
        else:
            shutil.copy(run.folder / name, own / name)
    config = report_folder.provenance()["config"] | {"readings": {"as-run": {"protocol": "code"}}}
    run.change("provenance.json", config=config)
    run.change("readings/as-run/claims.json", verdict="reproduced")
    contents = page.Contents(run.figures, run.tables, ["as-run"], ["iid"], ["metrics"])
    page.write(run.folder, run.page, contents, report_folder.STYLE)
    read = Reader(run.page.read_text())
    ids = read.values("id")
    assert len(ids) == len(set(ids))
    assert {"iid-0", "as-run-iid-0", "as-run-figure-iid", "as-run-table-metrics"} <= set(ids)
    assert "url(#as-run-iid-0)" in read.values("clip-path")
    assert "MNIST, as run" in read.text
    decides = "As run, the verdict differs on MNIST and FashionMNIST. What decides it: neuron_norm"
    assert decides in read.text


# Hostile values


def with_text(run: Run, text: str) -> Reader:
    """The page with this text in every value that may contain text."""
    paper = [{"number": text, "label": text, "about": text}]
    said = {"title": text, "caption": text, "alt": text, "paper": paper, "gaps": [text]}
    run.change("figures/iid.json", section=text, dataset=text, **said)
    run.change("figures/headline.json", **said)
    run.change("figures/ladder.json", left_out=text)
    (run.folder / "figures/iid.csv").write_text(text)
    run.change("paper_tables/growth.json", title=text, caption=text, columns=[text] * 6)
    run.change("paper_tables/growth.json", rows=[[text] * 6], paper=paper)
    test = {"what": text, "value": 0.1, "wanted": text, "outcome": text, "afterwards": True}
    test |= {"note": text, "by_seed": [], "paper": None, "made_of": text, "limits": {}}
    run.change("claims.json", id=text, claim=text, where=text, dataset=text, reason=text)
    run.change("claims.json", short=text, seeds=text, figure=text, tests=[test])
    run.change("claims.json", details=[text])
    run.change("provenance.json", reduced=text, run=text, platform=text, date=text)
    run.change("provenance.json", config={"run": text, text: [text], "protocol": text})
    run.change("provenance.json", versions={text: text}, git={"commit": text, "changed": True})
    return written(run)


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_and_script_in_values_appear_as_text(run, text):
    harmless = with_text(run, "words")
    read = with_text(run, text)
    shapes = [[(tag, sorted(a)) for tag, a in one.elements] for one in (harmless, read)]
    assert shapes[0] == shapes[1], "the same elements with the same attributes"
    assert read.unbalanced == []
    assert text in read.values("aria-label")
    assert text in downloads(read).values()
    # YAML may double a quote; everywhere else the text appears unchanged.
    assert read.text.count(text) >= harmless.text.count("words") - 5


def test_captions_contain_no_raw_markup_files_links_or_images(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("kept to itself")
    text = (
        ".. raw:: html\n\n   <script>alert(1)</script>\n\n"
        f".. include:: {secret}\n\n"
        f".. csv-table::\n   :file: {secret}\n\n"
        ".. image:: http://example.org/x.png\n\n"
        "See `here <javascript:alert(1)>`_ and http://example.org, or `there`_ and *this.\n"
    )
    shown = str(page.rendered(text, "a-"))
    assert not re.search(r"<(script|img|a)\b|kept to itself", shown)
    assert "See here and http://example.org, or `there`_ and *this." in Reader(shown).text
    assert "<em>x</em>" in page.rendered("*x*", "a-")


# Missing and broken files


@pytest.mark.parametrize(
    "file",
    [
        "figures/curves-MNIST.svg",
        "figures/curves-MNIST.json",
        "figures/curves-MNIST.csv",
        "paper_tables/metrics.tex",
        "paper_tables/metrics.json",
        "claims.json",
        "provenance.json",
    ],
)
def test_a_missing_file_is_named(run, file):
    (run.folder / file).unlink()
    with pytest.raises(SnapError, match=re.escape(f"needs {run.folder / file}, which is")):
        written(run)
    assert not run.page.exists()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("figures/network.svg", "not a picture", "is not an SVG image"),
        ("figures/network.svg", SVG.format("<script>alert(1)</script>"), "contains {http"),
        ("figures/network.svg", SVG.format('<g onclick="alert(1)"/>'), "reacts to events"),
        ("figures/network.json", "{", "is not JSON"),
        ("figures/network.json", '{"name": "network"}', "lacks title, section"),
        ("claims.json", '["a"]', "lacks id, short"),
        ("claims.json", '{"a": 1}', "lacks id, short"),
    ],
)
def test_a_broken_file_is_named(run, file, content, message):
    (run.folder / file).write_text(content)
    with pytest.raises(SnapError, match=re.escape(message)) as error:
        written(run)
    assert file in str(error.value)


def test_an_unknown_verdict_is_an_error(run):
    run.change("claims.json", verdict="maybe")
    with pytest.raises(SnapError, match="got 'maybe'"):
        written(run)


def test_a_claim_without_a_verdict_for_a_dataset_is_marked(run):
    path = run.folder / "claims.json"
    entries = json.loads(path.read_text())
    path.write_text(json.dumps(entries[:1] + entries[2:]))
    read = written(run)
    assert "no verdict" in read.values("title")
    assert "FashionMNIST: 2 of 7 claims reproduced" in read.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        ("", "–"),
        (-0.0, "0"),
        (-0.25, "−0.25"),
        (0.91470001, "0.9147"),
        (0, "0"),
        (True, "yes"),
        ([0, 1], "0, 1"),
        ({"a": 1.5}, "a: 1.5"),
        ([], "–"),
    ],
)
def test_values_are_formatted_for_readers(value, text):
    assert words.show(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min"), (3599, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_durations_are_formatted_for_readers(seconds, text):
    assert words.duration(seconds) == text


# Provenance


@pytest.fixture
def plan_file(tmp_path) -> Path:
    """The plan.json of a run with two jobs of one stage; only one has written its ledger."""
    files = {name: str(tmp_path / name) for name in ("output", "benchmark", "ledger")}
    job = files | {"stage": "search", "trials": 4, "cost": 8.0}
    other = job | {"ledger": str(tmp_path / "none"), "benchmark": str(tmp_path / "none")}
    path = tmp_path / "results" / "quick" / "plan.json"
    invocation = path.parent / "invocations" / "1.json"
    invocation.parent.mkdir(parents=True)
    path.write_text(
        json.dumps({"run": "quick", "cores": 2, "slurm": None, "jobs": [job, other], "started": 0})
    )
    invocation.write_text(json.dumps({"seconds": 10, "cores": 2}))
    ledger = {"trials": 4, "trained": 3, "diverged": 1}
    ledger |= {"training_seconds": 6.0, "ever_trained_seconds": 7.0}
    (tmp_path / "ledger").write_text(json.dumps(ledger))
    (tmp_path / "benchmark").write_text("s\th:m:s\n9.5\t0:00:09\n")
    return path


def test_provenance_records_what_was_trained_and_how_long_it_took(plan_file, tmp_path):
    config = CONFIG | {"run": "quick", "limits": {"train": 100, "test": None}}
    output = tmp_path / "provenance.json"
    provenance.write(provenance.collect(config, plan_file, tmp_path), output)
    record = json.loads(output.read_text())
    assert (record["run"], record["reduced"], record["config"]) == (
        "quick",
        "100 training samples",
        config,
    )
    assert record["semantics"] == SEMANTICS
    assert record["costs"]["stages"]["search"] == {
        "jobs": 2,
        "trials": 4,
        "trained": 3,
        "reused": 1,
        "diverged": 1,
        "wall_seconds": 9.5,
        "core_seconds": 7.0,
    }
    assert (record["costs"]["wall_seconds"], record["costs"]["core_seconds"]) == (10, 20)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", record["date"])
    assert set(record) == set(page.PROVENANCE)


def test_provenance_works_without_plan_git_repository_and_cpuinfo(tmp_path, monkeypatch):
    record = provenance.collect(CONFIG, tmp_path / "quick" / "plan.json", tmp_path)
    assert (record["run"], record["reduced"]) == ("paper", "")
    assert record["costs"] is None
    assert record["git"] is None
    monkeypatch.setenv("PATH", "")
    assert provenance.collect(CONFIG, tmp_path / "plan.json", tmp_path)["git"] is None
    assert provenance._cpu(tmp_path / "none") == (provenance.platform.processor() or None)


def test_provenance_records_the_commit_and_uncommitted_changes(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)
    clean = provenance.collect(CONFIG, tmp_path / "plan.json", tmp_path)["git"]
    assert re.fullmatch("[0-9a-f]{40}", clean["commit"])
    assert clean["changed"] is False
    (tmp_path / "new").touch()
    changed = provenance.collect(CONFIG, tmp_path / "plan.json", tmp_path)["git"]
    assert changed == clean | {"changed": True}


def test_provenance_reads_the_processor(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: A Processor @ 2 GHz\n")
    assert provenance._cpu(tmp_path / "cpuinfo") == "A Processor @ 2 GHz"


def test_provenance_records_versions_without_importing_the_packages(tmp_path):
    code = (
        "import json, sys; from pathlib import Path; from snap.pipeline.provenance import collect;"
        "versions = collect(json.loads(sys.argv[1]), Path('plan.json'), Path('.'))['versions'];"
        "assert versions['python'].count('.') == 2 and versions['torch'], versions;"
        "assert versions['snap'];"
        "heavy = {'numpy', 'numba', 'torch', 'snakemake', 'pandas', 'matplotlib'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, json.dumps(CONFIG)], check=True, cwd=tmp_path)
