"""Which figures there are, in the order of the report, and what each is drawn from.

Light to import: the workflow reads it to know its targets.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snap.errors import SnapError


@dataclass(frozen=True)
class Kind:
    """A kind of figure; `{dataset}` in a title makes it one figure per dataset."""

    name: str
    title: str
    section: str
    tables: tuple[str, ...] = ()
    # The labels of the figure in the paper, if it has one; by dataset where they differ.
    paper: str | Mapping[str, str] | None = None
    weights: bool = False  # whether it shows the weights of portraits
    from_results: bool = True  # or it reads the tables for the name of the run alone

    @property
    def per_dataset(self) -> bool:
        return "{dataset}" in self.title

    def paper_label(self, dataset: str | None) -> str | None:
        if self.paper is None or isinstance(self.paper, str):
            return self.paper
        return self.paper.get(dataset or "")


FINAL = ("selected", "sequential")
KINDS = (
    Kind(
        "headline",
        "What is kept as tasks are learned",
        "Forgetting",
        (*FINAL, "matrix"),
    ),
    Kind(
        "iid",
        "Accuracy on i.i.d. data",
        "Experiment 1: i.i.d. data",
        ("selected", "iid"),
        "fig:Baseline_Model_Performance",
    ),
    Kind(
        "sequential",
        "Accuracy after five tasks in sequence",
        "Experiment 2: tasks in sequence",
        FINAL,
        "fig:Forget_Model_Performance",
    ),
    Kind(
        "curves",
        "Through the sequence, at the best λ: {dataset}",
        "Experiment 2: tasks in sequence",
        (*FINAL, "curve"),
        {
            "MNIST": "fig:mnist_hebb_combined_Forget_Model_Performance,"
            " fig:mnist-hebb_top_performance",
            "FashionMNIST": "fig:fmnist_hebb_top_performance",
        },
    ),
    Kind(
        "curves-paper",
        "Through the sequence, at the paper's λ: {dataset}",
        "Experiment 2: tasks in sequence",
        (*FINAL, "curve"),
        {
            "MNIST": "fig:mnist_hebb_combined_Forget_Model_Performance,"
            " fig:mnist-hebb_top_performance",
            "FashionMNIST": "fig:fmnist_hebb_top_performance",
        },
    ),
    Kind(
        "retention",
        "What is left of each task: {dataset}",
        "Experiment 2: tasks in sequence",
        ("selected", "matrix"),
        {
            "MNIST": "fig:DIGIT_Forget_MNIST_Model_Performance",
            "FashionMNIST": "fig:FMNIST_Forget_Model_Performance",
        },
    ),
    Kind(
        "matrix",
        "Task by task: {dataset}",
        "Experiment 2: tasks in sequence",
        (*FINAL, "matrix"),
    ),
    Kind(
        "sgd",
        "SGD through the sequence: {dataset}",
        "Stochastic gradient descent",
        (*FINAL, "curve"),
        {
            "MNIST": "fig:mnist_sgd_model_performance",
            "FashionMNIST": "fig:Fmnist_sgd_model_performance",
        },
    ),
    Kind(
        "consolidation",
        "Consolidation: {dataset}",
        "What the weights do",
        ("selected", "consolidation"),
    ),
    Kind("features", "Learned features: {dataset}", "What the weights do", FINAL, weights=True),
    Kind(
        "growth",
        "Three ways to grow",
        "What the weights do",
        ("selected",),
        "fig:weight-growth",
        from_results=False,
    ),
    Kind(
        "network",
        "The network",
        "What the weights do",
        ("selected",),
        "fig:simplified-model-config",
        from_results=False,
    ),
    Kind(
        "landscape",
        "The search for η and α: {dataset}",
        "How the numbers came about",
        ("selected", "search"),
    ),
    Kind(
        "ladder",
        "From the text to the reading that learns",
        "How the numbers came about",
        ("selected", "ladder"),
    ),
)


def names(datasets: Sequence[str]) -> list[str]:
    """Every figure of a run on these datasets, in the order of the report."""
    found = []
    for kind in KINDS:
        if kind.per_dataset:
            found += [f"{kind.name}-{dataset}" for dataset in datasets]
        else:
            found.append(kind.name)
    return found


def find(name: str) -> tuple[Kind, str | None]:
    """The kind of a figure and, where it has one, its dataset."""
    for kind in KINDS:
        if name == kind.name and not kind.per_dataset:
            return kind, None
        if kind.per_dataset and name.startswith(f"{kind.name}-"):
            dataset = name.removeprefix(f"{kind.name}-")
            if dataset.isidentifier():
                return kind, dataset
    raise SnapError(f"there is no figure {name!r}; kinds: {', '.join(k.name for k in KINDS)}")


def code_version() -> str:
    """A hash of what draws, without comments and docstrings: drawn anew when the code changes.

    Drawing takes seconds, so here the workflow need not wait for somebody to raise a version.
    """
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".py":
            tree = ast.parse(path.read_text())
            for node in ast.walk(tree):
                if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    continue
                if ast.get_docstring(node) is not None:
                    node.body = node.body[1:]
            digest.update(ast.dump(tree).encode())
        elif path.parent.name == "template":
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
