"""The question of the paper, and a run's answer in two sentences made from its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.report.frames import Frame, Tables, at_best_lambda, only
from snap.report.words import listed, minus

QUESTION = "Does Hebbian learning stop forgetting when its weights grow along a sigmoid?"
NONE = 0.02  # forgetting up to here counts as none, as in the claim that it is prevented
COUNTS = "no one two three four five six seven eight nine ten".split()
Family = tuple[str, str]
SNAP: Family = (HEBBIAN.name, "sigmoid-sigmoid-neuron")
BESIDE: Mapping[Family, str] = {  # what SNAP is compared with, if it was run
    (HEBBIAN.name, "linear-linear"): "linear growth",
    (HEBBIAN.name, "exponential-exponential-neuron"): "exponential growth",
    (SGD.name, "linear-linear"): "plain SGD",
}


@dataclass(frozen=True)
class Numbers:
    """Accuracy and forgetting of a learner and configuration, at the best λ, by dataset."""

    accuracy: Mapping[str, float]
    forgetting: Mapping[str, float]


def answer(tables: Tables) -> list[str]:
    """Two sentences, or one where a run has less to say."""
    if not len(tables.selected):
        return ["This run has no results."]
    found = {family: _numbers(tables.sequential, tables, *family) for family in tables.families}
    kept = {family: numbers for family, numbers in found.items() if numbers.accuracy}
    if kept:
        return _in_sequence(kept, tables)
    return _iid(tables) or ["Every run diverged, so there is nothing to compare."]


def _numbers(frame: Frame, tables: Tables, learner: str, configuration: str) -> Numbers:
    accuracy, forgetting = {}, {}
    for dataset in tables.datasets:
        rows = only(frame, learner=learner, dataset=dataset, configuration=configuration)
        rows = at_best_lambda(rows) if len(rows) else rows
        if len(rows):
            accuracy[dataset] = float(rows["accuracy"].mean())
            forgetting[dataset] = float(rows["forgetting"].mean()) if "forgetting" in rows else 0.0
    return Numbers(accuracy, {d: v for d, v in forgetting.items() if v == v})


def _in_sequence(kept: Mapping[Family, Numbers], tables: Tables) -> list[str]:
    snap = SNAP in kept
    lead = SNAP if snap else max(kept, key=lambda f: _mean(kept[f].accuracy))
    others = [family for family in BESIDE if family in kept and family != lead]
    if not others:
        rest = sorted(kept, key=lambda family: -_mean(kept[family].accuracy))
        others = [family for family in rest if family != lead][:2]
    datasets = [d for d in tables.datasets if d in kept[lead].accuracy]
    who = "SNAP, sigmoidal growth in both layers," if snap else _words(lead)
    where = f" on {listed(datasets)}" if len(datasets) > 1 else f" on {datasets[0]}"
    rank = "" if snap or len(kept) == 1 else ", the best of this run"
    first = (
        f"After {_tasks(tables)}, {who} classifies {_percents(kept[lead].accuracy, datasets)} of"
        f" all test images correctly{where}{rank}"
    )
    compared = [
        f"{_words(family)} {_percents(kept[family].accuracy, datasets)}" for family in others
    ]
    sigmoid = any("sigmoid" in configuration for _, configuration in tables.families)
    return [
        f"{first}{'; ' + listed(compared) if compared else ''}.",
        *_forgets(kept, lead, others),
        *([] if sigmoid else ["This run has no sigmoidal growth."]),
    ]


def _forgets(kept: Mapping[Family, Numbers], lead: Family, others: Sequence[Family]) -> list[str]:
    """What the lead loses of earlier tasks, beside the first of the others."""
    lost = kept[lead].forgetting
    if not lost:
        return []
    datasets = list(lost)
    subject = "SNAP" if lead == SNAP else "It"
    if max(lost.values()) <= NONE:
        verdict = f"{subject} forgets nothing"
    elif min(lost.values()) <= NONE:
        spared = listed([dataset for dataset in datasets if lost[dataset] <= NONE])
        verdict = f"{subject} forgets nothing on {spared}, but elsewhere it does forget"
    else:
        verdict = f"{subject} does forget"
    says = f"its mean accuracy on earlier tasks falls by {_points(lost, datasets)}"
    beside = next((f for f in others if set(datasets) <= set(kept[f].forgetting)), None)
    if beside is None:
        return [f"{verdict}: {says}."]
    theirs = kept[beside].forgetting
    less = [dataset for dataset in datasets if theirs[dataset] - lost[dataset] >= NONE]
    if len(less) == len(datasets) and "nothing" not in verdict:
        verdict = f"{subject} forgets less, but it does forget"
    than = f"that of {_words(beside)} by {_points(theirs, datasets)}"
    return [f"{verdict}: {says}, {than}."]


def _iid(tables: Tables) -> list[str]:
    found = {family: _numbers(tables.iid, tables, *family) for family in tables.families}
    kept = {family: numbers.accuracy for family, numbers in found.items() if numbers.accuracy}
    if not kept:
        return []
    lead = max(kept, key=lambda family: _mean(kept[family]))
    datasets = list(kept[lead])
    return [
        f"This run has no result in sequence. With i.i.d. data, {_words(lead)} is best:"
        f" {_percents(kept[lead], datasets)} on {listed(datasets)}."
    ]


def _words(family: Family) -> str:
    learner, configuration = family
    growth = re.sub(r"-(neuron|synapse)$", r", \1,", configuration)
    return BESIDE.get(family) or f"{LEARNERS[learner].prefix}{growth}"


def _tasks(tables: Tables) -> str:
    last = tables.matrix["after"].max() if len(tables.matrix) else float("nan")
    if last != last:
        return "the tasks in sequence"
    count = int(last)
    words = COUNTS[count] if count < len(COUNTS) else str(count)
    return f"{words} task{'s' if count != 1 else ''} in sequence"


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


def _percents(values: Mapping[str, float], datasets: Sequence[str]) -> str:
    return _joined(values, datasets, lambda value: f"{100 * value:.0f}", " %")


def _points(values: Mapping[str, float], datasets: Sequence[str]) -> str:
    return _joined(values, datasets, lambda value: minus(f"{100 * value:.0f}"), " points")


def _joined(
    values: Mapping[str, float], datasets: Sequence[str], text: Callable[[float], str], unit: str
) -> str:
    """Such as 80 and 57 %: a number for each dataset, with a dash for a missing one."""
    numbers = [text(values[dataset]) if dataset in values else "–" for dataset in datasets]
    return f"{listed(numbers)}{unit}"
