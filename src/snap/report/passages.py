"""Passages in Markdown that quote published results, each made from the files of a folder."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.canonical import number_text
from snap.plan import TRAINING_SAMPLES
from snap.protocol import SWITCHES
from snap.report import catalog
from snap.report.frames import Frame, Tables, only
from snap.report.page import VERDICTS, duration
from snap.report.result_tables import (
    AS_GOOD,
    CLOSE,
    SAME,
    UNTRIED,
    WORSE,
    optimum,
    printed_pair,
)

Paper = Mapping[str, Any]
SIGNS = {"reproduced": "✓ reproduced", "partly": "~ partly", "not": "✗ not"}
PUBLIC_CODE = 2.8e-3  # seconds per sample of the layers in the paper's public code, measured
# What a variation may change.
MEASURED = {"iid": "change of i.i.d. accuracy", "sequential": "change of accuracy in sequence"}
# Figures that show a claim of which another kind of figure is the proof.
SHOWS = {"curves-paper": ("curves",), "retention": ("sequential", "curves")}


def scorecard(folder: Path, paper: Paper) -> str:
    """The claims and their verdicts, a row each."""
    claims = _claims(folder)
    datasets = list(next(iter(claims.values())))
    rows = [
        (_text(entries[datasets[0]]["claim"]), *(_sign(entries[d]["verdict"]) for d in datasets))
        for entries in claims.values()
    ]
    found = Counter(entry["verdict"] for entries in claims.values() for entry in entries.values())
    counts = [f"{count} {VERDICTS[verdict].lower()}" for verdict, count in found.most_common()]
    short = f"{len(claims)} claims on {len(datasets)} datasets: {', '.join(counts)}."
    return f"{short}\n\n{_table(('the claim', *datasets), rows)}"


def cost(folder: Path, paper: Paper) -> str:
    """What the run took, and what the public code would have taken for the same samples."""
    provenance = json.loads((folder / "provenance.json").read_text())
    spent, cores = provenance["costs"], provenance["hardware"]["cores"]
    trials = sum(stage["trials"] for stage in spent["stages"].values())
    samples = _samples(Tables(folder / "tables"), provenance["config"])
    return (
        f"`make paper` took {duration(spent['wall_seconds'])} on {cores} cores of"
        f" {_processor(provenance)}: {trials:,.0f} trials, {samples / 1e6:,.0f} million samples,"
        f" {spent['training_seconds'] / 3600:.1f} core hours of training. The layers of the paper's"
        f" public code take 2.8 ms per sample, measured:"
        f" {samples * PUBLIC_CODE / 86400:,.0f} days for the same samples on one core."
    )


def verdicts(folder: Path, paper: Paper) -> str:
    """Every claim: what is tested, what came of it, and the numbers behind that."""
    parts = []
    for number, entries in enumerate(_claims(folder).values(), start=1):
        first = next(iter(entries.values()))
        parts.append(
            f"### {number}. {_text(first['claim'])}\n\nIn the paper: {_where(first['where'])}.\n"
        )
        rows = []
        for place, test in enumerate(first["tests"]):
            found = [entry["tests"][place] for entry in entries.values()]
            rows.append((_text(test["what"]), test["wanted"], *map(_outcome, found)))
        parts.append(_table(("test", "reproduced if", *entries), rows) + "\n")
        for dataset, entry in entries.items():
            word = VERDICTS[entry["verdict"]]
            parts.append(f"- **{dataset}: {word.lower()}.** {_text(entry['numbers'])}")
        parts.append("")
    return "\n".join(parts).rstrip()


def exhibits(folder: Path, paper: Paper) -> str:
    """Every figure and result table of the paper, where ours is, and what became of it."""
    claims = _claims(folder)
    rows = []
    for name in catalog.names(Tables(folder / "tables").datasets):
        about = json.loads((folder / "figures" / f"{name}.json").read_text())
        if not about["paper"]:
            continue
        kinds = SHOWS.get(about["kind"], (about["kind"],))
        shown = [
            (number, entries)
            for number, entries in enumerate(claims.values(), start=1)
            if next(iter(entries.values()))["figure"] in kinds
        ]
        outcome = [
            f"claim {number}: {_words(entries, about['dataset'])}" for number, entries in shown
        ]
        link = f"[{about['title']}]({_from_root(folder)}/figures/{about['name']}.png)"
        rows.append(
            (_labels(about["paper"]), link, "; ".join(outcome) or "an illustration, drawn anew")
        )
    return _table(("in the paper", "here", "outcome"), rows)


def sgd(folder: Path, paper: Paper) -> str:
    """The paper's only printed accuracies, and ours."""
    tables = Tables(folder / "tables")
    rows = []
    for dataset in tables.datasets:
        for configuration, theirs in paper["sgd_iid"].get(dataset, {}).items():
            ours = only(tables.iid, learner="sgd", dataset=dataset, configuration=configuration)
            alpha = only(
                tables.selected, learner="sgd", dataset=dataset, configuration=configuration
            )["alpha"]
            seeds = " / ".join(f"{value:.4f}" for value in ours["accuracy"])
            rows.append((dataset, configuration, f"{theirs:.4f}", seeds, _numbers(alpha)))
    return _table(("", "growth", "paper", "ours, by seed", "our α"), rows)


