"""The figures. Each is a function from a Drawing (tables, style) to a Drawn (figure, data)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from snap.errors import SnapError
from snap.pipeline.shapes import read_paper
from snap.report import catalog
from snap.report.catalog import Kind
from snap.report.figures.base import Drawing, Drawn
from snap.report.figures.saving import inline_svg
from snap.report.figures.style import Style, looks, read_style
from snap.report.frames import Tables


def draw(kind: Kind, drawing: Drawing) -> Drawn:
    """Draw a kind of figure. Imports its module only now, as some are slow to import."""
    function: Callable[[Drawing], Drawn]
    function = getattr(import_module(kind.module), kind.name.replace("-", "_"))
    return function(drawing)


def figure(
    name: str,
    tables: Tables,
    paper: Mapping[str, Any] | Path | None = None,
    style: Mapping[str, Any] | Path | None = None,
    weights: Mapping[str, Path] | None = None,
) -> Figure:
    """Draw a figure by name, as in `figure("curves-MNIST", tables)`, without writing files.

    The paper's numbers and the style come from the project's folder `workflow` unless they are
    given, as files or as their content. `weights` are the files of hidden weights by dataset.
    """
    kind, dataset = catalog.find(name)
    numbers = paper if isinstance(paper, Mapping) else read_paper(_file(paper, "paper.yaml"))
    chosen = style if isinstance(style, Mapping) else read_style(_file(style, "style.yaml"))
    drawing = Drawing(Tables(tables.folder, kind.tables), chosen, numbers, dataset, weights or {})
    with looks(chosen):
        made = draw(kind, drawing)
        if made.left_out:
            raise SnapError(f"{name} has nothing to show: {made.left_out.removesuffix('.')}")
        made.figure.draw_without_rendering()  # Matplotlib makes ticks only now, in this style
    return made.figure


def narrow_svg(name: str, tables: Tables, style: Style) -> str:
    """A figure for a phone, as SVG to stand inside a page."""
    kind, dataset = catalog.find(name)
    drawing = Drawing(Tables(tables.folder, kind.tables), style, {}, dataset, narrow=True)
    with looks(style):
        return inline_svg(draw(kind, drawing), f"{name}-narrow", drawing).decode()


def _file(given: Path | None, name: str) -> Path:
    """A file of the project: the one given, or the one in the folder `workflow`."""
    if given is not None:
        return given
    here = [Path.cwd(), *Path.cwd().parents, Path(__file__).parents[4]]
    for folder in here:
        path = folder / "workflow" / name
        if path.is_file():
            return path
    raise SnapError(
        f"workflow/{name} is neither here nor in the folder of the package: call this in the"
        f" folder of the project, or give the file"
    )
