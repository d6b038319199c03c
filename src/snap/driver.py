"""The driver of a population: it does what the experiments ask for, in step, and answers them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

import numpy as np

from snap import checkpoint
from snap.checkpoint import Checkpoint, Snapshot
from snap.engines.population import Population
from snap.initial import Weights
from snap.requests import Answer, Learn, Learned, Measure, Request, Steps
from snap.result import Result
from snap.trial import Trial

# Called with a trial, the number of samples just learned, and the most that may remain.
Progress = Callable[[Trial, int, int], None]


class Driver:
    """Runs the experiments of a population until the last one has ended."""

    def __init__(
        self,
        population: Population,
        experiments: Sequence[Steps],
        results: list[Result],  # the experiments fill them
        progress: Progress,
    ) -> None:
        self.population, self.experiments, self.results = population, experiments, results
        self.progress = progress
        self.checkpoint: Checkpoint | None = None
        self.answers: list[list[Answer]] = [[] for _ in experiments]
        self.requests: dict[int, Request] = {}  # of the networks whose experiments have not ended
        self.position = 0  # how many samples of the current Learn requests are learned
        self.started = self.written = time.perf_counter()
        self.interval = checkpoint.interval()
        for g in range(len(experiments)):
            self._proceed(g, None)

    @property
    def seconds(self) -> float:
        """The time since the start, including the time before a checkpoint."""
        return time.perf_counter() - self.started

    def run(self, record: bool = False) -> list[Result]:
        while self.requests:
            self._measure()
            self._learn()
        share = self.seconds / len(self.results)
        for g, result in enumerate(self.results):
            result.diverged, result.samples = self.population.diverged[g], self.population.seen[g]
            result.seconds = share
            result.weights = self.population.weights(g) if record else None
            if result.diverged is not None:
                result.accuracy = None
        return self.results

    def _proceed(self, g: int, answer: Answer | None) -> None:
        """Answer an experiment and receive its next request. Without an answer, it starts."""
        if answer is not None:
            self.answers[g].append(answer)
        try:
            self.requests[g] = self.experiments[g].send(answer)
        except StopIteration:
            self.requests.pop(g, None)

    def _measure(self) -> None:
        """Measure until every experiment wants to learn. Equal requests are answered in one go."""
        while True:
            asked: dict[Measure, list[int]] = {}
            for g, request in self.requests.items():
                if isinstance(request, Measure):
                    asked.setdefault(request, []).append(g)
            if not asked:
                return
            for request, networks in asked.items():
                answers = request.answers(self.population, networks)
                for g, answer in zip(networks, answers, strict=True):
                    self._proceed(g, answer)

    def _wanted(self) -> dict[int, Learn]:
        return {g: want for g, want in self.requests.items() if isinstance(want, Learn)}

    def _learn(self) -> None:
        """Train every network on its next samples, in chunks."""
        wanted = self._wanted()
        longest = max((len(want.order) for want in wanted.values()), default=0)
        while self.position < longest:
            start, stop = self.position, longest
            if self.population.chunk is not None:
                stop = min(start + self.population.chunk, longest)
            part = {g: want.order[start:stop] for g, want in wanted.items()}
            nothing = np.zeros(0, np.int64)
            self.population.train([part.get(g, nothing) for g in range(len(self.experiments))])
            self.position = stop
            self._save()
            for g, want in wanted.items():
                self._report(g, len(part[g]), want)
        self.position = 0
        for g in wanted:
            diverged = self.population.diverged[g] is not None
            self._proceed(g, Learned(self.population.seen[g], diverged))

    def _report(self, g: int, learned: int, want: Learn) -> None:
        rest = want.rest + max(0, len(want.order) - self.position)
        self.progress(self.population.trials[g], learned, rest)

    def _save(self) -> None:
        """Write a checkpoint, unless the last one is recent."""
        if self.checkpoint is None or time.perf_counter() - self.written < self.interval:
            return
        networks = range(len(self.experiments))
        self.checkpoint.write(
            Snapshot(
                answers=[[dataclasses.asdict(answer) for answer in told] for told in self.answers],
                position=self.position,
                seen=list(self.population.seen),
                diverged=list(self.population.diverged),
                seconds=self.seconds,
                weights=[self.population.weights(g) for g in networks],
            )
        )
        self.written = time.perf_counter()

    def resume(self, snapshot: Snapshot) -> bool:
        """Bring the experiments to where a snapshot was taken; say if it fits them.

        The population already has the weights of the snapshot.
        """
        try:
            for g, told in enumerate(snapshot.answers):
                for values in told:
                    self._proceed(g, self.requests[g].answer(**values))
        except (KeyError, TypeError):  # it ended earlier, or asked for something else
            return False
        self.position = snapshot.position
        self.population.seen = list(snapshot.seen)
        self.population.diverged = list(snapshot.diverged)
        self.started -= snapshot.seconds
        if not self._consistent():
            return False
        for g, want in self._wanted().items():
            self._report(g, self.population.seen[g], want)
        return True

    def _consistent(self) -> bool:
        """Whether each network has learned what its experiment asked for, up to the position."""
        wanted = self._wanted()
        if len(wanted) != len(self.requests):
            return False
        for g, told in enumerate(self.answers):
            learned = [answer.samples for answer in told if isinstance(answer, Learned)]
            expected = learned[-1] if learned else 0
            if g in wanted:
                expected += min(self.position, len(wanted[g].order))
            seen, at = self.population.seen[g], self.population.diverged[g]
            if seen != (expected if at is None else at):
                return False
        return True


def resumed(checkpoint: Checkpoint, begin: Callable[[Sequence[Weights]], Driver]) -> Driver | None:
    """A driver that goes on from a checkpoint; None if there is none that fits.

    `begin` makes a driver whose networks have the given weights.
    """
    snapshot = checkpoint.read()
    if snapshot is None:
        return None
    driver = begin(snapshot.weights)
    if not driver.resume(snapshot):
        checkpoint.ignore("does not fit its experiments")
        return None
    trials, learned = driver.population.trials, sum(snapshot.seen)
    who = trials[0].text if len(trials) == 1 else f"a population of {len(trials)} networks"
    checkpoint.say(f"{who} goes on from a checkpoint: {learned} samples are learned")
    return driver
