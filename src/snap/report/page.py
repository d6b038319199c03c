"""The report: one self-contained HTML page, which loads nothing from the network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml
from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.writers import html5_polyglot
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from snap.errors import SnapError
from snap.files import read_result, write_result
from snap.pipeline.layout import READINGS
from snap.pipeline.spending import spending
from snap.protocol import AGREED, SWITCHES, Switch
from snap.report import control_words, evidence, paper_tables
from snap.report.answer import QUESTION, answer
from snap.report.claim_file import CHOSEN
from snap.report.frames import Tables
from snap.report.words import (
    breakable,
    download,
    duration,
    listed,
    memory,
    minus,
    show,
    slug,
    unbroken,
)

VERDICTS = {  # the word in claims.json, and the one on the page
    "reproduced": "Reproduced",
    "partly": "Partly",
    "not": "Not reproduced",
    "not testable": "Not testable",
}
NOT_TESTABLE = "not testable"
FIGURE = "name title section kind dataset caption alt paper sources gaps left_out data".split()
TABLE = "name title caption columns rows numeric paper".split()
CLAIM = "id short claim where figure dataset verdict reason seeds tests details".split()
TEST = "what value wanted outcome note afterwards by_seed paper made_of limits".split()
PROVENANCE = (
    "run reduced date semantics git versions platform hardware costs restored config".split()
)
FORMATS = {"csv": "CSV", "md": "Markdown", "tex": "LaTeX"}  # of a table
CONTROLS = "Controls"  # the section of the controls
STYLED = ("page.css", "explorer.css")
SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {  # of a figure; a script, for example, is none of them
    SVG + name for name in "svg g defs path use clipPath rect circle image text tspan title".split()
}


@dataclass(frozen=True)
class Contents:
    """What the report shows, by name and in order."""

    figures: Sequence[str]
    tables: Sequence[str]
    readings: Sequence[str] = ()  # other readings of the paper that the run has
    reading_figures: Sequence[str] = ()  # shown for each of them
    reading_tables: Sequence[str] = ()
    snapshots: Sequence[str] = ()  # datasets with snapshots of the hidden weights


def write(
    folder: Path,
    output: Path,
    contents: Contents,
    style: Mapping[str, Any],
    account: Mapping[str, Any] | None = None,
) -> None:
    """Write the report of the run in `folder`; `account` is its provenance if not yet written."""
    # These are slow to import, and other modules need only the words above.
    from snap.report import bundle, development, explorer
    from snap.report.figures import narrow_svg

    figures = [_figure(folder, name) for name in contents.figures]
    tables = [_table(folder, name) for name in contents.tables]
    for figure in figures[:1]:
        if not figure["left_out"]:
            phone = narrow_svg(figure["name"], Tables(folder / "tables"), style)
            figure["narrow"] = Markup(phone)
    claims = _claims(folder / "claims.json", [*figures, *tables])
    readings = [_reading(folder, name, contents) for name in contents.readings]
    _compare(claims, readings)
    provenance = account or _read(folder / "provenance.json", PROVENANCE)
    templates = PackageLoader("snap.report", "template")
    environment = Environment(
        loader=templates,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    environment.filters |= {
        filter.__name__: filter
        for filter in (show, duration, memory, breakable, slug, minus, unbroken, download)
    }
    snapshots = {name: folder / f"portrait/{name}.snapshots.npz" for name in contents.snapshots}
    sections = _sections(figures)
    compared = _compared(sections, tables, Tables(folder / "tables"))
    explored = explorer.content(Tables(folder / "tables"), style)
    developed = development.content(snapshots, style)
    sources = {name: templates.get_source(environment, name)[0] for name in STYLED}
    scripts = [templates.get_source(environment, "page.js")[0]]
    if explored is not None or developed is not None:
        scripts.append(bundle.script())
    page = environment.get_template("page.html").render(
        question=QUESTION,
        chosen=CHOSEN,
        answer=answer(Tables(folder / "tables")),
        headline=next((f for f in figures[:1] if not f["left_out"]), None),
        compared=compared,
        sections=sections,
        tables=[table for table in tables if table["name"] not in compared["names"]],
        readings=readings,
        claims=[claim for claim in claims if claim["testable"]],
        untested=[claim for claim in claims if not claim["testable"]],
        datasets=_datasets(claims),
        summaries=_summaries(claims),
        verdicts=VERDICTS,
        given=_given(claims),
        reasons=list(dict.fromkeys(why for claim in claims for why in claim["why"])),
        formats=FORMATS,
        switches=SWITCHES,
        code={name: in_code(switch) for name, switch in SWITCHES.items()},
        agreed=AGREED,
        provenance=provenance,
        config=yaml.safe_dump(provenance["config"], sort_keys=False, allow_unicode=True),
        spent=spending(provenance),
        explored=explored,
        developed=developed,
        style=Markup("\n".join(sources.values())),
        scripts=[Markup(script) for script in scripts],
        # The policy names the hash of each script, so the browser runs no other.
        hashes=[base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts],
    )
    write_result(output, page.encode())


# Contents of the page


def _reading(folder: Path, name: str, contents: Contents) -> dict[str, Any]:
    """The figures, tables and verdicts of another reading."""
    own = folder / READINGS / name
    figures = [_figure(own, figure, f"{slug(name)}-") for figure in contents.reading_figures]
    tables = [_table(own, table, f"{slug(name)}-") for table in contents.reading_tables]
    return {
        "name": name,
        "words": name.replace("-", " "),
        "figures": figures,
        "tables": tables,
        "claims": {claim["id"]: claim for claim in _claims(own / "claims.json", [])},
    }


def _compare(claims: Sequence[dict[str, Any]], readings: Sequence[Mapping[str, Any]]) -> None:
    """Add the verdicts of the other readings to each claim, and the number lines of its tests."""
    for claim in claims:
        claim["others"] = {
            reading["words"]: reading["claims"][claim["id"]]["verdicts"]
            for reading in readings
            if claim["id"] in reading["claims"]
        }
        decides = (_decides(claim, *other) for other in claim["others"].items())
        claim["decides"] = list(dict.fromkeys(filter(None, decides)))
        entries = [*claim["verdicts"].values()]
        entries += [entry for other in claim["others"].values() for entry in other.values()]
        claim["testable"] = any(entry["verdict"] != NOT_TESTABLE for entry in entries)
        why = (entry["reason"] for entry in entries if entry["verdict"] == NOT_TESTABLE)
        claim["why"] = list(dict.fromkeys(minus(reason) for reason in why))
        claim["lines"] = evidence.lines(claim, list(claim["others"]))


def _decides(claim: Mapping[str, Any], words: str, verdicts: Mapping[str, Any]) -> str:
    """The details of the public code that change the verdicts in another reading."""
    changed = [
        dataset
        for dataset, entry in verdicts.items()
        if entry["verdict"] != claim["verdicts"].get(dataset, entry)["verdict"]
    ]
    if not changed or not claim["details"]:
        return ""
    return (
        f"{words.capitalize()}, the verdict differs on {listed(changed)}. What decides it:"
        f" {listed(claim['details'])} (see Protocol switches)."
    )


def in_code(switch: Switch) -> str:
    """The value of a switch in the reading `code`, by learner where they differ."""
    values = {learner: switch.in_code(learner) for learner in switch.learners}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} ({learner})" for learner, value in values.items())


def _figure(folder: Path, name: str, prefix: str = "") -> dict[str, Any]:
    """The description of a figure, with its image, its data and its rendered caption."""
    figure: dict[str, Any] = _read(folder / "figures" / f"{name}.json", FIGURE)
    anchor = f"{prefix}figure-{slug(name)}"
    dataset = figure["dataset"]
    figure |= {"anchor": anchor, "claims": [], "csv": None}
    figure["tag"] = None if dataset is None or dataset in figure["title"] else dataset
    if figure["left_out"]:
        return figure
    figure["svg"] = _svg(folder / "figures" / f"{name}.svg", name, prefix)
    figure["caption"] = rendered(figure["caption"], f"{anchor}-")
    if figure["data"]:
        figure["csv"] = _bytes(folder / "figures" / f"{name}.csv").decode()
    return figure


def _svg(path: Path, name: str, prefix: str) -> Markup:
    """The drawing of a figure; `prefix` keeps its ids apart from those of the same figure."""
    text = _bytes(path).decode(errors="replace")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        raise SnapError(f"{path} is not an SVG image") from None
    strange = sorted({str(element.tag) for element in root.iter()} - ELEMENTS)
    if strange:
        raise SnapError(f"{path} contains {strange[0]}, which a figure does not have")
    if any(key.lower().startswith("on") for element in root.iter() for key in element.attrib):
        raise SnapError(f"{path} contains code that reacts to events")
    if prefix:
        own = rf'((?:id|href)="#?|url\(#){re.escape(name)}-'
        text = re.sub(own, rf"\g<1>{prefix}{name}-", text)
    return Markup(text)


def _table(folder: Path, name: str, prefix: str = "") -> dict[str, Any]:
    """One of the paper's tables with its files; `numeric` says which columns hold numbers."""
    path = folder / "paper_tables" / f"{name}.json"
    table: dict[str, Any] = _read(path, TABLE)
    files = {ending: _bytes(path.with_suffix(f".{ending}")).decode() for ending in FORMATS}
    known: dict[str, Any] = {"anchor": f"{prefix}table-{slug(name)}", "tag": None, "claims": []}
    return table | known | {"files": files}


