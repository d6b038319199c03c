"""The progress of a run in its own terminal."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from snap.files import write_atomically
from snap.pipeline.cluster import queue
from snap.pipeline.status import count_kept, end_plan, line, state


class Announcer:
    """Prints the state of a run every `every` seconds, and once more when the run ends."""

    def __init__(self, plan_file: Path, every: float = 20) -> None:
        self.plan_file, self.every = plan_file, every
        self.allocated: dict[str, float] = {}  # core seconds of each SLURM job
        self.last_query = 0.0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.ended.set()
        self.last_query = 0.0
        end_plan(self.plan_file)
        self._say(count_kept(self.plan_file))

    def _work(self) -> None:
        # Counting takes seconds with a hundred thousand trials, so it is done once.
        in_store = count_kept(self.plan_file)
        while not self.ended.wait(self.every):
            self._say(in_store)

    def _say(self, in_store: Mapping[str, int]) -> None:
        """Print the state, and record the time that the run has taken so far."""
        print(line(state(self.plan_file, in_store)), file=sys.stderr, flush=True)
        content = json.loads(self.plan_file.read_bytes())
        took = {"seconds": time.time() - content["started"], "cores": content["cores"]}
        if content["slurm"] is not None:
            if time.time() - self.last_query >= 60:  # limits the load on SLURM
                self.last_query = time.time()
                self.allocated |= queue.core_seconds(content["slurm"])
            took["allocated"] = self.allocated
        path = self.plan_file.parent / "invocations" / f"{content['started']:.0f}.json"
        write_atomically(path, json.dumps(took).encode())
