"""The two experiments of the paper: i.i.d. data, and tasks in sequence.

An experiment is a generator for one trial. It yields requests to learn samples and to measure
accuracy, and is sent the answers. `run` drives any number of experiments: on several threads, or in
step as one population if that is faster on the engine.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.checkpoint import Checkpoint
from snap.consolidation import states
from snap.data.samples import Samples
from snap.data.store import Dataset, View
from snap.driver import Driver, Progress, resumed
from snap.engines import population_class, settle
from snap.engines.population import Population
from snap.errors import SnapError
from snap.initial import SHUFFLE, Weights, initial_weights, random_stream
from snap.learners import nothing
from snap.replay import Reservoir
from snap.requests import Learn, Measure, Measured, Steps
from snap.result import Result
from snap.trial import PAPER_TASKS, Iid, Sequential, Trial

# Called with a trial, its task, epoch and samples so far, and copies of its weights: before it
# learns (task 0), and at every point of its history. I.i.d. data are a single task.
Watch = Callable[[Trial, int, int, int, Weights], None]


class NetworkView:
    """An experiment's view of one network of a population."""

    def __init__(
        self, population: Population, index: int, record: bool, watch: Watch | None = None
    ) -> None:
        self.population, self.index = population, index
        self.record, self.watch = record, watch

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

    def end_task(self, samples: Samples) -> None:
        """Tell the learner and the engine that a task has ended, with its training samples."""
        self.population.trials[self.index].kind.end_task(self, samples)
        self.population.end_task(self.index, samples)

    def point(self, **values: Any) -> dict[str, Any]:
        """A point of the history; with the state of the weights if they are recorded."""
        self.show(values.get("task", 1), values["epoch"], values["samples"])
        if self.record:
            trial = self.population.trials[self.index]
            values["weights"] = states(trial, *self.population.weights(self.index))
        return values

    def show(self, task: int, epoch: int, samples: int) -> None:
        """Show the weights to whoever watches."""
        if self.watch is not None:
            trial, weights = self.population.trials[self.index], self.population.weights(self.index)
            self.watch(trial, task, epoch, samples, weights)


def iid(trial: Trial, network: NetworkView, view: View, result: Result) -> Steps:
    """All classes at once; accuracy after every epoch."""
    train, measure = view.train, view.measure
    assert isinstance(trial.experiment, Iid)
    epochs = trial.experiment.epochs
    present = set(measure.labels.tolist())
    pairs = tuple(pair for pair in PAPER_TASKS if present & set(pair))
    network.show(0, 0, 0)
    for epoch in range(1, epochs + 1):
        order = random_stream(trial.seed, SHUFFLE, 0, epoch).permutation(len(train))
        learned = yield Learn(order, (epochs - epoch) * len(train))
        if learned.diverged:
            return
        measured = yield Measure(measure, pairs)
        result.accuracy = measured.accuracy
        result.history.append(
            network.point(epoch=epoch, accuracy=measured.accuracy, samples=learned.samples)
        )
    result.accuracy_by_pair = measured.tasks


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
    matrix: list[list[float]] = []
    matrix_known: list[list[float]] = []
    matrix_own: list[list[float]] = []
    result.matrix, result.matrix_known, result.matrix_own = matrix, matrix_known, matrix_own
    result.epochs_per_task, result.reached = [], []

    def note(measured: Measured, task: int, epoch: int, samples: int) -> None:
        """Add a point to the history."""
        result.accuracy = measured.accuracy
        values = {"accuracy": measured.accuracy, "tasks": measured.tasks, "samples": samples}
        result.history.append(network.point(task=task, epoch=epoch, **values))

    def add_row(measured: Measured) -> None:
        matrix.append(measured.tasks)
        matrix_known.append(measured.known)
        matrix_own.append(measured.own)

    past = _reservoir(trial)
    measured = yield Measure(measure, experiment.tasks, limited=True)
    note(measured, 0, 0, 0)
    add_row(measured)
    for task, samples in enumerate(members):
        later = experiment.max_epochs * sum(len(other) for other in members[task + 1 :])
        for epoch in range(1, experiment.max_epochs + 1):
            shuffled = random_stream(trial.seed, SHUFFLE, task, epoch).permutation(samples)
            rest = later + (experiment.max_epochs - epoch) * len(samples)
            # Curves have more points in the first epoch, because most tasks are learned in it.
            every = experiment.curve_every if epoch == 1 else len(shuffled)
            reached = ended = False
            for start in range(0, len(shuffled), every):
                stop = min(start + every, len(shuffled))
                order, after = shuffled[start:stop], rest + len(shuffled) - stop
                if past is not None:
                    order, after = past.interleave(order, new=epoch == 1), 2 * after
                learned = yield Learn(order, after)
                if learned.diverged:
                    return
                if stop == len(shuffled):
                    # Judged first, so that the last measurement of a task can be complete.
                    judgement = yield Measure(judges[task])
                    reached = judgement.accuracy >= experiment.threshold
                    ended = reached or epoch == experiment.max_epochs
                measured = yield Measure(measure, experiment.tasks, limited=ended)
                note(measured, task + 1, epoch, learned.samples)
            if ended:
                break
        add_row(measured)
        result.epochs_per_task.append(epoch)
        result.reached.append(reached)
        network.end_task(view.of_classes(train, experiment.tasks[task]))


