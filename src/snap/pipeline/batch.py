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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snap.files import write_atomically
from snap.pipeline.controls import chosen
from snap.pipeline.jobs import NEEDS, Asking, final_trials, search_trials
from snap.pipeline.ladder import ladder_trials
from snap.pipeline.resources import slurm_start
from snap.pipeline.rows import Row
from snap.pipeline.training import Trained, Workplace, log, only_on_cpu, train_missing
from snap.trial import Trial


def _all_at_once(
    step: str, trials: Callable[[dict[str, Any], Sequence[Path]], list[Trial]]
) -> Callable[[dict[str, Any], Sequence[Path]], Asking]:
    def ask(spec: dict[str, Any], inputs: Sequence[Path]) -> Asking:
        yield trials(spec, inputs), NEEDS[step]

    return ask


# What each step of work.IN_ADVANCE asks for.
ASKING: Mapping[str, Callable[[dict[str, Any], Sequence[Path]], Asking]] = {
    "search": _all_at_once("search", search_trials),
    "iid": _all_at_once("iid", final_trials),
    "sequential": _all_at_once("sequential", final_trials),
    "ladder": _all_at_once("ladder", ladder_trials),
    "control": chosen,
}
TOGETHER = 125  # networks that a device trains at once: five λ of the text's grid


@dataclass
class Member:
    """A job of a batch: what `snap job` is given, and what it asks for next."""

    step: str
    spec: dict[str, Any]
    output: Path
    asking: Asking
    trials: list[Trial] = field(default_factory=list)
    needs: Sequence[str] = ()
    count: int = 0  # how many trials were trained for it
    seconds: float = 0.0

    def ask(self, results: Mapping[Trial, Row] | None) -> bool:
        """Whether it asks for more trials, after the results of the last ones."""
        try:
            self.trials = []
            while not self.trials:
                self.trials, self.needs = self.asking.send(results)
                results = {}
        except StopIteration:
            return False
        except (ValueError, LookupError, OSError) as error:  # the job itself will fail, and say so
            log(f"{self.output} is not trained in advance: {error}")
            return False
        return True

    def kind(self) -> tuple[int, str, Sequence[str], str, bool]:
        """What members that are trained together have in common; it sorts steps in order.

        A control that an engine lacks would send the others to another engine too.
        """
        first, step = self.trials[0], list(ASKING).index(self.step)
        return step, str(self.spec["engine"]), self.needs, first.dataset, only_on_cpu(first)


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
        _train_all(members, place)
        trained = {str(member.output): (member.count, member.seconds) for member in members}
        done = {"start": this, "trained": trained}
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
    step, spec = one["step"], json.loads(one["spec"])
    inputs = [Path(path) for path in one["inputs"]]
    return Member(step, spec, Path(one["output"]), ASKING[step](spec, inputs))


def _train_all(members: Sequence[Member], place: Workplace) -> None:
    """Train what the members ask for, until none of them asks for more."""
    asking = [member for member in members if member.ask(None)]
    while asking:
        again = []
        for chunk in _chunks(asking):
            results = _train(chunk, place)
            again += [member for member in chunk if member.ask(results)]
        asking = again


def _chunks(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Members that can be trained together, until they fill a device.

    Members may come in any order. Each chunk reads its data and starts its engine once.
    """
    for _, alike in itertools.groupby(sorted(members, key=Member.kind), Member.kind):
        chunk: list[Member] = []
        for one in alike:
            chunk.append(one)
            if sum(len(member.trials) for member in chunk) >= TOGETHER:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


def _train(chunk: Sequence[Member], place: Workplace) -> dict[Trial, Row]:
    """Train the trials of some members, and return their results."""
    first = chunk[0]
    trials = list(dict.fromkeys(trial for member in chunk for trial in member.trials))
    place = dataclasses.replace(place, label=str(first.output))
    rows, trained = train_missing(trials, str(first.spec["engine"]), place, first.needs)
    results = dict(zip(trials, rows, strict=True))
    for member in chunk:
        new = trained.intersection(member.trials)
        trained -= new  # a trial of two members counts once
        member.count += len(new)
        member.seconds += sum(results[trial]["seconds"] for trial in new)
    return results
