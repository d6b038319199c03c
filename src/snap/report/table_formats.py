"""The tables that people read: their cells, and how to write them as CSV, Markdown, LaTeX and JSON.

A cell has a plain text and a LaTeX text. Text from elsewhere, such as a configuration, must become
a cell through `plain`, which escapes everything that LaTeX would interpret.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.files import write_result
from snap.pipeline.reduced import words
from snap.report.paper_places import Place

# Only commands that need no package. LaTeX would read [, ] and * after \\ as its options.
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "–": "--",
    "—": "---",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "λ": r"$\lambda$",
    "η": r"$\eta$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "δ": r"$\delta$",
    "Δ": r"$\Delta$",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "÷": r"$\div$",
    "·": r"$\cdot$",
    "≈": r"$\approx$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∈": r"$\in$",
    "∉": r"$\notin$",
    "√": r"$\surd$",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "‖": r"$\Vert$",
    "←": r"$\leftarrow$",
    "→": r"$\rightarrow$",
}
MARKDOWN = re.compile(r"([\\`*_\[\]<>|$~#])")
WIDE = 40  # characters; LaTeX wraps the text of a wider column
MINUS, TOGETHER = "−", "\u00a0"  # a true minus sign; a space at which no line ends
PAGE = 75  # characters that fit on a line in LaTeX's \small


def escape(text: str) -> str:
    """Return LaTeX that prints the text; an unknown character becomes its code point."""
    return "".join(LATEX.get(letter) or _known(letter) for letter in _one_line(text))


def _known(letter: str) -> str:
    if letter.isascii() or ("À" <= letter <= "ÿ" and letter not in "ÐðÞþ"):
        return letter
    return f"(U+{ord(letter):04X})"


def _one_line(text: str) -> str:
    """Replace every run of whitespace and unprintable characters by one space."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


@dataclass(frozen=True)
class Cell:
    """One cell of a table; a number also has its value, for sorting."""

    text: str
    latex: str
    value: float | None = None
    gap: bool = False  # the result is missing or diverged, or the cell is empty by design


def plain(text: str) -> Cell:
    return Cell(_one_line(text), escape(text))


def gap(text: str) -> Cell:
    """A cell without a result: diverged, missing, or a dash for a cell that is empty by design."""
    return Cell(text, rf"\textit{{{escape(text)}}}", gap=True)


def number(value: float, spread: float | None = None, digits: int = 3, sign: str = "-") -> Cell:
    """A number such as 0.821 ± 0.004, in LaTeX on two lines; `sign` "+" always shows a sign."""
    if not math.isfinite(value):
        return gap("missing")
    text = f"{value:{sign}z.{digits}f}"
    shown = text.replace("-", MINUS)
    if spread is None:
        return Cell(shown, f"${text}$", value)
    whole = Cell(f"{shown} ± {spread:.{digits}f}", "", value)
    return stack(whole, "r", f"${text}$", rf"$\pm {spread:.{digits}f}$")


