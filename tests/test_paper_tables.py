"""The paper's tables: the same cells in every format, marked gaps, and escaped text in LaTeX."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser

import little_run
from little_run import changed, run_of
from snap import SnapError, Trial
from snap.growth import plasticity
from snap.pipeline.config import merge, read
from snap.pipeline.plan import Plan
from snap.report import paper_places, paper_tables
from snap.report.catalog import PAPER_FIGURES
from snap.report.table_formats import (
    PaperTable,
    escape,
    gap,
    number,
    plain,
    to_csv,
    to_json,
    to_latex,
    to_markdown,
)

ROOT = Path(__file__).parents[1]
SCHEMA, PAPER_FILE = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"
PAPER = yaml.safe_load(PAPER_FILE.read_text())
HOSTILE = '\\input{x} & % $ # _ ^ ~ {[*]} | `a` <script>alert(1)</script> "q" 漢 \\\\[1em] é'


def config(preset=None, **overlay):
    """The complete configuration, as the workflow uses it."""
    files = [ROOT / "config.yaml", *([ROOT / f"workflow/presets/{preset}.yaml"] if preset else [])]
    return Plan.load(merge(read(files), overlay), SCHEMA, PAPER_FILE).config


FULL = config()
NAMES = paper_tables.names(["MNIST", "FashionMNIST"])


def make(name, tables, settings=FULL):
    return paper_tables.make(name, tables, settings, PAPER)


@pytest.fixture
def tables(tmp_path):
    """A run with both datasets, a configuration that diverged and one that was not run."""
    numbers = changed(("hebbian", "sigmoid-linear-synapse", "sequential", None))
    del numbers["sgd", "sigmoid-sigmoid-synapse"]
    rows = little_run.rows_of(numbers)
    for name, more in little_run.rows_of(changed(), "FashionMNIST").items():
        rows[name] += more
    return little_run.write(tmp_path / "some", rows)


def test_names_need_no_heavy_import_and_include_pairs_of_every_dataset():
    assert NAMES == [
        "growth-equations",
        "hyperparameters",
        "pairs-MNIST",
        "pairs-FashionMNIST",
        "sgd-iid",
        "paper-text",
        "metrics-MNIST",
        "metrics-FashionMNIST",
        "transfer-MNIST",
        "transfer-FashionMNIST",
        "controls-MNIST",
        "controls-FashionMNIST",
        "control-questions",
        "recruitment",
        "notation",
    ]
    code = (
        "import sys; from snap.report import paper_tables; paper_tables.names(['MNIST']);"
        "print({'pandas', 'numpy', 'torch', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_unknown_name_is_an_error(tables):
    with pytest.raises(SnapError, match="no table 'pairs-KMNIST': choose from growth-equations"):
        make("pairs-KMNIST", tables)


# Formats


def latex_cells(line):
    """The cells of a LaTeX row, split at every & that is not escaped."""
    assert line.endswith(r" \\")
    return re.split(r"(?<!\\)&", line.removesuffix(r" \\"))


def unescaped(text):
    """Markdown text as it is displayed."""
    return re.sub(r"\\(.)", r"\1", text).replace("&amp;", "&")


def markdown_cells(line):
    return [
        unescaped(cell.strip()).replace("\u00a0", " ")
        for cell in re.split(r"(?<!\\)\|", line)[1:-1]
    ]


def check_formats(table):
    """Check that every format has the same cells and that the LaTeX is well formed."""
    head, *rows = csv.reader(io.StringIO(to_csv(table)))
    content = json.loads(to_json(table))
    assert content["columns"] == head
    texts = [[cell.replace("\u00a0", " ") for cell in row] for row in content["rows"]]
    numbers = [[value is not None for value in row] for row in content["values"]]
    for row, text, values in zip(rows, texts, numbers, strict=True):
        for cell, word, has_value in zip(row, text, values, strict=True):
            assert cell == (word.replace("−", "-") if has_value else word)
    assert len(content["numeric"]) == len(head)
    assert set(content) >= {"name", "title", "caption", "columns", "rows", "numeric", "paper"}
    assert all(set(place) == {"number", "label", "about"} for place in content["paper"])

    lines = [line for line in to_markdown(table).splitlines() if line.startswith("| ")]
    assert markdown_cells(lines[0]) == head
    assert [markdown_cells(line) for line in lines[2:]] == texts
    assert not re.search(r"(?<!\\)<", to_markdown(table))

    latex = to_latex(table)
    lines = latex.splitlines()
    assert lines[0] == r"\begin{table}[htbp]"
    assert lines[-1] == r"\end{table}"
    assert any(line.startswith(r"\caption{") for line in lines)
    assert rf"\label{{tab:{table.name}}}" in lines
    top, middle, bottom = (lines.index(rf"\{name}rule") for name in ("top", "mid", "bottom"))
    body = [line for line in lines[middle + 1 : bottom] if line != r"\addlinespace[2pt]"]
    assert len(body) == len(rows)
    assert {len(latex_cells(line)) for line in [*lines[top + 1 : middle], *body]} <= {len(head)}
    check_latex(latex)


def check_latex(latex):
    """Check that braces and dollars match, formulas parse, and LaTeX knows all characters."""
    bare = re.sub(r"\\[\\{}$&#%_]", "", latex)
    depth = 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    text, *parts = re.split(r"\$", bare)
    assert len(parts) % 2 == 0
    words = text + "".join(parts[1::2])
    assert not re.search(r"[%#_^~]", words)
    known = {"begin", "end", "centering", "small", "scriptsize", "setlength", "tabcolsep"}
    known |= {"caption", "label", "toprule", "midrule", "bottomrule", "linewidth", "addlinespace"}
    known |= {
        "belowcaptionskip",
        "textit",
        "textbackslash",
        "textless",
        "textgreater",
        "textbar",
        "ldots",
    }
    known |= {"textasciitilde", "textasciicircum", "footnotesize"}
    assert set(re.findall(r"\\([a-z]+)", words)) <= known
    assert all(letter.isascii() or "À" <= letter <= "ÿ" for letter in latex)
    parser = MathTextParser("path")
    for formula in parts[0::2]:
        parser.parse(f"${formula}$".replace(r"\surd", r"\checkmark"))  # MathText has no \surd


@pytest.mark.parametrize("name", NAMES)
def test_every_table_can_be_made_with_and_without_results(name, tables, tmp_path):
    check_formats(make(name, tables))
    empty = make(name, little_run.write(tmp_path / "empty", {}))
    check_formats(empty)
    assert len(empty.rows) == len(make(name, tables).rows)  # gaps are marked, not omitted


@pytest.mark.parametrize("name", NAMES)
def test_text_from_the_configuration_is_escaped(name, tables):
    table = make(name, tables, FULL | {"run": HOSTILE})
    check_formats(table)
    if name not in ("growth-equations", "notation"):
        assert "<script>alert(1)</script>" in table.caption.text
        assert r"\input" not in to_latex(table)
        assert r"\textbackslash{}input\{x\} \& \% \$ \# \_" in to_latex(table)
        assert "(U+6F22)" in to_latex(table)
        assert "<script>" not in to_markdown(table)


@given(st.text())
def test_escaped_text_is_harmless(text):
    table = PaperTable("t", "t", plain(text), (plain(text), plain("b")), ((plain(text),) * 2,))
    check_formats(table)


def test_brackets_and_stars_are_not_options_of_a_latex_row():
    assert escape("[1em] *") == "{[}1em{]} {*}"
    assert escape("a\n\tb") == "a b"


def test_cells():
    assert number(0.5).text == "0.500"
    assert number(-0.00001).text == "0.000"
    assert (number(-0.25).text, number(-0.25).latex) == ("−0.250", "$-0.250$")
    assert number(0.25, 0.01).text == "0.250 ± 0.010"
    assert number(0.25, 0.01).latex == (
        r"\begin{tabular}[t]{@{}r@{}}$0.250$\\$\pm 0.010$\end{tabular}"
    )
    assert number(0.25, sign="+").text == "+0.250"
    assert number(float("nan")).text == "missing"
    with pytest.raises(SnapError, match="more or fewer cells"):
        PaperTable("t", "t", plain(""), (plain("a"),), ((plain("b"), plain("c")),))
    rows = ((number(1), plain("x")), (gap("missing"), number(2)), (gap("–"), gap("–")))
    assert PaperTable("t", "t", plain(""), (plain("a"), plain("b")), rows).numeric == [True, False]


def test_programs_read_the_minus_sign_of_a_csv(tables):
    table = make("transfer-MNIST", tables)
    index = [cell.text for cell in table.columns].index("Backward transfer")
    assert table.rows[0][index].text == "−0.500 ± 0.000"
    assert json.loads(to_json(table))["rows"][0][index] == "−0.500 ± 0.000"
    assert list(csv.reader(io.StringIO(to_csv(table))))[1][index] == "-0.500 ± 0.000"


def test_all_formats_are_written_beside_the_csv(tables, tmp_path):
    paper_tables.write(make("notation", tables), tmp_path / "paper" / "notation.csv")
    assert sorted(path.name for path in (tmp_path / "paper").glob("[!.]*")) == [
        "notation.csv",
        "notation.json",
        "notation.md",
        "notation.tex",
    ]


# Content


def by_first(table, column):
    """The texts of a column, keyed by the texts of the first column."""
    index = [cell.text for cell in table.columns].index(column)
    return {row[0].text: row[index].text for row in table.rows}


def test_hyperparameters_stand_beside_the_papers(tables):
    table = make("hyperparameters", tables)
    ours, papers, agree, where = (
        by_first(table, column) for column in ("This run", "Paper", "Agreement", "Printed in")
    )
    sizes = "Hidden dimension, MNIST", "Hidden dimension, FashionMNIST"
    assert [ours[size] for size in sizes] == [papers[size] for size in sizes] == ["64", "96"]
    assert ours["Input dimension"] == papers["Input dimension"] == "784"
    assert ours["η searched"] == papers["η searched"] == "0.7, 0.3, 0.1, 0.03, 0.001"
    assert where["Batch size"] == "Table 3"
    assert where["Epochs per task, at most"] == "text"
    assert papers["Training samples"] == "not said"
    # config.yaml is the paper.
    assert set(agree.values()) == {"same", "–"}
    assert {label for label, word in agree.items() if word == "–"} == {
        label for label, value in papers.items() if value == "not said"
    }
    given = make("hyperparameters", tables, config(search={"grid": None, "pairs": "paper"}))
    assert by_first(given, "This run")["η searched"] == "the pairs of the paper's tables"
    smoke = make("hyperparameters", tables, config("smoke"))
    assert by_first(smoke, "This run")["Training samples"] == "the first 1,000"
    assert by_first(smoke, "Paper")["Hidden dimension"] == "not said"  # of synthetic data
    assert by_first(smoke, "Agreement")["λ"] == "differs"


def test_the_numbers_of_the_paper_are_in_its_source():
    """Every setting and place that is said to be in the paper is there."""
    source = ROOT.parent / "shared/paper/snap.tex"
    if not source.is_file():
        pytest.skip("the paper's source is not here")
    text = source.read_text()
    for kind, places in (("table", paper_places.PAPER_TABLES), ("figure", PAPER_FIGURES)):
        floats = re.findall(rf"\\begin{{{kind}}}.*?\\end{{{kind}}}", text, re.DOTALL)
        last = [re.findall(r"\\label{(.*?)}", one)[-1] for one in floats]
        assert last == list(places)
    for figure, panels in paper_places.PANELS.items():
        (drawn,) = [f for f in floats if f"\\label{{{figure}}}" in f]
        labels = re.findall(r"\\label{(.*?)}", drawn)
        assert [label for label in labels if label in panels] == labels[: len(panels)]
    for row in ("Batch Size & 1 & 1", "Hebbian Dimension & 64 & 96", "Epochs & 10 & 10"):
        assert row in text
    assert "0.7, 0.3, 0.1, 0.03, and 0.001" in text
    assert "80\\% accuracy" in text
    assert "35 epochs" in text
    for accuracies in PAPER["sgd_iid"].values():
        assert " & ".join(map(str, accuracies.values())) in text
    # The λ of each panel is in its label.
    for figure, dataset in (("mnist_hebb_combined_Forget_Model", "MNIST"), ("fmnist_hebb_top", "")):
        (panels,) = [p for name, p in paper_places.PANELS.items() if figure in name]
        lambdas = list(PAPER["curves"][dataset or "FashionMNIST"].values())
        assert [int(re.search(r"λ = (\d+)", about)[1]) for about in panels.values()] == lambdas
        assert [int(label.rsplit("_", 1)[-1].rsplit("-", 1)[-1]) for label in panels] == lambdas


def pair_rows(power, eta, alpha, accuracy=0.8, status="selected", configuration="linear-linear"):
    who = {"learner": "hebbian", "dataset": "MNIST", "configuration": configuration}
    return who | {
        "lambda": power,
        "eta": eta,
        "alpha": alpha,
        "accuracy": accuracy,
        "status": status,
    }


def test_pairs_are_compared_with_the_papers(tmp_path):
    # The paper's pairs for linear-linear: (0.03, 0.01) (0.1, 0.01) (0.1, 0.001) (0.03, 0.001) at
    # λ 0.5 to 4, and (0.01, 0.01) (0.01, 0.03) (0.01, 0.01) at 8 to 32.
    selected = [
        pair_rows(0.5, 0.03, 0.01),
        pair_rows(1.0, 0.3, 0.3),
        pair_rows(2.0, 0.3, 0.3),
        pair_rows(4.0, 0.3, 0.3),
        pair_rows(8.0, 0.3, 0.3),
        pair_rows(16.0, None, None, None, "all diverged"),
    ]
    search = [
        pair_rows(1.0, 0.1, 0.01, 0.785) | {"seed": 0},
        pair_rows(2.0, 0.1, 0.001, 0.78) | {"seed": 0},
        # One of two seeds diverged, so the pair has no accuracy.
        pair_rows(4.0, 0.03, 0.001, 0.8) | {"seed": 0},
        pair_rows(4.0, 0.03, 0.001, None) | {"seed": 1, "diverged": 5},
    ]
    run = little_run.write(tmp_path, {"selected": selected, "search": search})
    table = make("pairs-MNIST", run)
    assert pairs_of(table, "L.L.") == {
        "0.5": ["(0.03, 0.01) ✓", "(0.03, 0.01)"],
        "1": ["(0.3, 0.3) ≈", "(0.1, 0.01)"],
        "2": ["(0.3, 0.3) ✗", "(0.1, 0.001)"],
        "4": ["(0.3, 0.3) ✗", "(0.03, 0.001)"],
        "8": ["(0.3, 0.3) ∉", "(0.01, 0.01)"],
        "16": ["diverged", "(0.01, 0.03)"],
        "32": ["missing", "(0.01, 0.01)"],
        "64": ["missing", "(0.01, 0.01)"],
    }
    assert [row[1].text for row in table.rows] == ["ours", "paper"] * 8
    caption = table.caption.text
    assert "2 of 56 agree" in caption
    assert "✓ the same pair: 1; ≈" in caption
    assert "our search: 1; ✗" in caption
    assert "in our search: 2; ∉" in caption
    assert "searched: 1; all pairs diverged: 1; missing: 50." in caption
    assert "lacks η = 0.003, 0.01, 1 and α = 0.001" in caption
    assert "E exponential, L linear, S sigmoid." in caption
    check_formats(table)
    # A pair never breaks over two lines; its mark may stand below it.
    cells = [cell.text for row in table.rows for cell in row]
    assert max(len(part) for cell in cells for part in cell.split(" ")) <= len("(0.003, 0.003)")
    assert all(len(cell.split(" ")) <= 2 for cell in cells)


def pairs_of(table, column):
    """Our pair and the paper's in a column, by λ."""
    index = [cell.text for cell in table.columns].index(column)
    found = {}
    for row in table.rows:
        found.setdefault(row[0].text, []).append(row[index].text.replace("\u00a0", " "))
    return found


