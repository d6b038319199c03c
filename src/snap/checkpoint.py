"""Checkpoints: an unfinished population in a file, so that a killed job goes on where it was.

The file is an .npz archive without pickled objects. It has the weights of every network, and as
JSON what its experiments were told so far. It also has a checksum. A file that is damaged or
belongs to another population is named and ignored.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.errors import SnapError
from snap.files import write_atomically
from snap.initial import Weights
from snap.numbers import parse_number

SECONDS = 60.0  # between two checkpoints; a population that takes less has none
VARIABLE = "SNAP_CHECKPOINT_SECONDS"  # the environment can set another time
FORMAT = 1  # increase it when the content of the file changes


def interval() -> float:
    """The seconds between two checkpoints. They change no result."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return SECONDS
    seconds = parse_number(wanted, VARIABLE)
    if seconds < 0:
        raise SnapError(f"{VARIABLE} must be 0 or above, got {wanted}")
    return seconds


@dataclass(frozen=True)
class Snapshot:
    """A population between two calls of `train`."""

    answers: list[list[dict[str, Any]]]  # of each network: all that its experiment was told
    position: int  # how many samples of the current requests are learned
    seen: list[int]
    diverged: list[int | None]
    seconds: float  # the time that training has taken
    weights: list[Weights]


class Checkpoint:
    """The checkpoint of one population. `say` is called with a message about a faulty file."""

    def __init__(
        self,
        folder: Path,
        fingerprints: Sequence[str],
        chunk: int | None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        # The chunk is part of the name because a run goes on only where an undisturbed run has the
        # end of a chunk too.
        lines = (f"format={FORMAT}", f"chunk={chunk}", *fingerprints)
        self.name = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        self.path = folder / f"{self.name}.npz"
        self.say = say

    def write(self, snapshot: Snapshot) -> None:
        """Replace the file. Training goes on if that is not possible."""
        values = {**vars(snapshot), "population": self.name}
        weights = values.pop("weights")
        arrays = {"state": np.frombuffer(json.dumps(values).encode(), np.uint8)}
        for g, (W, V) in enumerate(weights):
            arrays |= {f"W{g}": W, f"V{g}": V}
        arrays["sha256"] = np.array(_digest(arrays))
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        try:
            write_atomically(self.path, buffer.getvalue())
        except OSError as error:
            self.say(f"{self.path} cannot be written ({error.strerror}): training goes on")

    def read(self) -> Snapshot | None:
        """What was written last; None if there is no file or it is faulty."""
        if not self.path.exists():
            return None
        content = _content(self.path)
        if isinstance(content, str):
            self.ignore(content)
            return None
        return content

    def ignore(self, wrong: str) -> None:
        """Say why the file is not used."""
        self.say(f"{self.path} {wrong}: training starts from the beginning")

    def remove(self) -> None:
        """Remove the file, and what a process left that was killed while it wrote the file."""
        with suppress(OSError):  # a file that stays is never read: its trials have results
            for path in (self.path, *self.path.parent.glob(f".{self.path.name}.*")):
                path.unlink(missing_ok=True)


def damage(path: Path) -> str | None:
    """What is wrong with a checkpoint; None if it is intact."""
    content = _content(path)
    return content if isinstance(content, str) else None


def _content(path: Path) -> Snapshot | str:
    """The content of a file, or what is wrong with it."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        digest = str(arrays.pop("sha256"))
        intact = digest == _digest(arrays)
        values = json.loads(arrays["state"].tobytes())
        population = values.pop("population")
        networks = range(len(values["seen"]))
        weights = [(arrays[f"W{g}"], arrays[f"V{g}"]) for g in networks]
        snapshot = Snapshot(weights=weights, **values)
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    except Exception:  # a damaged archive can fail in any step of its reading
        return "is not a checkpoint"
    if not intact:
        return "does not match its checksum"
    return snapshot if population == path.stem else "belongs to another population"


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()
