"""The store of finished trials: what makes a changed configuration train only what is new.

A trial's file is named by its fingerprint, which covers everything that can change the result, and
appears only when complete. So a job that is killed loses at most the trials under way, a grid that
grew trains the new points only, and two jobs that want the same trial share it. Snakemake knows
nothing of these files: deleting the folder costs time and nothing else. (Its own `update()` outputs
would keep the points of one job only, and lose them when the job's other parameters change.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snap.files import write_atomically
from snap.trial import Trial

if TYPE_CHECKING:  # numpy comes with it
    from snap.experiments import Result


class TrialStore:
    """Finished trials in a folder. `say` is told of each that cannot be trusted."""

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
        """The result, if it is there and is what was written; a damaged file counts as absent."""
        path = self.path(trial)
        if not path.exists():
            return None
        wrong = damage(path)
        if wrong is None:
            result: dict[str, Any] = _read(path)["result"]
            if result["trial"] == trial.text:
                return result
            wrong = "holds another trial"
        self.say(f"{path} {wrong}: the trial is trained again")
        return None

    def put(self, result: Result) -> None:
        self.keep(result.trial, result.to_dict())

    def keep(self, trial: Trial, values: dict[str, Any]) -> None:
        """Write a result that is given as a dictionary."""
        content = {"sha256": _digest(values), "result": values}
        write_atomically(self.path(trial), json.dumps(content).encode())


def damage(path: Path) -> str | None:
    """What is wrong with a trial's file; None if it is what was written."""
    try:
        content = _read(path)
        intact = content["sha256"] == _digest(content["result"])
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except (ValueError, KeyError, TypeError):
        return "is not a trial's result"
    return None if intact else "is not what was written"


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def _digest(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
