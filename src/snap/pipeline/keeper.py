"""A job ends when a process that it works for is gone, so that it never writes after a clean-up.

Snakemake starts a shell for each job, and the shell starts Python. If only the shell is killed,
Snakemake removes what the job has written and may start it again.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence

PARENTS = "SNAP_PARENTS"  # the process IDs of the shell that starts a job and of its Snakemake
SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
EVERY = 0.5  # seconds between two looks, where the kernel does not report the end of a process

libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parents() -> None:
    """End this process with the processes that SNAP_PARENTS names, or now if one has ended."""
    named = [int(number) for number in os.environ.pop(PARENTS, "").split() if number.isdecimal()]
    watched = [number for number in named if number != os.getpid()]  # it may replace its shell
    if not watched:
        return
    if watched[0] == named[0]:
        end_with_parent(named[0])
    threading.Thread(target=_end_after, args=(watched,), daemon=True).start()


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies. Only Linux can."""
    if libc is not None:
        libc.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it died before
        _end()


def _end_after(processes: Sequence[int]) -> None:
    """Wait until one of the processes has ended, then end this one."""
    try:
        waiting = select.poll()
        for process in processes:
            waiting.register(os.pidfd_open(process), select.POLLIN)
        waiting.poll()
    except ProcessLookupError:
        pass
    except (AttributeError, OSError):  # no pidfd: not Linux, or forbidden here
        while all(map(_exists, processes)):
            time.sleep(EVERY)
    _end()


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
