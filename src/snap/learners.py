"""The learners: one record for each.

To add a learner, add its record here and its rule to the engines, the reference engine first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing them would import numpy
    from snap.data.samples import Samples
    from snap.experiments import NetworkView


def nothing(network: NetworkView, samples: Samples) -> None:
    """Do nothing at the end of a task."""


@dataclass(frozen=True)
class Learner:
    """The properties of a learner. Its rule is in the engines."""

    name: str  # in trials, configurations, tables and paths
    label: str  # in tables and figures
    prefix: str  # before the short name of a configuration
    section: str | None  # its section of config.yaml; None for the top level
    inhibits: bool  # whether it has λ and η
    shares_hidden: bool  # whether its hidden layer learns independently of the output layer
    paper_configurations: tuple[str, ...]
    # Called in a sequence when a task has ended, with the network and the task's training samples.
    end_task: Callable[[NetworkView, Samples], None] = nothing


HEBBIAN = Learner(
    name="hebbian",
    label="Hebbian",
    prefix="",
    section=None,
    inhibits=True,
    shares_hidden=True,
    paper_configurations=(
        "linear-linear",
        "exponential-linear-neuron",
        "sigmoid-linear-neuron",
        "sigmoid-sigmoid-neuron",
        "exponential-exponential-neuron",
        "sigmoid-linear-synapse",
        "sigmoid-sigmoid-synapse",
    ),
)
SGD = Learner(
    name="sgd",
    label="SGD",
    prefix="SGD ",
    section="sgd",
    inhibits=False,
    shares_hidden=False,
    paper_configurations=(
        "exponential-exponential-neuron",
        "sigmoid-sigmoid-neuron",
        "sigmoid-sigmoid-synapse",
        "linear-linear",
    ),
)
LEARNERS = {learner.name: learner for learner in (HEBBIAN, SGD)}
