"""A figure as files: PNG and PDF on white, SVG for the page, its data, and its description."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

from snap.files import write_atomically, write_result
from snap.report.figures.svg import for_page
from snap.report.frames import Frame

if TYPE_CHECKING:  # so that a new kind of figure does not change the version of the others
    from snap.report.catalog import Kind
    from snap.report.figures.base import Drawing

# Without dates, the same results give the same files.
METADATA: Mapping[str, Mapping[str, None]] = {
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
    "svg": {"Date": None},
}


@dataclass
class Drawn:
    """A figure, its data, a sentence on what it shows, and a list of what is missing."""

    figure: Figure
    data: Frame
    finding: str
    gaps: list[str] = field(default_factory=list)
    left_out: str = ""  # why there is nothing to draw; the page then leaves the figure out
    caption: str = ""  # instead of the usual one, if the figure has another form


def save(drawn: Drawn, kind: Kind, name: str, drawing: Drawing, caption: str, folder: Path) -> None:
    """Write PNG, PDF and SVG, the data as CSV unless it is a diagram, and a description as JSON."""
    _finish(drawn, drawing)
    about = {
        "name": name,
        "kind": kind.name,
        "title": kind.title.format(dataset=drawing.dataset),
        "section": kind.section,
        "dataset": drawing.dataset,
        "caption": drawn.caption or caption,
        "alt": drawn.finding,
        "paper": kind.in_paper(drawing.dataset),
        "sources": list(kind.tables) if kind.from_results else [],
        "gaps": drawn.gaps,
        "left_out": drawn.left_out,
        "data": bool(len(drawn.data)),
        "made_from": {table: drawing.tables.checksum(table) for table in kind.tables},
    }
    write_result(folder / f"{name}.pdf", _file(drawn.figure, "pdf", METADATA["pdf"]))
    write_result(folder / f"{name}.png", smaller(_file(drawn.figure, "png", METADATA["png"])))
    write_result(folder / f"{name}.svg", inline_svg(drawn, name, drawing))
    if kind.data:  # also without rows: the workflow expects the file
        write_result(folder / f"{name}.csv", _table(drawn.data))
    write_result(folder / f"{name}.json", json.dumps(about, indent=1).encode())


def inline_svg(drawn: Drawn, name: str, drawing: Drawing) -> bytes:
    """The figure to stand inside a page, on light and on dark ground."""
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        raw = _file(drawn.figure, "svg", METADATA["svg"], facecolor="none", pad_inches=0.04)
    return for_page(raw, name, drawing.dark)


def export(drawn: Drawn, drawing: Drawing, path: Path) -> None:
    """Write one file of a figure, for use outside the report: PNG, PDF, SVG or its data as CSV."""
    form = path.suffix.lower().removeprefix(".")
    if form == "csv":
        content = _table(drawn.data)
    else:
        _finish(drawn, drawing)
        content = _file(drawn.figure, form, METADATA[form])
        content = smaller(content) if form == "png" else content
    write_atomically(path, content)


def _finish(drawn: Drawn, drawing: Drawing) -> None:
    """Lay the figure out once for all files, and note how the run is reduced."""
    drawn.figure.draw_without_rendering()
    drawn.figure.set_layout_engine("none")
    run = drawing.tables.run
    if "(reduced:" in run and not drawn.left_out:
        _note(drawn.figure, drawing, run)


def _table(data: Frame) -> bytes:
    text: str = data.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    return text.encode()


def _file(figure: Figure, form: str, metadata: Mapping[str, None], **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, metadata=metadata, bbox_inches="tight", **options)
    return buffer.getvalue()


def _note(figure: Figure, drawing: Drawing, text: str) -> None:
    """Write a text below everything else, in lines that are not wider than the figure."""
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    text = textwrap.fill(text, int(width / 0.068))
    at = {"x": box.x0 / width, "y": box.y0 / height - 0.12 / height}
    look: dict[str, Any] = {"fontsize": 8.5, "color": drawing.color("soft"), "va": "top"}
    figure.text(s=text, parse_math=False, **look, **at)


def smaller(png: bytes) -> bytes:
    """Reduce an image to 256 colours: a third of the size, with no visible change in a chart."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    few = image.quantize(256, Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    few.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
