"""What the controls of a run say, in sentences made from its tables, in both directions."""

from __future__ import annotations

import math
from typing import Any

from snap.numbers import number_text
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

ALIKE = 0.01  # a lead or a lag of no more counts as none
FOLLOWS = 0.74  # a rank correlation from here on: for eight λ, the critical value at 5 %
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
            (f"as accurate, within {100 * ALIKE:.0f} point:", alike),
            ("less accurate:", worse),
        )
        if rows
    ]
    beside = "; ".join(parts)
    says = [f"On {dataset}, SNAP ends at {_percent(lead)}. {beside[:1].upper()}{beside[1:]}."]
    return [*says, *_of_layers(Answers(found)), *_of_neurons(recruited(tables, dataset))]


def _of_layers(answers: Answers) -> list[str]:
    """What the hidden layer's learning adds, whether growth matters without it, what is kept."""
    says = []
    over = answers.over_random()
    if over is not None:
        says.append(f"SNAP ends {_beside(over)} the best network with a random hidden layer")
    lead, random = answers.lead(), answers.lead_random()
    if lead is not None and random is not None:
        says.append(
            f"sigmoidal growth ends {_beside(lead)} linear growth, and {_beside(random)} it where"
            f" only the output layer learns{_survives(lead, random)}"
        )
    linear, share = answers.linear(), answers.linear_share()
    if linear is not None and share is not None:
        says.append(
            f"with the label rule, linear growth alone keeps {_percent(linear)}, which is"
            f" {_percent(share)} of what it reaches with all classes at once"
        )
    whole, ceiling = answers.snap_share(), answers.ceiling()
    if whole is not None:
        says.append(f"SNAP keeps {_percent(whole)} of what it reaches with all classes at once")
    if ceiling is not None:
        says.append(f"SGD reaches {_percent(ceiling)} with all classes at once")
    if says:
        says[0] = f"with what was chosen as in the paper, {says[0]}"
    return [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in says]


def _beside(difference: float) -> str:
    """How far above or below."""
    if abs(difference) <= ALIKE:
        return "level with"
    return f"{_points(abs(difference))} {'above' if difference > 0 else 'below'}"


def _survives(lead: float, random: float) -> str:
    """What becomes of a lead when the hidden layer is random; nothing if there is none."""
    if lead <= ALIKE:
        return ""
    if random < -ALIKE:
        return ": the lead is reversed"
    if random <= ALIKE:
        return ": the lead does not survive"
    return ": most of the lead is lost" if random < lead / 2 else ": the lead survives"


def _of_neurons(counted: Frame) -> list[str]:
    """Whether accuracy follows the number of recruited neurons."""
    if len(counted) < 3:
        return []
    few, many = (int(counted["consolidated"].agg(end)) for end in ("min", "max"))
    units = int(counted["units"].iloc[0])
    if few == many:
        return [f"SNAP recruits {few} of {units} hidden neurons at every λ."]
    best = counted.loc[counted["accuracy"].idxmax()]
    says = (
        f"SNAP recruits {few} to {many} of {units} hidden neurons, depending on λ. It is most"
        f" accurate with {int(best['consolidated'])}, at λ = {number_text(best['lambda'])}"
    )
    rank = rank_correlation(counted)
    if math.isnan(rank):  # the same accuracy everywhere
        return [f"{says}."]
    word = "follows their number" if rank >= FOLLOWS else "does not follow their number"
    if rank <= -FOLLOWS:
        word = "falls as their number rises"
    return [f"{says}. Over λ, accuracy {word} (rank correlation {minus(f'{rank:+.2f}')})."]


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
    points = round(100 * value)
    return f"{points} point{'' if points == 1 else 's'}"
