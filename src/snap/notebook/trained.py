"""Train a trial, look at its result, and use the trained network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from snap import experiments
from snap.data import store
from snap.data.datasets import record
from snap.data.samples import Samples
from snap.data.store import Dataset
from snap.driver import Progress
from snap.engines import population_class, resolve
from snap.errors import SnapError
from snap.initial import Weights
from snap.notebook import places
from snap.numbers import number_text
from snap.result import Result
from snap.trial import Sequential, Trial

if TYPE_CHECKING:  # these are slow to import, and not every script needs them
    from matplotlib.figure import Figure
    from pandas import DataFrame

CURVES = ("samples", "training", "epoch", "accuracy")
MATRIX = ("after", "task", "classes", "accuracy", "accuracy_known", "accuracy_own")


class Snapshot(NamedTuple):
    """Weights after a task; task 0 is before the first one. I.i.d. data are a single task."""

    task: int
    W: NDArray[Any]
    V: NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Trained:
    """A trained network. `snapshots` is empty unless it was asked for."""

    result: Result
    device: str  # as it was asked for
    snapshots: Sequence[Snapshot] = ()

    @property
    def trial(self) -> Trial:
        """What was trained."""
        return self.result.trial

    @property
    def engine(self) -> str:
        """The engine that trained it."""
        return self.result.engine

    @property
    def accuracy(self) -> float | None:
        """The accuracy over all classes at the end; None if the network diverged."""
        return self.result.accuracy

    @property
    def diverged(self) -> int | None:
        """The sample, from 1, at which weights stopped being finite; None if they never did."""
        return self.result.diverged

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of a finished sequence of tasks; none for i.i.d. data."""
        return self.result.metrics or {}

    @property
    def W(self) -> NDArray[Any]:  # noqa: N802
        """The hidden weights at the end: a row for each hidden neuron."""
        return self._weights[0]

    @property
    def V(self) -> NDArray[Any]:  # noqa: N802
        """The output weights at the end: a row for each class."""
        return self._weights[1]

    @property
    def _weights(self) -> Weights:
        assert self.result.weights is not None
        return self.result.weights

    @property
    def tasks(self) -> tuple[tuple[int, ...], ...]:
        """The classes of each task; none for i.i.d. data."""
        experiment = self.trial.experiment
        return experiment.tasks if isinstance(experiment, Sequential) else ()

    @property
    def curves(self) -> DataFrame:
        """A row for each measurement while it learned.

        `training` is the task in training, `accuracy` that over all classes. `task1`, `task2`, …
        have the accuracy on the classes of each task.
        """
        from pandas import DataFrame

        names = [f"task{n}" for n in range(1, len(self.tasks) + 1)]
        rows = [
            {**point, "training": point.get("task", 1)}
            | dict(zip(names, point.get("tasks", ()), strict=True))
            for point in self.result.history
        ]
        return DataFrame(rows, columns=[*CURVES, *names])

    @property
    def matrix(self) -> DataFrame:
        """The accuracy on the classes of each task after each task; empty for i.i.d. data.

        `accuracy_known` and `accuracy_own` are the same with the outputs limited: to the classes of
        the task and those before it, and to the task's own classes.
        """
        from pandas import DataFrame

        result = self.result
        accuracies = (result.matrix or [], result.matrix_known or [], result.matrix_own or [])
        rows = [
            (after, task, "+".join(map(str, classes)), *values)
            for after, by_task in enumerate(zip(*accuracies, strict=True))
            for task, (classes, *values) in enumerate(zip(self.tasks, *by_task, strict=True), 1)
        ]
        return DataFrame(rows, columns=list(MATRIX))

    def plot(self) -> Figure:
        """Draw the curves: accuracy over all classes, and on the classes of each task.

        The figure takes no part in pyplot: a notebook shows it once, and none stays open.
        """
        from matplotlib import colormaps
        from matplotlib.figure import Figure

        from snap.notebook.drawing import show_figures

        show_figures()
        curves = self.curves
        figure = Figure(figsize=(8, 4), layout="constrained")
        axis = figure.subplots()
        for n, classes in enumerate(self.tasks):
            label = f"task {n + 1} (classes {', '.join(map(str, classes))})"
            color = colormaps["viridis"](0.85 * n / max(len(self.tasks) - 1, 1))
            axis.plot("samples", f"task{n + 1}", data=curves, color=color, label=label)
        axis.plot("samples", "accuracy", ".-", data=curves, color="black", label="all classes")
        for task in range(1, len(self.tasks)):
            end = curves["samples"][curves["training"] == task].max()
            axis.axvline(end, color="grey", linestyle=":", linewidth=1)
        axis.set(xlabel="samples learned", ylabel="accuracy", ylim=(0, 1), title=self._name)
        axis.set_xlim(left=0)
        if self.diverged is not None:
            says = f"diverged at sample {self.diverged}"
            axis.text(0.5, 0.5, says, transform=axis.transAxes, ha="center")
        axis.grid(alpha=0.3)
        figure.legend(loc="outside right upper", frameon=False)
        return figure

    @property
    def _name(self) -> str:
        trial = self.trial
        lambda_ = trial.lateral_inhibition
        at = "" if lambda_ is None else f", λ = {number_text(lambda_)}"
        return f"{trial.kind.prefix}{trial.configuration.name} on {trial.dataset}{at}"

    def __repr__(self) -> str:
        if self.accuracy is None:
            return f"<{self._name}: diverged at sample {self.diverged}>"
        return f"<{self._name}: accuracy {self.accuracy:.4f}>"


