"""Describe, from its configuration, how a run is smaller than the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snap.data.datasets import DATASETS
from snap.trial import Iid, Sequential

PAIRS, SEEDS = 25, 3  # of the grid in the paper's text; of the full final runs


def reductions(config: Mapping[str, Any]) -> list[str]:
    """The ways in which a run is smaller than the full run: data, training, pairs, seeds."""
    return [*_trained_less(config), *_tried_less(config)]


def words(config: Mapping[str, Any]) -> str:
    """The reductions in one line; empty for a full run."""
    return ", ".join(reductions(config))


def trains_fully(config: Mapping[str, Any]) -> bool:
    """Whether each trial learns as much as the paper's; the number of trials does not matter."""
    return not _trained_less(config)


def _trained_less(config: Mapping[str, Any]) -> list[str]:
    """The ways in which a trial learns less than in the paper."""
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
    """The numbers of pairs and seeds that are smaller than in the full run."""
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
    """A number per stage, if it is below that of the full run; once if it is the same in all."""
    values = {stage: config[stage][key] for stage in stages}
    counts = {stage: v if isinstance(v, int) else len(v) for stage, v in values.items()}
    thing = key.removesuffix("s")
    if len(set(counts.values())) == 1:
        count = next(iter(counts.values()))
        return [_count(count, thing)] if count < full else []
    return [f"{_count(n, thing)} {stages[stage]}" for stage, n in counts.items() if n < full]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
