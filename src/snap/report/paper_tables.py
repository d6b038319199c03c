"""The paper's tables and a few more. Cheap to import, as the workflow needs their names.

To add a table, write a function that makes it, and add it to `names` and to MAKERS or `make`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from snap.errors import SnapError
from snap.report import paper_places
from snap.report.table_formats import Cell, PaperTable, plain, write
from snap.report.words import listed

if TYPE_CHECKING:
    from snap.report.frames import Tables

__all__ = ["PaperTable", "make", "names", "write"]

# Tables of one dataset: each name is followed by a hyphen and that of the dataset.
PAIRS, METRICS, TRANSFER, CONTROLS = "pairs", "metrics", "transfer", "controls"

QUESTIONS, RECRUITMENT = "control-questions", "recruitment"


def of_controls(name: str) -> bool:
    """Whether a table belongs to the controls, which have a section of their own."""
    return name.startswith(f"{CONTROLS}-") or name in (QUESTIONS, RECRUITMENT)


def names(datasets: Sequence[str]) -> list[str]:
    """The names of all tables of a run with these datasets, in the paper's order."""
    pairs, metrics, transfer, controls = (
        [of_dataset(kind, dataset) for dataset in datasets]
        for kind in (PAIRS, METRICS, TRANSFER, CONTROLS)
    )
    results = [*pairs, "sgd-iid", "paper-text", *metrics, *transfer]
    results += [*controls, QUESTIONS, RECRUITMENT]
    return ["growth-equations", "hyperparameters", *results, "notation"]


def of_dataset(kind: str, dataset: str) -> str:
    """The name of a dataset's table."""
    return f"{kind}-{dataset}"


