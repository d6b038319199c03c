"""The table of hyperparameters: this run's settings beside those that the paper prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snap.data.datasets import DATASETS
from snap.learners import SGD
from snap.numbers import number_text
from snap.report import paper_places
from snap.report.table_formats import PaperTable, gap, plain, run_words

TABLE = "tab:mnist_fmnist_hyperparameters"
PRINTED_IN = {"table": paper_places.PLACES[TABLE].number, "text": "text"}


@dataclass(frozen=True)
class Setting:
    """A row: a setting of this run, and what the paper prints of it, in its table or its text."""

    label: str
    ours: str
    papers: str | None = None
    where: str = ""


def hyperparameters(name: str, config: Mapping[str, Any], paper: Mapping[str, Any]) -> PaperTable:
    rows = [
        (
            plain(one.label),
            plain(one.ours),
            gap("not said") if one.papers is None else plain(one.papers),
            gap("–") if one.papers is None else plain(_agreement(one)),
            gap("–") if one.papers is None else plain(PRINTED_IN[one.where]),
        )
        for one in [*_sizes(config, paper), *_shared(config, paper)]
    ]
    return PaperTable(
        name,
        "Hyperparameters",
        plain(
            "The settings of this run, and those that the paper prints in its table or in its"
            " text. “Not said” marks what the paper leaves open, or what only this project has."
            f" {run_words(config)}"
        ),
        tuple(map(plain, ("Hyperparameter", "This run", "Paper", "Agreement", "Printed in"))),
        tuple(rows),
        paper_places.of([TABLE]),
    )


def _agreement(setting: Setting) -> str:
    return "same" if setting.ours == setting.papers else "differs"


def _sizes(config: Mapping[str, Any], paper: Mapping[str, Any]) -> list[Setting]:
    """The dimensions: a row for all datasets if they agree, otherwise a row for each."""
    printed = paper.get("settings", {}).get("table", {})
    hidden = paper.get("hidden", {})
    names = [dataset["name"] for dataset in config["datasets"]]
    pixels = {name: _sized(DATASETS[name].pixels, printed.get("input")) for name in names}
    classes = {name: _sized(DATASETS[name].classes, printed.get("output")) for name in names}
    neurons = {
        dataset["name"]: _sized(dataset["hidden"], hidden.get(dataset["name"]))
        for dataset in config["datasets"]
    }
    return [
        *_by_dataset("Input dimension", pixels),
        *_by_dataset("Hidden dimension", neurons),
        *_by_dataset("Output dimension", classes),
    ]


def _sized(ours: int, papers: int | None) -> tuple[str, str | None]:
    return str(ours), None if papers is None else str(papers)


def _by_dataset(label: str, values: Mapping[str, tuple[str, str | None]]) -> Iterable[Setting]:
    if len(set(values.values())) == 1:
        yield Setting(label, *next(iter(values.values())), "table")
        return
    for dataset, (ours, papers) in values.items():
        yield Setting(f"{label}, {dataset}", ours, papers, "table")


def _shared(config: Mapping[str, Any], paper: Mapping[str, Any]) -> list[Setting]:
    """The settings that are the same for all datasets."""
    search, sequential, limits = config["search"], config["sequential"], config["limits"]
    grid = config["grids"].get(search["grid"]) if search["grid"] is not None else None
    given = "the pairs of the paper's tables"

    def row(label: str, ours: str, where: str = "", key: str = "", words: Any = str) -> Setting:
        value = paper.get("settings", {}).get(where, {}).get(key)
        return Setting(label, ours, None if value is None else words(value), where)

    eta, alpha = (_numbers(grid[key]) if grid else given for key in ("eta", "alpha"))
    tasks = sequential["tasks"]
    return [
        row("β", number_text(config["beta"]), "table", "beta", number_text),
        Setting("Initial weights", "Uniform(0, β)", "Uniform(0, β)", "table"),
        row("Batch size", str(config["batch_size"]), "table", "batch_size"),
        row("Epochs, i.i.d.", str(config["iid"]["epochs"]), "table", "iid_epochs"),
        row("λ", _numbers(sorted(config["lambdas"])), "text", "lambdas", _numbers),
        row("η searched", eta, "text", "eta", _numbers),
        row("α searched", alpha, "text", "alpha", _numbers),
        row("α searched, SGD", _numbers(config[str(SGD.section)]["alpha"])),
        row("Epochs, search", str(search["epochs"]), "text", "search_epochs"),
        row("Optimum judged on", _split(search["split"]), "text", "split", _split),
        row("Tasks", _tasks(tasks), "text", "tasks", _tasks),
        row(
            "Task ends at accuracy",
            number_text(sequential["threshold"]),
            "text",
            "threshold",
            number_text,
        ),
        row("… measured on", f"{sequential['judged_on']} data"),
        row("Epochs per task, at most", str(sequential["max_epochs"]), "text", "max_epochs"),
        row("Training samples", _limit(limits["train"])),
        row("Test samples", _limit(limits["test"])),
        row("Seeds, search", _numbers(search["seeds"])),
        row("Seeds, i.i.d.", _numbers(config["iid"]["seeds"])),
        row("Seeds, sequence", _numbers(sequential["seeds"])),
        row("Reading of the paper", str(config["protocol"])),
    ]


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(number_text(value) for value in values)


def _split(name: str) -> str:
    return f"{name} data"


def _tasks(tasks: Sequence[Sequence[int]]) -> str:
    return ", ".join("+".join(map(str, task)) for task in tasks)


def _limit(count: int | None) -> str:
    return "all" if count is None else f"the first {count:,}"
