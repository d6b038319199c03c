"""The tables of results that the paper prints too: the optimal pairs, and SGD's accuracies."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snap.learners import HEBBIAN, SGD
from snap.numbers import number_text
from snap.report import paper_places
from snap.report.frames import Frame, Tables, only
from snap.report.quantities import GapError, Reading, Source, table
from snap.report.table_formats import (
    TOGETHER,
    Cell,
    PaperTable,
    escape,
    gap,
    number,
    plain,
    run_words,
)
from snap.report.table_parts import columns, configurations_of, letters, names_of, read

Pair = tuple[float, float]

AS_GOOD = 0.02  # a smaller difference in accuracy is noise


def as_good(accuracy: Any, best: Any) -> Any:
    """Whether an accuracy is less than AS_GOOD below the best; False without an accuracy.

    Rounding removes the error of the subtraction, which would decide at exactly AS_GOOD.
    """
    return round(best - accuracy, 9) < AS_GOOD


SAME, CLOSE, WORSE, UNTRIED = "✓", "≈", "✗", "∉"
MARKS = {
    SAME: "the same pair",
    CLOSE: f"another pair, less than {AS_GOOD} of accuracy from the paper's in our search",
    WORSE: "another pair, and the paper's is further off or diverged in our search",
    UNTRIED: "another pair, and the paper's is not among those searched",
}


# The optimal pairs

PAIR_TABLES = {
    "MNIST": "table:mnist-configurations",
    "FashionMNIST": "table:fmnist-configurations",
}


@dataclass(frozen=True)
class Optimum:
    """The pair of one configuration and λ: ours, the paper's, and how they compare."""

    status: str  # of the selection; "missing" if there is none
    ours: Pair | None
    papers: Pair | None
    mark: str = ""


