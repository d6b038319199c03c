"""All figures, in the order of the report, and what each is drawn from.

Cheap to import, as the workflow reads it to know its targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snap.errors import SnapError


@dataclass(frozen=True)
class Kind:
    """A kind of figure; with `{dataset}` in its title, there is one figure per dataset."""

    name: str
    drawn_by: str  # a module of snap.report.figures, with a function named like the kind
    title: str
    section: str
    tables: tuple[str, ...] = ()  # the only tables it may read
    # The labels of what it reproduces in PAPER_FIGURES, with commas; by dataset if they differ.
    paper: str | Mapping[str, str] | None = None
    weights: bool = False  # whether it shows the weights of portraits
    from_results: bool = True  # False if it only takes the name of the run from its tables
    data: bool = True  # False for a diagram

    @property
    def module(self) -> str:
        return f"snap.report.figures.{self.drawn_by}"

    @property
    def per_dataset(self) -> bool:
        return "{dataset}" in self.title

    def paper_label(self, dataset: str | None) -> str | None:
        if self.paper is None or isinstance(self.paper, str):
            return self.paper
        return self.paper.get(dataset or "")

    def in_paper(self, dataset: str | None) -> list[dict[str, str]]:
        """The paper's figures that it reproduces: their number, label and subject."""
        labels = [label.strip() for label in (self.paper_label(dataset) or "").split(",")]
        return [
            {"number": f"Figure {number}", "label": label, "about": about}
            for number, (label, about) in enumerate(PAPER_FIGURES.items(), start=1)
            if label in labels
        ]


# The figures of the paper in order, so that their place is their number, and what each shows.
PAPER_FIGURES = {
    "fig:weight-growth": "three ways in which a weight grows",
    "fig:Baseline_Model_Performance": "accuracy on i.i.d. data against λ",
    "fig:Forget_Model_Performance": "accuracy over all classes after the sequence, against λ",
    "fig:mnist_hebb_combined_Forget_Model_Performance": (
        "MNIST: five growth types through the sequence"
    ),
    "fig:simplified-model-config": "a diagram of the network",
    "fig:mnist_sgd_model_performance": "MNIST: SGD through the sequence",
    "fig:Fmnist_sgd_model_performance": "FashionMNIST: SGD through the sequence",
    "fig:DIGIT_Forget_MNIST_Model_Performance": (
        "MNIST: accuracy on every pair of classes after the sequence, against λ"
    ),
    "fig:mnist-hebb_top_performance": "MNIST: the best runs through the sequence",
    "fig:FMNIST_Forget_Model_Performance": (
        "FashionMNIST: accuracy on every pair of classes after the sequence, against λ"
    ),
    "fig:fmnist_hebb_top_performance": "FashionMNIST: the best runs through the sequence",
}

FINAL = ("selected", "sequential")
KINDS = (
    Kind(
        "headline",
        "headline",
        "What is kept as tasks are learned",
        "Forgetting",
        (*FINAL, "curve", "matrix"),
    ),
    Kind(
        "iid",
        "overview",
        "Accuracy on i.i.d. data",
        "Experiment 1: i.i.d. data",
        ("selected", "iid"),
        "fig:Baseline_Model_Performance",
    ),
    Kind(
        "sequential",
        "overview",
        "Accuracy after all tasks in sequence",
        "Experiment 2: tasks in sequence",
        FINAL,
        "fig:Forget_Model_Performance",
    ),
    Kind(
        "curves",
        "sequence",
        "Through the sequence, at the best λ: {dataset}",
        "Experiment 2: tasks in sequence",
        (*FINAL, "curve", "matrix"),
        {
            "MNIST": "fig:mnist_hebb_combined_Forget_Model_Performance,"
            " fig:mnist-hebb_top_performance",
            "FashionMNIST": "fig:fmnist_hebb_top_performance",
        },
    ),
    Kind(
        "curves-paper",
        "sequence",
        "Through the sequence, at the paper's λ: {dataset}",
        "Experiment 2: tasks in sequence",
        (*FINAL, "curve", "matrix"),
        {
            "MNIST": "fig:mnist_hebb_combined_Forget_Model_Performance,"
            " fig:mnist-hebb_top_performance",
            "FashionMNIST": "fig:fmnist_hebb_top_performance",
        },
    ),
    Kind(
        "retention",
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
        "matrix",
        "Task by task: {dataset}",
        "Experiment 2: tasks in sequence",
        (*FINAL, "matrix"),
    ),
    Kind(
        "forgetting",
        "forgetting",
        "Forgetting, and losing to newer classes",
        "Experiment 2: tasks in sequence",
        FINAL,
    ),
    Kind(
        "controls",
        "controls",
        "SNAP among its controls",
        "Controls",
        ("selected", "controls", "controls_search"),
    ),
    Kind(
        "sgd",
        "sequence",
        "SGD through the sequence: {dataset}",
        "Stochastic gradient descent",
        (*FINAL, "curve", "matrix"),
        {
            "MNIST": "fig:mnist_sgd_model_performance",
            "FashionMNIST": "fig:Fmnist_sgd_model_performance",
        },
    ),
    Kind(
        "consolidation",
        "weights",
        "Consolidation: {dataset}",
        "What the weights do",
        ("selected", "consolidation"),
    ),
    Kind(
        "features",
        "weights",
        "Learned features: {dataset}",
        "What the weights do",
        ("selected",),
        weights=True,
    ),
    Kind(
        "growth",
        "growth",
        "Ways to grow",
        "What the weights do",
        ("selected",),
        "fig:weight-growth",
        from_results=False,
    ),
    Kind(
        "network",
        "network",
        "The network",
        "What the weights do",
        ("selected",),
        "fig:simplified-model-config",
        from_results=False,
        data=False,
    ),
    Kind(
        "landscape",
        "search",
        "The search for η and α: {dataset}",
        "How the numbers came about",
        ("selected", "search"),
    ),
    Kind(
        "ladder",
        "ladder",
        "From the text to the reading that learns, and to the public code",
        "How the numbers came about",
        ("selected", "ladder"),
    ),
    Kind(
        "ladder-sgd",
        "ladder",
        "SGD, from our reading to the public code",
        "How the numbers came about",
        ("selected", "ladder"),
    ),
)


def names(datasets: Sequence[str]) -> list[str]:
    """The names of all figures of a run on these datasets, in the order of the report."""
    figures = []
    for kind in KINDS:
        if kind.per_dataset:
            figures += [f"{kind.name}-{dataset}" for dataset in datasets]
        else:
            figures.append(kind.name)
    return figures


def find(name: str) -> tuple[Kind, str | None]:
    """The kind of a figure, and its dataset if it has one."""
    for kind in KINDS:
        if name == kind.name and not kind.per_dataset:
            return kind, None
        if kind.per_dataset and name.startswith(f"{kind.name}-"):
            dataset = name.removeprefix(f"{kind.name}-")
            if dataset.isidentifier():
                return kind, dataset
    kinds = ", ".join(f"{k.name}-DATASET" if k.per_dataset else k.name for k in KINDS)
    raise SnapError(f"there is no figure {name!r}: choose from {kinds}")
