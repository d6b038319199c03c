"""The datasets: one record for each. This module does not import numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from snap.errors import SnapError

# The four files of a dataset, in the order of its checksums.
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


@dataclass(frozen=True)
class DatasetRecord:
    """What is known about a dataset before it is fetched."""

    name: str
    sha256: tuple[str, str, str, str]  # of the raw contents, in the order of FILES
    training_samples: int
    hidden: int = 64  # default number of hidden neurons
    classes: int = 10
    side: int = 28  # pixels
    in_paper: bool = False
    made: bool = False  # generated from a seed, not fetched
    # Where each class occurs first in the training and in the test data, counted from 1. Known, a
    # limit that leaves a task without samples is refused before anything is trained.
    first: tuple[Sequence[int], Sequence[int]] = ((), ())

    @property
    def pixels(self) -> int:
        return self.side**2

    @property
    def most_bytes(self) -> int:
        """What a file may have at most: the header and the images of the training set."""
        return 16 + self.training_samples * self.pixels

    @property
    def checksum(self) -> str:
        """One hash of its four files."""
        return hashlib.sha256("".join(self.sha256).encode()).hexdigest()


DATASETS = {
    record.name: record
    for record in (
        DatasetRecord(
            name="MNIST",
            sha256=(
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
            training_samples=60_000,
            hidden=64,
            in_paper=True,
            first=((2, 4, 6, 8, 3, 1, 14, 16, 18, 5), (4, 3, 2, 19, 5, 9, 12, 1, 62, 8)),
        ),
        DatasetRecord(
            name="FashionMNIST",
            sha256=(
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
            training_samples=60_000,
            hidden=96,
            in_paper=True,
            first=((2, 17, 6, 4, 20, 9, 19, 7, 24, 1), (20, 3, 2, 14, 7, 9, 5, 10, 19, 1)),
        ),
        DatasetRecord(
            name="Synthetic",
            sha256=(
                "0e1335a34d3a55fa343133095304b5c83e4e138454f97fff0efa490c6298a620",
                "142815503143772274ba68a5bd7c07a6cd0a0b88876cadc18aecd266945e8c8c",
                "60c406be300d906d549446877e455a758b80c323c8b17073a15da969e398d999",
                "0674780050adac6b6ca865285335e8f66ab484ded49b7cb103a8cebfa7f41632",
            ),
            training_samples=2_000,
            made=True,
            first=((6, 4, 14, 10, 9, 3, 11, 2, 1, 21), (6, 20, 1, 4, 9, 8, 28, 3, 12, 2)),
        ),
    )
}
PAPER_DATASETS = [record.name for record in DATASETS.values() if record.in_paper]


def record(dataset: str) -> DatasetRecord:
    """Return the record of a dataset, or raise an error that lists the known ones."""
    if dataset not in DATASETS:
        raise SnapError(f"unknown dataset {dataset!r}: choose from {', '.join(DATASETS)}")
    return DATASETS[dataset]


def checksum(dataset: str) -> str:
    """One hash of a dataset's files, known before they are fetched."""
    return record(dataset).checksum