def test_a_configuration_that_the_paper_does_not_have_is_shown_without_its_pair(tmp_path):
    settings = FULL | {"configurations": ["linear-linear", "sigmoid-exponential-synapse"]}
    run = little_run.write(tmp_path, {"selected": [pair_rows(0.5, 0.03, 0.01)]})
    table = make("pairs-MNIST", run, settings)
    assert pairs_of(table, "S.E. synapse")["0.5"] == ["missing", "–"]
    assert "1 of 8 agree" in table.caption.text


def test_two_configurations_never_have_the_same_name(tmp_path, monkeypatch):
    """A growth function of one's own may begin with the same letter as another."""
    monkeypatch.setattr("snap.trial.GROWTHS", ("linear", "sigmoid", "exponential", "step"))
    names = ["sigmoid-sigmoid-neuron", "step-step-neuron", "linear-linear"]
    settings = FULL | {"configurations": names, "sgd": FULL["sgd"] | {"configurations": names}}
    table = make("metrics-MNIST", little_run.write(tmp_path, {}), settings)
    shown = [row[0].text for row in table.rows]
    assert shown == [*names[:2], "L.L.", *(f"SGD {name}" for name in names[:2]), "SGD L.L."]
    assert "S sigmoid or step." in table.caption.text


def test_given_pairs_are_not_marked_as_searched(tmp_path):
    selected = [pair_rows(0.5, 0.03, 0.01, None, "given")]
    table = make("pairs-MNIST", little_run.write(tmp_path, {"selected": selected}))
    assert pairs_of(table, "L.L.")["0.5"][0] == "(0.03, 0.01)"
    assert "none was searched for" in table.caption.text


