"""Standard input and output as they may be: closed, full, without a reader, in any encoding."""

from __future__ import annotations

import contextlib
import io
import os
import sys

STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


def prepare() -> None:
    """Open what is closed, so that no other file takes its place. Let every text be written."""
    for name, mode in STREAMS.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets a ?


def say(line: str) -> None:
    """Write a line to standard error, if somebody reads it."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def finish() -> None:
    """Drop output that cannot be written: Python would try once more, and show a traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