def make(
    name: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    """Make the table `name` from a run's tables and configuration and the paper's numbers."""
    from snap.report import control_tables, metric_tables, result_tables, setting_tables, text_table

    datasets = [dataset["name"] for dataset in config["datasets"]]
    if name not in names(datasets):
        known = ", ".join(names(datasets))
        raise SnapError(f"there is no table {name!r}: choose from {known}")
    makers = {
        PAIRS: result_tables.pairs,
        METRICS: metric_tables.metrics,
        TRANSFER: metric_tables.transfer,
        CONTROLS: control_tables.methods,
    }
    kind, _, dataset = name.partition("-")
    if kind in makers:
        return makers[kind](name, dataset, tables, config, paper)
    if name == "sgd-iid":
        return result_tables.sgd_iid(name, tables, config, paper)
    if name == QUESTIONS:
        return control_tables.questions(name, tables, config)
    if name == RECRUITMENT:
        return control_tables.recruitment(name, tables, config)
    if name == "paper-text":
        return text_table.paper_text(name, tables, config, paper)
    if name == "hyperparameters":
        return setting_tables.hyperparameters(name, config, paper)
    return MAKERS[name](name, config)


# tab:growth-eqns


PAPERS_GROWTHS = ("linear", "sigmoid", "exponential")
LINEAR = Cell("δW_ij", r"$\delta W_{ij}$")
EXPONENTIAL_SYNAPSE = Cell("|W_ij| δW_ij", r"$|W_{ij}|\, \delta W_{ij}$")


def growth_equations(name: str, config: Mapping[str, Any]) -> PaperTable:
    rows = (
        (
            plain("Synapse-wise, as printed"),
            LINEAR,
            Cell("|W_ij| (1 − |W_ij|) δW_ij", r"$|W_{ij}| (1 - |W_{ij}|)\, \delta W_{ij}$"),
            EXPONENTIAL_SYNAPSE,
        ),
        (
            plain("Neuron-wise, as printed"),
            LINEAR,
            Cell("‖W_i‖ (1 − ‖W_i‖) δW_ij", r"$\|W_i\| (1 - \|W_i\|)\, \delta W_{ij}$"),
            Cell("‖W_i‖ δW_ij", r"$\|W_i\|\, \delta W_{ij}$"),
        ),
        (
            plain("Synapse-wise, reference"),
            LINEAR,
            Cell(
                "|W_ij| (1 − min(|W_ij|, 1)) δW_ij",
                r"$|W_{ij}| (1 - \min(|W_{ij}|, 1))\, \delta W_{ij}$",
            ),
            EXPONENTIAL_SYNAPSE,
        ),
        (
            plain("Neuron-wise, reference"),
            LINEAR,
            Cell("n_i (1 − min(n_i, 1)) δW_ij", r"$n_i (1 - \min(n_i, 1))\, \delta W_{ij}$"),
            Cell(
                "δW_ij, then W_i ← W_i / ‖W_i‖",
                r"$\delta W_{ij}$, then $W_i \leftarrow W_i / \|W_i\|$",
            ),
        ),
    )
    return PaperTable(
        name,
        "Weight growth",
        _around(
            "By how much a weight moves, ΔW, given the update δW that a learning rule asks for: as"
            " the paper prints it, and in the reading called reference. There the strength of a"
            " neuron is",
            Cell(
                "n_i = ‖W_i‖ / √d_i with d_i the number",
                r"$n_i = \|W_i\| / \sqrt{d_i}$ with $d_i$ the number",
            ),
            "of its inputs, and what has consolidated is frozen, never"
            " reversed. The last formula is that of the hidden layer in Hebbian learning; SGD"
            " multiplies by n as well, in both layers. In the output layer of Hebbian learning"
            " exponential growth multiplies by n, and every row is kept at unit length whatever the"
            " growth. Hidden weights of Hebbian learning stay at or above 0. This run reads the"
            f" paper as {config['protocol']}.{_beyond(config)}",
        ),
        (
            Cell("ΔW_ij", r"$\Delta W_{ij}$"),
            *(plain(growth) for growth in ("Linear", "Sigmoidal", "Exponential")),
        ),
        rows,
        paper_places.of(["tab:growth-eqns"]),
    )


def _beyond(config: Mapping[str, Any]) -> str:
    """A sentence on the growths of a run that the paper does not have."""
    used = (part for name in config.get("configurations", ()) for part in name.split("-")[:2])
    new = [growth for growth in dict.fromkeys(used) if growth not in PAPERS_GROWTHS]
    if not new:
        return ""
    return f" Not in the paper: {listed(new)}; the function plasticity in src/snap/growth.py."


def _around(before: str, formula: Cell, after: str) -> Cell:
    """A sentence that contains a formula."""
    parts = (plain(before), formula, plain(after))
    return Cell(" ".join(part.text for part in parts), " ".join(part.latex for part in parts))


# tab:notation_introduction

# Part of the network, symbol, symbol in LaTeX, meaning, name in the code.
NOTATION = (
    ("Hidden layer", "x_j", "x_j", "input j: a pixel, from 0 to 1", "x"),
    ("Hidden layer", "W_ij", "W_{ij}", "weight from input j to hidden neuron i", "W"),
    ("Hidden layer", "a_i", "a_i", "activity of neuron i before inhibition", "a"),
    ("Hidden layer", "h_i", "h_i", "activity of neuron i after lateral inhibition", "h"),
    ("Hidden layer", "λ", r"\lambda", "strength of lateral inhibition", "Trial.lateral_inhibition"),
    ("Hidden layer", "η", r"\eta", "strength of the orthogonality term", "Trial.eta"),
    ("Output layer", "V_ci", "V_{ci}", "weight from hidden neuron i to class c", "V"),
    ("Output layer", "ŷ_c", r"\hat{y}_c", "1 for the class of the label, 0 for others", "y"),
    ("Output layer", "ỹ_c", r"\tilde{y}_c", "the network's output for class c", "output"),
    ("Weight update", "r_ij", "r_{ij}", "what the learning rule asks for", "r"),
    ("Weight update", "α", r"\alpha", "learning rate, the same in both layers", "Trial.alpha"),
    (
        "Weight update",
        "δW_ij",
        r"\delta W_{ij}",
        "update before plasticity is applied: α times r",
        "Trial.alpha * r",
    ),
    (
        "Weight update",
        "ΔW_ij",
        r"\Delta W_{ij}",
        "update that is applied: plasticity times δW",
        "Trial.alpha * factor * r",
    ),
    (
        "Weight update",
        "f",
        "f",
        "growth function: linear, sigmoid or exponential",
        "Configuration.hidden, Configuration.output",
    ),
    ("Weight update", "β", r"\beta", "upper end of the initial weights", "Trial.beta"),
)


def notation(name: str, config: Mapping[str, Any]) -> PaperTable:
    return PaperTable(
        name,
        "Notation",
        plain(
            "Symbols, and what they are called in the code: attributes of a trial, or variables of"
            " the reference engine, src/snap/engines/reference.py."
        ),
        tuple(plain(column) for column in ("Part", "Symbol", "Meaning", "In the code")),
        tuple(
            (plain(part), Cell(symbol, f"${latex}$"), plain(meaning), plain(code))
            for part, symbol, latex, meaning, code in NOTATION
        ),
        paper_places.of(["tab:notation_introduction"]),
    )


MAKERS: dict[str, Callable[[str, Mapping[str, Any]], PaperTable]] = {
    "growth-equations": growth_equations,
    "notation": notation,
}
