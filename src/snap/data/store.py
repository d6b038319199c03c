"""The data folder: verified files, complete under their final names or not there at all.

The layout is torchvision's (<folder>/MNIST/raw/…), so that copies people already have are found.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from snap.data import idx, sources, synthetic
from snap.data.samples import Samples
from snap.errors import SnapError
from snap.files import write_atomically
from snap.trial import CLASSES, Trial

# SHA-256 of the raw contents, in the order of sources.FILES.
CHECKSUMS = {
    "MNIST": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    "FashionMNIST": (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    "Synthetic": (
        "0e1335a34d3a55fa343133095304b5c83e4e138454f97fff0efa490c6298a620",
        "142815503143772274ba68a5bd7c07a6cd0a0b88876cadc18aecd266945e8c8c",
        "60c406be300d906d549446877e455a758b80c323c8b17073a15da969e398d999",
        "0674780050adac6b6ca865285335e8f66ab484ded49b7cb103a8cebfa7f41632",
    ),
}
DATASETS = tuple(CHECKSUMS)


def default_folder() -> Path:
    """SNAP_DATA, or data/ here."""
    return Path(os.environ.get("SNAP_DATA") or "data")


def checksum(dataset: str) -> str:
    """One hash for a dataset's content, known before it is fetched."""
    return hashlib.sha256("".join(CHECKSUMS[known(dataset)]).encode()).hexdigest()


def known(dataset: str) -> str:
    if dataset not in CHECKSUMS:
        raise SnapError(f"unknown dataset {dataset!r}: choose from {', '.join(DATASETS)}")
    return dataset


def paths(dataset: str, root: Path) -> dict[str, Path]:
    """Where a dataset's four files belong."""
    return {name: root / known(dataset) / "raw" / name for name in sources.FILES}


def verify(dataset: str, root: Path) -> list[str]:
    """What is wrong with a dataset's files, one sentence each; nothing if they are all right."""
    wrong = []
    for path, expected in zip(paths(dataset, root).values(), CHECKSUMS[dataset], strict=True):
        if not path.is_file():
            wrong.append(f"{path} is missing: run snap data fetch --dataset {dataset}")
        elif hashlib.sha256(content := path.read_bytes()).hexdigest() != expected:
            wrong.append(_fault(content, expected, str(path)))
    return wrong


def _fault(content: bytes, expected: str, name: str) -> str:
    """Why content is not what its checksum says: the plainest reason that is true."""
    try:
        idx.parse(content, name)
    except SnapError as error:
        return str(error)
    return f"{name} has been altered: its SHA-256 is not {expected[:12]}…; fetch it again"


def fetch(
    dataset: str,
    root: Path,
    given: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> str:
    """See to it that a dataset is in the folder, verified; say where it came from.

    One process fetches at a time; another that wants the same waits, then finds it there.
    """
    known(dataset)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{dataset}.lock"):
            return _fetch_locked(dataset, root, given, say)
    except OSError as error:
        where = error.filename or root
        raise SnapError(f"could not write {where}: {error.strerror or error}") from None


def _fetch_locked(dataset: str, root: Path, given: Path | None, say: Callable[[str], None]) -> str:
    if given is None and not verify(dataset, root):
        return f"{dataset} is in {root} already"
    reasons = []
    for name, source in _offers(dataset, root, given).items():
        try:
            contents = _verified(dataset, source)
        except SnapError as error:
            say(f"{dataset}: not from {name}: {error}")
            reasons.append(f"{name}: {error}")
            continue
        for file, path in paths(dataset, root).items():
            write_atomically(path, contents[file])
        return f"{dataset} is in {root}, from {name}"
    raise SnapError(f"no source could serve {dataset}: " + "; ".join(reasons))


def _offers(dataset: str, root: Path, given: Path | None) -> dict[str, sources.Source]:
    if dataset == "Synthetic":
        return {"its seed": lambda _: ((n, idx.build(a)) for n, a in synthetic.files().items())}
    if given is not None:  # a folder that was named is meant: nothing else is asked
        return {f"the folder {given}": sources.folder(given)}
    return {f"the folder {root}": sources.folder(root), **sources.DOWNLOADS}


def _verified(dataset: str, source: sources.Source) -> dict[str, bytes]:
    """All four files of a source, each with the content its checksum names."""
    expected = dict(zip(sources.FILES, CHECKSUMS[dataset], strict=True))
    contents = dict(source(dataset))
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != expected[name]:
            raise SnapError(_fault(content, expected[name], name))
    return contents


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset in memory: what trains, what tests, and the checksum of its files."""

    name: str
    train: Samples
    test: Samples
    checksum: str

    def splits(self, trial: Trial) -> tuple[Samples, Samples]:
        """What a trial trains on and what it is measured on.

        For `validation`, the last sixth of the training set is held out; the test set stays shut.
        """
        train, measure = self.train, self.test
        if trial.split == "validation":
            kept = len(train) - len(train) // 6
            train, measure = train.take(slice(kept)), train.take(slice(kept, None))
        if trial.train_limit is not None:
            train = train.take(slice(trial.train_limit))
        if trial.test_limit is not None:
            measure = measure.take(slice(trial.test_limit))
        return train, measure


def load(dataset: str, root: Path | None = None) -> Dataset:
    """Read a dataset from the folder, refusing it if any file is not what its checksum says."""
    root = root or default_folder()
    wrong = verify(known(dataset), root)
    if wrong:
        raise SnapError(wrong[0])
    arrays = [idx.parse(path.read_bytes(), str(path)) for path in paths(dataset, root).values()]
    train = Samples(arrays[0].reshape(len(arrays[0]), -1), arrays[1].astype(np.int64))
    test = Samples(arrays[2].reshape(len(arrays[2]), -1), arrays[3].astype(np.int64))
    if max(train.labels.max(), test.labels.max()) >= CLASSES:
        raise SnapError(f"{dataset} has labels beyond {CLASSES - 1}")
    return Dataset(dataset, train, test, checksum(dataset))
