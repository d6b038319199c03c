"""The cache of compiled loops depends on the sources that they are compiled from."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from snap.engines import compiling

TRAIN = (
    "import numpy as np, snap\n"
    "W, V = np.full((3, 4), 0.1), np.full((2, 3), 0.1)\n"
    "trial = snap.Trial('sigmoid-sigmoid-neuron', 0.1, 2, 0.1, hidden=3)\n"
    "W, V = snap.train_from(W, V, np.eye(4), [0, 1, 0, 1], [0, 1, 2, 3], trial)\n"
    "print(W.sum(), V.sum())\n"
)


@pytest.fixture
def place(monkeypatch):
    """Set where the cache may be; return what `cache_folder` finds there."""

    def find(folder: Path) -> Path | None:
        monkeypatch.setattr(compiling.config, "CACHE_DIR", str(folder))
        return compiling.cache_folder.__wrapped__()

    return find


def test_an_edited_formula_is_not_served_from_an_old_cache(tmp_path, monkeypatch, place):
    """An edited growth function gets a new cache folder."""
    source = tmp_path / "growth.py"
    folders = []
    for text in ("strength * (one - capped)", "strength * (one - capped) * one"):
        source.write_text(text)
        monkeypatch.setattr(compiling, "SOURCES", (source,))
        folders.append(place(tmp_path))
    assert folders[0] != folders[1]


def test_the_cache_is_beside_the_loops_or_in_the_users_own_cache(tmp_path, monkeypatch):
    """Never in the temporary folder. The package may belong to another user, or be writable."""
    package = tmp_path / "package"
    package.mkdir(mode=0o755)
    monkeypatch.setattr(compiling, "HERE", package)
    monkeypatch.setattr(compiling.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def found() -> Path:
        folder = compiling.cache_folder.__wrapped__()
        assert folder is not None
        assert folder.stat().st_mode & 0o777 == 0o700
        return folder.parent

    assert found() == package / "__pycache__"
    package.chmod(0o775)
    assert found() == tmp_path / "home/.cache/snap-loops"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert found() == tmp_path / "other/snap-loops"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert found() == tmp_path / "home/.cache/snap-loops"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path, place, capsys, mode):
    open_to_others = tmp_path / "open"
    open_to_others.mkdir()
    open_to_others.chmod(mode)
    assert place(open_to_others) is None
    said = capsys.readouterr().err
    assert said.startswith(f"snap: warning: other users can write to {open_to_others}; set NUMBA_")
    assert said.count("\n") == 1
    private = place(tmp_path)
    private.chmod(mode)
    assert place(tmp_path) is None
    assert f"other users can write to {private}" in capsys.readouterr().err


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_or_file_of_another_user_is_refused(tmp_path, place, monkeypatch, capsys):
    """Another user may have made it first, with a pickle that runs a command."""
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o755)
    os.chown(theirs, 65534, 65534)
    assert place(theirs) is None
    assert f"{theirs} belongs to another user" in capsys.readouterr().err
    folder = place(tmp_path)
    monkeypatch.setattr(compiling, "cache_folder", lambda: folder)
    files = compiling.Files("loop")
    files.save("key", "kept")
    (path,) = folder.iterdir()
    os.chown(path, 65534, 65534)
    assert files.load("key") is None
    assert "belongs to another user" in capsys.readouterr().err
    assert not path.exists()


class Evil:
    """An object whose pickle writes a file when it is read."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> object:
        return Path.write_text, (self.trace, "executed")


def as_another_user(act: Callable[[], object]) -> None:
    """Do something in a process that belongs to another user."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")
@pytest.mark.parametrize("lure", ["a folder of theirs", "ours was open", "theirs behind a link"])
def test_what_another_user_has_put_into_the_cache_is_not_executed(monkeypatch, capsys, lure):
    """Their pickle has the right name and checksum, and would run a command."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = Path(name)
        place.chmod(0o1777)
        cache, trace = place / "cache", place / "trace"
        monkeypatch.setattr(compiling.config, "CACHE_DIR", str(cache))
        find, files = compiling.cache_folder.__wrapped__, compiling.Files("loop")
        target = find()  # as it is named for this user
        if lure == "ours was open":
            cache.chmod(0o777)
            target.chmod(0o777)
        else:
            shutil.rmtree(cache)
        if lure == "theirs behind a link":
            target = place / "theirs" / target.name
            cache.symlink_to(place / "theirs")
        monkeypatch.setattr(compiling, "cache_folder", lambda: target)

        def plant() -> None:
            target.mkdir(parents=True, exist_ok=True)
            files.save("key", Evil(trace))

        as_another_user(plant)
        if lure == "ours was open":  # and is closed again, with their file in it
            cache.chmod(0o700)
            target.chmod(0o700)
        monkeypatch.setattr(compiling, "cache_folder", find)
        (planted,) = target.iterdir()
        content = planted.read_bytes()
        assert files.load("key") is None
        assert "belongs to another user" in capsys.readouterr().err
        assert not trace.exists()
        pickle.loads(content[compiling.DIGEST :])
        assert trace.exists(), "reading the file would have run the command"


