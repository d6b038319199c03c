"""One folder, one run: a lock that the kernel releases when its holder dies.

run.py takes it and Snakemake inherits it, so it is held as long as one of the two lives. It is held
against every user, whether or not they may look at one another's processes. On a file system that
several machines share, it is held against the others if the file system supports that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pwd
import socket
import stat
import time
from pathlib import Path

import psutil

from snap.errors import SnapError, printable

FILE = Path(".snakemake/run.lock")
DESCRIPTOR = "SNAP_FOLDER_LOCK"  # names the descriptor that Snakemake inherits from run.py
WRITTEN = (".snakemake", "results", "logs", "benchmarks")  # the folders that a run writes to
UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)


def take() -> None:
    """Hold the lock until this process and those that inherit it have ended.

    Raise an error if another run holds it, or if this user cannot run anything in this folder. On a
    file system without such locks this does nothing.
    """
    if DESCRIPTOR in os.environ:  # inherited
        return
    try:
        descriptor = _locked()
    except PermissionError:
        descriptor = None
    except OSError as error:
        raise SnapError(f"{FILE} cannot be used: {error.strerror}") from None
    _check_folders()
    if descriptor is None:
        raise SnapError(f"you cannot write to {FILE}, which belongs to {owner(FILE)}")
    with contextlib.suppress(OSError):  # the disk is full: then the lock does not name its holder
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{described(psutil.Process())}\n".encode(), 0)
    os.environ[DESCRIPTOR] = str(descriptor)


def inherited() -> tuple[int, ...]:
    """The descriptors that a process which shares the lock must inherit."""
    return (int(os.environ[DESCRIPTOR]),) if DESCRIPTOR in os.environ else ()


def _locked() -> int | None:
    """Open and lock the file. Without the right to write to it, only see whether it is held."""
    FILE.parent.mkdir(exist_ok=True)
    while True:
        try:
            descriptor = os.open(FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            writable = True
        except PermissionError:
            descriptor, writable = os.open(FILE, os.O_RDONLY | os.O_NOFOLLOW), False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SnapError(
                f"another run is active in this folder: {_holder(descriptor)}"
            ) from None
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
        if not writable:
            os.close(descriptor)
            return None
        if _is_there(descriptor):
            _open_to_writers(descriptor)
            return descriptor
        os.close(descriptor)  # somebody has replaced the file


def _is_there(descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), FILE.stat())
    except FileNotFoundError:
        return False


def _open_to_writers(descriptor: int) -> None:
    """Let everybody who can write to the folder use the lock."""
    writers = FILE.parent.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    state = os.fstat(descriptor)
    if state.st_uid == os.getuid() and writers:
        os.fchmod(descriptor, stat.S_IMODE(state.st_mode) | writers)


def _holder(descriptor: int) -> str:
    text = os.pread(descriptor, 500, 0).decode(errors="replace").strip()
    return printable(text, 200) or "it does not say which"


def _check_folders() -> None:
    """Raise an error if a folder that a run writes to is another user's."""
    for name in WRITTEN:
        path = Path(name) if os.path.lexists(name) else Path()
        if path.is_dir() and not os.access(path, os.W_OK | os.X_OK):
            raise SnapError(
                f"you cannot write to {path.absolute()}, which belongs to {owner(path)}: use a"
                " folder of your own"
            )


def owner(path: Path) -> str:
    number = path.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def described(process: psutil.Process) -> str:
    """A process, as an error names it."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(process.create_time()))
    return f"process {process.pid} on {socket.gethostname()}, since {when}, of {process.username()}"
