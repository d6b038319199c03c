"""Made-up runs of every kind, and the figures drawn from them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import yaml

from little_run import BEST, CELLS, OTHER, as_in_the_paper, rows_of, write
from snap.growth import GROWTHS
from snap.protocol import LADDER
from snap.report import catalog
from snap.report.figures import base, draw
from snap.report.frames import Tables
from snap.trial import Trial

ROOT = Path(__file__).parents[1]
STYLE = base.read_style(ROOT / "workflow/style.yaml")
PAPER = yaml.safe_load((ROOT / "workflow/paper.yaml").read_text())
DATASETS = ("MNIST", "FashionMNIST")
TASKS = 3


def rows(cells=CELLS, datasets=DATASETS, lambdas=(OTHER, BEST)) -> dict[str, list[dict]]:
    """The little run, plus curves, a search and a ladder."""
    merged: dict[str, list[dict]] = {}
    for dataset in datasets:
        for table, made in rows_of(as_in_the_paper(cells), dataset, lambdas).items():
            merged.setdefault(table, []).extend(made)
    for row in merged["matrix"]:
        row["classes"] = f"{2 * row['task'] - 2}+{2 * row['task'] - 1}"
    merged["curve"] = []
    for outcome in merged["sequential"]:
        for at in range(TASKS * 4 + 1):
            point = {"training": -(-at // 4), "epoch": 1, "samples": at * 100}
            values = {f"task{n}": 0.9 if at >= 4 * n else 0.1 for n in range(1, TASKS + 1)}
            merged["curve"].append(outcome | point | values)
    for cell in merged["selected"]:
        hebbian = cell["learner"] == "hebbian"
        for eta in (0.1, 0.3) if hebbian else (None,):
            for alpha in (0.01, 0.03):
                pair = {"eta": eta, "alpha": alpha, "seed": 0, "protocol": "reference"}
                merged["search"].append(cell | pair | {"accuracy": 0.5 + alpha})
    for dataset in datasets if ("hebbian", "linear-linear") in cells else ():
        for step, (switch, protocol) in enumerate(LADDER):
            merged["ladder"].append(
                {"learner": "hebbian", "dataset": dataset, "configuration": "linear-linear"}
                | {"step": step}
                | {"switch": switch, "protocol": protocol.text, "lambda": 16, "seed": 0}
                | {"iid_accuracy": step / 20 or None, "iid_diverged": None if step else 7}
                | {"sequential_accuracy": step / 20, "forgetting": 0.1}
            )
    for dataset in datasets if ("sgd", "linear-linear") in cells else ():
        for step, switch in enumerate(("", "alpha", "sgd_initial_weights")):
            merged["ladder"].append(
                {"learner": "sgd", "dataset": dataset, "configuration": "linear-linear"}
                | {"step": step, "switch": switch, "protocol": "reference", "alpha": 0.005}
                | {"seed": 0, "iid_accuracy": 0.9, "sequential_accuracy": 0.2, "forgetting": 0.9}
            )
    merged["controls"] = controls(cells, datasets, lambdas)
    for state in merged["consolidation"]:
        state |= {f"p{p}": p / 100 for p in (0, 5, 25, 50, 75, 95, 100)}
        state |= {"consolidated": 3 if state["samples"] > 10 else 0, "units": 5}
    return merged


SIZES = ((100, 0.71), (500, 0.84), (2000, 0.9))
# control, learner, configuration, amount; accuracy and forgetting on MNIST
METHODS = [
    ("plain", "hebbian", "sigmoid-sigmoid-neuron", None, 0.80, 0.06),
    ("plain", "hebbian", "linear-linear", None, 0.55, 0.34),
    ("plain", "sgd", "linear-linear", None, 0.19, 0.99),
    ("random-hidden", "hebbian", "linear-linear", None, 0.70, 0.12),
    ("random-hidden", "hebbian", "sigmoid-sigmoid-neuron", None, 0.72, 0.11),
    ("random-hidden", "hebbian", "sigmoid-sigmoid-synapse", None, 0.71, 0.11),
    ("random-hidden", "hebbian", "exponential-exponential-neuron", None, 0.70, 0.12),
    ("mask", "sgd", "linear-linear", None, 0.51, 0.46),
    ("mask", "sgd", "sigmoid-sigmoid-neuron", None, 0.5, 0.45),
    *(("replay", "sgd", "linear-linear", n, a, 0.98 - a) for n, a in SIZES),
    *(("replay", "hebbian", "linear-linear", n, a - 0.1, 0.2) for n, a in SIZES),
    ("ewc", "sgd", "linear-linear", 10, 0.2, 0.98),
    ("si", "sgd", "linear-linear", 0.1, 0.2, 0.97),
    ("joint", "hebbian", "sigmoid-sigmoid-neuron", None, 0.79, None),
    ("joint", "sgd", "linear-linear", None, 0.95, None),
    ("joint", "hebbian", "linear-linear", None, 0.78, None),
    ("class-means", None, "angle", None, 0.82, 0.09),
    ("class-means", None, "distance", None, 0.80, 0.1),
]


def controls(cells, datasets, lambdas) -> list[dict]:
    """The controls that are possible with these cells."""
    made = []
    for place, dataset in enumerate(datasets):
        for control, learner, name, amount, accuracy, forgetting in METHODS:
            if learner is not None and (learner, name) not in cells:
                continue
            who = {"control": control, "learner": learner, "dataset": dataset}
            who |= {"configuration": name, "amount": amount, "weights": 50816}
            who |= {"stored": 785 * (amount or 0) if control == "replay" else 0, "samples": 60000}
            ways = ("iid", "sequence") if control not in ("joint", "class-means") else ("iid",)
            for way in ways:
                for lambda_ in lambdas if learner == "hebbian" else (None,):
                    for seed in (0, 1):
                        shift = 0.01 * seed - 0.05 * place + 0.02 * (way == "sequence")
                        row = {"lambda": lambda_, "chosen": way, "seed": seed, "alpha": 0.01}
                        row |= {"accuracy": accuracy + shift, "forgetting": forgetting}
                        if control == "plain" and name.startswith("sigmoid") and seed == 0:
                            row |= {"consolidated": int(2 * lambda_), "units": 64}
                        made.append(who | row)
    return made


def diverged() -> dict[str, list[dict]]:
    """A run in which the weights never stayed finite."""
    whole = rows()
    lost = {"accuracy": None, "diverged": 7}
    return {
        "selected": [
            row | {"eta": None, "alpha": None, "accuracy": None, "status": "all diverged"}
            for row in whole["selected"]
        ],
        "search": [row | lost for row in whole["search"]],
        "controls_search": [
            row | lost for row in whole["controls"] if row["control"] != "class-means"
        ],
        "ladder": [
            row | {"iid_accuracy": None, "sequential_accuracy": None} for row in whole["ladder"]
        ],
    }


HEBBIAN = [cell for cell in CELLS if cell[0] == "hebbian"]
NEW = [("hebbian", f"{growth}-{growth}-neuron") for growth in ("tanh", "cubic")]
RUNS = {  # the kinds of run: datasets, and what makes the rows
    "of the paper": (DATASETS, rows),
    "two configurations": (
        ("MNIST",),
        lambda: rows([HEBBIAN[0], ("hebbian", "tanh-linear-neuron")], ("MNIST",)),
    ),
    "three datasets": (
        (*DATASETS, "KMNIST"),
        lambda: rows(datasets=(*DATASETS, "KMNIST")),
    ),
    "one lambda": (("MNIST",), lambda: rows(datasets=("MNIST",), lambdas=(BEST,))),
    "diverged": (DATASETS, diverged),
    "sgd": (("MNIST",), lambda: rows([c for c in CELLS if c[0] == "sgd"], ("MNIST",))),
    "hebbian": (("MNIST",), lambda: rows(HEBBIAN, ("MNIST",))),
    "ten configurations": (
        ("MNIST",),
        lambda: rows(
            [*HEBBIAN, *NEW, ("hebbian", "cubic-linear-synapse"), *CELLS[len(HEBBIAN) :]],
            ("MNIST",),
        ),
    ),
}
DRAWN = [(run, name) for run, (datasets, _) in RUNS.items() for name in catalog.names(datasets)]


@cache
def tables_of(run: str) -> Tables:
    return write(Path(mkdtemp(prefix="snap-figures-")), RUNS[run][1]())


@cache
def weights_of(run: str, dataset: str) -> Path:
    tables = tables_of(run)
    random = np.random.default_rng(0)
    file = tables.folder / f"{dataset}.npz"
    made = {}
    for learner, name in tables.families:
        if all(growth in (*GROWTHS, "neuron", "synapse") for growth in name.split("-")):
            own = {"lateral_inhibition": 16, "eta": 0.1} if learner == "hebbian" else {}
            trial = Trial(name, alpha=0.1, dataset=dataset, hidden=5, learner=learner, **own)
            made[trial.text] = random.random((5, 784))
    if run != "diverged":
        np.savez(file, **made)
    return file


def drawing(tables: Tables, name: str, **options) -> tuple[catalog.Kind, base.Drawing]:
    kind, dataset = catalog.find(name)
    readable = Tables(tables.folder, kind.tables)
    return kind, base.Drawing(readable, STYLE, PAPER, dataset, **options)


def request_of(run: str, name: str) -> tuple[catalog.Kind, base.Drawing]:
    kind, dataset = catalog.find(name)
    weights = {dataset: weights_of(run, dataset)} if kind.weights else {}
    return drawing(tables_of(run), name, weights=weights)


@cache
def drawn_of(run: str, name: str) -> base.Drawn:
    with base.looks(STYLE):
        drawn = draw(*request_of(run, name))
        drawn.figure.draw_without_rendering()
    return drawn


NAMES = catalog.names(DATASETS)