def test_synthetic_data_have_no_pairs_in_the_paper(tmp_path):
    numbers = {cell: value for cell, value in changed().items() if cell[0] == "hebbian"}
    settings = config("smoke")
    run = run_of(tmp_path, numbers, dataset="Synthetic")
    table = make("pairs-Synthetic", run, settings)
    assert "The paper has no pairs for Synthetic" in table.caption.text
    assert pairs_of(table, "L.L.") == {"1": ["(0.1, 0.01)"], "4": ["missing"]}
    for name in paper_tables.names(["Synthetic"]):
        check_formats(make(name, run, settings))


SGD_LL, SGD_SYNAPSE = ("L.L.", "MNIST"), ("S.S. synapse", "MNIST")


def by_two(table):
    return {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in table.rows}


def test_sgd_is_compared_with_the_paper(tables):
    table = make("sgd-iid", tables)
    rows = by_two(table)
    assert len(rows) == 8
    head = ["Paper", "Ours", "Ours − paper", "Lowest", "Highest", "Seeds"]
    assert [cell.text for cell in table.columns[2:]] == head
    assert rows[SGD_LL] == ["0.9731", "0.9500", "−0.0231", "0.9490", "0.9510", "2"]
    assert rows[SGD_SYNAPSE] == ["0.3531", "missing", *["–"] * 4]
    assert rows["S.S. synapse", "FashionMNIST"][2] == "+0.2501"
    assert table.numeric == [False, False, *[True] * 6]


