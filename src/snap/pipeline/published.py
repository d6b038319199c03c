"""Published folders: the record of their files, and a check of the files against it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

RECORD = "record.json"


def damaged(folder: Path) -> list[str]:
    """The published files that are missing, differ from the record, or are not in it."""
    recorded = json.loads((folder / RECORD).read_text())["files"]
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    wrong = present.symmetric_difference({*recorded, RECORD})
    wrong |= {name for name in present & set(recorded) if checksum(folder / name) != recorded[name]}
    return sorted(wrong)


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
