"""In what way a run is smaller than the paper, in words that follow from its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snap.data.datasets import DATASETS
from snap.trial import Iid, Sequential

PAIRS, SEEDS = 25, 3  # of the grid in the paper's text, and of our final runs in full


def reductions(config: Mapping[str, Any]) -> list[str]:
    """What is less than in the full run: data, training, pairs, seeds."""
    return [*_trained_less(config), *_tried_less(config)]


def words(config: Mapping[str, Any]) -> str:
    """The same in one line; empty for a run that is not reduced."""
    return ", ".join(reductions(config))


def is_full(config: Mapping[str, Any]) -> bool:
    """Whether its trials learn as much as the paper's; how many there are does not matter."""
    return not _trained_less(config)


def _trained_less(config: Mapping[str, Any]) -> list[str]:
    """What makes a trial learn less than in the paper."""
    less = []
    for dataset in config["datasets"]:
        record = DATASETS[dataset["name"]]
        if record.made:
            less.append(f"{record.name.lower()} data")
        if dataset["hidden"] < record.hidden:
            of = f" for {record.name}" if len(config["datasets"]) > 1 else ""
            less.append(f"{_count(dataset['hidden'], 'hidden neuron')}{of}")
    counts = {"training": config["limits"]["train"], "test": config["limits"]["test"]}
    limited = [f"{count:,} {name}" for name, count in counts.items() if count is not None]
    if limited:
        less.append(f"{' and '.join(limited)} samples")
    less += _per_stage(config, "epochs", Iid().epochs, {"search": "of the search", "iid": "i.i.d."})
    most = config["sequential"]["max_epochs"]
    if most < Sequential().max_epochs:
        said = any("epoch" in part for part in less)
        less.append(f"{most} per task" if said else f"{_count(most, 'epoch')} per task")
    return less


def _tried_less(config: Mapping[str, Any]) -> list[str]:
    """How many pairs and seeds there are, where that is less than in the full run."""
    less = []
    if config["search"]["grid"] is not None:
        grid = config["grids"][config["search"]["grid"]]
        pairs = len(grid["eta"]) * len(grid["alpha"])
        if pairs < PAIRS:
            less.append(_count(pairs, "pair"))
    return less + _per_stage(config, "seeds", SEEDS, {"iid": "i.i.d.", "sequential": "in sequence"})


def _per_stage(
    config: Mapping[str, Any], key: str, full: int, stages: Mapping[str, str]
) -> list[str]:
    """A number that two stages have, where it is below that of the full run; once if it is one."""
    values = {stage: config[stage][key] for stage in stages}
    counts = {stage: v if isinstance(v, int) else len(v) for stage, v in values.items()}
    thing = key.removesuffix("s")
    if len(set(counts.values())) == 1:
        count = next(iter(counts.values()))
        return [_count(count, thing)] if count < full else []
    return [f"{_count(n, thing)} {stages[stage]}" for stage, n in counts.items() if n < full]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