def test_the_reading_as_run_has_columns_of_its_own(tables):
    as_run = tables.folder.parent / "readings/as-run/tables"
    run_of(as_run, changed(("sgd", "linear-linear", "iid", 0.9)))
    table = make("sgd-iid", tables)
    assert [cell.text for cell in table.columns[-2:]] == ["As run", "… − paper"]
    assert by_two(table)[SGD_LL][-2:] == ["0.9000", "−0.0731"]
    assert by_two(table)[SGD_LL[0], "FashionMNIST"][-2:] == ["missing", "–"]
    assert "public code (α = 0.01)" in table.caption.text


def test_metrics_are_at_the_best_lambda_and_show_gaps(tables):
    table = make("metrics-MNIST", tables)
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert len(rows) == 7 + 4
    assert rows["L.L."][:3] == ["16", "0.500 ± 0.001", "0.300 ± 0.000"]
    assert rows["L.L."][-2:] == ["0.800 ± 0.001", "16"]
    assert rows["S.L. synapse"] == ["–", *["diverged"] * 4, "0.790 ± 0.001", "16"]
    assert rows["SGD S.S. synapse"] == ["–", *["missing"] * 5, "–"]
    assert rows["SGD L.L."][0] == "–"
    transfer = make("transfer-MNIST", tables)
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in transfer.rows}
    assert rows["L.L."] == ["16", "0.500 ± 0.001", "−0.500 ± 0.000", "0.000 ± 0.000"]


