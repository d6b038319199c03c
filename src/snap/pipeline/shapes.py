"""The shape of what a command is given as JSON or YAML by the workflow, or by whoever calls it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snap.errors import SnapError, printable
from snap.numbers import LARGEST
from snap.reading import parse_json, read_mapping, read_text

MOST_GIVEN = 50_000_000  # bytes of an argument in a file; a specification with 10⁶ pairs has 20 MB


@dataclass(frozen=True)
class Every:
    """A mapping with any keys, whose values have this shape."""

    value: Any


@dataclass(frozen=True)
class Maybe:
    """Null, or a value of this shape."""

    value: Any


NUMBER, WHOLE, TEXT, ANYTHING = "a number", "a whole number", "text", "anything"
PATH = "a path"
PAIR = (Maybe(NUMBER), NUMBER)  # η and α
TRIALS = [TEXT]
SPECS: Mapping[str, Any] = {
    "search": {"engine": TEXT, "cells": [{"trials": TRIALS, "pairs": [PAIR], "then": [NUMBER]}]},
    "select": {
        "learner": TEXT,
        "dataset": TEXT,
        "configuration": TEXT,
        "lambda": TEXT,
        "given": Maybe((NUMBER, NUMBER)),
    },
    "iid": {"engine": TEXT, "cells": [{"trials": TRIALS}]},
    "sequential": {"engine": TEXT, "cells": [{"trials": TRIALS}]},
    "ladder": {
        "engine": TEXT,
        "rungs": [{"switch": TEXT, "alpha": Maybe(NUMBER), "iid": TRIALS, "sequential": TRIALS}],
    },
    "portrait": {"engine": TEXT, "trials": TRIALS},
    "control": {
        "engine": TEXT,
        "control": TEXT,
        "amounts": [Maybe(NUMBER)],
        "searched": Maybe([{"trials": TRIALS, "pairs": [PAIR]}]),
        "by_sequence": [{"trials": TRIALS, "pairs": [PAIR]}],
        "final": [TRIALS],
        "joint": Maybe(WHOLE),
        "recruits": Maybe(WHOLE),
        "means": Maybe({"nearest": [TEXT], "trial": TEXT}),
    },
}
SEEDS = {"seeds": [WHOLE]}
# What is read of a plan.json, of the heartbeat of a job, and of the account of a run's time.
PLAN = {
    "run": PATH,
    "started": NUMBER,
    "cores": Maybe(WHOLE),
    "slurm": Maybe(TEXT),
    "jobs": [{"stage": TEXT, "output": PATH, "ledger": PATH, "trials": WHOLE, "cost": NUMBER}],
}
# These are not in every plan.json.
PLAN_MORE = {
    "host": TEXT,
    "pid": WHOLE,
    "runner": Maybe(WHOLE),
    "ended": NUMBER,
    "allocation": Maybe(TEXT),
    "plans": Every(ANYTHING),
}
BEAT = {
    "job": TEXT,
    "trials": WHOLE,
    "done": WHOLE,
    "share": NUMBER,
    "pid": WHOLE,
    "host": TEXT,
    "threads": WHOLE,
    "at": NUMBER,
}
ACCOUNT = {"seconds": NUMBER, "cores": Maybe(NUMBER)}
# The provenance of the published runs that a run was restored from.
COUNTS = dict.fromkeys(("trials", "diverged", "trained", "reused", "core_seconds"), NUMBER)
RESTORED = [
    {
        "run": TEXT,
        "date": TEXT,
        "git": Maybe({"commit": Maybe(TEXT)}),
        "hardware": {"cpu": Maybe(TEXT), "cores": Maybe(WHOLE)},
        "costs": Maybe({"wall_seconds": NUMBER, "stages": Every(COUNTS)}),
    }
]
# What is read of a complete configuration.
CONFIG = {
    "run": TEXT,
    "datasets": [{"name": TEXT, "hidden": WHOLE}],
    "configurations": [TEXT],
    "lambdas": [NUMBER],
    "protocol": TEXT,
    "beta": NUMBER,
    "batch_size": WHOLE,
    "grids": Every({"eta": [NUMBER], "alpha": [NUMBER]}),
    "search": {
        "grid": Maybe(TEXT),
        "method": TEXT,
        "first_alpha": NUMBER,
        "pairs": Maybe(TEXT),
        "epochs": WHOLE,
        "split": TEXT,
        **SEEDS,
    },
    "iid": {"epochs": WHOLE, **SEEDS},
    "sequential": {
        "tasks": [[WHOLE]],
        "threshold": NUMBER,
        "max_epochs": WHOLE,
        "judged_on": TEXT,
        "curve_every": WHOLE,
        **SEEDS,
    },
    "sgd": {"configurations": [TEXT], "alpha": [NUMBER], "curve_every": WHOLE},
    "ladder": {
        "configurations": [TEXT],
        "lambda": NUMBER,
        "sgd_alpha": Maybe(NUMBER),
        **SEEDS,
    },
    "portraits": [TEXT],
    "limits": {"train": Maybe(WHOLE), "test": Maybe(WHOLE)},
    "readings": Maybe(Every(ANYTHING)),
    "controls": Maybe(Every(Maybe(Every(ANYTHING)))),
    "engine": TEXT,
}
PAPER = {
    "pairs": Every(Every(Every((NUMBER, NUMBER)))),
    "sgd_iid": Every(Every(NUMBER)),
    "curves": Every(Every(NUMBER)),
    "hidden": Every(WHOLE),
    "settings": {"table": Every(NUMBER), "text": Every(ANYTHING)},
    "text": {"top_accuracy": NUMBER, "consolidated": NUMBER},
}


def given_text(argument: str) -> str:
    """An argument, or for @FILE the text of the file: it was too long for a command line."""
    return read_text(Path(argument[1:]), MOST_GIVEN) if argument.startswith("@") else argument


def given_paths(arguments: list[str]) -> list[Path]:
    """Paths, which a file may list as JSON."""
    paths = []
    for argument in arguments:
        if argument.startswith("@"):
            listed = parse_json(given_text(argument), printable(argument, 200))
            check(listed, [TEXT], printable(argument, 200))
            if any("\0" in path for path in listed):
                raise SnapError(f"{printable(argument, 200)} lists a path that no file can have")
            paths += listed
        else:
            paths.append(argument)
    return [Path(path) for path in paths]


def read_config(argument: str) -> dict[str, Any]:
    """A complete configuration, as JSON."""
    from snap.data.datasets import record

    config: dict[str, Any] = parse_json(given_text(argument), "the configuration")
    check(config, CONFIG, "the configuration")
    for dataset in config["datasets"]:
        record(dataset["name"])
    grid = config["search"]["grid"]
    if grid is not None and grid not in config["grids"]:
        raise SnapError(
            f"the configuration searches {printable(grid)!r}, which is not in its grids"
        )
    return config


def read_paper(path: Path) -> dict[str, Any]:
    """The numbers printed in the paper."""
    paper = read_mapping(path)
    check(paper, PAPER, printable(str(path), 200))
    return paper


def check(value: Any, shape: Any, name: str) -> None:
    """Raise an error that names the place if a value does not have a shape."""
    wrong = _mismatch(value, shape, "")
    if wrong is not None:
        where, wanted = wrong
        raise SnapError(f"{name}: {where or 'it'} must be {wanted}")


def _mismatch(value: Any, shape: Any, at: str) -> tuple[str, str] | None:
    """Where a value differs from a shape, and what should be there; None if it does not."""
    parts: list[tuple[Any, Any, Any]] = []
    if isinstance(shape, Maybe):
        return None if value is None else _mismatch(value, shape.value, at)
    if isinstance(shape, str):
        return None if _is(value, shape) else (at, shape)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return at, "a list"
        parts = [(n, part, shape[0]) for n, part in enumerate(value)]
    elif isinstance(shape, tuple):
        if not isinstance(value, list) or len(value) != len(shape):
            return at, f"a list of {len(shape)}"
        parts = [(n, *both) for n, both in enumerate(zip(value, shape, strict=True))]
    elif not isinstance(value, dict):
        return at, "a mapping of keys to values"
    elif isinstance(shape, Every):
        parts = [(key, part, shape.value) for key, part in value.items()]
    else:
        missing = next((key for key in shape if key not in value), None)
        if missing is not None:
            return f"{at}.{missing}".removeprefix("."), "there"
        parts = [(key, value[key], part) for key, part in shape.items()]
    for key, part, inner in parts:
        wrong = _mismatch(part, inner, f"{at}.{printable(str(key))}".removeprefix("."))
        if wrong is not None:
            return wrong
    return None


def _is(value: Any, kind: str) -> bool:
    if kind in (TEXT, PATH):
        return isinstance(value, str) and (kind == TEXT or "\0" not in value)
    if kind == ANYTHING:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        finite = math.isfinite(float(value))
    except OverflowError:
        return False
    return finite and (kind == NUMBER or (value == int(value) and abs(value) <= LARGEST))
