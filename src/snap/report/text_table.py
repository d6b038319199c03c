"""The table of the results that the paper prints in its running text and captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from snap.learners import HEBBIAN, SGD
from snap.numbers import number_text
from snap.report import paper_places
from snap.report.frames import Tables, only
from snap.report.quantities import Reading, Source, family
from snap.report.result_tables import AS_GOOD, as_good
from snap.report.table_formats import Cell, PaperTable, gap, number, plain, run_words
from snap.report.table_parts import columns, configurations_of, letters, names_of, read
from snap.trial import Configuration

Row = tuple[Cell, ...]
CURVES = {  # the figures with the λ of each panel
    "MNIST": (
        "fig:mnist_hebb_combined_Forget_Model_Performance",
        "fig:mnist-hebb_top_performance",
    ),
    "FashionMNIST": ("fig:fmnist_hebb_top_performance",),
}
SNAP = "sigmoid-sigmoid-neuron"


def paper_text(
    name: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    """The λ of the curves that the paper shows, its highest accuracy, and SGD's strength."""
    rows: list[Row] = []
    for dataset in [dataset["name"] for dataset in config["datasets"]]:
        if dataset in paper["pairs"]:
            source = Source(tables, paper, dataset)
            rows += [_top_accuracy(source, config), _strength(source, config)]
            rows += _curves(source, config)
    none = "" if rows else " The paper has no such numbers for the data of this run."
    return PaperTable(
        name,
        "Numbers in the paper's text and captions",
        plain(
            "Best λ is that of the most accurate run in sequence, for the configurations whose"
            " curves the paper shows. Agreement says how much lower our accuracy is at the paper's"
            f" λ than at ours; “as good” means by less than {AS_GOOD}. The highest accuracy is that"
            " of Hebbian learning. The strength is the 95th percentile of the norms of the hidden"
            " neurons, which consolidate at 1, when SGD with neuron-wise sigmoidal growth has"
            f" learned the first task; “below” means at most {CLOSE_TO_ONE}, as in the claim."
            f"{none} {letters(config)} {run_words(config)}"
        ),
        columns("Number", "Dataset", "Paper", "This run", "Agreement", "Printed in"),
        tuple(rows),
    )


def _top_accuracy(source: Source, config: Mapping[str, Any]) -> Row:
    """The highest accuracy of Hebbian learning on i.i.d. data."""
    found = [
        read("iid_accuracy", source, HEBBIAN, name) for name in configurations_of(config, HEBBIAN)
    ]
    printed = _printed(source, "top_accuracy")
    best = max((r for _, r in found if r is not None), key=lambda r: r.value, default=None)
    return _row(
        "Highest accuracy, i.i.d.",
        source,
        _above(printed),
        gap(_gap(found)) if best is None else plain(number(best.value).text),
        _difference(best, printed),
        "Experiment 2, footnote",
    )


def _gap(found: Sequence[tuple[Cell, Reading | None]]) -> str:
    words = {cell.text for cell, _ in found}
    return words.pop() if len(words) == 1 else "missing"


def _printed(source: Source, key: str) -> float | None:
    value = source.paper.get("text", {}).get(key)
    return None if value is None else float(value)


def _above(printed: float | None) -> Cell:
    return gap("–") if printed is None else plain(f"just above {number_text(printed)}")


def _strength(source: Source, config: Mapping[str, Any]) -> Row:
    """The strength of SGD's hidden neurons when it has learned the first task."""
    printed = _printed(source, "consolidated")
    ours, reading = gap("not run"), None
    if SNAP in configurations_of(config, SGD):
        cell, reading = read("first_task_strength_95", source, SGD, SNAP, digits=3)
        ours = cell if reading is None else plain(cell.text)
    agreement = gap("–")
    if reading is not None:
        agreement = plain("below" if reading.value <= CLOSE_TO_ONE else "not below")
    return _row(
        "Strength of SGD's neurons when it is accurate",
        source,
        gap("–") if printed is None else plain(f"not close to {number_text(printed)}"),
        ours,
        agreement,
        "Experiment 2, last paragraph",
    )


CLOSE_TO_ONE = 0.9  # as in the claim sgd-accurate-before-consolidated


def _curves(source: Source, config: Mapping[str, Any]) -> Iterator[Row]:
    """The best λ of each configuration whose curves the paper shows."""
    shown = source.paper.get("curves", {}).get(source.dataset, {})
    run = configurations_of(config, HEBBIAN)
    places = paper_places.of(CURVES.get(source.dataset, ()))
    names = names_of(list(dict.fromkeys([*shown, *run])), HEBBIAN)
    for configuration, printed in shown.items():
        ours, agreement = gap("not run"), gap("–")
        if Configuration.parse(configuration).name in run:
            ours, agreement = _best_lambda(source, configuration, float(printed))
        yield _row(
            f"Best λ, {names[configuration]}",
            source,
            plain(number_text(printed)),
            ours,
            agreement,
            ", ".join(place.number for place in places),
        )


def _best_lambda(source: Source, configuration: str, printed: float) -> tuple[Cell, Cell]:
    """Our best λ, and how it compares with the paper's."""
    cell, best = read("sequential_accuracy", source, HEBBIAN, configuration)
    if best is None or best.lambda_ is None:
        return cell, gap("–")
    ours = plain(number_text(best.lambda_))
    if best.lambda_ == printed:
        return ours, plain("same")
    rows = only(family(source, "sequential", HEBBIAN.name, configuration), lambda_=printed)
    if not len(rows):
        return ours, gap(f"λ = {number_text(printed)} not run")
    there = float(rows["accuracy"].mean())
    if there != there:
        return ours, gap(f"λ = {number_text(printed)} diverged")
    if as_good(there, best.value):
        return ours, plain("as good")
    return ours, plain(f"{best.value - there:.3f} lower")


def _difference(reading: Reading | None, printed: float | None) -> Cell:
    if reading is None or printed is None:
        return gap("–")
    return number(reading.value - printed, sign="+")


def _row(what: str, source: Source, papers: Cell, ours: Cell, agreement: Cell, where: str) -> Row:
    return plain(what), plain(source.dataset), papers, ours, agreement, plain(where or "–")
