"""Check files against their recorded checksums: datasets, finished trials, results of runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snap import checkpoint
from snap.data import store
from snap.data.datasets import DATASETS
from snap.files import fault, record_of
from snap.pipeline.trial_store import UNFINISHED, damage


@dataclass(frozen=True)
class Checked:
    """A checked file and what is wrong with it; `fault` is None for an intact file."""

    path: Path
    fault: str | None

    def remove(self) -> None:
        """Delete the file and its record, so that the next run makes it again."""
        record_of(self.path).unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def check(results: Path, data: Path) -> Iterator[Checked]:
    """Check every file that has a recorded checksum."""
    for dataset in DATASETS:
        if (data / dataset).is_dir():
            for path, wrong in store.faults(dataset, data).items():
                yield Checked(path, wrong)
    for path in sorted((results / "trials").glob("*/*.json")):
        yield Checked(path, damage(path))
    for path in sorted((results / "trials" / UNFINISHED).glob("*.npz")):
        yield Checked(path, checkpoint.damage(path))
    for record in sorted(results.rglob(".*.sha256")):
        path = record.with_name(record.name.removeprefix(".").removesuffix(".sha256"))
        yield Checked(path, fault(path))
