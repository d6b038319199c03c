"""Compilation of the cpu engine's loops, and the cache that keeps it.

numba recompiles a function when its own file changes, but not when a formula that it inlines from
another file does. The name of the cache folder is therefore a hash of all the files that the loops
are compiled from: an edited growth function never meets an old cache.
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
SOURCES = (
    HERE / "kernels.py",
    HERE / "control_kernels.py",
    HERE / "rule.py",
    HERE.parent / "growth.py",
    HERE / "compiling.py",
)


def full_width(features: str) -> str:
    """A processor's features, with the full width of its vectors enabled.

    LLVM uses half of AVX-512's width on processors that slow down with all of it. On an Emerald
    Rapids the full width makes Hebbian learning 1.1 to 1.3 times as fast, and SGD 0.93 times.
    """
    return f"{features},-prefer-256-bit" if "+avx512f" in features.split(",") else features


# This applies to everything that numba compiles in this process. The first compilation fixes it,
# even one before this module was imported. A setting made by the user takes precedence.
if config.CPU_FEATURES is None:
    config.CPU_FEATURES = full_width(host.get_host_cpu_features())


@cache
def cache_folder() -> Path:
    """The first writable of: numba's folder, if one is set; beside these files; a temporary one."""
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
    """Compile a loop. Sums may be reordered and products fused; NaN and infinity are preserved.

    Everything that it calls is inlined. A function that is not would exist in several versions, and
    which one is called, and so the rounding, would depend on whether the cache was warm.
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
