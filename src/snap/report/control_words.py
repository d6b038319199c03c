"""What the controls of a run say, in sentences made from its tables, in both directions."""

from __future__ import annotations

from typing import Any

from snap.report.control_frames import (
    JOINT,
    METHOD,
    Answers,
    rank_correlation,
    recruited,
    summary,
)
from snap.report.frames import Frame, Tables, only
from snap.report.words import listed, minus

ALIKE = 0.01  # a lead or a lag of less counts as none
MANY = 4  # of more methods, only the first and the last are named


def paragraphs(tables: Tables) -> list[str]:
    """One for each dataset: SNAP beside its controls; nothing in a run without them."""
    found = summary(tables)
    made = [
        " ".join(_of_dataset(str(dataset), only(found, dataset=dataset), tables))
        for dataset in dict.fromkeys(found["dataset"])
    ]
    return [paragraph for paragraph in made if paragraph]


def _of_dataset(dataset: str, found: Frame, tables: Tables) -> list[str]:
    methods = [
        group.loc[group["accuracy"].idxmax()]
        for _, group in found.dropna(subset=["accuracy"]).groupby(METHOD, dropna=False, sort=False)
    ]
    snap = next((row for row in methods if row["label"] == "SNAP"), None)
    if snap is None:
        return []
    others = [row for row in methods if row is not snap and row["control"] != JOINT]
    others.sort(key=lambda row: -row["accuracy"])
    lead = snap["accuracy"]
    better = [row for row in others if row["accuracy"] > lead + ALIKE]
    alike = [row for row in others if abs(row["accuracy"] - lead) <= ALIKE]
    worse = [row for row in others if row["accuracy"] < lead - ALIKE]
    parts = [
        f"{word} {_listed(rows)}"
        for word, rows in (
            ("more accurate after the same sequence:", better),
            (f"within {100 * ALIKE:.0f} point:", alike),
            ("less accurate:", worse),
        )
        if rows
    ]
    beside = "; ".join(parts)
    says = [f"On {dataset}, SNAP ends at {_percent(lead)}. {beside[:1].upper()}{beside[1:]}."]
    return [*says, *_of_layers(Answers(found)), *_of_neurons(recruited(tables, dataset))]


def _of_layers(answers: Answers) -> list[str]:
    """What the hidden layer's learning adds, and what linear growth keeps."""
    parts = []
    over = answers.over_random()
    if over is not None:
        verb = "adds" if over >= 0 else "costs"
        parts.append(f"learning in the hidden layer {verb} {_points(abs(over))}")
    lead, random = answers.lead(), answers.lead_random()
    if lead is not None and random is not None:
        parts.append(
            f"the lead of sigmoidal over linear growth is {_points(lead)} where the hidden layer"
            f" learns, and {_points(random)} where it is random"
        )
    share = answers.linear_share()
    if share is not None:
        parts.append(
            f"linear growth alone reaches {_percent(share)} of the accuracy that it has with all"
            " classes at once"
        )
    return [f"With what was chosen as in the paper, {'; '.join(parts)}."] if parts else []


def _of_neurons(counted: Frame) -> list[str]:
    """Whether accuracy follows the number of recruited neurons."""
    if len(counted) < 3:
        return []
    few, many = (int(counted["consolidated"].agg(end)) for end in ("min", "max"))
    units = int(counted["units"].iloc[0])
    if few == many:
        return [f"SNAP recruits {few} of {units} hidden neurons at every λ."]
    rank = minus(f"{rank_correlation(counted):+.2f}")
    return [
        f"SNAP recruits {few} to {many} of {units} hidden neurons, depending on λ; the rank"
        f" correlation of accuracy with their number is {rank}."
    ]


def _listed(rows: list[Any]) -> str:
    words = [f"{row['label']} ({_percent(row['accuracy'])}{_kept(row)})" for row in rows]
    if len(words) > MANY:
        return f"{len(words)} methods, from {words[0]} to {words[-1]}"
    return listed(words)


def _kept(row: Any) -> str:
    return f", keeps {row['keeps']}" if row["stored"] else ""


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _points(value: float) -> str:
    return minus(f"{100 * value:.0f} points")