def pairs(
    name: str, dataset: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    configurations = configurations_of(config, HEBBIAN)
    lambdas = sorted(map(float, config["lambdas"]))
    printed = paper["pairs"].get(dataset, {})
    who = {"learner": HEBBIAN.name, "dataset": dataset}
    selected = only(tables.selected, **who)
    try:
        searched = only(table(tables, "search"), **who)
    except GapError:
        searched = selected.iloc[:0]  # nothing was searched
    optima = {
        (lambda_, configuration): compared_with_paper(
            only(selected, configuration=configuration, lambda_=lambda_),
            only(searched, configuration=configuration, lambda_=lambda_),
            printed_pair(printed.get(configuration, {}), lambda_),
        )
        for lambda_ in lambdas
        for configuration in configurations
    }
    compared = any(optimum.papers and optimum.status != "given" for optimum in optima.values())
    rows = []
    for lambda_ in lambdas:
        row = [optima[lambda_, configuration] for configuration in configurations]
        first = Cell(number_text(lambda_), f"${number_text(lambda_)}$", lambda_)
        ours, theirs = ((plain("ours"),), (plain("paper"),)) if compared else ((), ())
        rows.append((first, *ours, *map(_our_pair, row)))
        if compared:
            rows.append((first, *theirs, *map(_papers_pair, row)))
    shown = names_of(configurations, HEBBIAN)
    heads = ["λ", *(["Pair"] if compared else []), *shown.values()]
    return PaperTable(
        name,
        f"Optimal (η, α): {dataset}",
        plain(_pairs_caption(dataset, list(optima.values()), paper, config)),
        columns(*heads),
        tuple(rows),
        paper_places.of([PAIR_TABLES[dataset]] if dataset in PAIR_TABLES else []),
    )


def printed_pair(by_lambda: Mapping[Any, Sequence[float]], lambda_: float) -> Pair | None:
    for key, (eta, alpha) in by_lambda.items():
        if float(key) == lambda_:
            return float(eta), float(alpha)
    return None


def compared_with_paper(selected: Frame, searched: Frame, papers: Pair | None) -> Optimum:
    """Compare the pair selected for a cell with the paper's; the frames hold that cell's rows."""
    if not len(selected):
        return Optimum("missing", None, papers)
    row = selected.iloc[0]
    status = str(row["status"])
    ours = float(row["eta"]), float(row["alpha"])
    if any(map(math.isnan, ours)):
        return Optimum(status, None, papers)
    if papers is None or status == "given":
        return Optimum(status, ours, papers)
    if ours == papers:
        return Optimum(status, ours, papers, SAME)
    theirs = only(searched, eta=papers[0], alpha=papers[1])
    if not len(theirs):
        return Optimum(status, ours, papers, UNTRIED)
    # As in the selection, a pair has no accuracy if it diverged with any seed.
    accuracy = theirs["accuracy"].mean(skipna=False)
    close = as_good(float(accuracy), float(row["accuracy"]))
    return Optimum(status, ours, papers, CLOSE if close else WORSE)


def _pair_text(pair: Pair) -> str:
    return f"({number_text(pair[0])},{TOGETHER}{number_text(pair[1])})"


def _pair_cell(text: str) -> Cell:
    return Cell(text, escape(text))


def _our_pair(optimum: Optimum) -> Cell:
    """Our pair with its mark."""
    if optimum.ours is None:
        return gap("diverged" if optimum.status == "all diverged" else "missing")
    return _pair_cell(f"{_pair_text(optimum.ours)} {optimum.mark}".rstrip())


def _papers_pair(optimum: Optimum) -> Cell:
    return gap("–") if optimum.papers is None else _pair_cell(_pair_text(optimum.papers))


def _pairs_caption(
    dataset: str,
    optima: Sequence[Optimum],
    paper: Mapping[str, Any],
    config: Mapping[str, Any],
) -> str:
    run = f"{letters(config)} {run_words(config)}"
    printed = paper["pairs"].get(dataset, {})
    start = f"The pair (η, α) with the highest accuracy on {dataset}, by λ and configuration"
    if not printed:
        return f"{start}. The paper has no pairs for {dataset}. {run}"
    if any(optimum.status == "given" for optimum in optima):
        return f"The pairs (η, α) for {dataset} are the paper's own: none was searched for. {run}"
    counts = Counter(optimum.mark for optimum in optima)
    marks = "; ".join(f"{mark} {words}: {counts[mark]}" for mark, words in MARKS.items())
    lost = sum(optimum.status == "all diverged" for optimum in optima)
    absent = sum(optimum.status == "missing" for optimum in optima)
    agree = counts[SAME] + counts[CLOSE]
    known = sum(optimum.papers is not None for optimum in optima)
    return (
        f"{start}, and below it the pair that the paper prints. {agree} of {known} agree"
        f" (✓ or ≈). {marks}; all pairs diverged: {lost}; missing: {absent}."
        f" {_beyond_the_text(printed, paper)} {run}"
    )


def _beyond_the_text(
    printed: Mapping[str, Mapping[Any, Sequence[float]]], paper: Mapping[str, Any]
) -> str:
    """The values of the paper's table that are missing from the grid in its text."""
    grid = paper.get("settings", {}).get("text", {})
    if "eta" not in grid or "alpha" not in grid:
        return ""
    table_pairs = [pair for by_lambda in printed.values() for pair in by_lambda.values()]
    etas = sorted({float(eta) for eta, _ in table_pairs} - set(grid["eta"]))
    alphas = sorted({float(alpha) for _, alpha in table_pairs} - set(grid["alpha"]))
    inside = sum(eta in grid["eta"] and alpha in grid["alpha"] for eta, alpha in table_pairs)
    return (
        f"The grid in the paper's text lacks η = {_listed(etas)} and α = {_listed(alphas)} of the"
        f" paper's table, so that it holds only {inside} of the table's {len(table_pairs)} pairs."
    )


def _listed(values: Sequence[float]) -> str:
    return ", ".join(map(number_text, values)) or "nothing"


# tab:sgd-baseline

AS_RUN = "as-run"  # the reading with the rate that was run


def sgd_iid(
    name: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    run = configurations_of(config, SGD)
    sources = [Source(tables, paper, dataset["name"]) for dataset in config["datasets"]]
    printed = [key for source in sources for key in paper["sgd_iid"].get(source.dataset, {})]
    shown = names_of(list(dict.fromkeys([*printed, *run])), SGD)
    rows = [
        _sgd_row(source, configuration, shown[configuration].removeprefix(SGD.prefix))
        for source in sources
        for configuration in dict.fromkeys([*paper["sgd_iid"].get(source.dataset, {}), *run])
    ]
    other = ("As run", "… − paper") if AS_RUN in tables.readings else ()
    heads = ("Growth", "Dataset", "Paper", "Ours", "Ours − paper", "Lowest", "Highest", "Seeds")
    return PaperTable(
        name,
        "SGD with i.i.d. data",
        plain(
            "Test accuracy of SGD after the last epoch, beside the number that the paper prints:"
            " mean, lowest and highest over seeds. The paper gives no learning rate for SGD; here"
            f" it was searched for.{_as_run(tables)} {letters(config)} {run_words(config)}"
        ),
        columns(*heads, *other),
        tuple(rows),
        paper_places.of(["tab:sgd-baseline"]),
    )


def _as_run(tables: Tables) -> str:
    """In a caption: the sentence about the reading as run, with its rate."""
    if AS_RUN not in tables.readings:
        return ""
    rates = only(tables.readings[AS_RUN].selected, learner=SGD.name)["alpha"].dropna().unique()
    rate = f" (α = {_listed(sorted(rates))})" if len(rates) else ""
    return f" In the column As run, rate and initial weights are those of the public code{rate}."


def _sgd_row(source: Source, configuration: str, shown: str) -> tuple[Cell, ...]:
    nothing = gap("–")
    _, printed = read("paper_sgd_iid", source, SGD, configuration)
    papers = number(printed.value, digits=4) if printed else nothing
    ours, reading = read("iid_accuracy", source, SGD, configuration, digits=4)
    others: list[Cell] = []
    if AS_RUN in source.tables.readings:
        other = dataclasses.replace(source, tables=source.tables.readings[AS_RUN])
        as_run, run = read("iid_accuracy", other, SGD, configuration, digits=4)
        others = [as_run, _apart(run, printed)]
    spread = [nothing] * 3
    if reading is not None:
        low, high = (number(value, digits=4) for value in (reading.low, reading.high))
        spread = [low, high, Cell(str(reading.seeds), f"${reading.seeds}$", float(reading.seeds))]
    head = plain(shown), plain(source.dataset)
    return (*head, papers, ours, _apart(reading, printed), *spread, *others)


def _apart(ours: Reading | None, papers: Reading | None) -> Cell:
    """Our number minus the paper's."""
    if ours is None or papers is None:
        return gap("–")
    return number(ours.value - papers.value, digits=4, sign="+")
