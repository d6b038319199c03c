"""The idx format of MNIST and its kin: a magic number, the dimensions, then bytes."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.errors import SnapError
from snap.files import unpack

UNSIGNED_BYTES = 0x08
MOST_DIMENSIONS = 3  # images have three


def parse(content: bytes, name: str) -> NDArray[np.uint8]:
    """The array in an idx file; `name` is what a message calls the file."""
    if len(content) < 4 or content[:3] != bytes((0, 0, UNSIGNED_BYTES)):
        start = content[:16].decode("latin-1").strip()
        looks = " (it looks like a web page)" if start.lower().startswith("<") else ""
        raise SnapError(f"{name} is not an idx file of unsigned bytes{looks}: fetch it again")
    dimensions = content[3]
    if dimensions > MOST_DIMENSIONS:
        raise SnapError(
            f"{name} has {dimensions} dimensions, but images have {MOST_DIMENSIONS}: fetch it again"
        )
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise SnapError(f"{name} ends inside its header: fetch it again")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    expected = header + math.prod(shape)
    if len(content) != expected:
        raise SnapError(
            f"{name} holds {len(content)} bytes, its header promises {expected}: fetch it again"
        )
    try:
        return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
    except ValueError:  # no bytes, but a dimension beyond what an array can have
        raise SnapError(f"{name} has impossible dimensions: fetch it again") from None


def build(array: NDArray[Any]) -> bytes:
    """The idx file for an array of unsigned bytes."""
    header = bytes((0, 0, UNSIGNED_BYTES, array.ndim)) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + np.ascontiguousarray(array, np.uint8).tobytes()


def decompress(content: bytes, name: str, most: int) -> bytes:
    """The content of a gzip file, or what was given if it is not compressed.

    More than `most` bytes are an error, found without unpacking them all.
    """
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return unpack(content, most, name)
    except SnapError as error:
        raise SnapError(f"{error}: fetch it again") from None
