"""How long the controls take for a new sample, beside the learner that each is built on.

All are measured in alternating turns with the cpu engine on one core, and the best turn counts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from snap.bench import images, trial_of
from snap.class_means import ClassMeans
from snap.controls import KINDS, Control
from snap.data.samples import Samples
from snap.engines import population_class
from snap.initial import initial_weights
from snap.learners import LEARNERS
from snap.replay import Order, Reservoir
from snap.trial import Sequential

CONFIGURATION = "linear-linear"  # the growth that every control can have
NEW = 1000  # new samples per turn
SIZE, STRENGTH = 100, 0.001  # of a reservoir and a penalty; they make no difference to the time
CLASS_MEANS = "class-means"
NO_NETWORK = ("", None)


def measure(widths: list[int], quick: bool = False) -> dict[str, Any]:
    """Measure every control with each of its learners; return the report as data."""
    samples = images()
    return {"rows": [row for h in widths for row in _rows(samples, h, 5 if quick else 25)]}


def _rows(samples: Samples, hidden: int, turns: int) -> list[dict[str, Any]]:
    methods = _methods()
    means = ClassMeans(int(samples.labels.max()) + 1, samples.images.shape[1])
    best = dict.fromkeys([*methods, NO_NETWORK], np.inf)
    for turn in range(turns):
        new = np.arange(NEW) + turn * NEW % (len(samples) - NEW)
        works = {method: _prepared(*method, hidden, samples, new) for method in methods}
        works[NO_NETWORK] = partial(means.learn, samples.take(new))
        for method, work in works.items():
            start = time.perf_counter()
            work()
            best[method] = min(best[method], time.perf_counter() - start)
    return [
        {
            "learner": learner,
            "control": CLASS_MEANS if not learner else control.name if control else "",
            "hidden": hidden,
            "us_per_sample": seconds / NEW * 1e6,
            "times_learner": seconds / best[learner, None] if learner else None,
        }
        for (learner, control), seconds in best.items()
    ]


def _methods() -> list[tuple[str, Control | None]]:
    """Each learner alone, and with each of its controls."""
    return [
        (learner, control)
        for learner in LEARNERS
        for control in (
            None,
            *(
                Control(kind.name, (SIZE if kind.whole else STRENGTH) if kind.amount else None)
                for kind in KINDS.values()
                if learner in kind.learners
            ),
        )
    ]


def _prepared(
    learner: str, control: Control | None, hidden: int, samples: Samples, new: Order
) -> Callable[[], None]:
    """What trains a new network with some samples. A penalty is that of the end of a task."""
    trial = trial_of(learner, CONFIGURATION, hidden)
    trial = dataclasses.replace(trial, experiment=Sequential(), control=control)
    weights = [initial_weights(trial, samples.images.shape[1])]
    population = population_class("cpu")([trial], weights, samples)
    population.end_task(0, samples.take(new[:10]))
    if control is None or control.name != "replay":
        return partial(population.train, [new])
    reservoir = Reservoir(SIZE, trial.seed)
    return lambda: population.train([reservoir.interleave(new, new=True)])


def table(report: dict[str, Any]) -> str:
    """The report as a text table."""
    lines = [f"{'learner':9}{'control':16}{'H':>3}{'µs/new sample':>15}{'× learner':>11}"]
    for row in report["rows"]:
        times = row["times_learner"]
        ratio = "" if times is None else f"{times:11.2f}"
        lines.append(
            f"{row['learner'] or '–':9}{row['control'] or '–':16}{row['hidden']:>3}"
            f"{row['us_per_sample']:15.1f}{ratio}"
        )
    return "\n".join(lines)