def _reservoir(trial: Trial) -> Reservoir | None:
    """The past samples that a trial with replay learns again."""
    if trial.control is None or trial.control.name != "replay":
        return None
    assert trial.control.amount is not None
    return Reservoir(int(trial.control.amount), trial.seed)


def _keeps(trial: Trial) -> bool:
    """Whether anything but the weights outlasts a task."""
    return trial.kind.end_task is not nothing or (
        trial.control is not None and trial.control.kind.keeps
    )


def run(
    trials: Sequence[Trial],
    dataset: Dataset,
    engine: str = "auto",
    device: str = "auto",
    threads: int = 1,
    record: bool = False,
    progress: Progress = lambda trial, learned, rest: None,
    finished: Callable[[Result], None] = lambda result: None,
    checkpoints: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    watch: Watch | None = None,
) -> list[Result]:
    """Train trials and return their results in the order given.

    `finished` is called with each result as soon as it is available. A result depends only on the
    trial, the dataset and the engine, not on the other trials or on the threads. With a folder for
    `checkpoints`, trials that were interrupted go on from there, and `say` is told. `watch` is
    shown the weights, in the thread of the trial; a trial that is watched has no checkpoints.

    An engine that cannot be trusted here is replaced, with a warning. A result names the engine
    that trained it.
    """
    if not trials:
        raise SnapError("a population needs at least one trial, got none")
    for trial in trials:
        if trial.dataset != dataset.name:
            raise SnapError(
                f"a trial on {trial.dataset} cannot be run on {dataset.name}: the dataset is part"
                f' of a trial, as in Trial(…, dataset="{dataset.name}")'
            )
    name, device = settle(
        engine, device, trials, lambda why: warnings.warn(why, stacklevel=2), record
    )
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

        def begin(weights: Sequence[Weights]) -> Driver:
            population = kind(members, weights, view.train, device)
            begun = [Result(trial, name) for trial in members]
            steps = []
            for g, (trial, result) in enumerate(zip(members, begun, strict=True)):
                experiment = iid if isinstance(trial.experiment, Iid) else sequential
                network = NetworkView(population, g, record, watch)
                steps.append(experiment(trial, network, view, result))
            return Driver(population, steps, begun, watched)

        driver = begin([initial_weights(trial, view.train.images.shape[1]) for trial in members])
        checkpoint = None
        # Weights of earlier points, and what is kept at the end of a task, are in none.
        complete = not record and watch is None and not any(map(_keeps, members))
        if checkpoints is not None and complete:
            fingerprints = [trial.fingerprint(dataset.checksum, name) for trial in members]
            checkpoint = Checkpoint(checkpoints, fingerprints, driver.population.chunk, say)
            driver = resumed(checkpoint, begin) or driver
            driver.checkpoint = checkpoint
        for n, result in zip(group, driver.run(record), strict=True):
            results[n] = result
            finished(result)
        if checkpoint is not None:
            checkpoint.remove()

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