def pairs(folder: Path, paper: Paper) -> str:
    """How the selected pairs stand to those in the paper's tables, by configuration."""
    tables = Tables(folder / "tables")
    rows = []
    for dataset in tables.datasets:
        printed = paper["pairs"].get(dataset, {})
        for configuration in printed:
            who = {"learner": "hebbian", "dataset": dataset, "configuration": configuration}
            chosen, searched = only(tables.selected, **who), only(tables.search, **who)
            marks = Counter(
                optimum(
                    only(chosen, lambda_=power),
                    only(searched, lambda_=power),
                    printed_pair(printed[configuration], power),
                ).mark
                for power in chosen["lambda"]
            )
            flat = [
                int((only(searched, lambda_=power)["accuracy"] > best - AS_GOOD).sum())
                for power, best in zip(chosen["lambda"], chosen["accuracy"], strict=True)
            ]
            counts = [str(marks[mark]) for mark in (SAME, CLOSE, WORSE, UNTRIED)]
            rows.append((dataset, configuration, *counts, f"{min(flat)} to {max(flat)}"))
    head = ("", "configuration", "same pair", "as good", "worse", "not in the grid")
    return _table((*head, f"pairs within {AS_GOOD} of the best"), rows)


def ladder(folder: Path, paper: Paper) -> str:
    """Accuracy on every rung, i.i.d. and in sequence."""
    frame = Tables(folder / "tables").ladder
    columns = list(dict.fromkeys(zip(frame["dataset"], frame["configuration"], strict=True)))
    rows = []
    for _, rung in frame.groupby("step", sort=True):
        switch = rung["switch"].iloc[0]
        known = switch in SWITCHES
        name = f"`{switch}`: {SWITCHES[switch].reference}" if known else "the text as it is"
        cells = []
        for dataset, configuration in columns:
            row = only(rung, dataset=dataset, configuration=configuration)
            cells.append(f"{_share(row, 'iid')} / {_share(row, 'sequential')}")
        rows.append((name, *cells))
    return _table(("and then", *(f"{d}, {c}" for d, c in columns)), rows)


def variations(folder: Path, paper: Paper) -> str:
    """What is another when one choice is."""
    base = Tables(folder / "tables")
    rows = []
    for other in sorted((folder / "variations").glob("*")):
        tables = Tables(other)
        rows += [(other.name, *_compared(base, tables, dataset)) for dataset in tables.datasets]
    head = (
        "variation",
        "",
        "cells",
        "same pair",
        *(f"{says}: median, largest" for says in MEASURED.values()),
    )
    return _table(head, rows) if rows else "No variation has been run."


# Parts of passages


