"""Copy the results of a run (tables, figures, page, provenance) into a folder of the repository.

Also fill in the passages of the documents that quote these results. A document marks such a passage
by a line `<!-- published: NAME -->` before it and `<!-- end -->` after it. The text in between is
made from the published tables, and a test checks that it is up to date.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.files import packed, write_atomically
from snap.pipeline.layout import READINGS
from snap.pipeline.published import RECORD, checksum
from snap.publishing import passages
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
    """Copy a run's results, and the main tables of its variations; return the bytes written."""
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
    contents = _packed({place: path.read_bytes() for place, path in files.items()})
    size = sum(map(len, contents.values()))
    if size > MOST:
        raise SnapError(
            f"the published files would take {size / 1e6:.1f} MB; the limit is {MOST / 1e6:.0f} MB"
        )
    if to.exists():
        shutil.rmtree(to)
    for place, content in contents.items():
        (to / place).parent.mkdir(parents=True, exist_ok=True)
        (to / place).write_bytes(content)
    checksums = {str(place): checksum(to / place) for place in sorted(contents)}
    record = {"run": _run(to), "files": checksums}
    write_atomically(to / RECORD, json.dumps(record, indent=1).encode())
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
        if not json.loads(path.read_text()).get("made_from", {"": ""}).items() <= checksums.items()
    ]


def fill(documents: Sequence[Path], folder: Path, paper: Mapping[str, Any]) -> None:
    """Update the passages of the documents that quote the published results."""
    for document in documents:
        text = document.read_text()
        new = filled(text, folder, paper)
        if new != text:
            write_atomically(document, new.encode())


def filled(text: str, folder: Path, paper: Mapping[str, Any]) -> str:
    """Return the text of a document with its passages made from the published results."""

    def passage(match: re.Match[str]) -> str:
        if match["name"] not in passages.MAKERS:
            known = ", ".join(passages.MAKERS)
            raise SnapError(f"there is no passage {match['name']!r}: choose from {known}")
        made = passages.MAKERS[match["name"]](folder, paper)
        return f"{match['begin']}{made}\n{match['end']}"

    return PASSAGE.sub(passage, text)


def _run(folder: Path) -> str:
    return str(json.loads((folder / "provenance.json").read_text())["run"])