@pytest.mark.parametrize("name", ["metrics-MNIST", "transfer-MNIST", "pairs-MNIST", "sgd-iid"])
def test_tables_are_narrow(name, tables):
    """Estimated from the characters of their unbreakable parts; browsers need about 7.5 pixels."""
    table = make(name, tables)
    columns = zip(table.columns, *table.rows, strict=True)
    widths = []
    for head, *cells in columns:
        parts = (
            [cell.text for cell in cells]
            if name != "pairs-MNIST"
            else [part for cell in cells for part in cell.text.split(" ")]
        )
        widths.append(27 + 7.5 * max(len(text) for text in [head.text, *parts]))
    assert sum(widths) < 1100
    first = [cell.text for row in table.rows for cell in row[:1]]
    assert max(map(len, first)) <= len("SGD S.S. synapse")


# The numbers in the paper's text


def test_the_lambda_of_the_papers_curves_is_beside_ours(tmp_path):
    paper = PAPER | {
        "curves": {
            "MNIST": {
                "linear-linear": 16,  # as in the little run
                "sigmoid-linear-neuron": 1,  # 0.1 lower there
                "sigmoid-sigmoid-neuron": 32,  # not run
                "exponential-linear-neuron": 1,  # diverged there
                "exponential-exponential-neuron": 8,  # diverged altogether
            }
        }
    }
    rows = little_run.rows_of(
        changed(("hebbian", "exponential-exponential-neuron", "sequential", None))
    )
    for row in rows["sequential"]:
        if (row["configuration"], row["lambda"]) == ("exponential-linear-neuron", 1):
            row |= {"accuracy": None, "diverged": 5}
    run = little_run.write(tmp_path, rows)
    names = [name for name in FULL["configurations"] if name != "sigmoid-linear-synapse"]
    settings = FULL | {"configurations": names, "datasets": FULL["datasets"][:1]}
    table = paper_tables.make("paper-text", run, settings, paper)
    found = {row[0].text: [cell.text for cell in row[2:]] for row in table.rows}
    where = "Figure 4, Figure 9"
    assert found["Best λ, L.L."] == ["16", "16", "same", where]
    assert found["Best λ, S.L. neuron"] == ["1", "16", "0.100 lower", where]
    assert found["Best λ, S.S. neuron"] == ["32", "16", "λ = 32 not run", where]
    assert found["Best λ, E.L. neuron"] == ["1", "16", "λ = 1 diverged", where]
    assert found["Best λ, E.E. neuron"] == ["8", "diverged", "–", where]
    top = ["just above 0.8", "0.820", "+0.020", "Experiment 2, footnote"]
    assert found["Highest accuracy, i.i.d."] == top
    strength = ["not close to 1", "0.300", "below", "Experiment 2, last paragraph"]
    assert found["Strength of SGD's neurons when it is accurate"] == strength
    check_formats(table)
    fewer = settings | {"configurations": ["linear-linear"]}
    gaps = paper_tables.make("paper-text", run, fewer, paper)
    assert by_first(gaps, "This run")["Best λ, S.S. neuron"] == "not run"
    without = settings | {"sgd": FULL["sgd"] | {"configurations": ["linear-linear"]}}
    gaps = paper_tables.make("paper-text", run, without, paper)
    assert by_first(gaps, "This run")["Strength of SGD's neurons when it is accurate"] == "not run"


