"""Markdown passages that quote published results, made from the files of a published run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.data.datasets import DATASETS
from snap.pipeline.layout import READINGS
from snap.pipeline.spending import Spending, spending
from snap.publishing.control_passages import controls, controls_table, recruitment
from snap.publishing.passage_tables import (
    Paper,
    best,
    best_with_papers,
    ladder,
    markdown,
    pairs,
    sgd,
    spread,
    switches,
    variations,
)
from snap.publishing.reading_tables import (
    as_run,
    best_as_run,
    forgetting,
    sensible_pairs,
    sgd_ladder,
)
from snap.publishing.stability import robust, stability
from snap.report import catalog
from snap.report.frames import Tables
from snap.report.page import VERDICTS
from snap.report.result_tables import AS_RUN
from snap.report.words import duration

SIGNS = {"reproduced": "✓ reproduced", "partly": "~ partly", "not": "✗ not"}
PUBLIC_CODE = 2.8e-3  # seconds per sample, measured with the layers of the paper's public code
# The kinds whose claims a kind of figure shows; by default, its own.
SHOWS = {
    "curves": ("curves", "headline"),
    "curves-paper": ("curves", "headline"),
    "retention": ("sequential", "curves"),
    "sgd": ("sgd", "headline"),
}


def scorecard(folder: Path, paper: Paper) -> str:
    """A table of the claims and their verdicts."""
    readings = {"": _claims(folder)}
    other = folder / READINGS / AS_RUN
    if other.exists():
        readings[", as run"] = _claims(other)
    claims = readings[""]
    datasets = list(next(iter(claims.values())))
    columns = [(words, dataset) for words in readings for dataset in datasets]
    rows = [
        (
            _text(entries[datasets[0]]["claim"]),
            *(_sign(readings[words][name][dataset]["verdict"]) for words, dataset in columns),
        )
        for name, entries in claims.items()
    ]
    short = (
        f"{len(claims) * len(datasets)} verdicts ({len(claims)} claims on {len(datasets)}"
        f" datasets): {_tally(claims)}."
    )
    if len(readings) > 1:
        short += f" As the experiment was run: {_tally(readings[', as run'])}."
    head = ("the claim", *(f"{dataset}{words}" for words, dataset in columns))
    return f"{short}\n\n{markdown(head, rows)}"


def _tally(claims: Mapping[str, Mapping[str, Any]]) -> str:
    """How many verdicts there are of each kind."""
    tally = Counter(entry["verdict"] for entries in claims.values() for entry in entries.values())
    return ", ".join(f"{count} {VERDICTS[word].lower()}" for word, count in tally.most_common())


def cost(folder: Path, paper: Paper) -> str:
    """The time the run took, and the time the public code would need for the same samples."""
    provenance = json.loads((folder / "provenance.json").read_bytes())
    spent = spending(provenance)
    trials, training = spent.whole.trials, spent.whole.training_seconds
    seeds = [len(provenance["config"][stage]["seeds"]) for stage in ("iid", "sequential")]
    final = " and ".join("one seed" if n == 1 else f"{n} seeds" for n in dict.fromkeys(seeds))
    samples = _samples(Tables(folder / "tables"), provenance["config"])
    return (
        f"The published run took {_took(spent)}: {trials:,.0f} trials (final runs, i.i.d. and in"
        f" sequence, with {final}), {samples / 1e6:,.0f} million samples,"
        f" {training / 3600:.1f} core hours of training. We measured {PUBLIC_CODE * 1e3:.1f} ms per"
        " sample for the layers of the paper's public code; the same samples would take"
        f" {samples * PUBLIC_CODE / 86400:,.0f} days on one core."
    )


def exhibits(folder: Path, paper: Paper) -> str:
    """Every figure of the paper that we reproduce, a link to ours, and the verdicts on it."""
    claims = _claims(folder)
    rows = []
    for name in catalog.names(Tables(folder / "tables").datasets):
        kind, dataset = catalog.find(name)
        if kind.paper_label(dataset) is None:
            continue
        about = json.loads((folder / "figures" / f"{name}.json").read_bytes())
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
            (_places(about["paper"]), link, "; ".join(outcome) or "an illustration, drawn anew")
        )
    return markdown(("in the paper", "here", "outcome"), rows)


# Parts of passages


def _claims(folder: Path) -> dict[str, dict[str, Any]]:
    """The verdicts by claim and dataset."""
    claims: dict[str, dict[str, Any]] = {}
    for entry in json.loads((folder / "claims.json").read_bytes()):
        claims.setdefault(entry["id"], {})[entry["dataset"]] = entry
    return claims


def _sign(verdict: str) -> str:
    return SIGNS.get(verdict, verdict)


def _words(entries: Mapping[str, Any], dataset: str | None) -> str:
    """The verdicts on a claim, for one dataset or all; a single word if they agree."""
    words = {d: VERDICTS[e["verdict"]].lower() for d, e in entries.items() if dataset in (None, d)}
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return ", ".join(f"{word} on {d}" for d, word in words.items())


def _places(exhibits: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"{one['number']} (`{one['label']}`)" for one in exhibits)


def _text(text: str) -> str:
    return re.sub(r"([|*_<>])", r"\\\1", text)


def _from_root(folder: Path) -> str:
    """The path to a published folder from the root of the repository, where the documents are."""
    return f"reports/{folder.name}"


def _samples(tables: Tables, config: Mapping[str, Any]) -> float:
    """The number of samples that all trials in the tables saw, counting each trial once."""
    sizes = {
        name: config["limits"]["train"] or DATASETS[name].training_samples
        for name in tables.datasets
    }
    seen: dict[str, float] = {}
    for reading in (tables, *tables.readings.values()):
        search = reading.search
        whole = search["epochs"].astype(float) * search["dataset"].map(sizes)
        seen |= dict(zip(search["trial"], search["diverged"].fillna(whole), strict=True))
        for frame in (reading.iid, reading.sequential):
            ended = frame["diverged"].fillna(frame["samples"])
            seen |= dict(zip(frame["trial"], ended, strict=True))
    return float(sum(seen.values()))


def _took(spent: Spending) -> str:
    """The wall time of a run and of the runs it continued, and the hardware that they used."""
    places: dict[str, float] = {}
    for part in spent.parts:
        if part.wall_seconds is not None:
            place = f"on {part.cores} cores of {part.cpu or 'the machine'}"
            places[place] = places.get(place, 0.0) + part.wall_seconds
    if not places:
        return "an unknown time"
    whole = duration(spent.wall_seconds)
    if len(places) == 1:
        return f"{whole} {next(iter(places))}"
    return (
        f"{whole} (" + " and ".join(f"{duration(took)} {at}" for at, took in places.items()) + ")"
    )


MAKERS: dict[str, Callable[[Path, Paper], str]] = {
    maker.__name__.replace("_", "-"): maker
    for maker in (
        scorecard,
        cost,
        best,
        best_with_papers,
        spread,
        switches,
        exhibits,
        sgd,
        pairs,
        ladder,
        variations,
        as_run,
        best_as_run,
        sgd_ladder,
        forgetting,
        sensible_pairs,
        stability,
        robust,
        controls,
        controls_table,
        recruitment,
    )
}
