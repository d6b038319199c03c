"""No space or no permission: one clear error, old files stay, and a later attempt succeeds."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys

import pytest

from snap import Iid, Trial
from snap.files import write_atomically, write_result
from snap.pipeline.rows import COLUMNS, read_rows, write_rows

TRIAL = Trial(
    "linear-linear", 1.0, 4, 0.0, "Synthetic", experiment=Iid(1), hidden=4, train_limit=300
)
PAIRS = [(0.1, alpha / 100) for alpha in range(1, 4)]
SPEC = json.dumps(
    {"cells": [{"trials": [TRIAL.text], "pairs": PAIRS, "then": []}], "engine": "cpu"}
)


def search(folder, data, limit=None):
    """Run a search job that writes to a folder; no file may exceed `limit` bytes."""

    def hold():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "snap", "job", "search", "--spec", SPEC]
    command += ["--output", str(folder / "search.csv"), "--store", str(folder / "trials")]
    command += ["--dir", str(data)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=hold, timeout=120)


def names(folder):
    return {path.name for path in folder.rglob("*") if path.is_file()}


def clear_error(done, *words):
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("snap: error:")]
    assert len(errors) == 1
    assert any(word in errors[0] for word in words), errors[0]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB; tests that need it are skipped if it cannot be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_loses_nothing_and_freeing_space_is_enough(small_disk, synthetic_root):
    write_rows(small_disk / "earlier.csv", COLUMNS["search"], [{"eta": 0.1}])
    filler = small_disk / "filler"
    handle = os.open(filler, os.O_CREAT | os.O_WRONLY)
    with contextlib.suppress(OSError):
        while os.write(handle, b"x" * 1024):
            pass
    os.close(handle)
    clear_error(search(small_disk, synthetic_root), "No space left")
    assert [row["eta"] for row in read_rows(small_disk / "earlier.csv")] == ["0.1"]
    assert names(small_disk) == {"earlier.csv", ".earlier.csv.sha256", "filler"}
    filler.unlink()
    assert search(small_disk, synthetic_root).returncode == 0
    assert len(read_rows(small_disk / "search.csv")) == len(PAIRS)


def test_a_limit_on_file_size(tmp_path, synthetic_root):
    clear_error(search(tmp_path, synthetic_root, limit=300), "too large")
    assert names(tmp_path) == set()
    assert search(tmp_path, synthetic_root).returncode == 0


def test_a_read_only_folder(small_disk, synthetic_root):
    assert search(small_disk, synthetic_root).returncode == 0
    before = (small_disk / "search.csv").read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    clear_error(search(small_disk, synthetic_root), "Read-only")
    assert (small_disk / "search.csv").read_bytes() == before
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert search(small_disk, synthetic_root).returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission(tmp_path, synthetic_root):
    tmp_path.chmod(0o555)
    clear_error(search(tmp_path, synthetic_root), "Permission denied")
    tmp_path.chmod(0o755)
    assert search(tmp_path, synthetic_root).returncode == 0


def test_a_file_in_place_of_a_folder(tmp_path, synthetic_root):
    (tmp_path / "trials").write_text("in the way")
    clear_error(search(tmp_path, synthetic_root), "exists", "Not a directory")
    assert names(tmp_path) == {"trials"}


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """If a step between the first byte and the rename fails, the old file stays complete."""
    path = tmp_path / "result.csv"
    write_result(path, b"old")
    for step in ("os.fsync", "os.fdopen"):
        with monkeypatch.context() as broken:
            broken.setattr(step, lambda *_, **__: (_ for _ in ()).throw(OSError(5, "broken")))
            with pytest.raises(OSError, match="broken"):
                write_atomically(path, b"new")
        assert path.read_bytes() == b"old"
        assert names(tmp_path) <= {"result.csv", ".result.csv.sha256"}
    shutil.rmtree(tmp_path)
    write_result(path, b"new")
    assert path.read_bytes() == b"new"
