"""What the tables of results share: names of configurations, and quantities as cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from snap.learners import LEARNERS, Learner
from snap.numbers import number_text
from snap.report.quantities import QUANTITIES, GapError, Reading, Source, short
from snap.report.table_formats import Cell, gap, number, plain
from snap.trial import Configuration


def columns(*titles: str) -> tuple[Cell, ...]:
    return tuple(plain(title) for title in titles)


def names_of(configurations: Sequence[str], learner: Learner) -> dict[str, str]:
    """The paper's abbreviations, such as S.S. neuron; full names where two would be the same."""
    counts = Counter(short(name) for name in configurations)
    return {
        name: short(name, learner.name) if counts[short(name)] == 1 else learner.prefix + name
        for name in configurations
    }


def letters(config: Mapping[str, Any]) -> str:
    """The sentence of a caption that explains the abbreviations of a run's configurations."""
    growths: dict[str, list[str]] = {}
    for learner in LEARNERS.values():
        for name in configurations_of(config, learner):
            configuration = Configuration.parse(name)
            for growth in (configuration.hidden, configuration.output):
                known = growths.setdefault(growth[0].upper(), [])
                known += [growth] if growth not in known else []
    stand = ", ".join(f"{letter} {' or '.join(all_)}" for letter, all_ in sorted(growths.items()))
    return f"Names give the growth of the hidden layer, then of the output layer: {stand}."


def configurations_of(config: Mapping[str, Any], learner: Learner) -> list[str]:
    section = config[learner.section] if learner.section else config
    return [Configuration.parse(name).name for name in section["configurations"]]


def read(
    quantity: str, source: Source, learner: Learner, configuration: str, digits: int = 0
) -> tuple[Cell, Reading | None]:
    """A quantity as a cell, and its reading; a gap cell and None if there is no reading.

    With `digits`, the cell has so many decimals and no spread.
    """
    try:
        reading = QUANTITIES[quantity].read(source, learner.name, configuration)
    except GapError as missing:
        return gap(missing.word), None
    if digits:
        return number(reading.value, digits=digits), reading
    return number(reading.value, reading.half_range), reading


def lambda_cell(reading: Reading | None) -> Cell:
    if reading is None or reading.lambda_ is None:
        return gap("–")
    text = number_text(reading.lambda_)
    return Cell(text, f"${text}$", reading.lambda_)
