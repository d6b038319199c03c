"""Files that exist under their name only when they are complete, and are what was written."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from snap.errors import SnapError


def write_atomically(path: Path, content: bytes, durable: bool = True) -> None:
    """Write under a temporary name in the same folder, flush to disk, then rename.

    What need not outlive a power cut is not `durable`, and saves the wait for the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp lets nobody else read it
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)  # it may have got its name just before
        raise


def record_of(path: Path) -> Path:
    """The file beside a result that holds its checksum."""
    return path.with_name(f".{path.name}.sha256")


def write_result(path: Path, content: bytes) -> None:
    """Write a result and a record of it, by which a change is noticed later.

    The old record goes first: at no time does a record belie a file that is right.
    """
    record_of(path).unlink(missing_ok=True)
    write_atomically(path, content)
    digest = hashlib.sha256(content).hexdigest()
    write_atomically(record_of(path), f"{digest}  {path.name}\n".encode(), durable=False)


def fault(path: Path) -> str | None:
    """What is wrong with a result, by its record; None if nothing is."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return "is gone"
    try:
        expected = record_of(path).read_text().split()[0]
    except (FileNotFoundError, IndexError):
        return None  # killed between file and record; the step will be run again
    same = hashlib.sha256(content).hexdigest() == expected
    return None if same else "is not what was written"


def read_result(path: Path) -> bytes:
    """The content of a result, refused if its record says otherwise."""
    wrong = fault(path)
    if wrong is not None:
        raise SnapError(f"{path} {wrong}: snap verify --remove lets the next run make it again")
    return path.read_bytes()


def digest(paths: Iterable[str | Path]) -> str:
    """A hash of the contents of some files, in their order."""
    whole = hashlib.sha256()
    for path in paths:
        state = Path(path).stat()
        whole.update(_content_digest(str(path), state.st_mtime_ns, state.st_size))
    return whole.hexdigest()[:16]


@cache
def _content_digest(path: str, changed: int, size: int) -> bytes:
    """A file's hash, computed again when the file has changed."""
    return hashlib.sha256(Path(path).read_bytes()).digest()


def packed(path: Path) -> Path:
    """Where a file is kept that is packed."""
    return path.with_name(f"{path.name}.gz")


def unpacked(path: Path) -> bytes:
    """The content of a file, packed or not."""
    return path.read_bytes() if path.exists() else gzip.decompress(packed(path).read_bytes())
