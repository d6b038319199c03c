"""Compilation of the cpu engine's loops, and the cache that keeps it.

numba recompiles a function when its own file changes, but not when a formula that it inlines from
another file does. The name of the cache folder is therefore a hash of all the files that the loops
are compiled from: an edited growth function never meets an old cache.

The files of the cache are pickles, which can run commands when they are read. So they are read only
from a folder that is the user's own and that nobody else can write to.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, codegen, serialize
from numba.core import config as numba_config

from snap.errors import SnapError
from snap.files import write_atomically

HERE = Path(__file__).parent
config: Any = numba_config
host: Any = codegen
serializer: Any = serialize
SOURCES = (
    HERE / "kernels.py",
    HERE / "control_kernels.py",
    HERE / "rule.py",
    HERE.parent / "growth.py",
    HERE / "compiling.py",
)
# The settings of numba that users may make. Others could change results.
ALLOWED = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")
DIGEST = hashlib.sha256().digest_size


def full_width(features: str) -> str:
    """A processor's features, with the full width of its vectors enabled.

    LLVM uses half of AVX-512's width on processors that slow down with all of it. On an Emerald
    Rapids the full width makes Hebbian learning 1.1 to 1.3 times as fast, and SGD 0.93 times.
    """
    return f"{features},-prefer-256-bit" if "+avx512f" in features.split(",") else features


def use_own_settings() -> None:
    """Ignore NUMBA_OPT, .numba_config.yaml and the like: the same trial gives the same result.

    This applies to everything that numba compiles in this process. The first compilation fixes it,
    even one before this module was imported. numba reads its settings again when they change.
    """
    reader = config._env_reloader
    read = reader.process_environ

    def process_environ(environment: Mapping[str, Any]) -> None:
        read({name: environment[name] for name in ALLOWED if name in environment})
        config.CPU_FEATURES = full_width(host.get_host_cpu_features())

    reader.process_environ = process_environ
    reader.update(force=True)


use_own_settings()


@cache
def cache_folder() -> Path | None:
    """The folder of the cache; None if there is none that only this user can write to.

    It is in NUMBA_CACHE_DIR if that is set, else beside these files or in the user's own cache.
    """
    content = b"".join(source.read_bytes() for source in SOURCES)
    versions = " ".join(metadata.version(name) for name in ("numba", "llvmlite")).encode()
    name = f"snap-{hashlib.sha256(content + versions).hexdigest()[:16]}"
    why = "there is no home folder"
    for place in places():
        try:
            private_folder(place)
            private_folder(place / name)
        except SnapError as error:
            why = str(error)
        except OSError as error:
            why = f"{place} cannot be used: {error.strerror}"
        else:
            return place / name
    warn(f"{why}; set NUMBA_CACHE_DIR to a folder of your own to keep the compiled loops")
    return None


def places() -> list[Path]:
    """Where the cache may be, in order."""
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR)]
    beside = [] if others_can_change(HERE.stat()) else [HERE / "__pycache__"]
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not home.is_absolute():
        try:
            home = Path("~/.cache").expanduser()
        except RuntimeError:
            return beside
    return [*beside, home / "snap-loops"]


def others_can_change(state: os.stat_result) -> bool:
    """Whether a file or folder belongs to another user, or others can write to it."""
    return state.st_uid != os.getuid() or bool(state.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def private_folder(path: Path) -> None:
    """Make a folder that only this user can write to; raise an error if an existing one is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    state = path.stat()
    if state.st_uid != os.getuid():
        raise SnapError(f"{path} belongs to another user")
    if others_can_change(state):
        raise SnapError(f"other users can write to {path}")
    if not os.access(path, os.W_OK | os.X_OK):
        raise SnapError(f"{path} cannot be written to")


def warn(text: str) -> None:
    print(f"snap: warning: {text}", file=sys.stderr, flush=True)


class Files:
    """The files of one loop, each for one signature: a checksum, then a pickle.

    numba keeps an index instead. Two processes that add to it at the same time can lose an entry,
    or give the same number to two signatures.
    """

    def __init__(self, base: str) -> None:
        self.base = base

    def load(self, key: Any) -> Any:
        """What is kept for a key; None if there is nothing, or nothing that can be trusted."""
        path = self._path(key)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                foreign = others_can_change(os.fstat(file.fileno()))
                content = b"" if foreign else file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            warn(f"{path} cannot be read and is compiled again: {error.strerror}")
            return None
        if hashlib.sha256(content[DIGEST:]).digest() == content[:DIGEST]:
            return pickle.loads(content[DIGEST:])
        state = "belongs to another user or could be changed by one" if foreign else "is damaged"
        warn(f"{path} {state}; it is removed and compiled again")
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            warn(f"{path} cannot be removed: {error.strerror}")
        return None

    def save(self, key: Any, data: Any) -> None:
        path = self._path(key)
        if path is None:
            return
        content = serializer.dumps(data)
        try:
            write_atomically(path, hashlib.sha256(content).digest() + content, durable=False)
        except OSError as error:  # the disk is full
            warn(f"the compiled loops cannot be kept in {path.parent}: {error.strerror}")

    def flush(self) -> None:
        """numba asks for this when a function is to be compiled again. No key is used again."""

    def _path(self, key: Any) -> Path | None:
        folder = cache_folder()
        name = f"{self.base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        return None if folder is None else folder / name


class Place(caching.UserProvidedCacheLocator):
    """Tells numba nothing about places: `Files` knows its own."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._cache_path = ""

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Place:
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        pass


class Results(caching.CompileResultCacheImpl):
    _locator_classes = [Place]  # noqa: RUF012


class Loops(caching.FunctionCache):
    """numba's cache of a function, with files of our own."""

    _impl_class = Results

    def __init__(self, function: Callable[..., Any]) -> None:
        start: Any = super().__init__
        start(function)
        files: Any = Files(self._impl.filename_base)
        self._cache_file = files


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop. Sums may be reordered and products fused; NaN and infinity are preserved.

    Everything that it calls is inlined. A function that is not would exist in several versions, and
    which one is called, and so the rounding, would depend on whether the cache was warm.
    """
    loop = numba.njit(
        function,
        nogil=True,
        forceinline=True,
        error_model="numpy",
        fastmath={"contract", "reassoc", "nsz", "arcp"},
    )
    loop._cache = Loops(function)
    return loop
