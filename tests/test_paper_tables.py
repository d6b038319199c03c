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
from snap.report import paper_tables
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
        "metrics",
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
    return [unescaped(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def check_formats(table):
    """Check that every format has the same cells and that the LaTeX is well formed."""
    head, *rows = csv.reader(io.StringIO(to_csv(table)))
    content = json.loads(to_json(table))
    assert content["columns"] == head
    assert content["rows"] == rows
    assert len(content["numeric"]) == len(head)
    assert set(content) >= {"name", "title", "caption", "columns", "rows", "numeric"}

    lines = [line for line in to_markdown(table).splitlines() if line.startswith("| ")]
    assert markdown_cells(lines[0]) == head
    assert [markdown_cells(line) for line in lines[2:]] == rows
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


def test_hyperparameters_come_from_the_configuration(tables):
    table = make("hyperparameters", tables)
    mnist, fashion = by_first(table, "MNIST"), by_first(table, "FashionMNIST")
    assert (mnist["Hidden dimension"], fashion["Hidden dimension"]) == ("64", "96")
    assert mnist["Input dimension"] == "784"
    assert mnist["Initial weights"] == "Uniform(0, β)"
    assert mnist["η searched"] == "0.7, 0.3, 0.1, 0.03, 0.001"
    assert mnist["Epochs per task, at most"] == "35"
    assert mnist["Training samples"] == "all"
    given = make("hyperparameters", tables, config(search={"grid": None, "pairs": "paper"}))
    assert by_first(given, "MNIST")["η searched"] == "the paper's table"
    smoke = make("hyperparameters", tables, config("smoke"))
    assert by_first(smoke, "Synthetic")["Input dimension"] == "784"
    assert by_first(smoke, "Synthetic")["Training samples"] == "the first 1,000"


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
    table = make(
        "pairs-MNIST", little_run.write(tmp_path, {"selected": selected, "search": search})
    )
    assert by_first(table, "L.L.") == {
        "0.5": "(0.03, 0.01) ✓",
        "1": "(0.3, 0.3) ≈, paper (0.1, 0.01)",
        "2": "(0.3, 0.3) ✗, paper (0.1, 0.001)",
        "4": "(0.3, 0.3) ✗, paper (0.03, 0.001)",
        "8": "(0.3, 0.3) ∉, paper (0.01, 0.01)",
        "16": "– all diverged, paper (0.01, 0.03)",
        "32": "missing, paper (0.01, 0.01)",
        "64": "missing, paper (0.01, 0.01)",
    }
    caption = table.caption.text
    assert "2 of 56 agree" in caption
    assert "✓ the same pair: 1; ≈" in caption
    assert "our search: 1; ✗" in caption
    assert "in our search: 2; ∉" in caption
    assert "searched: 1; – all pairs diverged: 1; missing: 50." in caption
    assert "lacks η = 0.003, 0.01, 1 and α = 0.001" in caption
    check_formats(table)


def test_given_pairs_are_not_marked_as_searched(tmp_path):
    selected = [pair_rows(0.5, 0.03, 0.01, None, "given")]
    table = make("pairs-MNIST", little_run.write(tmp_path, {"selected": selected}))
    assert by_first(table, "L.L.")["0.5"] == "(0.03, 0.01)"
    assert "none was searched for" in table.caption.text


def test_synthetic_data_have_no_pairs_in_the_paper(tmp_path):
    numbers = {cell: value for cell, value in changed().items() if cell[0] == "hebbian"}
    settings = config("smoke")
    run = run_of(tmp_path, numbers, dataset="Synthetic")
    table = make("pairs-Synthetic", run, settings)
    assert "The paper has no pairs for Synthetic" in table.caption.text
    assert by_first(table, "L.L.") == {"1": "(0.1, 0.01)", "4": "missing"}
    for name in paper_tables.names(["Synthetic"]):
        check_formats(make(name, run, settings))


def test_sgd_is_compared_with_the_paper(tables):
    table = make("sgd-iid", tables)
    rows = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in table.rows}
    assert len(rows) == 8
    assert rows["MNIST", "linear-linear"] == (
        ["0.9500", "0.9490", "0.9510", "2", "0.9731", "-0.0231", "–"]
    )
    assert rows["MNIST", "sigmoid-sigmoid-synapse"] == [
        "missing",
        "–",
        "–",
        "–",
        "0.3531",
        "–",
        "–",
    ]
    assert rows["FashionMNIST", "sigmoid-sigmoid-synapse"][-2] == "+0.2501"
    assert table.numeric == [False, False, True, True, True, True, True, True, False]


def test_metrics_are_at_the_best_lambda_and_show_gaps(tables):
    table = make("metrics", tables)
    rows = {tuple(cell.text for cell in row[:3]): [c.text for c in row[3:]] for row in table.rows}
    assert len(rows) == 2 * (7 + 4)
    linear = rows["Hebbian", "MNIST", "linear-linear"]
    assert linear[:3] == ["16", "0.500 ± 0.001", "0.500 ± 0.001"]
    assert linear[3] == "0.300 ± 0.000"
    assert linear[-2:] == ["16", "0.800 ± 0.001"]
    lost = rows["Hebbian", "MNIST", "sigmoid-linear-synapse"]
    assert lost == ["–", *["diverged"] * 7, "16", "0.790 ± 0.001"]
    absent = rows["SGD", "MNIST", "sigmoid-sigmoid-synapse"]
    assert absent == ["–", *["missing"] * 7, "–", "missing"]
    assert rows["SGD", "MNIST", "linear-linear"][0] == "–"


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
