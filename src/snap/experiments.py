"""The two experiments of the paper: i.i.d. data, and tasks in sequence.

An experiment is a generator for one trial. It yields the numbers of the samples to learn next, and
measures the network when they have been learned. `run` drives any number of experiments: on several
threads, or in step as one population if that is faster on the engine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap import metrics
from snap.consolidation import percentiles
from snap.data.samples import Samples
from snap.data.store import Dataset, View
from snap.engines import population_class, resolve
from snap.engines.population import Population
from snap.errors import SnapError
from snap.initial import SHUFFLE, Weights, initial_weights, random_stream
from snap.trial import PAPER_TASKS, Iid, Sequential, Trial

Order = NDArray[np.int64]
# Called with a trial, the number of samples just learned, and the most that may remain.
Progress = Callable[[Trial, int, int], None]


@dataclass
class Result:
    """The result of a trial. A trial that diverged has no accuracy (None)."""

    trial: Trial
    engine: str
    accuracy: float | None = None  # over all classes, at the end
    diverged: int | None = None  # the sample, from 1, at which weights stopped being finite
    samples: int = 0
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    accuracy_by_pair: list[float] | None = None  # i.i.d.: of classes 0 and 1, 2 and 3, …
    matrix: list[list[float]] | None = None  # sequential: see snap.metrics; fewer rows if diverged
    # The same matrix with the outputs limited: to the classes known when a task ended, and to the
    # task's own classes.
    matrix_known: list[list[float]] | None = None
    matrix_own: list[list[float]] | None = None
    epochs_per_task: list[int] | None = None
    reached: list[bool] | None = None  # whether each task reached the threshold
    weights: Weights | None = None  # at the end, if the weights are recorded

    @property
    def metrics(self) -> dict[str, float] | None:
        """The metrics of a finished sequence."""
        return metrics.of_sequence(vars(self))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: without the weights, and without fields that this experiment does not have."""
        values = {**vars(self), "trial": self.trial.text, "weights": None}
        always = ("accuracy", "diverged")
        return {name: v for name, v in values.items() if v is not None or name in always}


class NetworkView:
    """An experiment's view of one network of a population."""

    def __init__(self, population: Population, index: int, record: bool) -> None:
        self.population, self.index, self.record = population, index, record

    @property
    def diverged(self) -> bool:
        return self.population.diverged[self.index] is not None

    @property
    def seen(self) -> int:
        return self.population.seen[self.index]

    def predict(self, samples: Samples) -> NDArray[np.int64]:
        return self.population.predict(self.index, samples)

    def outputs(self, samples: Samples) -> NDArray[Any]:
        return self.population.outputs(self.index, samples)

    def point(self, **values: Any) -> dict[str, Any]:
        """A point of the history; with percentiles of the weights if they are recorded."""
        point = {**values, "samples": self.seen}
        if self.record:
            trial = self.population.trials[self.index]
            point["weights"] = percentiles(trial, *self.population.weights(self.index))
        return point


Steps = Generator[tuple[Order, int], None, None]  # the next samples, and the most that may follow


def iid(trial: Trial, network: NetworkView, view: View, result: Result) -> Steps:
    """All classes at once; accuracy after every epoch."""
    train, measure = view.train, view.measure
    assert isinstance(trial.experiment, Iid)
    epochs = trial.experiment.epochs
    for epoch in range(1, epochs + 1):
        order = random_stream(trial.seed, SHUFFLE, 0, epoch).permutation(len(train))
        yield order, (epochs - epoch) * len(train)
        if network.diverged:
            return
        predicted = network.predict(measure)
        result.accuracy = metrics.accuracy(predicted, measure.labels)
        result.history.append(network.point(epoch=epoch, accuracy=result.accuracy))
    present = set(measure.labels.tolist())
    pairs = [pair for pair in PAPER_TASKS if present & set(pair)]
    result.accuracy_by_pair = metrics.accuracy_by_task(predicted, measure.labels, pairs)


