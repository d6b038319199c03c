"""SNAP: Hebbian and SGD learning with linear, sigmoid and exponential weight growth.

In a notebook or a script, `import snap` is enough: `load` reads a dataset, `run` trains a trial,
`predict` uses the trained network, `results` reads the tables of a run, and `figure` draws from
them. They are imported when they are first used, so that importing snap is fast.

To read the code, start with `snap.engines.reference`: the learning rules, written to be read beside
the paper. That module defines what is right. `snap.growth` has the paper's Table 1, `snap.protocol`
the switches between the readings of the paper, `snap.trial` what a trial is, and
`snap.experiments` the two experiments. These modules, with `engines` and `data`, are the training
module. `pipeline`, `report`, `publishing`, `notebook` and `cli` build on it, each on those before
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    "Results",
    "Sequential",
    "SnapError",
    "Trained",
    "Trial",
    "figure",
    "load",
    "predict",
    "results",
    "run",
    "train_from",
]

# The modules of the names that are imported on first use.
_LATER = {
    "Results": "snap.notebook.folders",
    "Trained": "snap.notebook.trained",
    "figure": "snap.notebook.folders",
    "load": "snap.notebook.trained",
    "predict": "snap.notebook.trained",
    "results": "snap.notebook.folders",
    "run": "snap.notebook.trained",
}

if TYPE_CHECKING:
    from snap.notebook.folders import Results, figure, results
    from snap.notebook.trained import Trained, load, predict, run
else:  # hidden from type checkers, so that they know which names exist

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module 'snap' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
