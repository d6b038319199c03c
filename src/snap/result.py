"""The result of a trial."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from snap import metrics
from snap.initial import Weights
from snap.trial import Trial


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
