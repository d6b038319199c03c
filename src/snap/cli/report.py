"""snap report: make the figures, the paper's tables, the verdicts and the page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml


def add(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="make the figures, tables, verdicts and report of a run",
        description="The last steps of the workflow: each reads the tidy tables of a run.",
    )
    steps = report.add_subparsers(title="steps", metavar="STEP", required=True)

    figure = steps.add_parser("figure", help="draw one figure: PNG, PDF, its data and its finding")
    figure.add_argument("name", help="as in the report, such as iid or curves-MNIST")
    _add_tables(figure)
    figure.add_argument("--style", type=Path, required=True, help="how figures look (YAML)")
    figure.add_argument("--caption", type=Path, required=True, help="the caption (RST)")
    figure.add_argument("--weights", type=Path, nargs="*", help="hidden weights (npz)")
    figure.add_argument(
        "--output", type=Path, required=True, help="the PNG; other files go beside it"
    )
    figure.set_defaults(command=_figure)

    tables = steps.add_parser("tables", help="the paper's tables: CSV, Markdown, LaTeX, JSON")
    tables.add_argument("names", nargs="+", help="as in the report, such as metrics, pairs-MNIST")
    _add_tables(tables)
    tables.add_argument("--config", required=True, help="the configuration, as JSON")
    tables.add_argument("--output", type=Path, required=True, help="the folder to write to")
    tables.set_defaults(command=_tables)

    claims = steps.add_parser("claims", help="judge the paper's claims")
    _add_tables(claims)
    claims.add_argument("--config", required=True, help="the configuration, as JSON")
    claims.add_argument("--claims", type=Path, required=True, help="the claims (YAML)")
    claims.add_argument("--output", type=Path, required=True, help="JSON; a CSV goes beside it")
    claims.set_defaults(command=_claims)

    page = steps.add_parser("page", help="put everything on one page")
    page.add_argument("--folder", type=Path, required=True, help="results/<run>")
    page.add_argument("--figures", nargs="*", default=[], help="their names, in order")
    page.add_argument("--tables", nargs="*", default=[], help="the paper's tables, in order")
    page.add_argument("--readings", nargs="*", default=[], help="other readings, by name")
    page.add_argument("--reading-figures", nargs="*", default=[], help="shown for each of them")
    page.add_argument("--reading-tables", nargs="*", default=[], help="shown for each of them")
    page.add_argument("--config", required=True, help="the configuration, as JSON")
    page.add_argument("--output", type=Path, required=True, help="the page")
    page.set_defaults(command=_page)

    publish = steps.add_parser(
        "publish", help="copy a run's results into the repository, and quote them in its documents"
    )
    publish.add_argument("--folder", type=Path, required=True, help="results/<run>")
    publish.add_argument("--to", type=Path, required=True, help="the folder to replace")
    publish.add_argument("--paper", type=Path, required=True, help="numbers of the paper (YAML)")
    publish.add_argument(
        "--variations", type=Path, nargs="*", default=[], help="runs that differ in one choice"
    )
    publish.add_argument(
        "--documents", type=Path, nargs="*", default=[], help="Markdown with passages to fill"
    )
    publish.set_defaults(command=_publish)


def _add_tables(step: argparse.ArgumentParser) -> None:
    step.add_argument("--tables", type=Path, required=True, help="folder of tidy tables")
    step.add_argument("--paper", type=Path, required=True, help="numbers of the paper (YAML)")


def _figure(options: argparse.Namespace) -> None:
    from snap.report import catalog
    from snap.report.figures import base, draw
    from snap.report.frames import Tables

    kind, dataset = catalog.find(options.name)
    style = base.read_style(options.style)
    drawing = base.Drawing(
        tables=Tables(options.tables, kind.tables),
        style=style,
        paper=yaml.safe_load(options.paper.read_text()),
        dataset=dataset,
        weights={dataset: options.weights[0]} if dataset and options.weights else {},
    )
    with base.looks(style):
        drawn = draw(kind, drawing)
        caption = options.caption.read_text()
        base.save(drawn, kind, options.name, drawing, caption, options.output.parent)


def _tables(options: argparse.Namespace) -> None:
    from snap.report import paper_tables
    from snap.report.frames import Tables

    paper, config = yaml.safe_load(options.paper.read_text()), json.loads(options.config)
    tables = Tables(options.tables)
    for name in options.names:
        made = paper_tables.make(name, tables, config, paper)
        paper_tables.write(made, options.output / name)


def _claims(options: argparse.Namespace) -> None:
    from snap.pipeline import reduced
    from snap.report import claims
    from snap.report.frames import Tables

    paper = yaml.safe_load(options.paper.read_text())
    full = reduced.trains_fully(json.loads(options.config))
    verdicts = claims.judge(claims.load(options.claims), Tables(options.tables), paper, full)
    claims.write(verdicts, options.output, options.output.with_suffix(".csv"))


def _page(options: argparse.Namespace) -> None:
    from snap.pipeline import provenance
    from snap.report import page

    folder = options.folder
    config = json.loads(options.config)
    provenance.write(config, folder / "plan.json", Path(), folder / "provenance.json")
    contents = page.Contents(
        options.figures,
        options.tables,
        options.readings,
        options.reading_figures,
        options.reading_tables,
    )
    page.write(folder, options.output, contents)


def _publish(options: argparse.Namespace) -> None:
    from snap.publishing import publish

    others = {folder.name: folder for folder in options.variations if (folder / "tables").exists()}
    size = publish.publish(options.folder, options.to, others)
    publish.fill(options.documents, options.to, yaml.safe_load(options.paper.read_text()))
    print(f"{options.to}: {size / 1e6:.1f} MB")
