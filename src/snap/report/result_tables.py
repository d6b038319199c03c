"""The tables of results: the optimal pairs, SGD's accuracies, continual-learning metrics."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snap.learners import HEBBIAN, LEARNERS, SGD, Learner
from snap.numbers import number_text
from snap.report.frames import Frame, Tables, only
from snap.report.quantities import QUANTITIES, GapError, Reading, Source, short, table
from snap.report.table_formats import Cell, PaperTable, escape, gap, number, plain, run_words, stack
from snap.trial import Configuration

Pair = tuple[float, float]

# The grid in the paper's text, section Hyperparameter Specification.
TEXT_ETA = (0.7, 0.3, 0.1, 0.03, 0.001)
TEXT_ALPHA = (0.3, 0.1, 0.03, 0.01, 0.003)

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


def _columns(*titles: str) -> tuple[Cell, ...]:
    return tuple(plain(title) for title in titles)


def _named(configuration: str) -> Cell:
    """The full name; in LaTeX, which has less room, the paper's abbreviation."""
    return Cell(configuration, escape(short(configuration)))


def _configurations(config: Mapping[str, Any], learner: Learner) -> list[str]:
    section = config[learner.section] if learner.section else config
    return [Configuration.parse(name).name for name in section["configurations"]]


# table:mnist-configurations, table:fmnist-configurations


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
    configurations = _configurations(config, HEBBIAN)
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
    rows = [
        (
            Cell(number_text(lambda_), f"${number_text(lambda_)}$", lambda_),
            *(_pair_cell(optima[lambda_, configuration]) for configuration in configurations),
        )
        for lambda_ in lambdas
    ]
    return PaperTable(
        name,
        f"Optimal (η, α), {dataset}",
        plain(_pairs_caption(dataset, list(optima.values()), printed, config)),
        _columns("λ", *map(short, configurations)),
        tuple(rows),
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
    return f"({number_text(pair[0])}, {number_text(pair[1])})"


def _pair_cell(optimum: Optimum) -> Cell:
    """Our pair with its mark, and the paper's pair if it differs."""
    if optimum.ours is None:
        own = "– all diverged" if optimum.status == "all diverged" else "missing"
    else:
        own = f"{_pair_text(optimum.ours)} {optimum.mark}".rstrip()
    if optimum.papers is None or optimum.papers == optimum.ours:
        return gap(own) if optimum.ours is None else plain(own)
    papers = _pair_text(optimum.papers)
    both = Cell(f"{own}, paper {papers}", "", gap=optimum.ours is None)
    return stack(both, "l", escape(own), rf"\textit{{{escape(papers)}}}")


def _pairs_caption(
    dataset: str,
    optima: Sequence[Optimum],
    printed: Mapping[str, Mapping[Any, Sequence[float]]],
    config: Mapping[str, Any],
) -> str:
    run = run_words(config)
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
    return (
        f"{start}, followed by the paper's pair where it differs. {agree} of {len(optima)} agree"
        f" (✓ or ≈). {marks}; – all pairs diverged: {lost}; missing: {absent}."
        f" {_beyond_the_text(printed)} {run}"
    )


def _beyond_the_text(printed: Mapping[str, Mapping[Any, Sequence[float]]]) -> str:
    """The values of the paper's table that are missing from the grid in its text."""
    table_pairs = [pair for by_lambda in printed.values() for pair in by_lambda.values()]
    etas = sorted({float(eta) for eta, _ in table_pairs} - set(TEXT_ETA))
    alphas = sorted({float(alpha) for _, alpha in table_pairs} - set(TEXT_ALPHA))
    inside = sum(eta in TEXT_ETA and alpha in TEXT_ALPHA for eta, alpha in table_pairs)
    return (
        f"The grid in the paper's text lacks η = {_listed(etas)} and α = {_listed(alphas)} of the"
        f" paper's table, so that it holds only {inside} of the table's {len(table_pairs)} pairs."
    )


def _listed(values: Sequence[float]) -> str:
    return ", ".join(map(number_text, values)) or "nothing"


# tab:sgd-baseline


def sgd_iid(
    name: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    rows = []
    for dataset in config["datasets"]:
        source = Source(tables, paper, dataset["name"])
        printed = paper["sgd_iid"].get(source.dataset, {})
        for configuration in dict.fromkeys([*printed, *_configurations(config, SGD)]):
            rows.append((*_sgd_row(source, configuration), _sgd_as_run(source, configuration)))
    return PaperTable(
        name,
        "SGD with i.i.d. data",
        plain(
            "Test accuracy of SGD after the last epoch, mean over seeds, beside the number printed"
            " in the paper. The paper gives no learning rate for SGD; here it was searched for. In"
            f" the column As run, rate and initial weights are the public code's{_as_run(tables)}."
            f" {run_words(config)}"
        ),
        _columns(
            "Dataset",
            "Configuration",
            "Ours",
            "Lowest",
            "Highest",
            "Seeds",
            "Paper",
            "Difference",
            "As run",
        ),
        tuple(rows),
    )


AS_RUN = "as-run"  # the reading with the rate that was run


def _as_run(tables: Tables) -> str:
    """In a caption: the rate of the reading as run."""
    if AS_RUN not in tables.readings:
        return ", which is not part of this run"
    rates = only(tables.readings[AS_RUN].selected, learner=SGD.name)["alpha"].dropna().unique()
    return f" (α = {_listed(sorted(rates))})" if len(rates) else ""


def _sgd_as_run(source: Source, configuration: str) -> Cell:
    tables = source.tables.readings.get(AS_RUN)
    if tables is None:
        return gap("–")
    other = dataclasses.replace(source, tables=tables)
    cell, reading = _read("iid_accuracy", other, SGD.name, configuration)
    return number(reading.value, digits=4) if reading else cell


def _sgd_row(source: Source, configuration: str) -> tuple[Cell, ...]:
    head = plain(source.dataset), _named(configuration)
    papers, printed = _read("paper_sgd_iid", source, SGD.name, configuration)
    papers = number(printed.value, digits=4) if printed else gap("–")
    ours, reading = _read("iid_accuracy", source, SGD.name, configuration)
    if reading is None:
        return (*head, ours, gap("–"), gap("–"), gap("–"), papers, gap("–"))
    seeds = Cell(str(reading.seeds), f"${reading.seeds}$", float(reading.seeds))
    difference = reading.value - printed.value if printed else None
    return (
        *head,
        number(reading.value, digits=4),
        number(reading.low, digits=4),
        number(reading.high, digits=4),
        seeds,
        papers,
        gap("–") if difference is None else number(difference, digits=4, sign="+"),
    )


def _read(
    quantity: str, source: Source, learner: str, configuration: str
) -> tuple[Cell, Reading | None]:
    """A quantity as a cell, and its reading; a gap cell and None if there is no reading."""
    try:
        reading = QUANTITIES[quantity].read(source, learner, configuration)
    except GapError as missing:
        return gap(missing.word), None
    return number(reading.value, reading.half_range), reading


# Continual-learning metrics, which the paper does not tabulate

METRICS = {
    "Accuracy": "sequential_accuracy",
    "Average accuracy": "average_accuracy",
    "Forgetting": "forgetting",
    "… known classes": "forgetting_known",
    "… own classes": "forgetting_own",
    "Backward transfer": "backward_transfer",
    "Forward transfer": "forward_transfer",
}


def metrics(
    name: str, tables: Tables, config: Mapping[str, Any], paper: Mapping[str, Any]
) -> PaperTable:
    rows = [
        _metrics_row(Source(tables, paper, dataset["name"]), learner, configuration)
        for learner in LEARNERS.values()
        for dataset in config["datasets"]
        for configuration in _configurations(config, learner)
    ]
    return PaperTable(
        name,
        "Continual-learning metrics",
        plain(
            "After the last task, at the λ with the highest accuracy in sequence: accuracy over all"
            " classes, its mean over tasks, forgetting (best accuracy on a task before the last one"
            " was learned, minus that at the end), the same with the outputs limited to the classes"
            " known when a task ended and to its own classes, backward transfer (change since a"
            " task was learned) and forward transfer (accuracy on a task just before it is learned,"
            " minus that of the untrained network). Last, i.i.d. accuracy at the λ that is best for"
            f" it. Mean over seeds ± half the range. {run_words(config)}"
        ),
        _columns(
            "Learner", "Dataset", "Configuration", "λ", *METRICS, "i.i.d. λ", "i.i.d. accuracy"
        ),
        tuple(rows),
    )


def _metrics_row(source: Source, learner: Learner, configuration: str) -> tuple[Cell, ...]:
    cells = [_read(quantity, source, learner.name, configuration) for quantity in METRICS.values()]
    iid, best_iid = _read("iid_accuracy", source, learner.name, configuration)
    return (
        plain(learner.label),
        plain(source.dataset),
        _named(configuration),
        _lambda_cell(cells[0][1]),
        *(cell for cell, _ in cells),
        _lambda_cell(best_iid),
        iid,
    )


def _lambda_cell(reading: Reading | None) -> Cell:
    if reading is None or reading.lambda_ is None:
        return gap("–")
    text = number_text(reading.lambda_)
    return Cell(text, f"${text}$", reading.lambda_)
