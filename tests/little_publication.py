"""A made-up run with one small file of every kind that is published, and its publication.

As a script, it publishes the run under a folder, and is killed before one of its operations on
files, each in turn.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from snap.files import write_result
from snap.pipeline.published import RECORD, damaged
from snap.publishing import replace
from snap.publishing.publish import publish

# What Python calls to change files; `write` puts a content in memory and `flush` in the file.
WATCHED = ("open", "write", "flush", "mkdir", "rename", "unlink", "rmdir")


def make_run(folder: Path, name: str) -> Path:
    """Write a run with this name, whose files name it too."""
    files = ("tables/search.csv", "tables/iid.csv", "figures/iid.png", "paper_tables/a.csv")
    files += ("paper_tables/a.md", "paper_tables/a.tex", "claims.csv", "report.html")
    texts = dict.fromkeys(files, f"run\n{name}\n")
    texts |= {"figures/iid.json": '{"made_from": {}}', "claims.json": "[]"}
    texts["provenance.json"] = json.dumps({"run": name})
    for file, text in texts.items():
        write_result(folder / file, text.encode())
    return folder


def is_whole(folder: Path) -> bool:
    return folder.is_dir() and not damaged(folder)


def name_of(folder: Path) -> str:
    """The run in a publication, according to all of its files."""
    names = {(folder / "claims.csv").read_text(), (folder / "tables/iid.csv").read_text()}
    (text,) = names
    assert json.loads((folder / RECORD).read_text())["run"] == text.split()[1]
    return text.split()[1]


def killed_at(number: int, run: Path, to: Path) -> int:
    """Publish in a process that is killed before its n-th operation; return what ended it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left, replacing = number, False

    def count(frame: FrameType, event: str, called: Any) -> None:
        nonlocal left, replacing
        replacing = replacing or frame.f_code is replace.replace.__code__
        if replacing and event == "c_call" and called.__name__ in WATCHED:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    publish(run, to)
    os._exit(0)


def kill_everywhere(place: Path, exchange: bool) -> list[str]:
    """Kill a publication before each operation; return what was there each time.

    Each time, the next publication succeeds and leaves nothing but a whole publication.
    """
    old, new = make_run(place / "runs/old", "old"), make_run(place / "runs/new", "new")
    if not exchange:
        replace._exchanged = lambda one, other: False
    os.fsync = lambda handle: None  # it costs time, and what a killed process leaves is the same
    seen = []
    while True:
        reports = place / f"reports{len(seen)}"
        to = reports / "paper"
        publish(old, to)
        code = killed_at(len(seen), new, to)
        aside = reports / ".paper.old"
        there = to if is_whole(to) else aside
        assert is_whole(there)
        seen.append(name_of(there) + ("" if there == to else " aside"))
        publish(new if code else old, to)
        assert is_whole(to)
        assert [path.name for path in reports.iterdir()] == ["paper"]
        shutil.rmtree(reports)
        if code == 0:
            return seen


if __name__ == "__main__":
    print(json.dumps(kill_everywhere(Path(sys.argv[1]), sys.argv[2] == "exchange")))
