"""The idx format of MNIST and its kin: a magic number, the dimensions, then bytes."""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.errors import SnapError

UNSIGNED_BYTES = 0x08


def parse(content: bytes, name: str) -> NDArray[np.uint8]:
    """The array in an idx file; `name` is what a message calls the file."""
    if len(content) < 4 or content[:3] != bytes((0, 0, UNSIGNED_BYTES)):
        start = content[:16].decode("latin-1").strip()
        looks = " (it looks like a web page)" if start.lower().startswith("<") else ""
        raise SnapError(f"{name} is not an idx file of unsigned bytes{looks}: fetch it again")
    dimensions = content[3]
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise SnapError(f"{name} ends inside its header: fetch it again")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    expected = header + int(np.prod(shape, dtype=np.int64))
    if len(content) != expected:
        raise SnapError(
            f"{name} holds {len(content)} bytes, its header promises {expected}: fetch it again"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def build(array: NDArray[Any]) -> bytes:
    """The idx file for an array of unsigned bytes."""
    header = bytes((0, 0, UNSIGNED_BYTES, array.ndim)) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + np.ascontiguousarray(array, np.uint8).tobytes()


def decompress(content: bytes, name: str) -> bytes:
    """The content of a gzip file, or what was given if it is not compressed."""
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise SnapError(f"{name} is a damaged gzip file ({error}): fetch it again") from None