def test_data_that_the_paper_does_not_use_have_none_of_its_numbers(tables):
    table = make("paper-text", tables, config("smoke"))
    assert table.rows == ()
    assert "The paper has no such numbers for the data of this run." in table.caption.text
    check_formats(table)


def test_tables_name_those_of_the_paper(tables):
    numbers = {name: [place.number for place in make(name, tables).paper] for name in NAMES}
    assert {name: found for name, found in numbers.items() if found} == {
        "growth-equations": ["Table 1"],
        "notation": ["Table 2"],
        "hyperparameters": ["Table 3"],
        "pairs-FashionMNIST": ["Table 4"],
        "pairs-MNIST": ["Table 5"],
        "sgd-iid": ["Table 6"],
    }
    content = json.loads(to_json(make("sgd-iid", tables)))
    about = "accuracy of SGD on i.i.d. data"
    assert content["paper"] == [{"number": "Table 6", "label": "tab:sgd-baseline", "about": about}]
    assert f"In the paper: Table 6 ({about})." in to_markdown(make("sgd-iid", tables))


def test_any_number_of_datasets(tables):
    one, two = FULL["datasets"]
    three = {"name": "Synthetic", "hidden": 8}
    for datasets in ([one], [two], [one, two, three]):
        settings = FULL | {"datasets": datasets}
        for name in paper_tables.names([dataset["name"] for dataset in datasets]):
            check_formats(make(name, tables, settings))