def _claims(path: Path, exhibits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The claims in order, with their verdicts; adds each claim to the exhibits that show it."""
    claims: dict[str, dict[str, Any]] = {}
    for entry in _parsed(path):
        _demand(path, entry, CLAIM)
        for test in entry["tests"]:
            _demand(path, test, TEST)
        if entry["verdict"] not in VERDICTS:
            words = ", ".join(VERDICTS)
            raise SnapError(f"{path}: a verdict must be one of {words}, got {entry['verdict']!r}")
        name = str(entry["id"])
        own: dict[str, Any] = {"verdicts": {}, "shown": []}
        own |= {"number": len(claims) + 1, "anchor": f"claim-{slug(name)}"}
        claim = claims.setdefault(name, {**entry, **own})
        claim["verdicts"][entry["dataset"]] = entry
        wanted = (entry["figure"], f"{entry['figure']}-{entry['dataset']}")
        for exhibit in exhibits:
            if exhibit["name"] in wanted and not exhibit.get("left_out"):
                _add(claim["shown"], exhibit)
                _add(exhibit["claims"], claim)
    return list(claims.values())


def _add(things: list[Any], thing: Any) -> None:
    """Add a thing once. Claims and exhibits contain each other, so == would not end."""
    if not any(other is thing for other in things):
        things.append(thing)


def _datasets(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(dataset for claim in claims for dataset in claim["verdicts"]))


def _summaries(claims: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many claims have each verdict, by dataset."""
    counts = {dataset: dict.fromkeys(VERDICTS, 0) for dataset in _datasets(claims)}
    for claim in claims:
        for dataset, entry in claim["verdicts"].items():
            counts[dataset][entry["verdict"]] += 1
    return counts


def _given(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The kinds of verdicts on the claims that the run can test, in their order."""
    found = {
        entry["verdict"]
        for claim in claims
        if claim["testable"]
        for verdicts in (claim["verdicts"], *claim["others"].values())
        for entry in verdicts.values()
    }
    return [verdict for verdict in VERDICTS if verdict in found]


def _sections(figures: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[Any]]]:
    """The figures by section, in order of first appearance, and those left out of each."""
    sections: dict[str, dict[str, list[Any]]] = {}
    for place, figure in enumerate(figures):
        parts = sections.setdefault(figure["section"], {"shown": [], "left_out": []})
        if figure["left_out"]:
            parts["left_out"].append(figure)
        elif place:  # the first figure is the headline, which has a place of its own
            parts["shown"].append(figure)
    return {name: parts for name, parts in sections.items() if any(parts.values())}


def _compared(
    sections: dict[str, Any], tables: Sequence[Mapping[str, Any]], results: Tables
) -> dict[str, Any]:
    """The section of the controls, taken out of the others, with its sentences and tables."""
    parts = sections.pop(CONTROLS, {"shown": [], "left_out": []})
    names = [table["name"] for table in tables if paper_tables.of_controls(table["name"])]
    own = [table for table in tables if table["name"] in names and table["rows"]]
    return {**parts, "says": control_words.paragraphs(results), "names": names, "tables": own}


def rendered(text: str, prefix: str) -> Markup:
    """Render a caption as HTML, without raw markup, included files, external links or images."""
    settings = {
        "raw_enabled": False,
        "file_insertion_enabled": False,
        "_disable_config": True,
        "report_level": 5,
        "halt_level": 5,
        "doctitle_xform": False,
        "math_output": "MathML",
        "id_prefix": prefix,
        "initial_header_level": 4,
    }
    document = publish_doctree(text, settings_overrides=settings)
    for image in list(document.findall(nodes.image)):
        image.replace_self(nodes.inline("", image.get("alt", image["uri"])))
    for link in [link for link in document.findall(nodes.reference) if "refuri" in link]:
        link.replace_self(nodes.inline("", link.astext()))
    writer = html5_polyglot.Writer()
    publish_from_doctree(document, writer=writer, settings_overrides=settings)
    return Markup(writer.parts["fragment"])


# Files


def _bytes(path: Path) -> bytes:
    if not path.exists():
        raise SnapError(f"the report needs {path}, which is missing: run again")
    return read_result(path)


def _parsed(path: Path) -> Any:
    content = _bytes(path)
    try:
        return json.loads(content)
    except ValueError:
        raise SnapError(f"{path} is not JSON") from None


def _read(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    content: dict[str, Any] = _parsed(path)
    _demand(path, content, keys)
    return content


def _demand(path: Path, content: Any, keys: Sequence[str]) -> None:
    missing = [key for key in keys if not isinstance(content, dict) or key not in content]
    if missing:
        raise SnapError(f"{path} lacks {', '.join(missing)}")
