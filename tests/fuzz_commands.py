"""Command lines of every `snap` subcommand, found in its parsers: new ones are tried too."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fuzz_values import NAMES, NUMBERS
from snap.cli.main import parser

Way = tuple[str, ...]  # the words of a subcommand
FILES = ("config.yaml", "data", "results", "published", "notes.txt", "missing", "new/deep/file")
# Valid values of options and arguments, by their names; choices are known to the parsers.
VALID: Mapping[str, Sequence[str]] = {
    "all": ("drawn",),
    "alpha": ("0.1", "3e-2"),
    "batch": ("", "missing.json"),
    "beta": ("0.01",),
    "caption": ("reports/captions/iid.rst",),
    "claims": ("workflow/claims.yaml",),
    "config": ("@config.json",),
    "configuration": ("linear-linear", "sigmoid-sigmoid-neuron", "sigmoid-linear-synapse"),
    "control": ("random-hidden", "mask", "replay-10", "ewc-1"),
    "cores": ("2", "64"),
    "curve_every": ("10",),
    "dataset": ("Synthetic",),
    "device": ("cpu", "auto"),
    "dir": ("data",),
    "documents": ("notes.txt",),
    "epochs": ("1", "2"),
    "eta": ("0.1", "0"),
    "figures": ("iid", "headline"),
    "folder": ("results/smoke", "published"),
    "given": ("data", "data/Synthetic/raw"),
    "heartbeats": ("beats",),
    "hidden": ("4", "12"),
    "inputs": ("results/smoke/tables/search.csv",),
    "lateral_inhibition": ("1", "16"),
    "ledger": ("ledger.json",),
    "max_epochs": ("1", "2"),
    "name": ("iid", "headline", "reference", "code", "text+output_sign=free"),
    "names": ("growth-equations", "metrics-Synthetic", "pairs-Synthetic", "sgd-iid"),
    "output": ("made.csv", "made.png", "made/deep/x.json"),
    "paper": ("workflow/paper.yaml",),
    "project": ("config.yaml",),
    "protocol": ("reference", "text", "code", "reference+output_sign=free"),
    "published": ("published",),
    "reduced": ("", "fewer samples"),
    "results": ("results",),
    "run": ("smoke",),
    "seed": ("0", "7"),
    "spec": ("@search.json", "@select.json", "@iid.json", "@sequential.json"),
    "stamp": ("stamp.txt",),
    "store": ("results/trials",),
    "style": ("workflow/style.yaml",),
    "tables": ("tables", "results/smoke/tables", "published"),
    "tasks": ("0.1-2.3", "4"),
    "test_limit": ("50",),
    "threads": ("1", "2"),
    "threshold": ("0.8",),
    "to": ("new", "published"),
    "train_limit": ("50",),
    "variations": ("results/smoke",),
    "weights": ("missing.npz",),
}
# What keeps a valid command short. `snap bench` measures for minutes, and so is only refused.
GIVEN: Mapping[Way, Mapping[str, Sequence[str]]] = {
    ("train",): {"train_limit": ("30",), "test_limit": ("30",), "dataset": ("Synthetic",)},
    ("bench",): {"hidden": ("0", "-1", "x", "1e999")},
    ("data", "fetch"): {"dataset": ("Synthetic",)},
}
# With these a valid command may wait or work for as long as it was asked to.
ENDLESS = ("follow",)
LONG = ("epochs", "max_epochs", "hidden", "threads", "train_limit", "test_limit")
HOSTILE = (*NAMES, *NUMBERS, "\udcff", "@config.json", "@data", "@/dev/zero", *FILES)


def leaves(
    of: argparse.ArgumentParser, way: Way = ()
) -> Iterator[tuple[Way, argparse.ArgumentParser]]:
    """Every subcommand and its parser."""
    below = [a for a in of._actions if isinstance(a, argparse._SubParsersAction)]
    if not below:
        yield way, of
    for action in below:
        for name, inner in action.choices.items():
            yield from leaves(inner, (*way, name))


LEAVES = tuple(leaves(parser()))


def command_line(rng: random.Random) -> list[str]:
    """The arguments of a subcommand: valid ones, of which some are replaced by hostile ones."""
    way, of = rng.choice(LEAVES)
    spoiled = rng.choice((0.0, 0.1, 0.1, 0.3))
    words = [*way]
    for action in of._actions:
        if action.dest in ("help", *ENDLESS):
            continue
        chance = 0.95 if action.required else 0.25
        if action.dest in GIVEN.get(way, ()) or rng.random() < chance:
            words += option(rng, way, action, spoiled)
    if rng.random() < 0.05:
        words.insert(rng.randrange(len(words) + 1), rng.choice(HOSTILE))
    return words


def option(rng: random.Random, way: Way, action: argparse.Action, spoiled: float) -> list[str]:
    """An option and its values."""
    flag = [rng.choice(action.option_strings)] if action.option_strings else []
    if action.nargs == 0:
        return flag
    several = action.nargs in ("*", "+")
    count = rng.choice((1, 1, 2, 0)) if several else 1
    values = [value(rng, way, action, rng.random() < spoiled) for _ in range(count)]
    if flag and len(values) == 1 and rng.random() < 0.3:
        return [f"{flag[0]}={values[0]}"]
    return [*flag, *values]


def value(rng: random.Random, way: Way, action: argparse.Action, spoil: bool) -> str:
    name = action.dest
    if spoil and not (name == "hidden" and way == ("bench",)):
        found = rng.choice(HOSTILE)
        return "-5" if name in LONG and is_large(found) else found
    if name in GIVEN.get(way, ()):
        return rng.choice(GIVEN[way][name])
    if name == "spec" and f"@{way[-1]}.json" in VALID["spec"]:
        return f"@{way[-1]}.json"
    if action.choices is not None:
        return rng.choice(list(action.choices))
    return rng.choice(VALID.get(name) or (FILES if action.type is Path else ("1", "x")))


def is_large(text: str) -> bool:
    """Whether a text is a number that is accepted and means days of work."""
    return text.isascii() and text.isdigit() and int(text[:30]) > 50 and len(text) < 14
