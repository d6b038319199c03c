"""A trial: everything that determines its result, as frozen data with one canonical text."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from snap.controls import Control
from snap.data.datasets import DATASETS, DatasetRecord
from snap.errors import SnapError, printable
from snap.growth import FOCUSES, GROWTHS
from snap.learners import HEBBIAN, LEARNERS, Learner
from snap.numbers import number_text, parse_number, parse_whole
from snap.protocol import REFERENCE, Protocol

# The version of the training semantics. Raise it with every change that alters a result. Trials of
# another version are then trained again.
SEMANTICS = 3

SPLITS = ("test", "validation")
PAPER_TASKS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))


def _choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise SnapError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return str(value)


@dataclass(frozen=True)
class Configuration:
    """How both layers grow. With linear growth in both, focus makes no difference."""

    hidden: str
    output: str
    focus: str = "neuron"

    def __post_init__(self) -> None:
        _choice(self.hidden, "hidden growth", GROWTHS)
        _choice(self.output, "output growth", GROWTHS)
        _choice(self.focus, "focus", FOCUSES)
        if self.hidden == self.output == "linear":
            object.__setattr__(self, "focus", "neuron")

    @property
    def name(self) -> str:
        if self.hidden == self.output == "linear":
            return "linear-linear"
        return f"{self.hidden}-{self.output}-{self.focus}"

    @property
    def hidden_layer(self) -> str:
        """The name without the output layer."""
        return self.hidden if self.hidden == "linear" else f"{self.hidden}-{self.focus}"

    @classmethod
    def parse(cls, name: str) -> Self:
        parts = str(name).split("-")
        if parts == ["linear", "linear"]:
            parts.append("neuron")
        if (
            len(parts) != 3
            or parts[0] not in GROWTHS
            or parts[1] not in GROWTHS
            or parts[2] not in FOCUSES
        ):
            raise SnapError(
                f"unknown configuration {name!r}: give hidden growth, output growth and focus,"
                f" as in sigmoid-sigmoid-neuron (growths: {', '.join(GROWTHS)};"
                f" focus: {' or '.join(FOCUSES)})"
            )
        return cls(*parts)


@dataclass(frozen=True)
class Iid:
    """All classes at once, for a number of epochs."""

    epochs: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "epochs", parse_whole(self.epochs, "epochs", least=1))

    def items(self) -> dict[str, str]:
        return {"experiment": "iid", "epochs": str(self.epochs)}


TEN_EPOCHS = Iid()


@dataclass(frozen=True)
class Sequential:
    """Tasks in order. Each ends when its accuracy after an epoch reaches `threshold`."""

    tasks: tuple[tuple[int, ...], ...] = PAPER_TASKS
    threshold: float = 0.8
    max_epochs: int = 35
    judged_on: str = "train"  # the split on which a task's accuracy is judged: train or test
    curve_every: int = 2000  # samples between points in a task's first epoch, besides epoch ends

    def __post_init__(self) -> None:
        try:
            tasks = tuple(tuple(parse_whole(c, "a class", least=0) for c in t) for t in self.tasks)
        except TypeError:
            raise SnapError(f"tasks must look like ((0, 1), (2, 3)), got {self.tasks!r}") from None
        if not tasks or not all(tasks):
            raise SnapError("every task needs at least one class: the class list is empty")
        classes = list(itertools.chain(*tasks))
        if len(set(classes)) != len(classes):
            raise SnapError(f"tasks must name each class at most once, got {tasks}")
        object.__setattr__(self, "tasks", tasks)
        threshold = parse_number(self.threshold, "threshold")
        if not 0 < threshold <= 1:
            raise SnapError(f"threshold must be above 0 and at most 1, got {threshold}")
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "max_epochs", parse_whole(self.max_epochs, "max_epochs", least=1))
        _choice(self.judged_on, "judged_on", ("train", "test"))
        every = parse_whole(self.curve_every, "curve_every", least=1)
        object.__setattr__(self, "curve_every", every)

    def items(self) -> dict[str, str]:
        return {
            "experiment": "sequential",
            "tasks": "-".join(".".join(map(str, task)) for task in self.tasks),
            "threshold": number_text(self.threshold),
            "max_epochs": str(self.max_epochs),
            "judged_on": self.judged_on,
            "curve_every": str(self.curve_every),
        }

    @staticmethod
    def parse_tasks(text: str) -> tuple[tuple[int, ...], ...]:
        """Read 0.1-2.3: a hyphen separates tasks, a dot separates classes."""
        try:
            return tuple(tuple(int(c) for c in task.split(".")) for task in text.split("-"))
        except ValueError:
            raise SnapError(f"tasks must look like 0.1-2.3, got {text!r}") from None


@dataclass(frozen=True)
class Trial:
    """One network, trained once. Strings are accepted for configuration and protocol."""

    configuration: Configuration
    alpha: float
    lateral_inhibition: float | None = None  # λ; None for a learner without λ and η
    eta: float | None = None
    dataset: str = "MNIST"
    learner: str = HEBBIAN.name
    protocol: Protocol = REFERENCE
    experiment: Iid | Sequential = TEN_EPOCHS
    hidden: int = cast(int, None)  # None: the default width of the dataset
    beta: float = 0.01
    seed: int = 0
    split: str = "test"  # measures accuracy on the test set, or on held-out training samples
    train_limit: int | None = None  # train only on this many samples, the first ones
    test_limit: int | None = None  # measure only on this many samples, the first ones
    control: Control | None = None  # what it does besides the learner's rule

    if TYPE_CHECKING:  # what a trial accepts; its fields have the types above

        def __init__(
            self,
            configuration: Configuration | str,
            alpha: float,
            lateral_inhibition: float | None = None,
            eta: float | None = None,
            dataset: str = "MNIST",
            learner: str = HEBBIAN.name,
            protocol: Protocol | str = REFERENCE,
            experiment: Iid | Sequential = TEN_EPOCHS,
            hidden: int | None = None,
            beta: float = 0.01,
            seed: int = 0,
            split: str = "test",
            train_limit: int | None = None,
            test_limit: int | None = None,
            control: Control | str | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if isinstance(self.configuration, str):
            self._put("configuration", Configuration.parse(self.configuration))
        _choice(self.learner, "learner", tuple(LEARNERS))
        if isinstance(self.protocol, str):
            self._put("protocol", Protocol.parse(self.protocol, self.learner))
        for name, kind, wanted in (
            ("configuration", Configuration, "a name such as sigmoid-sigmoid-neuron"),
            ("protocol", Protocol, "text, reference, code or a Protocol"),
            ("experiment", Iid | Sequential, "an Iid(…) or a Sequential(…)"),
        ):
            if not isinstance(getattr(self, name), kind):
                raise SnapError(f"{name} must be {wanted}, got {getattr(self, name)!r}")
        if not isinstance(self.dataset, str) or not self.dataset.isidentifier():
            raise SnapError(f"dataset must be a plain name such as MNIST, got {self.dataset!r}")
        _choice(self.split, "split", SPLITS)
        self._put("alpha", _positive(self.alpha, "alpha"))
        self._put("beta", _positive(self.beta, "beta"))
        if self.kind.inhibits:
            if self.lateral_inhibition is None or self.eta is None:
                raise SnapError(f"a {self.learner} trial needs lambda (lateral_inhibition) and eta")
            self._put("lateral_inhibition", _positive(self.lateral_inhibition, "lambda"))
            eta = parse_number(self.eta, "eta")
            if eta < 0:
                raise SnapError(f"eta must be 0 or above, got {number_text(eta)}")
            self._put("eta", eta)
        elif self.lateral_inhibition is not None or self.eta is not None:
            raise SnapError(f"{self.learner} has neither lambda nor eta: leave both out")
        width = self.record.hidden if self.hidden is None else self.hidden
        self._put("hidden", parse_whole(width, "hidden", least=1))
        self._put("seed", parse_whole(self.seed, "seed", least=0))
        for name in ("train_limit", "test_limit"):
            if getattr(self, name) is not None:
                self._put(name, parse_whole(getattr(self, name), name, least=1))
        if isinstance(self.experiment, Sequential):
            highest = max(itertools.chain(*self.experiment.tasks))
            if highest >= self.record.classes:
                raise SnapError(
                    f"tasks must name classes from 0 to {self.record.classes - 1}, got {highest}"
                )
        self._check_control()

    def _check_control(self) -> None:
        if isinstance(self.control, str):
            self._put("control", Control.parse(self.control) if self.control else None)
        if self.control is None:
            return
        if not isinstance(self.control, Control):
            raise SnapError(f"control must be text such as replay-500, got {self.control!r}")
        kind = self.control.kind
        if self.learner not in kind.learners:
            raise SnapError(
                f"the control {kind.name} is for {' and '.join(kind.learners)}, not {self.learner}"
            )
        if kind.linear and self.configuration.name != "linear-linear":
            raise SnapError(
                f"the control {kind.name} is for linear-linear, not {self.configuration.name}"
            )
        if isinstance(self.experiment, Iid) and not kind.alters_iid:
            raise SnapError(
                f"the control {kind.name} is for tasks in sequence, not for i.i.d. data"
            )

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def kind(self) -> Learner:
        """The record of its learner."""
        return LEARNERS[self.learner]

    @property
    def record(self) -> DatasetRecord:
        """The record of its dataset; that of MNIST if the dataset has none."""
        return DATASETS.get(self.dataset, DATASETS["MNIST"])

    @property
    def protocol_text(self) -> str:
        return self.protocol.text_for(self.learner)

    def strength_divisor(self, layer: str, rows: int, fan_in: int) -> float:
        """The strength of a neuron is the norm of its row divided by this number."""
        plain = (
            layer == "output"
            and self.configuration.output == "exponential"
            and self.learner == HEBBIAN.name
            and self.protocol.exponential_output == "l2"
        )
        counts = {"l2": 1, "rms": fan_in, "rms-rows": rows}
        return 1.0 if plain else math.sqrt(counts[self.protocol.neuron_norm])

    def keeps_unit_rows(self, growth: str) -> bool:
        """Whether a layer of this growth keeps its rows at unit length."""
        return (
            growth == "exponential"
            and self.configuration.focus == "neuron"
            and self.protocol.neuron_exponential == "renormalise"
        )

    def task_of(self, label: int) -> tuple[int, ...]:
        """The classes of the task that a class belongs to; all classes if there are no tasks."""
        tasks = self.experiment.tasks if isinstance(self.experiment, Sequential) else ()
        return next((task for task in tasks if label in task), tuple(range(self.record.classes)))

    @property
    def hidden_part(self) -> Trial:
        """A key: trials with equal hidden parts have the same hidden layer.

        A Hebbian hidden layer learns independently of the output layer. That of SGD does not.
        """
        if not self.kind.shares_hidden:
            return self
        hidden = self.configuration.hidden
        focus = "neuron" if hidden == "linear" else self.configuration.focus
        return dataclasses.replace(self, configuration=Configuration(hidden, "linear", focus))

    @property
    def text(self) -> str:
        """The canonical text: key=value pairs in a fixed order, separated by commas."""
        items = {
            "dataset": self.dataset,
            "learner": self.learner,
            "configuration": self.configuration.name,
            "protocol": self.protocol_text,
            **self.experiment.items(),
            "hidden": str(self.hidden),
            "lambda": _optional(self.lateral_inhibition),
            "eta": _optional(self.eta),
            "alpha": number_text(self.alpha),
            "beta": number_text(self.beta),
            "seed": str(self.seed),
            "split": self.split,
            "train_limit": _optional(self.train_limit),
            "test_limit": _optional(self.test_limit),
            "control": self.control.text if self.control is not None else "",
        }
        return ",".join(f"{key}={value}" for key, value in items.items() if value != "")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a canonical text. Numbers may be written in other ways."""
        items: dict[str, Any] = dict(part.partition("=")[::2] for part in text.split(","))
        kind = items.pop("experiment", "iid")
        experiment: Iid | Sequential
        try:
            if kind == "sequential":
                items["tasks"] = Sequential.parse_tasks(items["tasks"])
                experiment = _take(Sequential, items)
            elif kind == "iid":
                experiment = _take(Iid, items)
            else:
                raise SnapError(f"experiment must be iid or sequential, got {kind!r}")
            if "lambda" in items:
                items["lateral_inhibition"] = items.pop("lambda")
            return cls(experiment=experiment, **items)
        except (TypeError, KeyError) as error:
            reason = printable(str(error), 200)
            raise SnapError(f"{printable(repr(text), 400)} is not a trial: {reason}") from None

    def fingerprint(self, dataset_checksum: str, engine: str) -> str:
        """A hash of everything that can change the result.

        The engine is part of it, because engines round differently and rounding can be amplified.
        The processor is not, so that machines can share results, although compiled loops round
        differently on another kind of processor.
        """
        lines = (f"semantics={SEMANTICS}", f"engine={engine}", dataset_checksum, self.text)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _positive(value: Any, name: str) -> float:
    number = parse_number(value, name)
    if number <= 0:
        raise SnapError(f"{name} must be above 0, got {number_text(number)}")
    return number


def _optional(value: float | None) -> str:
    return "" if value is None else number_text(value)


def _take(kind: type, items: dict[str, Any]) -> Any:
    """Remove the items that are fields of `kind`, and build it from them."""
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: items.pop(name) for name in list(items) if name in names})
