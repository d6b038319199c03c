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
from pathlib import Path
from typing import Any

from snap.experiments import Result
from snap.files import write_atomically
from snap.trial import Trial


class Trials:
    """Finished trials in a folder."""

    def __init__(self, folder: Path, dataset_checksum: str, engine: str) -> None:
        self.folder, self.checksum, self.engine = folder, dataset_checksum, engine

    def path(self, trial: Trial) -> Path:
        name = trial.fingerprint(self.checksum, self.engine)
        return self.folder / name[:2] / f"{name}.json"

    def get(self, trial: Trial) -> dict[str, Any] | None:
        """The result, if it is there and is what was written; a damaged file counts as absent."""
        try:
            content = json.loads(self.path(trial).read_text())
            result: dict[str, Any] = content["result"]
            intact = content["sha256"] == _digest(result) and result["trial"] == trial.text
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return result if intact else None

    def put(self, result: Result) -> None:
        values = result.to_dict()
        content = {"sha256": _digest(values), "result": values}
        write_atomically(self.path(result.trial), json.dumps(content).encode())


def _digest(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
