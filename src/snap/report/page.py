"""The report: one self-contained HTML page, which loads nothing from the network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.writers import html5_polyglot
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from snap.errors import SnapError
from snap.files import write_result
from snap.pipeline.layout import READINGS
from snap.protocol import AGREED, SWITCHES, Switch

VERDICTS = {  # the word in claims.json, and the one on the page
    "reproduced": "Reproduced",
    "partly": "Partly",
    "not": "Not reproduced",
    "not testable": "Not testable",
}
FIGURE = "name title section kind dataset caption alt paper sources gaps".split()
TABLE = "name title caption columns rows numeric".split()
CLAIM = "id claim where figure dataset verdict reason numbers seeds tests details".split()
PROVENANCE = (
    "run reduced date semantics git versions platform hardware costs restored config".split()
)
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Contents:
    """What the report shows, by name and in order."""

    figures: Sequence[str]
    tables: Sequence[str]
    readings: Sequence[str] = ()  # other readings of the paper that the run has
    reading_figures: Sequence[str] = ()  # shown for each of them
    reading_tables: Sequence[str] = ()


def write(folder: Path, output: Path, contents: Contents) -> None:
    """Write the report of the run in `folder`."""
    drawn = [_figure(folder, name) for name in contents.figures]
    tables = [_table(folder, name) for name in contents.tables]
    claims = _claims(folder / "claims.json", [*drawn, *tables])
    readings = [_reading(folder, name, contents) for name in contents.readings]
    _compare(claims, readings)
    provenance = _read(folder / "provenance.json", PROVENANCE)
    templates = PackageLoader("snap.report", "template")
    environment = Environment(
        loader=templates,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        filter.__name__: filter for filter in (show, duration, memory, breakable, slug)
    }
    script = templates.get_source(environment, "page.js")[0]
    page = environment.get_template("page.html").render(
        figures=drawn,
        sections=_sections(drawn[1:]),
        tables=tables,
        readings=readings,
        claims=claims,
        datasets=_datasets(claims),
        summaries=_summaries(claims),
        verdicts=VERDICTS,
        switches=SWITCHES,
        code={name: in_code(switch) for name, switch in SWITCHES.items()},
        agreed=AGREED,
        provenance=provenance,
        config=yaml.safe_dump(provenance["config"], sort_keys=False, allow_unicode=True),
        here=quote(os.path.relpath(folder, output.parent)),
        style=Markup(templates.get_source(environment, "page.css")[0]),
        script=Markup(script),
        # The policy names this script's hash, so the browser runs no other script.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    write_result(output, page.encode())


# Contents of the page


def _reading(folder: Path, name: str, contents: Contents) -> dict[str, Any]:
    """The figures, tables and verdicts of another reading."""
    own = folder / READINGS / name
    figures = [_figure(own, figure) for figure in contents.reading_figures]
    tables = [_table(own, table) for table in contents.reading_tables]
    for thing in [*figures, *tables]:
        thing["anchor"] = f"{slug(name)}-{thing['anchor']}"
    return {
        "name": name,
        "words": name.replace("-", " "),
        "folder": f"{READINGS}/{quote(name)}",
        "figures": figures,
        "tables": tables,
        "claims": {claim["id"]: claim for claim in _claims(own / "claims.json", [])},
    }


def _compare(claims: Sequence[dict[str, Any]], readings: Sequence[Mapping[str, Any]]) -> None:
    """Add the verdicts of the other readings to each claim, and a sentence that compares them."""
    for claim in claims:
        claim["others"] = {
            reading["words"]: reading["claims"][claim["id"]]["verdicts"]
            for reading in readings
            if claim["id"] in reading["claims"]
        }
        claim["compared"] = " ".join(
            _compared(claim, words, verdicts) for words, verdicts in claim["others"].items()
        )


def _compared(claim: Mapping[str, Any], words: str, verdicts: Mapping[str, Any]) -> str:
    """Which verdicts another reading changes, and the details that decide the claim."""
    changed = {
        dataset: entry["verdict"]
        for dataset, entry in verdicts.items()
        if entry["verdict"] != claim["verdicts"].get(dataset, entry)["verdict"]
    }
    if not changed:
        return f"The verdicts are the same {words}."
    said = "; ".join(f"{VERDICTS[verdict].lower()} on {d}" for d, verdict in changed.items())
    details = " and ".join(f"{detail.replace('_', ' ')}" for detail in claim["details"])
    if "reproduced" in changed.values():
        held = f" Reproduced with the public code's details ({details})." if details else ""
        return f"{words.capitalize()}: {said}.{held}"
    return f"{words.capitalize()}: {said}." + (f" It depends on {details}." if details else "")


def in_code(switch: Switch) -> str:
    """The value of a switch in the reading `code`, by learner where they differ."""
    values = {learner: switch.in_code(learner) for learner in switch.learners}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} ({learner})" for learner, value in values.items())


def _figure(folder: Path, name: str) -> dict[str, Any]:
    """The description of a figure, with its image and rendered caption."""
    figure: dict[str, Any] = _read(folder / "figures" / f"{name}.json", FIGURE)
    path = folder / "figures" / f"{name}.png"
    image = _bytes(path)
    if not image.startswith(PNG) or len(image) < 24:
        raise SnapError(f"{path} is not a PNG image")
    width, height = struct.unpack(">II", image[16:24])
    figure |= {"anchor": f"figure-{slug(name)}", "file": quote(name)}
    figure |= {"width": width, "height": height}
    figure["image"] = f"data:image/png;base64,{base64.b64encode(image).decode()}"
    figure["caption"] = rendered(figure["caption"], f"{figure['anchor']}-")
    named = figure["dataset"] is None or figure["dataset"] in figure["title"]
    return figure | {"tag": None if named else figure["dataset"], "claims": []}


def _table(folder: Path, name: str) -> dict[str, Any]:
    """One of the paper's tables; `numeric` says for each column whether it holds numbers."""
    table: dict[str, Any] = _read(folder / "paper_tables" / f"{name}.json", TABLE)
    return table | {"anchor": f"table-{slug(name)}", "file": quote(name), "claims": []}


