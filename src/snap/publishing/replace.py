"""Replace a published folder by a new one, so that there is a whole one at any time.

The new publication is built in a hidden folder beside the old one, and flushed to disk. Then the
two are exchanged in one step, and the old one is removed. Where the system cannot exchange folders,
the old one is moved aside first, and the next publication moves it back if it was not replaced.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from snap.errors import SnapError, printable
from snap.pipeline.published import RECORD, recorded

EXCHANGE = 2  # RENAME_EXCHANGE of renameat2
HERE = -100  # AT_FDCWD
# What renameat2 says if the system or the file system cannot exchange.
UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def check(to: Path) -> None:
    """Raise an error if a publication to this folder would remove anything but a publication."""
    if to.name in ("", ".."):
        raise SnapError(f"{to} cannot be replaced: give a folder by its name, like reports/paper")
    if to.is_symlink() or (to.exists() and not to.is_dir()):
        raise SnapError(
            f"{to} is not a folder: give a folder that does not exist, or a publication"
        )
    for path in (to, _new(to), _old(to)):
        stranger = _stranger(path, begun=path != to)
        if stranger is not None:
            raise SnapError(
                f"{path} is not replaced: {stranger}; publish to another folder, or remove it"
            )


def replace(to: Path, contents: Mapping[Path, bytes]) -> None:
    """Replace a folder by one with these contents, among them its record."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with _alone(to):
        check(to)
        _mend(to)
        new, old = _new(to), _old(to)
        _remove(new)
        _remove(old)
        _build(new, contents)
        if _filled(to):
            if not _exchanged(new, to):
                to.rename(old)
                new.rename(to)
        else:  # an empty folder is replaced too
            new.rename(to)
        _flush(to.parent)
        _remove(new)
        _remove(old)


def _new(to: Path) -> Path:
    return to.with_name(f".{to.name}.new")


def _old(to: Path) -> Path:
    return to.with_name(f".{to.name}.old")


def _mend(to: Path) -> None:
    """Move a publication back that was moved aside and not replaced."""
    if _filled(_old(to)) and not _filled(to):
        _old(to).rename(to)
        _flush(to.parent)


def _filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


@contextlib.contextmanager
def _alone(to: Path) -> Iterator[None]:
    """Hold a lock, so that two publications to one place do not mix. It ends with the process."""
    handle = os.open(to.parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SnapError(f"another publication to {to.parent} is running: wait for it") from None
        except OSError:  # a file system without locks of folders
            pass
        yield
    finally:
        os.close(handle)


def _stranger(folder: Path, begun: bool) -> str | None:
    """Why a folder is not a publication; None if it is one, or part of one, or has no files.

    One that was `begun` may have part of a record and nothing else.
    """
    if not os.path.lexists(folder):
        return None
    if folder.is_symlink() or not folder.is_dir():
        return f"{folder} is not a folder"
    files, folders = _tree(folder)
    names = {str(path.relative_to(folder)) for path in [*files, *folders]}
    if not names or (begun and names == {RECORD}):
        return None
    if RECORD not in names:
        return f"it has no {RECORD}, and has {printable(min(names))}"
    try:
        known = {Path(name) for name in recorded(folder)}
    except SnapError as error:
        return str(error)
    known |= {parent for path in known for parent in path.parents} | {Path(RECORD)}
    for path in sorted([*files, *folders]):
        if path.relative_to(folder) not in known or path.is_symlink():
            name = printable(str(path.relative_to(folder)))
            return f"{name} was not published with the rest of it"
    return None


def _tree(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files and the folders below a folder; a link is a file."""
    files: list[Path] = []
    folders: list[Path] = []
    for top, below, names in os.walk(folder):
        for name in [*below, *names]:
            path = Path(top, name)
            (folders if name in below and not path.is_symlink() else files).append(path)
    return files, folders


def _build(folder: Path, contents: Mapping[Path, bytes]) -> None:
    """Write the record first, so that whatever a killed publication leaves is known by it."""
    folder.mkdir()
    _write(folder / RECORD, contents[Path(RECORD)])
    _flush(folder)
    for place, content in contents.items():
        if place != Path(RECORD):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            _write(folder / place, content)
    for below in _tree(folder)[1]:
        _flush(below)
    _flush(folder)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    """Flush the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # a file system that cannot flush folders
        pass
    finally:
        os.close(handle)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False if the system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _remove(folder: Path) -> None:
    """Remove what is left of a publication, and nothing else: its record last, which names it."""
    if not folder.exists() or _stranger(folder, begun=True) is not None:
        return
    files, folders = _tree(folder)
    record = folder / RECORD
    for path in files:
        if path != record:
            path.unlink()
    for path in sorted(folders, reverse=True):
        path.rmdir()
    record.unlink(missing_ok=True)
    folder.rmdir()
