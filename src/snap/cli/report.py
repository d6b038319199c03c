"""snap report: make the figures, the paper's tables, the verdicts and the page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from snap.cli import figure


def add(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="make the figures, tables, verdicts and report of a run",
        description="The last steps of the workflow: each reads the tidy tables of a run.",
    )
    steps = report.add_subparsers(title="steps", metavar="STEP", required=True)

    figure.add(steps)

    tables = steps.add_parser("tables", help="the paper's tables: CSV, Markdown, LaTeX, JSON")
    tables.add_argument("names", nargs="+", help="as in the report, such as metrics, pairs-MNIST")
    _add_tables(tables)
    tables.add_argument("--config", required=True, help="the configuration: JSON, or @FILE")
    tables.add_argument("--output", type=Path, required=True, help="the folder to write to")
    tables.set_defaults(command=_tables)

    claims = steps.add_parser("claims", help="judge the paper's claims")
    _add_tables(claims)
    claims.add_argument("--config", required=True, help="the configuration: JSON, or @FILE")
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
    page.add_argument("--snapshots", nargs="*", default=[], help="datasets with weights to show")
    page.add_argument("--style", type=Path, required=True, help="how figures look (YAML)")
    page.add_argument("--config", required=True, help="the configuration: JSON, or @FILE")
    page.add_argument("--output", type=Path, required=True, help="the page")
    page.set_defaults(command=_page)

    publish = steps.add_parser(
        "publish", help="copy a run's results into the repository, and quote them in its documents"
    )
    publish.add_argument("--folder", type=Path, required=True, help="results/<run>")
    publish.add_argument(
        "--to",
        type=Path,
        required=True,
        help="the folder of the publication: new, empty, or an earlier one",
    )
    publish.add_argument("--paper", type=Path, required=True, help="numbers of the paper (YAML)")
    publish.add_argument("--claims", type=Path, required=True, help="the claims (YAML)")
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


def _tables(options: argparse.Namespace) -> None:
    from snap.pipeline.shapes import read_config, read_paper
    from snap.report import paper_tables
    from snap.report.frames import Tables

    paper, config = read_paper(options.paper), read_config(options.config)
    tables = Tables(options.tables)
    made = {name: paper_tables.make(name, tables, config, paper) for name in options.names}
    for name, table in made.items():
        paper_tables.write(table, options.output / name)


def _claims(options: argparse.Namespace) -> None:
    from snap.pipeline import reduced
    from snap.pipeline.shapes import read_config, read_paper
    from snap.report import claims
    from snap.report.frames import Tables

    paper = read_paper(options.paper)
    full = reduced.trains_fully(read_config(options.config))
    verdicts = claims.judge(claims.load(options.claims), Tables(options.tables), paper, full)
    claims.write(verdicts, options.output, options.output.with_suffix(".csv"))


def _page(options: argparse.Namespace) -> None:
    from snap.pipeline import provenance
    from snap.pipeline.shapes import read_config
    from snap.report import page
    from snap.report.figures.style import read_style

    folder = options.folder
    config = read_config(options.config)
    account = provenance.collect(config, folder / "plan.json", Path())
    contents = page.Contents(
        options.figures,
        options.tables,
        options.readings,
        options.reading_figures,
        options.reading_tables,
        options.snapshots,
    )
    page.write(folder, options.output, contents, read_style(options.style), account)
    provenance.write(account, folder / "provenance.json")


def _publish(options: argparse.Namespace) -> None:
    from snap.pipeline.shapes import read_paper
    from snap.publishing import publish
    from snap.report import claims

    others = {folder.name: folder for folder in options.variations if (folder / "tables").exists()}
    paper = read_paper(options.paper) | {"claims": claims.load(options.claims)}
    for document in options.documents:  # an unusable one is an error before anything is replaced
        publish.read_document(document)
    size = publish.publish(options.folder, options.to, others)
    publish.fill(options.documents, options.to, paper)
    print(f"{options.to}: {size / 1e6:.1f} MB")
