"""The readings of the paper, and every switch between them.

A network trained by the text alone does not learn. The reference reading adds what the text leaves
out. Each difference is one switch, and any mixture of switches is a valid protocol.

A switch is declared once, as a field of `Protocol`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from snap.errors import SnapError
from snap.learners import HEBBIAN, SGD, Learner


@dataclass(frozen=True)
class Switch:
    """One difference between the readings. The first value is that of the reading `text`."""

    values: tuple[str, ...]
    reference: str
    learners: str
    meaning: str

    @property
    def text(self) -> str:
        """The value in the reading `text`."""
        return self.values[0]


def switch(*values: str, reference: str, learners: tuple[Learner, ...], meaning: str) -> Any:
    """Declare a switch; its value in the reference reading is the default."""
    names = ", ".join(learner.name for learner in learners)
    declared = Switch(values, reference, names, meaning)
    return field(default=reference, metadata={"switch": declared})


@dataclass(frozen=True)
class Protocol:
    """A setting of every switch. The defaults are the reference reading."""

    forward_weights: str = switch(
        "raw",
        "normalized",
        reference="normalized",
        learners=(HEBBIAN,),
        meaning="hidden activation from W_i·x, or from W_i·x / ‖W_i‖",
    )
    orthogonality: str = switch(
        "raw",
        "norm-ratio",
        reference="norm-ratio",
        learners=(HEBBIAN,),
        meaning="subtract η·Σ h_k·W_k, or η·‖W_i‖·Σ h_k·W_k/‖W_k‖, over k < i",
    )
    neuron_norm: str = switch(
        "l2",
        "rms",
        reference="rms",
        learners=(HEBBIAN, SGD),
        meaning="strength of a neuron: ‖W_i‖, or ‖W_i‖/√fan-in",
    )
    plasticity_floor: str = switch(
        "none",
        "clamped",
        reference="clamped",
        learners=(HEBBIAN, SGD),
        meaning="sigmoid plasticity beyond strength 1: negative, or zero (consolidated is frozen)",
    )
    hidden_sign: str = switch(
        "free",
        "non-negative",
        reference="non-negative",
        learners=(HEBBIAN,),
        meaning="hidden weights after an update: as they come, or max(W, 0)",
    )
    neuron_exponential: str = switch(
        "multiply",
        "renormalise",
        reference="renormalise",
        learners=(HEBBIAN, SGD),
        meaning="neuron-wise exponential growth: multiply by the norm, or keep every row at unit"
        " length (hebbian: hidden rows, in place of the factor; sgd: both layers, besides the"
        " factor)",
    )
    output_rows: str = switch(
        "free",
        "renormalised",
        reference="renormalised",
        learners=(HEBBIAN,),
        meaning="output rows after an update: as they come, or every row at unit length",
    )
    output_rule: str = switch(
        "error-softmax",
        "error-onehot",
        "error-raw",
        "label",
        reference="label",
        learners=(HEBBIAN,),
        meaning="output update: (label − ỹ)·h with ỹ the softmax, the one-hot prediction or the raw"
        " activation; or label·h, which moves the label's row alone",
    )

    def __post_init__(self) -> None:
        for name, declared in SWITCHES.items():
            value = getattr(self, name)
            if value not in declared.values:
                raise SnapError(
                    f"protocol switch {name} must be one of {', '.join(declared.values)},"
                    f" got {value!r}"
                )

    @property
    def text(self) -> str:
        """`text`, `reference`, or the reference and what differs: reference+output_rule=…"""
        if self == TEXT:
            return "text"
        differs = [
            f"+{name}={getattr(self, name)}"
            for name in SWITCHES
            if getattr(self, name) != getattr(REFERENCE, name)
        ]
        return "reference" + "".join(differs)

    @classmethod
    def parse(cls, text: str) -> Protocol:
        """Read a name followed by any number of +switch=value, each changing one switch."""
        name, *changes = str(text).split("+")
        if name not in NAMED:
            raise SnapError(f"protocol must be one of {', '.join(NAMED)}, got {name!r}")
        values: dict[str, str] = {}
        for change in changes:
            changed, _, value = change.partition("=")
            if changed not in SWITCHES:
                raise SnapError(
                    f"unknown protocol switch {changed!r}: choose from {', '.join(SWITCHES)}"
                )
            values[changed] = value
        return dataclasses.replace(NAMED[name], **values)


SWITCHES: dict[str, Switch] = {
    declared.name: declared.metadata["switch"] for declared in dataclasses.fields(Protocol)
}
REFERENCE = Protocol()
TEXT = Protocol(**{name: declared.text for name, declared in SWITCHES.items()})
NAMED = {"text": TEXT, "reference": REFERENCE}

# What every reading has in common; these are not switches.
AGREED: dict[str, str] = {
    "inhibition": "h_i = (a_i / max_k a_k)^λ, and h = 0 where every a is 0",
    "initial_weights": "Uniform(0, β)",
    "evaluation": "argmax over all outputs: no task identity, ever",
}


def _ladder() -> list[tuple[str, Protocol]]:
    rungs = [("", TEXT)]
    for name in SWITCHES:
        value = {name: getattr(REFERENCE, name)}
        rungs.append((name, dataclasses.replace(rungs[-1][1], **value)))
    return rungs


# From `text` to `reference`: each switch in turn, with the protocol that it leads to.
LADDER = _ladder()
