"""snap report figure: draw one figure from the tables of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snap.cli.options import add_results
from snap.errors import SnapError, printable

if TYPE_CHECKING:
    from snap.report.catalog import Kind
    from snap.report.frames import Tables

FORMS = (".png", ".pdf", ".svg", ".csv")


def add(steps: Any) -> None:
    figure = steps.add_parser(
        "figure",
        help="draw one figure, or write its data",
        description="Draw one figure of the report, or write the data behind it, from the tables of"
        " a run.",
    )
    figure.add_argument("name", help="as in the report, such as iid or curves-MNIST")
    source = figure.add_mutually_exclusive_group()
    source.add_argument("--run", help="the run's name (default: the one started last)")
    source.add_argument(
        "--tables", type=Path, metavar="DIR", help="a folder of tidy tables, or of a published run"
    )
    add_results(figure)
    written = figure.add_mutually_exclusive_group(required=True)
    written.add_argument(
        "--output", type=Path, metavar="FILE", help=f"the only file to write: {', '.join(FORMS)}"
    )
    written.add_argument(
        "--all",
        type=Path,
        metavar="DIR",
        help="write the files of the report into this folder: every form, and a description",
    )
    figure.add_argument("--style", type=Path, metavar="FILE", help="how figures look (YAML)")
    figure.add_argument("--paper", type=Path, metavar="FILE", help="numbers of the paper (YAML)")
    figure.add_argument(
        "--caption", type=Path, metavar="FILE", help="with --all: the caption (RST)"
    )
    figure.add_argument(
        "--weights", type=Path, nargs="*", metavar="FILE", help="hidden weights (NPZ)"
    )
    figure.set_defaults(command=_figure)


def _figure(options: argparse.Namespace) -> None:
    from snap.notebook.places import found
    from snap.pipeline.shapes import read_paper
    from snap.reading import read_text
    from snap.report import catalog
    from snap.report.figures import draw
    from snap.report.figures.base import Drawing
    from snap.report.figures.saving import export, save
    from snap.report.figures.style import looks, read_style

    kind, dataset = catalog.find(options.name)
    if options.output is not None:
        _check_form(kind, options.output)
    tables = _tables(options, kind, dataset)
    style = read_style(options.style or found("workflow/style.yaml"))
    paper = read_paper(options.paper or found("workflow/paper.yaml"))
    weights = {}
    if dataset is not None and kind.weights:
        recorded = tables.folder.parent / "portrait" / f"{dataset}.npz"
        weights[dataset] = options.weights[0] if options.weights else recorded
    drawing = Drawing(tables, style, paper, dataset, weights)
    with looks(style):
        drawn = draw(kind, drawing)
        if options.all is not None:
            caption = options.caption or found(f"reports/captions/{kind.name}.rst")
            save(drawn, kind, options.name, drawing, read_text(caption), options.all)
        elif drawn.left_out:
            raise SnapError(f"there is no figure {options.name} to draw: {drawn.left_out}")
        else:
            export(drawn, drawing, options.output)


def _check_form(kind: Kind, output: Path) -> None:
    form = output.suffix.lower()
    if form not in FORMS:
        raise SnapError(
            f"--output {printable(str(output), 200)} must end in one of {', '.join(FORMS)}"
        )
    if form == ".csv" and not kind.data:
        raise SnapError(f"{kind.name} is a diagram, which has no data to write")


def _tables(options: argparse.Namespace, kind: Kind, dataset: str | None) -> Tables:
    """The tables that a figure may read, which must exist."""
    from snap.pipeline.status import plan_file_of
    from snap.report.frames import Tables

    given = options.tables or plan_file_of(options.results, options.run).parent
    folder = given / "tables" if (given / "tables").is_dir() else given
    tables = Tables(folder, kind.tables)
    missing = [name for name in kind.tables if name not in tables.names]
    if missing:
        raise SnapError(
            f"{printable(str(given), 200)} lacks what {options.name} is drawn from: the table"
            f" {missing[0]}, which a finished run has"
        )
    if dataset is not None and "selected" in kind.tables and dataset not in tables.datasets:
        known = ", ".join(tables.datasets)
        raise SnapError(
            f"{printable(str(given), 200)} has no dataset {dataset}: choose from {known}"
        )
    return tables