def _claims(path: Path, exhibits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The claims in order, with their verdicts; adds each claim to the exhibits that show it."""
    claims: dict[str, dict[str, Any]] = {}
    for entry in _parsed(path):
        _demand(path, entry, CLAIM)
        if entry["verdict"] not in VERDICTS:
            words = ", ".join(VERDICTS)
            raise SnapError(f"{path}: a verdict must be one of {words}, got {entry['verdict']!r}")
        name = str(entry["id"])
        known = {"number": len(claims) + 1, "anchor": f"claim-{slug(name)}", "verdicts": {}}
        claim = claims.setdefault(name, {**entry, **known})
        claim["verdicts"][entry["dataset"]] = entry
        wanted = (entry["figure"], f"{entry['figure']}-{entry['dataset']}")
        entry["shown"] = next((e for e in exhibits if e["name"] in wanted), None)
        if entry["shown"] is not None and claim not in entry["shown"]["claims"]:
            entry["shown"]["claims"].append(claim)
    return list(claims.values())


def _datasets(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(dataset for claim in claims for dataset in claim["verdicts"]))


def _summaries(claims: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many claims have each verdict, by dataset."""
    counts = {dataset: dict.fromkeys(VERDICTS, 0) for dataset in _datasets(claims)}
    for claim in claims:
        for dataset, entry in claim["verdicts"].items():
            counts[dataset][entry["verdict"]] += 1
    return counts


def _sections(figures: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The figures by section; sections are in order of first appearance."""
    sections: dict[str, list[Mapping[str, Any]]] = {}
    for figure in figures:
        sections.setdefault(figure["section"], []).append(figure)
    return sections


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


# Values as text


def show(value: Any) -> str:
    """A value from JSON as text; a dash for a missing one."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value + 0.0:.4g}".replace("-", "−")  # + 0.0 turns -0 into 0
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {show(item)}" for key, item in value.items()) or "–"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(show(item) for item in value) or "–"
    return str(value)


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def memory(size: int | None) -> str:
    return show(None) if size is None else f"{size / 2**30:.1f} GiB"


def breakable(text: str) -> Markup:
    """Allow line breaks inside words like FashionMNIST."""
    return Markup("<wbr>").join(re.split(r"(?<=[a-z])(?=[A-Z])", str(text)))


def slug(text: str) -> str:
    """Turn text into a part of an HTML id."""
    return re.sub(r"[^\w-]+", "-", str(text)).strip("-").lower()


# Files


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise SnapError(f"the report needs {path}, which is missing") from None


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