def sequential(trial: Trial, network: NetworkView, view: View, result: Result) -> Steps:
    """Tasks in order. A task ends after the first epoch that reaches the threshold."""
    train, measure = view.train, view.measure
    experiment = trial.experiment
    assert isinstance(experiment, Sequential)
    members = [train.of_classes(classes) for classes in experiment.tasks]
    for classes, samples in zip(experiment.tasks, members, strict=True):
        if not len(samples) or not len(measure.of_classes(classes)):
            raise SnapError(f"the data hold no samples of the task with classes {classes}")
    judged = view.train if experiment.judged_on == "train" else view.measure
    judges = [view.of_classes(judged, classes) for classes in experiment.tasks]

    def measured(**values: Any) -> list[float]:
        """Add a point to the history and return the accuracy on each task."""
        predicted = network.predict(measure)
        by_task = metrics.accuracy_by_task(predicted, measure.labels, experiment.tasks)
        result.accuracy = metrics.accuracy(predicted, measure.labels)
        result.history.append(network.point(**values, accuracy=result.accuracy, tasks=by_task))
        return by_task

    def limited() -> None:
        """Add a row to the matrices whose outputs are limited to some classes."""
        outputs = network.outputs(measure)
        for matrix, classes in ((matrix_known, known), (matrix_own, experiment.tasks)):
            matrix.append(
                metrics.limited_accuracy_by_task(outputs, measure.labels, experiment.tasks, classes)
            )

    known = [sum(experiment.tasks[: n + 1], ()) for n in range(len(experiment.tasks))]
    matrix_known: list[list[float]] = []
    matrix_own: list[list[float]] = []
    result.matrix_known, result.matrix_own = matrix_known, matrix_own
    result.matrix, result.epochs_per_task, result.reached = [measured(task=0, epoch=0)], [], []
    limited()
    for task, samples in enumerate(members):
        later = experiment.max_epochs * sum(len(other) for other in members[task + 1 :])
        for epoch in range(1, experiment.max_epochs + 1):
            shuffled = random_stream(trial.seed, SHUFFLE, task, epoch).permutation(samples)
            rest = later + (experiment.max_epochs - epoch) * len(samples)
            # Curves have more points in the first epoch, because most tasks are learned in it.
            every = experiment.curve_every if epoch == 1 else len(shuffled)
            for start in range(0, len(shuffled), every):
                stop = min(start + every, len(shuffled))
                yield shuffled[start:stop], rest + len(shuffled) - stop
                if network.diverged:
                    return
                by_task = measured(task=task + 1, epoch=epoch)
            own = network.predict(judges[task])
            reached = metrics.accuracy(own, judges[task].labels) >= experiment.threshold
            if reached:
                break
        result.matrix.append(by_task)
        limited()
        result.epochs_per_task.append(epoch)
        result.reached.append(reached)
        trial.kind.end_task(network, view.of_classes(train, experiment.tasks[task]))


def run(
    trials: Sequence[Trial],
    dataset: Dataset,
    engine: str = "auto",
    device: str = "auto",
    threads: int = 1,
    record: bool = False,
    progress: Progress = lambda trial, learned, rest: None,
    finished: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Train trials and return their results in the order given.

    `finished` is called with each result as soon as it is available. A result depends only on the
    trial, the dataset and the engine, not on the other trials or on the threads.
    """
    if not trials:
        raise SnapError("a population needs at least one trial, got none")
    for trial in trials:
        if trial.dataset != dataset.name:
            raise SnapError(f"a trial on {trial.dataset} cannot be run on {dataset.name}")
    name, device = resolve(engine, device)
    kind = population_class(name)
    groups = kind.groups(trials, record)
    results: dict[int, Result] = {}
    stop = threading.Event()

    def watched(trial: Trial, learned: int, rest: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        progress(trial, learned, rest)

    def work(group: list[int]) -> None:
        members = [trials[n] for n in group]
        view = dataset.view(members[0])
        weights = [initial_weights(trial, view.train.images.shape[1]) for trial in members]
        population = kind(members, weights, view.train, device)
        trained = _drive(population, view, name, record, watched)
        for n, result in zip(group, trained, strict=True):
            results[n] = result
            finished(result)

    if threads == 1 or len(groups) == 1:
        for group in groups:
            work(group)
    else:
        pool = ThreadPoolExecutor(threads)
        try:
            for future in [pool.submit(work, group) for group in groups]:
                future.result()
        except KeyboardInterrupt:  # only this thread receives it
            stop.set()
            raise
        finally:  # after an error, wait for the trials in progress
            pool.shutdown(cancel_futures=True)
    return [results[n] for n in range(len(trials))]


def _drive(
    population: Population,
    view: View,
    engine: str,
    record: bool,
    progress: Progress,
) -> list[Result]:
    """Run the experiments of a population in step, until the last one has ended."""
    start = time.perf_counter()
    results = [Result(trial, engine) for trial in population.trials]
    steps: dict[int, Steps] = {}
    for g, (trial, result) in enumerate(zip(population.trials, results, strict=True)):
        experiment = iid if isinstance(trial.experiment, Iid) else sequential
        steps[g] = experiment(trial, NetworkView(population, g, record), view, result)
    wanted = {g: want for g in list(steps) if (want := _next(steps, g)) is not None}
    while wanted:
        _learn(population, wanted, progress)
        wanted = {g: want for g in list(steps) if (want := _next(steps, g)) is not None}
    share = (time.perf_counter() - start) / len(results)
    for g, result in enumerate(results):
        result.diverged, result.samples = population.diverged[g], population.seen[g]
        result.seconds = share
        result.weights = population.weights(g) if record else None
        if result.diverged is not None:
            result.accuracy = None
    return results


def _learn(
    population: Population, wanted: dict[int, tuple[Order, int]], progress: Progress
) -> None:
    """Train every network on its next samples. Slow engines report progress in between."""
    longest = max(len(order) for order, _ in wanted.values())
    stride = population.report_every or longest
    for start in range(0, longest, stride):
        part = {g: order[start : start + stride] for g, (order, _) in wanted.items()}
        nothing = np.zeros(0, np.int64)
        population.train([part.get(g, nothing) for g in range(len(population.trials))])
        for g, (order, rest) in wanted.items():
            left = rest + max(0, len(order) - start - stride)
            progress(population.trials[g], len(part[g]), left)


def _next(steps: dict[int, Steps], g: int) -> tuple[Order, int] | None:
    """The next samples of network g. When its experiment ends, remove it and return None."""
    try:
        return next(steps[g])
    except StopIteration:
        del steps[g]
        return None
