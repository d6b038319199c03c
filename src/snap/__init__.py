"""SNAP: Hebbian and SGD learning with linear, sigmoid and exponential weight growth."""

from __future__ import annotations

from snap.engines import train_from
from snap.errors import SnapError
from snap.protocol import REFERENCE, TEXT, Protocol
from snap.trial import Configuration, Iid, Sequential, Trial

__version__ = "0.1.0"
__all__ = [
    "REFERENCE",
    "TEXT",
    "Configuration",
    "Iid",
    "Protocol",
    "Sequential",
    "SnapError",
    "Trial",
    "train_from",
]
