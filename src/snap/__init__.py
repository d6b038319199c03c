"""SNAP: Hebbian and SGD learning with linear, sigmoid and exponential weight growth.

Start with `snap.engines.reference`: the learning rules, written to be read beside the paper. That
module defines what is right. `snap.growth` has the paper's Table 1, `snap.protocol` the switches
between the readings of the paper, `snap.trial` what a trial is, and `snap.experiments` the two
experiments. These modules, with `engines` and `data`, are the training module. `pipeline`,
`report`, `publishing` and `cli` build on it, each on those before it.
"""

from __future__ import annotations

from snap.engines import train_from
from snap.errors import SnapError
from snap.protocol import CODE, REFERENCE, TEXT, Protocol
from snap.trial import Configuration, Iid, Sequential, Trial

__version__ = "0.1.0"
__all__ = [
    "CODE",
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