def test_a_cache_that_cannot_be_made_costs_a_warning(tmp_path, place, capsys):
    (tmp_path / "file").write_text("")
    assert place(tmp_path / "file/folder") is None
    assert "cannot be used: " in capsys.readouterr().err


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "zeroed": lambda content: bytes(len(content)),
    "flipped": lambda content: content[:-1] + bytes([content[-1] ^ 0x80]),
    "checksum flipped": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "a plain pickle": lambda content: pickle.dumps("anything"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_removed_and_made_again(tmp_path, place, monkeypatch, capsys, damage):
    folder = place(tmp_path)
    monkeypatch.setattr(compiling, "cache_folder", lambda: folder)
    files = compiling.Files("loop")
    files.save("key", "kept")
    assert files.load("key") == "kept"
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert files.load("key") is None
    assert f"{path} is damaged; it is removed and compiled again" in capsys.readouterr().err
    assert not path.exists()
    files.save("key", "kept")
    assert path.read_bytes() == whole


def test_the_sources_include_the_formulas():
    names = {"kernels.py", "control_kernels.py", "rule.py", "growth.py", "compiling.py"}
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
    """Results are equal bit for bit. Without inlining, the rounding of SGD would differ.

    A damaged cache is compiled again, with the same result.
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def train() -> tuple[str, str]:
        command = [sys.executable, "-c", SGD]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    compiled, loaded = train(), train()
    assert len(compiled[0]) > 1_000_000
    assert compiled == loaded
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.nbc")}
    for path, damage in zip(files, list(DAMAGES.values()) * 9, strict=False):
        path.write_bytes(damage(files[path]))
    healed, said = train()
    assert healed == compiled[0]
    assert said.count("is damaged; it is removed and compiled again") >= 4, said
    assert "Traceback" not in said
    assert {path.name for path in tmp_path.rglob("*.nbc")} == {path.name for path in files}
    assert train() == compiled


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
    assert list(tmp_path.rglob("*.nbc")), "NUMBA_CACHE_DIR is used"


def test_vectors_use_the_full_width_of_the_processor():
    assert compiling.full_width("+avx2,+avx512f") == "+avx2,+avx512f,-prefer-256-bit"
    for narrower in ("", "+avx2", "+avx2,-avx512f"):
        assert compiling.full_width(narrower) == narrower


SETTINGS = (
    "import os, numba.core.config as config\n"
    "before = [config.OPT, config.DISABLE_JIT, config.LOOP_VECTORIZE]\n"
    "from snap.engines import compiling as it\n"
    "print(before)\n"
    "def settings():\n"
    "    config.reload_config()\n"
    "    names = 'OPT CPU_NAME CPU_FEATURES DISABLE_JIT LOOP_VECTORIZE ENABLE_AVX'\n"
    "    return [str(getattr(config, name)) for name in names.split()]\n"
    "print(settings())\n"
    "os.environ['NUMBA_OPT'] = '2'\n"
    "print(settings())\n"
    "print(it.config.CPU_FEATURES == it.full_width(it.host.get_host_cpu_features()))\n"
)


def test_settings_of_numba_that_change_results_are_ignored(tmp_path):
    """In the environment, in the file that numba reads in any folder, and after the import."""

    def settings(folder: Path, **more: str) -> list[str]:
        folder.mkdir(exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")} | more
        command = [sys.executable, "-c", SETTINGS]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=True, text=True
        )
        return done.stdout.splitlines()

    plain = settings(tmp_path / "plain")
    assert plain[1] == plain[2]
    assert plain[3] == "True"
    with_file = tmp_path / "with_file"
    with_file.mkdir()
    (with_file / ".numba_config.yaml").write_text("opt: '0'\nloop_vectorize: 0\n")
    for other in (
        settings(with_file),
        settings(
            tmp_path,
            NUMBA_OPT="0",
            NUMBA_CPU_NAME="generic",
            NUMBA_CPU_FEATURES="",
            NUMBA_ENABLE_AVX="0",
            NUMBA_LOOP_VECTORIZE="0",
            NUMBA_DISABLE_JIT="1",
        ),
    ):
        assert other[0] != plain[0], "numba reads these settings"
        assert other[1:] == plain[1:]
