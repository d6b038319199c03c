"""The data folder. A file appears under its name only when it is complete and verified.

The layout is torchvision's (<folder>/MNIST/raw/…), so that existing copies are found.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from filelock import FileLock

from snap.data import idx, sources, synthetic
from snap.data.datasets import FILES, record
from snap.data.samples import Samples
from snap.errors import SnapError
from snap.files import read_regular, with_folder, write_atomically
from snap.trial import Trial


def default_folder() -> Path:
    """SNAP_DATA, or data/ here."""
    return Path(os.environ.get("SNAP_DATA") or "data")


def paths(dataset: str, root: Path) -> dict[str, Path]:
    """Where a dataset's four files belong."""
    return {name: root / record(dataset).name / "raw" / name for name in FILES}


def faults(dataset: str, root: Path) -> dict[Path, str | None]:
    """What is wrong with each file of a dataset: a sentence, or None."""
    sentences: dict[Path, str | None] = {}
    for name, path in paths(dataset, root).items():
        try:
            _content(dataset, root, name)
            sentences[path] = None
        except SnapError as error:
            sentences[path] = str(error).removeprefix(f"{path} ")
    return sentences


def stamp(datasets: Sequence[str]) -> bytes:
    """What the workflow keeps as a sign that datasets were verified: their checksums."""
    return "".join(f"{record(name).checksum}  {name}\n" for name in datasets).encode()


def stamp_of(dataset: str, root: Path) -> Path:
    """Where the workflow keeps the stamp of a dataset."""
    return root / dataset / "verified.txt"


def stamp_fault(dataset: str, root: Path) -> str | None:
    """What is wrong with the stamp of a dataset, if it has one."""
    expected = stamp([dataset])
    try:
        content = read_regular(stamp_of(dataset, root), len(expected) + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if content == expected else "is not the stamp of a verified dataset"


def verify(dataset: str, root: Path) -> list[str]:
    """One sentence for each file of a dataset that is missing or damaged."""
    return [f"{path} {wrong}" for path, wrong in faults(dataset, root).items() if wrong]


def _content(dataset: str, root: Path, name: str) -> bytes:
    """The content of a file, or an error if it does not match its checksum."""
    path = paths(dataset, root)[name]
    expected = _expected(dataset)[name]
    try:
        content = read_regular(path, record(dataset).most_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        where = "" if root == default_folder() else f" --dir {root}"
        raise SnapError(
            f"{path} is missing: run snap data fetch --dataset {dataset}{where}"
        ) from None
    except OSError as error:
        raise SnapError(f"{path} cannot be read ({error.strerror})") from None
    if hashlib.sha256(content).hexdigest() != expected:
        raise SnapError(_fault(content, expected, str(path)))
    return content


def _expected(dataset: str) -> dict[str, str]:
    """The SHA-256 of each of a dataset's files."""
    return dict(zip(FILES, record(dataset).sha256, strict=True))


def _fault(content: bytes, expected: str, name: str) -> str:
    """Why content does not match its checksum: malformed, or valid but altered."""
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
    """Make sure that the folder has a verified dataset, and return where it came from.

    One process fetches at a time. Others wait for it and then use the same files.
    """
    if given is None and not verify(dataset, root):
        return f"{dataset} is in {root} already"
    try:
        lock = root / f".{dataset}.lock"
        first = not root.exists()
        with with_folder(root):
            try:
                with FileLock(lock):
                    return _fetch_locked(dataset, root, given, say)
            except SnapError:
                if first:  # who waits for it still waits, and would write the same files
                    lock.unlink(missing_ok=True)
                raise
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
    if record(dataset).made:
        return {"its seed": lambda _: ((n, idx.build(a)) for n, a in synthetic.files().items())}
    if given is not None:  # a folder named by the user is the only source
        return {f"the folder {given}": sources.folder(given)}
    return {f"the folder {root}": sources.folder(root), **sources.DOWNLOADS}


def _verified(dataset: str, source: sources.Source) -> dict[str, bytes]:
    """All four files of a source, checked against their checksums."""
    expected = _expected(dataset)
    contents = dict(source(dataset))
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != expected[name]:
            raise SnapError(_fault(content, expected[name], name))
    return contents


@dataclass(frozen=True, eq=False)
class View:
    """The samples of a trial. Those of each task are selected once."""

    train: Samples
    measure: Samples
    _tasks: dict[Any, Samples] = field(default_factory=dict, init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def of_classes(self, samples: Samples, classes: tuple[int, ...]) -> Samples:
        """The samples whose label is one of `classes`."""
        with self._lock:
            if (id(samples), classes) not in self._tasks:
                self._tasks[id(samples), classes] = samples.take(samples.of_classes(classes))
            return self._tasks[id(samples), classes]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset in memory: training samples, test samples, and the checksum of its files."""

    name: str
    train: Samples
    test: Samples
    checksum: str
    _views: dict[Any, View] = field(default_factory=dict, init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def view(self, trial: Trial) -> View:
        """The samples that a trial trains and is measured on. Trials with equal ones share them.

        For `validation`, the last sixth of the training set is held out; the test set is not used.
        """
        key = (trial.split, trial.train_limit, trial.test_limit)
        with self._lock:
            if key not in self._views:
                self._views[key] = self._make_view(trial)
            return self._views[key]

    def _make_view(self, trial: Trial) -> View:
        train, measure = self.train, self.test
        if trial.split == "validation":
            kept = len(train) - len(train) // 6
            train, measure = train.take(slice(kept)), train.take(slice(kept, None))
        if trial.train_limit is not None:
            train = train.take(slice(trial.train_limit))
        if trial.test_limit is not None:
            measure = measure.take(slice(trial.test_limit))
        return View(train, measure)


def load(dataset: str, root: Path | None = None) -> Dataset:
    """Read a dataset from the folder. Every file must match its checksum."""
    root = root or default_folder()
    arrays = [idx.parse(_content(dataset, root, name), name) for name in paths(dataset, root)]
    train = Samples(arrays[0].reshape(len(arrays[0]), -1), arrays[1].astype(np.int64))
    test = Samples(arrays[2].reshape(len(arrays[2]), -1), arrays[3].astype(np.int64))
    return Dataset(dataset, train, test, record(dataset).checksum)