def test_notation_uses_names_that_exist_in_the_code(tables):
    engine = (ROOT / "src/snap/engines/reference.py").read_text()
    attributes = {field.name for field in fields(Trial)} | {"hidden", "output"}
    for row in make("notation", tables).rows:
        for name in re.findall(r"[A-Za-z_.]+", row[3].text):
            if "." in name:
                assert name.split(".")[1] in attributes
            else:
                assert re.search(rf"\b{name}\b", engine), name


def test_growth_formulas_match_the_engine(tables):
    """The formulas of the reading `reference` give the same values as snap.growth."""
    table = make("growth-equations", tables)
    assert [cell.text for cell in table.columns] == ["ΔW_ij", "Linear", "Sigmoidal", "Exponential"]
    for row in table.rows[2:]:
        for growth, cell in enumerate(row[1:]):
            for strength in (0.2, 0.9, 1.5):
                formula = cell.text.split(",")[0] if "then" in cell.text else cell.text
                formula = re.sub(r"\|W_ij\||n_i", str(strength), formula).replace("−", "-")
                formula = formula.replace("δW_ij", "1.0")
                factor = eval(re.sub(r"(?<=[\d)]) (?=[(\d])", " * ", formula), {"min": min})
                unit_rows = "then" in cell.text  # rows are kept at unit length instead of scaled
                expected = plasticity(growth, strength, min(strength, 1.0), 1.0)
                assert factor == pytest.approx(1.0 if unit_rows else expected)
