"""Whether files are what their records say: datasets, finished trials, and the results of runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snap.data import store
from snap.data.datasets import DATASETS
from snap.files import fault, record_of
from snap.pipeline.trial_store import damage


@dataclass(frozen=True)
class Checked:
    """A file that was looked at, and what is wrong with it, if anything is."""

    path: Path
    fault: str | None

    def remove(self) -> None:
        """Take it away, so that the next run makes it again."""
        record_of(self.path).unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def check(results: Path, data: Path) -> Iterator[Checked]:
    """Look at every file of which it is known what it should be."""
    for dataset in DATASETS:
        if (data / dataset).is_dir():
            for path, wrong in store.faults(dataset, data).items():
                yield Checked(path, wrong)
    for path in sorted((results / "trials").glob("*/*.json")):
        yield Checked(path, damage(path))
    for record in sorted(results.rglob(".*.sha256")):
        path = record.with_name(record.name.removeprefix(".").removesuffix(".sha256"))
        yield Checked(path, fault(path))
