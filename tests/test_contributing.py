"""CONTRIBUTING.md: the files it names exist, and its examples work in a copy of the repository."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
PARTS = (
    "Snakefile config.yaml pyproject.toml envs profiles reports/captions src tests workflow"
).split()
ADDITIONS = (
    "A growth function",
    "A protocol switch",
    "A metric",
    "A learner",
    "A dataset",
    "An engine",
    "A figure",
)
EXAMPLES = ("A growth function", "A figure")  # complete examples
# Variables that could make a command use files outside the copy.
ELSEWHERE = ("SNAP_DATA", "NUMBA_CACHE_DIR", "PYTEST_ADDOPTS", "SNAKEMAKE_PROFILE")


def body(section: str) -> str:
    return GUIDE.split(f"\n## {section}\n")[1].split("\n## ")[0]


def blocks(section: str) -> list[tuple[str, str]]:
    """The code blocks of a section in order, as (language, text)."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", body(section), re.MULTILINE | re.DOTALL)


class Copy:
    """The working tree, without environment, data and results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in PARTS:
            place = folder / part
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / part).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(ROOT / part, place, ignore=ignored)
            else:
                shutil.copy2(ROOT / part, place)
        own = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
        self.environment = own | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(folder / "src"),
            "GIT_CEILING_DIRECTORIES": str(folder.parent),  # ignore a repository around the copy
            "OMP_NUM_THREADS": "1",  # for tiny matrices, more threads are slower
        }

    def run(self, *command: str, given: str | None = None) -> str:
        """Run a command, which must succeed, and return what it printed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def follow(self, section: str) -> str:
        """Apply the diffs of a section and run its commands; return what they printed."""
        printed = ""
        for language, text in blocks(section):
            if language == "diff":
                self.run("git", "apply", "-", given=text)
                self.run("ruff", "check", "--quiet", ".")
                self.run("ruff", "format", "--check", "--quiet", ".")
            else:
                printed += self.run("sh", "-euc", text)
        return printed

    def table(self, path: str) -> list[dict[str, str]]:
        with (self.folder / path).open(newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def copy(tmp_path) -> Copy:
    return Copy(tmp_path / "snap")


def test_links_and_make_targets_exist():
    links = re.findall(r"\]\(([^#].*?)\)", GUIDE)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
    targets = re.findall(r"`make ([a-z]+)`", GUIDE)
    makefile = (ROOT / "Makefile").read_text()
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize("section", ADDITIONS)
def test_the_files_of_an_addition_exist(section):
    """Those in its table exist, except those that its diff adds."""
    files = re.findall(r"^\| `(.+?)` \|", body(section), re.MULTILINE)
    assert files
    added = re.findall(r"^--- /dev/null\n\+\+\+ b/(.+)$", body(section), re.MULTILINE)
    assert set(added) <= set(files)
    assert [name for name in files if name not in added and not (ROOT / name).exists()] == []
    languages = {language for language, _ in blocks(section)}
    assert languages == ({"diff", "sh"} if section in EXAMPLES else {"python"})
    for language, text in blocks(section):
        if language == "python":
            compile(text, section, "exec")


AGREEMENT = """
import numpy as np
from snap import Trial, train_from
rng = np.random.default_rng(0)
W, V = rng.uniform(0, 0.5, (6, 20)), rng.uniform(0, 0.5, (10, 6))
images, labels = rng.random((60, 20)), rng.integers(0, 10, 60)
trial = Trial("bounded-bounded-neuron", 0.1, 4, 0.1, hidden=6)
given = (W, V, images, labels, np.arange(60), trial)
right, *others = [train_from(*given, engine=engine) for engine in ("reference", "cpu", "torch")]
moved = [np.abs(layer - start).max() for layer, start in zip(right, (W, V))]
apart = [np.abs(a - b).max() for layers in others for a, b in zip(layers, right)]
print(min(moved), max(apart))
"""


def test_a_growth_function(copy):
    printed = copy.follow("A growth function")
    assert "3 passed" in printed, (
        "one step in each engine, compared with numbers worked out by hand"
    )
    trained, reused = "4 trials: 0 kept, 4 to train", "4 trials: 4 kept, 0 to train"
    assert re.search(rf"/bounded-neuron/.*{trained}", printed)
    assert re.search(rf"/linear/.*{reused}", printed)
    store = copy.folder.glob("results/trials/*/*.json")
    texts = [json.loads(path.read_text())["result"]["trial"] for path in store]
    kept = Counter(re.search(r"configuration=([a-z-]+)", text)[1] for text in texts)
    assert kept == {"linear-linear": 4, "bounded-linear-neuron": 4}
    moved, apart = map(float, copy.run("python", "-c", AGREEMENT).split())
    assert moved > 0.01
    assert apart < 1e-8


def test_a_figure(copy):
    printed = copy.follow("A figure")
    assert re.search(r"^\d\d passed", printed, re.MULTILINE), "from runs of every kind"
    little = copy.folder / "little"
    assert (little / "tradeoff.png").read_bytes().startswith(b"\x89PNG")
    assert (little / "tradeoff.pdf").read_bytes().startswith(b"%PDF")
    assert "light-dark(" in (little / "tradeoff.svg").read_text()
    about = json.loads((little / "tradeoff.json").read_text())
    assert about["caption"] == (copy.folder / "reports/captions/tradeoff.rst").read_text()
    assert about["gaps"] == []
    drawn = {row["configuration"]: row for row in copy.table("little/tradeoff.csv")}
    assert len(drawn) == 7
    assert (drawn["linear-linear"]["iid"], drawn["linear-linear"]["sequential"]) == ("0.8", "0.5")
    code = "from snap.report import catalog; print(*catalog.names(['MNIST']), sep='\\n')"
    assert "tradeoff" in copy.run("python", "-c", code).splitlines()
