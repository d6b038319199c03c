"""A group's settings for its cluster, from a file that is not part of the repository."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.pipeline.config import complete, read
from snap.pipeline.work import CORE_MINUTES, STAGES
from snap.reading import parse_yaml

FILE = "cluster.yaml"


def path() -> Path:
    """The settings file: SNAP_CLUSTER, or cluster.yaml in the current folder."""
    return Path(os.environ.get("SNAP_CLUSTER", FILE))


def settings(file: Path | None = None) -> dict[str, Any]:
    """The settings with all defaults. Without the file, the defaults alone."""
    file = file or path()
    if str(file) == os.environ.get("SNAP_CLUSTER") and not file.exists():
        raise SnapError(f"SNAP_CLUSTER names {file}, which does not exist")
    text = files(__package__).joinpath("cluster.schema.yaml").read_text(encoding="utf-8")
    schema = parse_yaml(text, "cluster.schema.yaml")
    try:
        found = complete(read([file]) if file.exists() else {}, schema)
    except SnapError as error:
        text = str(error).replace("config key", "key")
        raise SnapError(text if str(file) in text else f"{file}: {text}") from None
    if found["core_minutes_per_job"] is None:
        surely = found["train_on"] if found["unusable_gpu"] == "fail" else "cpu"
        found["core_minutes_per_job"] = CORE_MINUTES[surely]
    if found["mail"]:
        mail = f"--mail-type=END,FAIL --mail-user={found['mail']}"
        for rule in STAGES:
            own = found["resources"].setdefault(rule, {})
            own["slurm_extra"] = " ".join(filter(None, (mail, own.get("slurm_extra"))))
    return found
