"""The folder in which every case of `make fuzz` begins, and what changes files in it."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import little_run
import trained_run
from fuzz_values import as_yaml, changed, damaged, spoil
from snap.data import store
from snap.files import record_of, write_result
from workspace import ROOT

CONFIG = trained_run.CONFIG


@dataclass(frozen=True)
class Case:
    program: str  # snap, snakemake or run.py
    arguments: Sequence[str]
    variables: Mapping[str, str | None] = field(default_factory=dict)  # None: not set
    shell: str = ""  # redirections; the program then runs in a process of its own
    own_process: bool = False  # rather than in a copy of this one, which starts sooner

    def __post_init__(self) -> None:
        """Leave out zero bytes, with which no program can be called."""
        arguments = [word.replace("\0", "") for word in self.arguments]
        object.__setattr__(self, "arguments", arguments)
        clean = {k: v and v.replace("\0", "") for k, v in self.variables.items()}
        object.__setattr__(self, "variables", clean)

    @property
    def command(self) -> list[str]:
        programs = {
            "snap": ["-m", "snap"],
            "snakemake": ["-m", "snakemake"],
            "run.py": [str(ROOT / "workflow/run.py")],
        }
        return [sys.executable, *programs[self.program], *self.arguments]


def prepare(folder: Path) -> None:
    """Make the folder in which every case begins: a finished run, its data, its publication."""
    folder.mkdir()
    store.fetch("Synthetic", folder / "data")
    for name, text in trained_run.train(folder, folder / "data").items():
        (folder / f"{name}.json").write_text(text)
    little_run.run_of(folder / "tables", little_run.as_in_the_paper())
    (folder / "config.json").write_text(
        json.dumps(json.loads((folder / "results/smoke/plan.json").read_bytes())["plans"]["smoke"])
    )
    (folder / "config.yaml").write_bytes(as_yaml(CONFIG))
    (folder / "mine.yaml").write_bytes(b"run: mine\nlambdas: [1, 2]\n")
    (folder / "notes.txt").write_text("Nothing is published here.\n")
    captions = [f"reports/captions/{name}.rst" for name in ("iid", "headline")]
    settings = [f"workflow/{name}.yaml" for name in ("claims", "paper", "style")]
    for name in (*captions, *settings, "workflow/schemas/config.schema.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def spoil_part(folder: Path, rng: random.Random) -> None:
    """Damage a file below a folder, or put in other values with a record that fits them."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    if path.is_symlink():
        return
    with contextlib.suppress(ValueError, RecursionError, OSError):  # it was spoiled before
        if rng.random() < 0.5:
            spoil(path, rng)
        elif path.suffix == ".json":
            rewrite(path, changed(json.loads(path.read_bytes()), rng))
        else:
            write_result(path, damaged(path.read_bytes(), rng))


def rewrite(path: Path, value: Any) -> None:
    """Put other values in a JSON file, with a record that fits if it has one."""
    content = json.dumps(value, default=str).encode("utf-8", "surrogatepass")
    write_result(path, content) if record_of(path).exists() else path.write_bytes(content)
