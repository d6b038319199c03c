"""Write files atomically, and detect later changes by their checksums."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from snap.errors import SnapError

BEGUN = ".part"  # ends the hidden name of a file that is being written


def write_atomically(path: Path, content: bytes, durable: bool = True) -> None:
    """Write under a temporary name in the same folder, flush to disk, then rename.

    A file that need not survive a power cut can skip the flush: `durable` is False.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(BEGUN, f".{path.name}.", path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp makes the file private
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)  # it is already gone if it was renamed
        raise


def record_of(path: Path) -> Path:
    """The file beside a result that holds its checksum."""
    return path.with_name(f".{path.name}.sha256")


def write_result(path: Path, content: bytes) -> None:
    """Write a result and a record of its checksum, so that a later change is detected.

    The old record is removed first, so that a record never contradicts a valid file.
    """
    record_of(path).unlink(missing_ok=True)
    write_atomically(path, content)
    digest = hashlib.sha256(content).hexdigest()
    write_atomically(record_of(path), f"{digest}  {path.name}\n".encode(), durable=False)


def fault(path: Path) -> str | None:
    """What is wrong with a result, according to its record; None if nothing is."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return "is missing"
    try:
        expected = record_of(path).read_text().split()[0]
    except (FileNotFoundError, IndexError):
        return None  # killed between file and record; the step will run again
    same = hashlib.sha256(content).hexdigest() == expected
    return None if same else "does not match its checksum"


def read_result(path: Path) -> bytes:
    """Return the content of a result; raise an error if it does not match its record."""
    wrong = fault(path)
    if wrong is not None:
        raise SnapError(f"{path} {wrong}: run snap verify --remove, then run again")
    return path.read_bytes()


def digest(paths: Iterable[str | Path]) -> str:
    """A hash of the contents of some files, in the given order."""
    whole = hashlib.sha256()
    for path in paths:
        state = Path(path).stat()
        whole.update(_content_digest(str(path), state.st_mtime_ns, state.st_size))
    return whole.hexdigest()[:16]


@cache
def _content_digest(path: str, changed: int, size: int) -> bytes:
    """A file's hash, cached until the file changes."""
    return hashlib.sha256(Path(path).read_bytes()).digest()


def packed(path: Path) -> Path:
    """The path of the gzipped version of a file."""
    return path.with_name(f"{path.name}.gz")


def unpacked(path: Path) -> bytes:
    """The content of a file, or of its gzipped version if the file does not exist."""
    return path.read_bytes() if path.exists() else gzip.decompress(packed(path).read_bytes())
