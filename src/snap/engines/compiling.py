"""Compilation of the cpu engine's loops, and the cache that keeps it.

numba notices when the file of a compiled function changes, but not when a formula that was compiled
into it comes from another file. So the cache is kept by the content of all files that go into the
loops: an edited growth function is never served from an old cache.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import codegen

HERE = Path(__file__).parent
config: Any = numba.config
host: Any = codegen
SOURCES = (HERE / "kernels.py", HERE.parent / "growth.py", HERE / "compiling.py")


def full_width(features: str) -> str:
    """A processor's features with vectors as wide as it has them.

    LLVM prefers half of AVX-512's width where that once made a processor slower. On an Emerald
    Rapids all of it makes Hebbian learning 1.1 to 1.3 times as fast, and SGD 0.93 times.
    """
    return f"{features},-prefer-256-bit" if "+avx512f" in features.split(",") else features


# For all that numba compiles in this process: its first compilation fixes it, even one that came
# before this module was imported. numba's own setting goes first.
if config.CPU_FEATURES is None:
    config.CPU_FEATURES = full_width(host.get_host_cpu_features())


@cache
def cache_folder() -> Path:
    """The first folder that can be written: numba's, if one is set, else beside these files."""
    content = b"".join(source.read_bytes() for source in SOURCES)
    name = f"snap-{hashlib.sha256(content).hexdigest()[:16]}"
    places = [HERE / "__pycache__", Path(tempfile.gettempdir()) / f"snap-numba-{os.getuid()}"]
    if config.CACHE_DIR:
        places.insert(0, Path(config.CACHE_DIR))
    for place in places:
        folder = place / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="snap-numba-"))


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop: sums may be reordered and products fused, NaN and infinity are kept.

    All that it calls is compiled into it. A function left outside would exist in several versions,
    and which of them is called, and so rounding, would depend on whether the cache was filled.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        return numba.njit(
            function,
            nogil=True,
            forceinline=True,
            cache=True,
            error_model="numpy",
            fastmath={"contract", "reassoc", "nsz", "arcp"},
        )
    finally:
        config.CACHE_DIR = before
