"""Files that exist under their name only when they are complete."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: bytes, durable: bool = True) -> None:
    """Write under a temporary name in the same folder, flush to disk, then rename.

    What need not outlive a power cut is not `durable`, and saves the wait for the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp lets nobody else read it
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise
