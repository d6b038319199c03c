"""Train the trials of several jobs in one process, before the jobs run.

Jobs that share a SLURM job run one after the other. The first one trains for all of them, and the
others find their trials in the store. So Python starts, compiled loops load and data are read once,
and on a GPU the networks of many jobs are trained together.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snap.files import write_atomically
from snap.pipeline.jobs import NEEDS, final_trials, search_trials
from snap.pipeline.ladder import ladder_trials
from snap.pipeline.resources import slurm_start
from snap.pipeline.training import Trained, Workplace, log, train_missing
from snap.trial import Trial

# The trials of each step of work.IN_ADVANCE.
TRIALS: Mapping[str, Callable[[dict[str, Any], Sequence[Path]], list[Trial]]] = {
    "search": search_trials,
    "iid": final_trials,
    "sequential": final_trials,
    "ladder": ladder_trials,
}
TOGETHER = 125  # networks that a device trains at once: five λ of the text's grid


@dataclass(frozen=True)
class Member:
    """A job of a batch: what `snap job` is given."""

    step: str
    spec: dict[str, Any]
    inputs: Sequence[Path]
    output: Path

    @property
    def engine(self) -> str:
        return str(self.spec["engine"])


def train(file: Path, place: Workplace) -> Trained:
    """Train the trials of all members, unless an earlier job of this SLURM job has done so.

    Returns the number of trials that were trained for the job itself, and their seconds.
    """
    this, record = slurm_start(), file.with_suffix(".trained")
    done = _read(record)
    if done is None or done.get("start") != this:
        try:
            members = [_member(one) for one in _read(file) or ()]
        except (TypeError, LookupError, ValueError):  # then every job trains its own
            return 0, 0.0
        done = {"start": this, "trained": {}}
        for together in _chunks(members):
            done["trained"] |= _train(together, place)
        if members:
            write_atomically(record, json.dumps(done).encode(), durable=False)
    count, seconds = done["trained"].get(place.label, (0, 0.0))
    return int(count), float(seconds)


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None


def _member(one: Mapping[str, Any]) -> Member:
    inputs = [Path(path) for path in one["inputs"]]
    spec = json.loads(one["spec"])
    return Member(one["step"], spec, inputs, Path(one["output"]))


def _chunks(members: Sequence[Member]) -> Iterator[list[tuple[Member, list[Trial]]]]:
    """Members of one step, engine and dataset, until they fill a device.

    Members may come in any order. Each chunk reads its data and starts its engine once.
    """
    known = []
    for member in members:
        try:
            trials = TRIALS[member.step](member.spec, member.inputs)
        except (ValueError, LookupError, OSError) as error:  # the job itself will fail, and say so
            log(f"{member.output} is not trained in advance: {error}")
            continue
        if trials:
            known.append((member, trials))
    for _, alike in itertools.groupby(sorted(known, key=_kind), _kind):
        chunk: list[tuple[Member, list[Trial]]] = []
        for one in alike:
            chunk.append(one)
            if sum(len(own) for _, own in chunk) >= TOGETHER:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


def _kind(one: tuple[Member, list[Trial]]) -> tuple[int, str, str]:
    """What members that are trained together have in common; it sorts steps in order."""
    member, trials = one
    return list(TRIALS).index(member.step), member.engine, trials[0].dataset


def _train(chunk: Sequence[tuple[Member, list[Trial]]], place: Workplace) -> dict[str, Trained]:
    """Train the trials of some members; return how many for each, and their seconds."""
    first = chunk[0][0]
    trials = list(dict.fromkeys(trial for _, own in chunk for trial in own))
    place = dataclasses.replace(place, label=str(first.output))
    rows, trained = train_missing(trials, first.engine, place, NEEDS[first.step])
    results = dict(zip(trials, rows, strict=True))
    counts: dict[str, Trained] = {}
    for member, own in chunk:
        new = [trial for trial in own if trial in trained]
        trained -= set(new)  # a trial of two members counts once
        counts[str(member.output)] = len(new), sum(results[trial]["seconds"] for trial in new)
    return counts
