"""Check files against their recorded checksums: datasets, finished trials, results of runs."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snap import checkpoint
from snap.data import store
from snap.data.datasets import DATASETS
from snap.errors import SnapError, printable
from snap.files import fault, record_of
from snap.pipeline.layout import PLAN, PROVENANCE, READINGS
from snap.pipeline.rows import COLUMNS
from snap.pipeline.trial_store import UNFINISHED, damage

NO_RECORD = "has no record of its checksum"
# The results that every run makes with a record, by their path in its folder.
RESULT = re.compile(
    rf"({READINGS}/[^/]+/)?"
    r"(search/.+/seed=\d+\.csv|(select|iid|sequential)/.+/lambda=[^/]+\.csv"
    r"|(ladder/[^/]+|control)/[^/]+/[^/]+\.csv|portrait/[A-Za-z]+(\.csv|\.npz|\.snapshots\.npz)"
    rf"|tables/({'|'.join(COLUMNS)})\.csv|checked\.json|claims\.(csv|json)"
    rf"|report\.html|{re.escape(PLAN)}|{re.escape(PROVENANCE)})"
)
FAMILIES = ("figures", "paper_tables")  # folders in which files of one name belong together


@dataclass(frozen=True)
class Checked:
    """A checked file and what is wrong with it; `fault` is None for an intact file."""

    path: Path
    fault: str | None
    signs: tuple[Path, ...] = ()  # files that stand for this one: it is made with them

    def remove(self) -> bool:
        """Delete the file and its record, so that the next run makes it again.

        Return whether there was anything to delete.
        """
        paths = (self.path, *self.signs)
        removed = [_remove(path) for one in paths for path in (record_of(one), one)]
        return any(removed)


def check(results: Path, data: Path) -> Iterator[Checked]:
    """Check every file that has a recorded checksum."""
    yield from check_data(data)
    for path in sorted((results / "trials").glob("*/*.json")):
        yield Checked(path, damage(path))
    for path in sorted((results / "trials" / UNFINISHED).glob("*.npz")):
        yield Checked(path, checkpoint.damage(path))
    for folder in sorted(results.glob("*/")):
        if folder.name != "trials":
            yield from check_run(folder)


def check_data(data: Path) -> Iterator[Checked]:
    """Check the datasets that are there, and the stamps that say so to the workflow."""
    for dataset in DATASETS:
        if os.path.lexists(data / dataset):
            stamp = store.stamp_of(dataset, data)
            for path, wrong in store.faults(dataset, data).items():
                yield Checked(path, wrong, (stamp,))
            if os.path.lexists(stamp):
                yield Checked(stamp, store.stamp_fault(dataset, data))


def check_run(folder: Path) -> Iterator[Checked]:
    """Check the results in the folder of a run."""
    found = {path: fault(path) for path in _recorded(folder)}
    without = _unrecorded(folder)
    if without:
        time.sleep(0.2)  # a run may be writing one, with its record to follow
        without = [path for path in without if not record_of(path).exists() and path.exists()]
    found |= dict.fromkeys(without, NO_RECORD)
    for path in sorted(found):
        # A run writes its plan only if it has something to do.
        signs = (folder / PROVENANCE,) if path == folder / PLAN else ()
        yield Checked(path, found[path], signs)


def _recorded(folder: Path) -> list[Path]:
    """The results that have a record, whether or not they exist."""
    return [
        record.with_name(record.name.removeprefix(".").removesuffix(".sha256"))
        for record in folder.rglob(".*.sha256")
    ]


def _unrecorded(folder: Path) -> list[Path]:
    """The results of a run that exist without a record."""
    known = set(_recorded(folder))
    families = {(path.parent, path.stem) for path in known if path.parent.name in FAMILIES}
    return [
        path
        for path in itertools.chain(folder.glob("*"), folder.glob("*/**/*"))
        if not path.name.startswith(".") and path not in known
        if RESULT.fullmatch(str(path.relative_to(folder))) or (path.parent, path.stem) in families
    ]


def _remove(path: Path) -> bool:
    if not os.path.lexists(path):
        return False
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return True
    try:
        path.rmdir()
    except OSError:
        shown = printable(str(path), 200)
        raise SnapError(f"{shown} is a folder where a file belongs: move it away") from None
    return True
