"""Published folders: the record of their files, and a check of the files against it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

from snap.errors import SnapError, printable
from snap.files import read_result

RECORD = "record.json"
MOST = 64_000_000  # bytes of all files; what a publication may take is in publish.py, and less
MOST_JSON = 4_000_000  # bytes of the record, and of the provenance
DIGITS = 18  # of a whole number in them
# A path in the folder: no part of it is empty, hidden or leads up.
PLAIN = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.=-]*/)*[A-Za-z0-9_][A-Za-z0-9_.=-]*")
DIGEST = re.compile(r"[0-9a-f]{64}")


def recorded(folder: Path) -> dict[str, str]:
    """The checksums of the published files, by their paths in the folder."""
    files = read_json(folder / RECORD, MOST_JSON).get("files")
    if not isinstance(files, dict) or not all(
        PLAIN.fullmatch(name) and isinstance(digest, str) and DIGEST.fullmatch(digest)
        for name, digest in files.items()
    ):
        raise SnapError(f"{folder / RECORD} is not the record of a publication")
    return files


def read_whole(path: Path) -> bytes:
    """The content of a result: of a run, or of a publication, whose record then counts too."""
    content = read_result(path)
    for folder in path.parents[:4]:
        if (folder / RECORD).is_file():
            expected = recorded(folder).get(path.relative_to(folder).as_posix())
            if expected not in (None, hashlib.sha256(content).hexdigest()):
                raise SnapError(f"{path} differs from {folder / RECORD}: publish or clone it again")
            break
    return content


def damaged(folder: Path) -> list[str]:
    """The published files that are missing, differ from the record, or are not in it."""
    known = recorded(folder)
    paths = _files(folder)
    present = {str(path.relative_to(folder)): path for path in paths}
    wrong = set(present).symmetric_difference({*known, RECORD})
    wrong |= {name for name in set(present) & set(known) if checksum(present[name]) != known[name]}
    return sorted(wrong)


def _files(folder: Path) -> list[Path]:
    """Every file below a folder; raise an error for anything else, and if they are too large."""
    paths: list[Path] = []
    size = 0
    for top, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            path = Path(top, name)
            mode = path.lstat()
            if not (stat.S_ISREG(mode.st_mode) or stat.S_ISDIR(mode.st_mode)):
                raise SnapError(f"{printable(str(path))} is a link or a device, not a file")
            size += mode.st_size
            if size > MOST:
                raise SnapError(
                    f"{folder} is larger than a publication: {MOST / 1e6:.0f} MB at most"
                )
        paths += [Path(top, name) for name in names]
    return paths


def read_json(path: Path, most: int) -> dict[str, Any]:
    """Read a mapping from JSON that anyone may have written; an error names what is wrong."""
    try:
        content = bounded(path.open("rb"), path, most)
        found = json.loads(
            content.decode("utf-8"), parse_constant=_refuse, parse_float=_finite, parse_int=_whole
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, SnapError):
            raise
        raise SnapError(f"{path} is not valid JSON") from None
    if not isinstance(found, dict):
        raise SnapError(f"{path} must be a mapping of keys to values")
    return found


def bounded(file: BinaryIO, path: Path, most: int) -> bytes:
    """The content of an open file, which is closed; raise an error if it is more than `most`."""
    with file:
        content = file.read(most + 1)
    if len(content) > most:
        raise SnapError(f"{path} is larger than {most / 1e6:.0f} MB")
    return content


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        _refuse(text)
    return float(text)


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        _refuse(text)
    return int(text)


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
