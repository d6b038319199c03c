"""Where things are in the paper: its figures, tables and panels by label, as a reader sees them.

LaTeX labels do not appear in the paper. A reader sees a number and a caption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from snap.report.catalog import PAPER_FIGURES


@dataclass(frozen=True)
class Place:
    """A table, figure or panel of the paper."""

    number: str  # such as Table 5 or Figure 4(d)
    label: str
    about: str

    @property
    def words(self) -> str:
        return f"{self.number} ({self.about})"


# The tables of the paper in order, so that their place is their number, and what each shows.
PAPER_TABLES = {
    "tab:growth-eqns": "the equations of weight growth",
    "tab:notation_introduction": "notation",
    "tab:mnist_fmnist_hyperparameters": "general hyperparameters",
    "table:fmnist-configurations": "FashionMNIST: the best (η, α) by λ",
    "table:mnist-configurations": "MNIST: the best (η, α) by λ",
    "tab:sgd-baseline": "accuracy of SGD on i.i.d. data",
}

# The panels of figures that show one run each, in order, so that their place is their letter.
PANELS = {
    "fig:mnist_hebb_combined_Forget_Model_Performance": {
        "fig:MNIST-FORGET-EXP-EXP-NEURON-8": "MNIST: E.E. neuron, λ = 8",
        "fig:MNIST-FORGET_EXP_LINEAR_16": "MNIST: E.L. neuron, λ = 16",
        "fig:MNIST-FORGET_SIG_LINEAR_NEURON_32": "MNIST: S.L. neuron, λ = 32",
        "fig:MNIST-FORGET_SIG_SIG_NEURON_32": "MNIST: S.S. neuron, λ = 32",
        "fig:MNIST-FORGET_LINEAR_LINEAR_NEURON_32": "MNIST: L.L., λ = 32",
    },
    "fig:mnist_sgd_model_performance": {
        "fig:FORGET-EXP-SGD-MNIST": "MNIST: SGD with exponential growth",
        "fig:FORGET-LINEAR-SGD-MNIST": "MNIST: SGD with linear growth",
        "fig:FORGET-SIGMOID-NEURON-SGD-MNIST": "MNIST: SGD with neuron-wise sigmoidal growth",
        "fig:FORGET-SIGMOID-SYNAPSE-SGD-MNIST": "MNIST: SGD with synapse-wise sigmoidal growth",
    },
    "fig:fmnist_hebb_top_performance": {
        "fig:fmnist_hebb_FORGET-EXP-EXP-NEURON-8": "FashionMNIST: E.E. neuron, λ = 8",
        "fig:fmnist_hebb_FORGET_EXP_LINEAR_16": "FashionMNIST: E.L. neuron, λ = 16",
        "fig:fmnist_hebb_FORGET_SIG_LINEAR_NEURON_32": "FashionMNIST: S.L. neuron, λ = 32",
        "fig:fmnist_hebb_FORGET_SIG_SIG_NEURON_32": "FashionMNIST: S.S. neuron, λ = 32",
        "fig:fmnist_hebb_FORGET_LINEAR_LINEAR_NEURON_16": "FashionMNIST: L.L., λ = 16",
    },
}

LABEL = re.compile(r"\b(?:fig|tab|table):[\w-]+")


def _all() -> dict[str, Place]:
    figures = {label: f"Figure {n}" for n, label in enumerate(PAPER_FIGURES, start=1)}
    places = [Place(figures[label], label, about) for label, about in PAPER_FIGURES.items()]
    places += [
        Place(f"Table {n}", label, about)
        for n, (label, about) in enumerate(PAPER_TABLES.items(), start=1)
    ]
    places += [
        Place(f"{figures[figure]}({letter})", label, about)
        for figure, panels in PANELS.items()
        for letter, (label, about) in zip("abcdefgh", panels.items(), strict=False)
    ]
    return {place.label: place for place in places}


PLACES = _all()


def labels(text: str) -> list[str]:
    """The labels in a text, known or not."""
    return LABEL.findall(text)


def of(labels: Iterable[str]) -> tuple[Place, ...]:
    """The places with these labels."""
    return tuple(PLACES[label] for label in labels)


def named(text: str) -> tuple[Place, ...]:
    """The places whose labels are in the text."""
    return of(labels(text))


def in_words(text: str) -> str:
    """The text with every label replaced by its number and subject."""
    return LABEL.sub(lambda match: PLACES[match.group()].words, text)