def _claims(folder: Path) -> dict[str, dict[str, Any]]:
    """The verdicts by claim and dataset."""
    claims: dict[str, dict[str, Any]] = {}
    for entry in json.loads((folder / "claims.json").read_text()):
        claims.setdefault(entry["id"], {})[entry["dataset"]] = entry
    return claims


def _outcome(test: Mapping[str, Any]) -> str:
    """A test's number after the sign of its outcome."""
    if test["value"] is None:
        return "–"
    return f"{SIGNS.get(test['outcome'], '–').split()[0]} {_signed(test['value'])}"


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _sign(verdict: str) -> str:
    return SIGNS.get(verdict, verdict)


def _words(entries: Mapping[str, Any], dataset: str | None) -> str:
    """Verdicts on a claim: on one dataset, or where they agree in one word, or each."""
    found = {d: VERDICTS[e["verdict"]].lower() for d, e in entries.items() if dataset in (None, d)}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return ", ".join(f"{word} on {d}" for d, word in found.items())


def _labels(text: str) -> str:
    return ", ".join(f"`{label.strip()}`" for label in text.split(","))


def _where(text: str) -> str:
    return re.sub(r"((?:fig|tab|table):[\w-]+)", r"`\1`", text)


def _text(text: str) -> str:
    return re.sub(r"([|*_<>])", r"\\\1", text)


def _from_root(folder: Path) -> str:
    """Documents are at the top of the repository, published folders in reports/."""
    return f"reports/{folder.name}"


def _samples(tables: Tables, config: Mapping[str, Any]) -> float:
    """Samples of the trials in the tables, each trial once."""
    search = tables.search
    sizes = {name: config["limits"]["train"] or TRAINING_SAMPLES[name] for name in tables.datasets}
    whole = search["epochs"].astype(float) * search["dataset"].map(sizes)
    searched = dict(zip(search["trial"], search["diverged"].fillna(whole), strict=True))
    for frame in (tables.iid, tables.sequential):
        seen = frame["diverged"].fillna(frame["samples"])
        searched |= dict(zip(frame["trial"], seen, strict=True))
    return float(sum(searched.values()))


def _processor(provenance: Mapping[str, Any]) -> str:
    return str(provenance["hardware"]["cpu"] or "the machine")


def _numbers(values: Any) -> str:
    return ", ".join(number_text(float(value)) for value in values)


def _share(row: Frame, stage: str) -> str:
    """Accuracy of a rung over its seeds; a cross where it diverged."""
    if not len(row):
        return "–"
    mean = row[f"{stage}_accuracy"].mean(skipna=False)
    return "diverged" if mean != mean else f"{mean:.2f}".replace("0.", ".", 1)


def _compared(base: Tables, other: Tables, dataset: str) -> tuple[str, ...]:
    """Cells that both have; those with the same pair; changes of accuracy."""
    cell = ["learner", "configuration", "lambda"]
    mine, theirs = (only(t.selected, dataset=dataset) for t in (base, other))
    both = mine.merge(theirs, on=cell, suffixes=("", "_other"))
    same = (both["alpha"] == both["alpha_other"]) & (
        (both["eta"] == both["eta_other"]) | both["eta"].isna()
    )
    changes = []
    for measured in MEASURED:
        mine, theirs = (only(getattr(t, measured), dataset=dataset) for t in (base, other))
        seeds = mine.merge(theirs, on=[*cell, "seed"], suffixes=("", "_other"))  # that both have
        seeds["change"] = seeds["accuracy_other"] - seeds["accuracy"]
        change = seeds.groupby(cell, dropna=False)["change"].mean().dropna()
        ends = (change.median(), change.loc[change.abs().idxmax()]) if len(change) else ()
        changes.append(", ".join(f"{end:+.3f}".replace("-", "−") for end in ends) or "–")
    return dataset, str(len(both)), str(int(same.sum())), *changes


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


MAKERS: dict[str, Callable[[Path, Paper], str]] = {
    maker.__name__: maker
    for maker in (scorecard, cost, verdicts, exhibits, sgd, pairs, ladder, variations)
}