def load(dataset: str, folder: str | Path | None = None) -> Dataset:
    """Read a dataset, such as MNIST, from a data folder: $SNAP_DATA or data/ unless given.

    The folder data/ is looked for here, in the folders above, and in the project of this package.
    """
    if not isinstance(dataset, str):
        raise SnapError(f"give the name of a dataset, such as MNIST, got {_kind(dataset)}")
    if folder is not None:
        return store.load(dataset, Path(folder))
    root = store.default_folder()
    return store.load(dataset, places.found(root / record(dataset).name).parent)


def run(
    trial: Trial,
    data: Dataset | None = None,
    *,
    engine: str = "auto",
    device: str = "auto",
    progress: bool = False,
    snapshots: bool = False,
) -> Trained:
    """Train one trial. Without `data`, its dataset is loaded.

    With `progress`, a line on standard error shows how far training is. With `snapshots`, the
    result has the weights after every task. Neither changes the result.
    """
    if not isinstance(trial, Trial):
        raise SnapError(f"run trains one snap.Trial at a time, got {_kind(trial)}")
    if data is None:
        data = load(trial.dataset)
    elif not isinstance(data, Dataset):
        raise SnapError(f"data must be a dataset from snap.load, got {_kind(data)}")
    seen: dict[int, Snapshot] = {}

    def watch(_: Trial, task: int, epoch: int, samples: int, weights: Weights) -> None:
        seen[task] = Snapshot(task, *weights)  # the last one of each task stays

    with progress_bar(disable=not progress, leave=True) as advance:
        (result,) = experiments.run(
            [trial],
            data,
            engine,
            device,
            record=True,
            progress=advance,
            watch=watch if snapshots else None,
        )
    if result.diverged is not None:  # in the middle of its last task
        ended = len(result.matrix or ())
        seen = {task: snapshot for task, snapshot in seen.items() if task < max(ended, 1)}
    return Trained(result, device, tuple(seen.values()))


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


@contextmanager
def progress_bar(disable: bool | None, leave: bool = False) -> Iterator[Progress]:
    """A line on standard error. With None, it appears only in a terminal.

    Tasks may end early. Then only the most that may remain is known, so there is no bar.
    """
    with tqdm(
        unit=" samples", unit_scale=True, disable=disable, leave=leave, mininterval=0.3
    ) as bar:

        def advance(trial: Trial, learned: int, rest: int) -> None:
            most = bar.n + learned + rest
            if isinstance(trial.experiment, Sequential):
                bar.set_postfix_str(f"at most {tqdm.format_sizeof(most)}", refresh=False)
            else:
                bar.total = most
            bar.update(learned)

        yield advance
        bar.set_postfix_str("", refresh=False)


def predict(result: Trained, images: ArrayLike) -> NDArray[np.int64]:
    """The class that a trained network predicts for each image.

    Images have the shape (n, 28, 28) or (n, 784). They are pixels from 0 to 255 as uint8, or floats
    from 0 to 1. The engine that trained the network predicts.
    """
    if not isinstance(result, Trained):
        raise SnapError(f"the first argument must be a result of snap.run, got {_kind(result)}")
    if result.diverged is not None:
        raise SnapError(f"the network diverged at sample {result.diverged}: it predicts nothing")
    W, V = result.W, result.V
    pixels = _pixels(images, W.shape[1])
    if pixels.dtype != np.uint8:
        pixels = pixels.astype(W.dtype)  # as training scales uint8
    engine, device = resolve(result.engine, result.device)
    nothing = Samples(pixels[:0], np.zeros(0, np.int64))  # it learns no more
    population = population_class(engine)([result.trial], [(W, V)], nothing, device)
    return population.predict(0, Samples(pixels, np.zeros(len(pixels), np.int64)))


def _pixels(images: ArrayLike, width: int) -> NDArray[Any]:
    """The images as rows of pixels; raises SnapError if they have another shape or scale."""
    if isinstance(images, Dataset | Samples):
        raise SnapError("give the images of samples, as in data.test.images")
    try:
        array, side = np.asarray(images), isqrt(width)
    except ValueError:  # images of several sizes
        raise SnapError("images must be one array of images of the same size") from None
    square = f" or (n, {side}, {side})" if side * side == width else ""
    if array.shape[1:] not in ((width,), (side, side)):
        raise SnapError(f"images must have the shape (n, {width}){square}, got {array.shape}")
    if array.dtype != np.uint8:
        if array.dtype.kind != "f":
            raise SnapError(f"images must be uint8 or floats from 0 to 1, got {array.dtype}")
        if not ((array >= 0) & (array <= 1)).all():
            raise SnapError("images must be floats from 0 to 1; pixels from 0 to 255 must be uint8")
    return array.reshape(len(array), width)
