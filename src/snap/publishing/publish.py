"""Copy the results of a run (tables, figures, page, provenance) into a folder of the repository.

Also fill in the passages of the documents that quote these results. A document marks such a passage
by a line `<!-- published: NAME -->` before it and `<!-- end -->` after it. The text in between is
made from the published tables, and a test checks that it is up to date.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.files import packed, read_result, write_atomically
from snap.pipeline.layout import READINGS
from snap.pipeline.published import RECORD
from snap.publishing import passages
from snap.publishing.replace import check, replace
from snap.report.frames import Tables

KEPT = (
    "tables/*.csv",
    "figures/*.png",
    "figures/*.json",  # the data of figures are on the page
    "paper_tables/*.csv",
    "paper_tables/*.md",
    "paper_tables/*.tex",
    "claims.json",
    "claims.csv",
    "provenance.json",
    "report.html",
)
MOST = 18_000_000  # bytes; every clone contains the published results
LARGE = 200_000  # bytes; larger tables are packed
PASSAGE = re.compile(
    r"(?P<begin><!-- published: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def publish(folder: Path, to: Path, variations: Mapping[str, Path] | None = None) -> int:
    """Copy a run's results, and the main tables of its variations; return the bytes written.

    The folder is replaced in one step, if it is an earlier publication or has no files.
    """
    check(to)
    files = {
        path.relative_to(folder): path
        for kind in (*KEPT, *(f"{READINGS}/*/{kind}" for kind in KEPT))
        for path in sorted(folder.glob(kind))
    }
    missing = [kind for kind in KEPT if not any(path.match(kind) for path in files.values())]
    if missing:
        raise SnapError(f"{folder} is not a finished run: it has no {', '.join(missing)}")
    strangers = foreign(folder)
    if strangers:
        names = ", ".join(strangers)
        raise SnapError(
            f"{folder}: these figures were not drawn from its tables: {names}; finish the run first"
        )
    for name, other in (variations or {}).items():
        for path in sorted((other / "tables").glob("*.csv")):
            if path.name in ("search.csv", "selected.csv", "iid.csv", "sequential.csv"):
                files[Path("variations") / name / path.name] = path
    contents = _packed({place: read_result(path) for place, path in files.items()})
    size = sum(map(len, contents.values()))
    if size > MOST:
        raise SnapError(
            f"the published files would take {size / 1e6:.1f} MB; the limit is {MOST / 1e6:.0f} MB"
        )
    checksums = {
        str(place): hashlib.sha256(contents[place]).hexdigest() for place in sorted(contents)
    }
    record = {"run": _run(folder), "files": checksums}
    replace(to, {**contents, Path(RECORD): json.dumps(record, indent=1).encode()})
    return size


def _packed(contents: Mapping[Path, bytes]) -> dict[Path, bytes]:
    """The files with large tables packed."""
    files = dict(contents)
    for place in [place for place in contents if place.match("tables/*.csv")]:
        if len(files[place]) > LARGE:
            files[packed(place)] = gzip.compress(files.pop(place), mtime=0)
    return files


def foreign(folder: Path) -> list[str]:
    """The figures of a run that were not drawn from its current tables."""
    tables = Tables(folder / "tables")
    checksums = {name: tables.checksum(name) for name in tables.names}
    return [
        path.stem
        for path in sorted((folder / "figures").glob("*.json"))
        if not json.loads(read_result(path)).get("made_from", {"": ""}).items() <= checksums.items()
    ]


def fill(documents: Sequence[Path], folder: Path, paper: Mapping[str, Any]) -> None:
    """Update the passages of the documents that quote the published results, or of none of them."""
    texts = [read_document(document) for document in documents]
    for document, text, new in zip(
        documents, texts, [filled(text, folder, paper) for text in texts], strict=True
    ):
        if new != text:
            write_atomically(document, new.encode())


def read_document(document: Path) -> str:
    """Return the text of a document; raise an error if its passages cannot be filled in."""
    try:
        text = document.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SnapError(f"{document} is not UTF-8: save it as UTF-8") from None
    for match in PASSAGE.finditer(text):
        _maker(match["name"])
    return text


def _maker(name: str) -> Callable[[Path, Mapping[str, Any]], str]:
    if name not in passages.MAKERS:
        known = ", ".join(passages.MAKERS)
        raise SnapError(f"there is no passage {name!r}: choose from {known}")
    return passages.MAKERS[name]


def filled(text: str, folder: Path, paper: Mapping[str, Any]) -> str:
    """Return the text of a document with its passages made from the published results."""

    def passage(match: re.Match[str]) -> str:
        made = _maker(match["name"])(folder, paper)
        return f"{match['begin']}{made}\n{match['end']}"

    return PASSAGE.sub(passage, text)


def _run(folder: Path) -> str:
    return str(json.loads((folder / "provenance.json").read_bytes())["run"])
