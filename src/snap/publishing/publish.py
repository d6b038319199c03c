"""What a run gave, kept with the code: its tables, figures, page and provenance in a folder.

And the passages of the documents that quote it.

A document marks such a passage by a line `<!-- published: NAME -->` before and `<!-- end -->` after
it. What stands between is made from the published tables, and a test makes it again.
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
from snap.pipeline.published import RECORD, checksum
from snap.publishing import passages
from snap.report.frames import Tables

KEPT = (
    "tables/*.csv",
    "figures/*.png",
    "figures/*.json",
    "figures/*.csv",
    "figures/*.pdf",
    "paper_tables/*.csv",
    "paper_tables/*.md",
    "paper_tables/*.tex",
    "claims.json",
    "claims.csv",
    "provenance.json",
    "report.html",
)
MOST = 18_000_000  # bytes: results are part of every clone
LARGE = 1_000_000  # bytes: a larger table is packed
PASSAGE = re.compile(
    r"(?P<begin><!-- published: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def publish(folder: Path, to: Path, variations: Mapping[str, Path] | None = None) -> int:
    """Copy what is worth keeping of a run, and of variations of it their tables. Bytes written."""
    files = {path.relative_to(folder): path for kind in KEPT for path in sorted(folder.glob(kind))}
    missing = [kind for kind in KEPT if not any(path.match(kind) for path in files.values())]
    if missing:
        raise SnapError(f"{folder} is not a finished run: it has no {', '.join(missing)}")
    strangers = foreign(folder)
    if strangers:
        names = ", ".join(strangers)
        raise SnapError(
            f"{folder}: not drawn from its tables: {names}. Let the run come to its end"
        )
    for name, other in (variations or {}).items():
        for path in sorted((other / "tables").glob("*.csv")):
            if path.name in ("selected.csv", "iid.csv", "sequential.csv"):
                files[Path("variations") / name / path.name] = path
    contents = _packed({place: path.read_bytes() for place, path in files.items()})
    size = sum(map(len, contents.values()))
    if size > MOST:
        raise SnapError(f"{size / 1e6:.1f} MB would be published, and {MOST / 1e6:.0f} is the most")
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
    """The files with large tables packed, and the page with links to those."""
    found = dict(contents)
    for place in [place for place in contents if place.match("tables/*.csv")]:
        if len(found[place]) > LARGE:
            found[packed(place)] = gzip.compress(found.pop(place), mtime=0)
            link, page = f'{place}"'.encode(), Path("report.html")
            found[page] = found[page].replace(link, f'{packed(place)}"'.encode())
    return found


def foreign(folder: Path) -> list[str]:
    """Figures of a run that were not drawn from the tables beside them."""
    tables = Tables(folder / "tables")
    checksums = {name: tables.checksum(name) for name in tables.names}
    return [
        path.stem
        for path in sorted((folder / "figures").glob("*.json"))
        if not json.loads(path.read_text()).get("made_from", {"": ""}).items() <= checksums.items()
    ]


def fill(documents: Sequence[Path], folder: Path, paper: Mapping[str, Any]) -> None:
    """Write the passages that quote the published results anew."""
    for document in documents:
        text = document.read_text()
        new = filled(text, folder, paper)
        if new != text:
            write_atomically(document, new.encode())


def filled(text: str, folder: Path, paper: Mapping[str, Any]) -> str:
    """A document with its passages as the published results have them."""

    def passage(found: re.Match[str]) -> str:
        if found["name"] not in passages.MAKERS:
            raise SnapError(f"there is no passage {found['name']!r}: {', '.join(passages.MAKERS)}")
        made = passages.MAKERS[found["name"]](folder, paper)
        return f"{found['begin']}{made}\n{found['end']}"

    return PASSAGE.sub(passage, text)


def _run(folder: Path) -> str:
    return str(json.loads((folder / "provenance.json").read_text())["run"])