def stack(cell: Cell, side: str, *lines: str) -> Cell:
    """Return the cell with its LaTeX on several lines, aligned to a side: l or r."""
    joined = r"\\".join(lines)
    latex = rf"\begin{{tabular}}[t]{{@{{}}{side}@{{}}}}{joined}\end{{tabular}}"
    return dataclasses.replace(cell, latex=latex)


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, or a similar one, with this run's numbers."""

    name: str
    title: str
    caption: Cell
    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    paper: tuple[Place, ...] = ()  # the tables of the paper with the same subject

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise SnapError(f"table {self.name}: a row has more or fewer cells than columns")

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds numbers, ignoring gaps."""
        return [
            any(row[n].value is not None for row in self.rows)
            and all(row[n].value is not None or row[n].gap for row in self.rows)
            for n in range(len(self.columns))
        ]


def run_words(config: Mapping[str, Any]) -> str:
    """The sentence of a caption that names the run and says how it is reduced."""
    less = words(config)
    reduced = f", reduced: {less}" if less else ""
    return f"Run: {config['run']}{reduced}."


# The formats


def to_csv(table: PaperTable) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([cell.text for cell in table.columns])
    writer.writerows([_for_programs(cell) for cell in row] for row in table.rows)
    return buffer.getvalue()


def _for_programs(cell: Cell) -> str:
    """The text with plain spaces, and with the minus sign that programs read as one."""
    text = cell.text.replace(TOGETHER, " ")
    return text if cell.value is None else text.replace(MINUS, "-")


def to_markdown(table: PaperTable) -> str:
    rule = ["---:" if numeric else "---" for numeric in table.numeric]
    lines = [_markdown_row(table.columns), f"| {' | '.join(rule)} |"]
    lines += [_markdown_row(row) for row in table.rows]
    title, caption = _markdown(table.title), _markdown(table.caption.text)
    places = "; ".join(_markdown(place.words) for place in table.paper)
    paper = f"\n\nIn the paper: {places}." if places else ""
    return f"## {title}\n\n" + "\n".join(lines) + f"\n\n{caption}{paper}\n"


def _markdown_row(cells: Iterable[Cell]) -> str:
    return f"| {' | '.join(_markdown(cell.text) for cell in cells)} |"


def _markdown(text: str) -> str:
    """Escape the text, so that Markdown finds no markup, HTML or cell separator in it."""
    return MARKDOWN.sub(r"\\\1", text.replace("&", "&amp;"))


def to_latex(table: PaperTable) -> str:
    """A table environment; it needs only the package booktabs."""
    crowded = len(table.columns) > 6
    full = sum(min(WIDE, width) for width in _widths(table)) > PAGE
    heads = table.columns
    if crowded:
        sides = zip(heads, table.numeric, strict=True)
        heads = tuple(_stacked(cell, "r" if numeric else "l") for cell, numeric in sides)
    between = "\n\\addlinespace[2pt]\n" if crowded else "\n"
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        r"\scriptsize" if crowded else r"\footnotesize" if full else r"\small",
        rf"\setlength{{\tabcolsep}}{{{2 if crowded else 4}pt}}",
        r"\setlength{\belowcaptionskip}{6pt}",
        rf"\caption{{{table.caption.latex}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{_alignment(table)}}}",
        r"\toprule",
        _latex_row(heads),
        r"\midrule",
        *([between.join(map(_latex_row, table.rows))] if table.rows else []),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _stacked(cell: Cell, side: str) -> Cell:
    """Return a column head with each word on its own line."""
    words = cell.latex.split(" ")
    return stack(cell, side, *words) if len(words) > 1 else cell


def _latex_row(cells: Iterable[Cell]) -> str:
    return " & ".join(cell.latex for cell in cells) + r" \\"


def _widths(table: PaperTable) -> list[int]:
    """The length of the longest cell of each column, in characters."""
    columns = zip(table.columns, *table.rows, strict=True)
    return [max(len(cell.text) for cell in column) for column in columns]


def _alignment(table: PaperTable) -> str:
    """Align numbers right and text left; wrap long text."""
    wide = [width > WIDE for width in _widths(table)]
    breaking = rf"p{{{0.6 / max(1, sum(wide)):.2f}\linewidth}}"
    return "".join(
        breaking if broken else "r" if numeric else "l"
        for broken, numeric in zip(wide, table.numeric, strict=True)
    )


def to_json(table: PaperTable) -> str:
    """The table for the page; `values` are the numbers to sort by, null for cells without one."""
    content = {
        "name": table.name,
        "title": table.title,
        "caption": table.caption.text,
        "columns": [cell.text for cell in table.columns],
        "rows": [[cell.text for cell in row] for row in table.rows],
        "numeric": table.numeric,
        "values": [[cell.value for cell in row] for row in table.rows],
        "paper": [dataclasses.asdict(place) for place in table.paper],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


FORMATS = {".csv": to_csv, ".md": to_markdown, ".tex": to_latex, ".json": to_json}


def write(table: PaperTable, path: Path) -> None:
    """Write the CSV at `path`, and Markdown, LaTeX and JSON beside it."""
    for suffix, render in FORMATS.items():
        write_result(path.with_suffix(suffix), render(table).encode())
