"""The store of finished trials. It lets a changed configuration train only what is new.

A trial's file is named by its fingerprint, which covers everything that can change the result.
Files are written atomically. So a killed job loses no finished trial, a larger grid trains only the
new points, and jobs with the same trial share it. Snakemake does not track these files:
deleting the folder only costs time. (Snakemake's own `update()` outputs would keep the points of
one job only, and lose them when the job's other parameters change.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snap.files import read_regular, write_atomically
from snap.trial import Trial

UNFINISHED = "unfinished"  # the folder in the store for checkpoints of trials in training


class TrialStore:
    """Finished trials in a folder. `say` is called with a message for each damaged file."""

    def __init__(
        self,
        folder: Path,
        dataset_checksum: str,
        engine: str,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.folder, self.checksum, self.engine, self.say = folder, dataset_checksum, engine, say

    def path(self, trial: Trial) -> Path:
        name = trial.fingerprint(self.checksum, self.engine)
        return self.folder / name[:2] / f"{name}.json"

    def get(self, trial: Trial) -> dict[str, Any] | None:
        """The result of a trial; None if it is missing or its file is damaged."""
        path = self.path(trial)
        if not path.exists():
            return None
        wrong = damage(path)
        if wrong is None:
            result: dict[str, Any] = _read(path)["result"]
            if result["trial"] == trial.text:
                return result
            wrong = "contains another trial"
        self.say(f"{path} {wrong}: the trial is trained again")
        return None

    def keep(self, trial: Trial, values: dict[str, Any]) -> None:
        """Store a result that is given as a dictionary."""
        path = self.path(trial)
        content = {"name": path.stem, "sha256": _digest(values), "result": values}
        write_atomically(path, json.dumps(content).encode())


def damage(path: Path) -> str | None:
    """What is wrong with a trial's file; None if it is intact."""
    try:
        content = _read(path)
        intact = content["sha256"] == _digest(content["result"])
        own = content.get("name", path.stem) == path.stem  # older files do not have their name
        known = content.keys() <= {"name", "sha256", "result"}
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "is not a trial's result"
    if not own:
        return "contains another trial"
    return None if intact and known else "does not match its checksum"


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(read_regular(path))
    return content


def _digest(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
