"""Write files atomically, and detect later changes by their checksums."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import os
import re
import stat
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from snap.errors import SnapError

BEGUN = ".part"  # ends the hidden name of a file that is being written
RECORD = re.compile(rb"[0-9a-f]{64}  ([^\n]*)\n")
LOOKS = 100  # at a result that is being replaced


def write_atomically(path: Path, content: bytes, durable: bool = True) -> None:
    """Write under a temporary name in the same folder, flush to disk, then rename.

    A file that need not survive a power cut can skip the flush: `durable` is False.
    """
    with with_folder(path.parent):
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


@contextlib.contextmanager
def with_folder(folder: Path) -> Iterator[None]:
    """Make a folder for what follows; if that fails, remove what was made and is empty."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for place in made:
                place.rmdir()
        raise


def record_of(path: Path) -> Path:
    """The file beside a result that holds its checksum."""
    if not path.name:
        raise SnapError(f"{str(path)!r} is a folder, not the name of a file")
    return path.with_name(f".{path.name}.sha256")


def write_result(path: Path, content: bytes) -> None:
    """Write a result and a record of its checksum, so that a later change is detected.

    The old record is removed first, so that a record never contradicts a valid file.
    """
    record_of(path).unlink(missing_ok=True)
    write_atomically(path, content)
    write_atomically(record_of(path), _line(path, content), durable=False)


def fault(path: Path) -> str | None:
    """What is wrong with a result, according to its record; None if nothing is, or without one."""
    return _examined(path)[1]


def read_result(path: Path) -> bytes:
    """Return the content of a result; raise an error if it does not match its record."""
    content, wrong = _examined(path)
    if wrong is not None:
        raise SnapError(f"{path} {wrong}: run snap verify --remove, then run again")
    return content


def _examined(path: Path) -> tuple[bytes, str | None]:
    """The content of a result, and what is wrong with it.

    The record is read before and after the content. If it differs, the result has been replaced in
    between, and is looked at again.
    """
    for _ in range(LOOKS):
        record = _record(path)
        try:
            content = read_regular(path)
        except FileNotFoundError:
            return b"", "is missing"
        except OSError as error:
            return b"", f"cannot be read ({error.strerror})"
        if _record(path) == record:
            break
        time.sleep(0.01)
    if record is None:  # killed between file and record, or made by hand
        return content, None
    if record == _line(path, content):
        return content, None
    known = RECORD.fullmatch(record)
    intact = known is not None and known[1] == os.fsencode(path.name)
    return content, "does not match its checksum" if intact else "has a damaged record"


def _line(path: Path, content: bytes) -> bytes:
    """The record of a result with this content."""
    return hashlib.sha256(content).hexdigest().encode() + b"  " + os.fsencode(path.name) + b"\n"


def _record(path: Path) -> bytes | None:
    """The record of a result; None if there is none."""
    try:
        return read_regular(record_of(path))
    except FileNotFoundError:
        return None
    except OSError:
        return b""


def read_regular(path: Path, most: int | None = None) -> bytes:
    """The content of a file, or its first `most` bytes. A folder, pipe or device is an error."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not block
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a file", str(path))
    with os.fdopen(descriptor, "rb") as file:
        return file.read() if most is None else file.read(most)


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


def unpack(content: bytes, most: int, name: str) -> bytes:
    """The content of a gzip file, which may not be more than `most` bytes."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            whole = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SnapError(f"{name} is a damaged gzip file ({error})") from None
    if len(whole) > most:
        raise SnapError(f"{name} expands to more than the {most:,} bytes that it may have")
    return whole
