"""The tables of a small made-up run, in which a test can change single numbers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snap.learners import HEBBIAN, SGD
from snap.pipeline.rows import COLUMNS, write_rows
from snap.report.frames import Tables

CELLS = [(one.name, name) for one in (HEBBIAN, SGD) for name in one.paper_configurations]
BEST, OTHER = 16.0, 1.0  # λ
Cells = Sequence[tuple[str, str]]


def as_in_the_paper(cells: Cells = CELLS) -> dict[tuple[str, str], dict[str, Any]]:
    """Numbers for which every claim holds, except those that the paper itself contradicts.

    A number that is None means that the run diverged. A deleted cell was never run. The cells may
    have growths that the paper does not have.
    """
    numbers = {}
    for learner, name in cells:
        hidden, _, focus = (*name.split("-"), "neuron")[:3]
        iid = {"linear": 0.8, "sigmoid": 0.79, "exponential": 0.82}.get(hidden, 0.7)
        sequential = {"linear": 0.5, "sigmoid": 0.8, "exponential": 0.2}.get(hidden, 0.6)
        forgetting = {"linear": 0.3, "sigmoid": 0.01, "exponential": 0.7}.get(hidden, 0.1)
        if learner == "sgd":
            iid, sequential, forgetting = 0.95, 0.2, 0.9
        numbers[learner, name] = {
            "iid": iid,
            "sequential": sequential - 0.1 * (focus == "synapse"),
            "forgetting": forgetting,
            "halving": 0.5 if hidden == "sigmoid" else 0.4,
            "own_accuracy": 0.97,
            "p50": 0.1,
            "p95": 0.3,
        }
    if ("sgd", "sigmoid-sigmoid-synapse") in numbers:
        numbers["sgd", "sigmoid-sigmoid-synapse"]["iid"] = 0.36
    return numbers


def changed(*changes: tuple[str, str, str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The paper's numbers, changed by (learner, configuration, number, value); * matches all."""
    numbers = as_in_the_paper()
    for learner, name, key, value in changes:
        for cell, values in numbers.items():
            if learner in (cell[0], "*") and name in (cell[1], "*"):
                values[key] = value
    return numbers


def write(folder: Path, rows: dict[str, list[dict[str, Any]]], run: str = "paper") -> Tables:
    """Write tables with these rows; a table without rows has only a header."""
    for table, columns in COLUMNS.items():
        made = [{"run": run, **row} for row in rows.get(table, [])]
        tasks = ["task1", "task2", "task3"] if table == "curve" else []
        write_rows(folder / f"{table}.csv", ["run", *columns, *tasks], made)
    return Tables(folder)


def run_of(
    folder: Path, numbers: dict[Any, Any], run: str = "paper", dataset: str = "MNIST"
) -> Tables:
    return write(folder, rows_of(numbers, dataset), run)


def rows_of(
    numbers: dict[Any, Any], dataset: str = "MNIST", lambdas: Sequence[float] = (OTHER, BEST)
) -> dict[str, list[dict[str, Any]]]:
    """Rows of a run with two almost equal seeds, at the best λ and at a worse one."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for (learner, name), given in copy.deepcopy(numbers).items():
        who = {"learner": learner, "dataset": dataset, "configuration": name}
        for lambda_ in [None] if learner == "sgd" else lambdas:
            cell = who | {
                "lambda": lambda_,
                "eta": None if learner == "sgd" else 0.1,
                "alpha": 0.01,
            }
            rows["selected"].append(cell | {"accuracy": given["iid"], "status": "selected"})
            for seed in (0, 1):
                one = cell | {"seed": seed, "protocol": "reference"}
                shift = (seed - 0.5) * 0.002
                for table, made in _trial(given, shift, lambda_ == OTHER).items():
                    rows[table] += [one | row for row in made]
    return rows


def _trial(given: dict[str, Any], shift: float, worse: bool) -> dict[str, list[dict[str, Any]]]:
    """The rows of one trial; `shift` moves its accuracies.

    Numbers that no claim may use are misleading on purpose: those of the worse λ, of the epoch
    before the last, of the first task before its end, and of the task after it.
    """
    shift -= 0.1 * worse
    iid = [{"epoch": 1, "accuracy": 0.99}, {"epoch": 2, "accuracy": (given["iid"] or 0) + shift}]
    sequential = {
        "accuracy": (given["sequential"] or 0) + shift,
        "average_accuracy": (given["sequential"] or 0) + shift,
        "forgetting": 0.5 if worse else given["forgetting"],
        "forgetting_known": 0.4 if worse else given["forgetting"] / 2,
        "forgetting_own": 0.3 if worse else given["forgetting"] / 4,
        "backward_transfer": -0.5,
        "forward_transfer": 0.0,
    }
    matrix = [
        {"after": i, "task": j, "accuracy": 0.99 if i > j else 0.9}
        for i in range(4)
        for j in range(1, 4)
    ]
    # Accuracy on the previous task stays at 0.9, then falls to 0 at this share of the epoch.
    share = 0.99 if worse else given["halving"]
    curve = []
    for task in range(1, 4):
        known = {f"task{n}": 0.9 for n in range(1, 4)}
        gone = known | {f"task{task - 1}": 0.0}
        end = 2000 * task
        for at, values in ((share * 1000 - 1e-6, known), (share * 1000 + 1e-6, gone), (1000, gone)):
            point = {"training": task, "epoch": 1, "samples": end - 2000 + at}
            curve.append(point | {n: v for n, v in values.items() if n != "task0"})
        curve.append({"training": task, "epoch": 2, "samples": end} | known)
    state = {"layer": "hidden", "quantity": "strength", "training": 1, "samples": 20}
    known = {key: given[key] for key in ("own_accuracy", "p50", "p95")}
    weak = {"own_accuracy": 0.5, "p50": 0.01, "p95": 0.02}
    strong = {"own_accuracy": 0.99, "p50": 1.0, "p95": 1.0}
    consolidation = [
        state | weak | {"samples": 10},
        state | known,
        state | strong | {"layer": "output"},
        state | weak | {"quantity": "plasticity"},
        state | strong | {"training": 2, "samples": 30},
    ]
    diverged = {"diverged": 100}
    return {
        "iid": iid if given["iid"] is not None else [diverged],
        "sequential": [sequential if given["sequential"] is not None else diverged],
        "matrix": matrix,
        "curve": curve if given["sequential"] is not None else [],
        "consolidation": [] if worse else consolidation,
    }
