"""Whether the run of a plan.json goes on, as far as can be known on this machine."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STALE = 120  # seconds without a sign of life after which a job or a run counts as dead


def goes_on(content: Mapping[str, Any], folder: Path) -> bool:
    """Whether a run goes on. `content` is that of its plan.json, which is in `folder`."""
    here = content.get("host") == socket.gethostname() and "pid" in content
    if "ended" in content:  # the runner of a Snakemake that has ended may start the next one
        runner = content.get("runner") if here else None
        return runner is not None and is_alive(runner, content["started"])
    if here:
        return is_alive(content["pid"], content["started"])
    signs = [path.stat().st_mtime for path in folder.glob("invocations/*.json")]
    last = max([float(content["started"]), *signs])
    return time.time() - last < STALE


def is_alive(pid: int, before: float | None = None) -> bool:
    """Whether a process of this machine is alive.

    A process that was started after the time `before` is another one with the same number.
    """
    import psutil

    if pid <= 0:
        return False
    try:
        process = psutil.Process(int(pid))  # JSON may have 17.0
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return before is None or float(process.create_time()) < before + 1
    except (psutil.NoSuchProcess, OverflowError):
        return False
    except psutil.AccessDenied:  # it belongs to another user
        return True
