"""The cache of compiled loops depends on the sources that they are compiled from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from snap.engines import compiling

TRAIN = (
    "import numpy as np, snap\n"
    "W, V = np.full((3, 4), 0.1), np.full((2, 3), 0.1)\n"
    "trial = snap.Trial('sigmoid-sigmoid-neuron', 0.1, 2, 0.1, hidden=3)\n"
    "W, V = snap.train_from(W, V, np.eye(4), [0, 1, 0, 1], [0, 1, 2, 3], trial)\n"
    "print(W.sum(), V.sum())\n"
)


def test_an_edited_formula_is_not_served_from_an_old_cache(tmp_path, monkeypatch):
    """An edited growth function gets a new cache folder."""
    source = tmp_path / "growth.py"
    folders = []
    for text in ("strength * (one - capped)", "strength * (one - capped) * one"):
        source.write_text(text)
        monkeypatch.setattr(compiling, "SOURCES", (source,))
        folders.append(compiling.cache_folder.__wrapped__())
    assert folders[0] != folders[1]
    for folder in folders:
        folder.rmdir()


def test_the_sources_include_the_formulas():
    names = {"kernels.py", "rule.py", "growth.py", "compiling.py"}
    assert {path.name for path in compiling.SOURCES} == names
    assert all(path.is_file() for path in compiling.SOURCES)


SGD = (
    "import sys, numpy as np, snap\n"
    "rng = np.random.default_rng(0)\n"
    "images = rng.integers(0, 256, (500, 784), dtype=np.uint8)\n"
    "labels = rng.integers(0, 10, 500)\n"
    "W, V = (rng.uniform(0, 0.01, s).astype(np.float32) for s in ((96, 784), (10, 96)))\n"
    "for learner, rest in (('sgd', {}), ('hebbian', {'lateral_inhibition': 2, 'eta': 0.1})):\n"
    "    trial = snap.Trial('sigmoid-sigmoid-neuron', 0.3, learner=learner, hidden=96, **rest)\n"
    "    for array in snap.train_from(W, V, images, labels, range(500), trial):\n"
    "        sys.stdout.write(array.tobytes().hex())\n"
)


def test_compiled_loops_and_cached_loops_round_alike(tmp_path):
    """Results are equal bit for bit. Without inlining, the rounding of SGD would differ."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SGD]
    compiled, loaded = (
        subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert len(compiled) > 1_000_000
    assert compiled == loaded


def test_snap_compile_compiles_everything_that_experiments_need(tmp_path, synthetic_root):
    """After `snap compile`, a trial of any configuration finds its loops in the cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "snap", "compile"], env=environment, check=True)
    before = {path.name for path in tmp_path.rglob("*.nbc")}
    assert before
    code = TRAIN.replace("0.1)", "0.1, 'f4')").replace("np.eye(4)", "np.eye(4, dtype='u1')")
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    # Images that are read from files are read-only arrays.
    command = "train --dataset Synthetic --configuration linear-linear --lambda 1 --eta 1 --alpha 1"
    more = ["--epochs", "1", "--train-limit", "50", "--dir", str(synthetic_root)]
    subprocess.run(
        [sys.executable, "-m", "snap", *command.split(), *more], env=environment, check=True
    )
    assert {path.name for path in tmp_path.rglob("*.nbc")} == before


def test_processes_can_compile_at_the_same_time(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TRAIN], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    printed = {process.communicate(timeout=300)[0] for process in processes}
    assert all(process.returncode == 0 for process in processes)
    assert len(printed) == 1
    assert list(Path(tmp_path).rglob("*.nbi")), "NUMBA_CACHE_DIR is used"


def test_vectors_use_the_full_width_of_the_processor():
    assert compiling.full_width("+avx2,+avx512f") == "+avx2,+avx512f,-prefer-256-bit"
    for narrower in ("", "+avx2", "+avx2,-avx512f"):
        assert compiling.full_width(narrower) == narrower


def test_cpu_features_set_for_numba_are_kept():
    code = (
        "from snap.engines import compiling as it; from numba.core.codegen import *\n"
        "print(it.config.CPU_FEATURES, it.full_width(get_host_cpu_features()), sep='\\n')"
    )

    def features(**more):
        environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CPU_FEATURES"} | more
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, check=True, text=True)

    assert features(NUMBA_CPU_FEATURES="+sse2").stdout.splitlines()[0] == "+sse2"
    actual, expected = features().stdout.splitlines()
    assert actual == expected
