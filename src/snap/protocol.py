"""The readings of the paper, and every switch between them.

There are three readings. `text` is the equations as printed; a network trained by them does not
learn. `reference` adds the least that makes it learn. `code` is what the paper's public code
computes. Each difference is one switch, and any mixture of switches is a valid protocol.

A switch is declared once, as a field of `Protocol`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from snap.errors import SnapError
from snap.learners import HEBBIAN, LEARNERS, SGD, Learner


@dataclass(frozen=True)
class Switch:
    """One difference between the readings. The first value is that of the reading `text`."""

    values: tuple[str, ...]
    reference: str
    code: str  # in the reading `code`, for the learners in `code_learners`
    learners: tuple[str, ...]
    code_learners: tuple[str, ...]
    meaning: str

    @property
    def text(self) -> str:
        """The value in the reading `text`."""
        return self.values[0]

    def in_code(self, learner: str) -> str:
        """The value in the reading `code`. The public code of the two learners differs."""
        return self.code if learner in self.code_learners else self.reference


def switch(
    *values: str,
    reference: str,
    learners: tuple[Learner, ...],
    meaning: str,
    code: str | None = None,
    code_learners: tuple[Learner, ...] | None = None,
) -> Any:
    """Declare a switch. The default is its value in the reference reading.

    Without `code`, the reading `code` agrees with the reference reading.
    """
    declared = Switch(
        values,
        reference,
        reference if code is None else code,
        tuple(learner.name for learner in learners),
        tuple(learner.name for learner in code_learners or learners),
        meaning,
    )
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
        "norm-ratio-epsilon",
        reference="norm-ratio",
        code="norm-ratio-epsilon",
        learners=(HEBBIAN,),
        meaning="subtract η·Σ h_k·W_k, or η·‖W_i‖·Σ h_k·W_k/‖W_k‖, over k < i; or the latter with"
        " ‖W_k‖ + 1e-7 as divisor",
    )
    neuron_norm: str = switch(
        "l2",
        "rms",
        "rms-rows",
        reference="rms",
        code="rms-rows",
        learners=(HEBBIAN, SGD),
        code_learners=(HEBBIAN,),
        meaning="strength of a neuron: ‖W_i‖, ‖W_i‖/√fan-in, or ‖W_i‖/√(number of rows)",
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
    exponential_output: str = switch(
        "strength",
        "l2",
        reference="strength",
        code="l2",
        learners=(HEBBIAN,),
        meaning="factor of a neuron-wise exponential output layer: its strength as neuron_norm"
        " defines it, or ‖V_c‖ undivided",
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
    bias: str = switch(
        "none",
        "fixed",
        reference="none",
        code="fixed",
        learners=(HEBBIAN,),
        meaning="no bias; or one in both layers, drawn once from Uniform(0, β) and never learned",
    )
    sgd_initial_weights: str = switch(
        "uniform",
        "code",
        reference="uniform",
        code="code",
        learners=(SGD,),
        meaning="Uniform(0, β); or signed: rows in random directions with strengths (RMS) spread"
        " log-uniformly from β to 100·β, and synapse-wise β·Uniform(±1/√fan-in)",
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
    def epsilon(self) -> float:
        """What is added to a norm that divides an earlier neuron's weights in eq:sanger."""
        return 1e-7 if self.orthogonality == "norm-ratio-epsilon" else 0.0

    @property
    def text(self) -> str:
        """The name of this protocol for Hebbian learning."""
        return self.text_for(HEBBIAN.name)

    def text_for(self, learner: str) -> str:
        """`text`, `reference`, `code`, or the differences: reference+output_rule=…"""
        if self == TEXT:
            return "text"
        if self == named("code", learner):
            return "code"
        differs = [
            f"+{name}={getattr(self, name)}"
            for name in SWITCHES
            if getattr(self, name) != getattr(REFERENCE, name)
        ]
        return "reference" + "".join(differs)

    @classmethod
    def parse(cls, text: str, learner: str = HEBBIAN.name) -> Protocol:
        """Read a name followed by any number of +switch=value, each changing one switch.

        `code` depends on the learner, because the public code of each is a branch of its own.
        """
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
        return dataclasses.replace(named(name, learner), **values)


SWITCHES: dict[str, Switch] = {
    declared.name: declared.metadata["switch"] for declared in dataclasses.fields(Protocol)
}
REFERENCE = Protocol()
TEXT = Protocol(**{name: declared.text for name, declared in SWITCHES.items()})
_CODE = {
    learner: Protocol(**{name: declared.in_code(learner) for name, declared in SWITCHES.items()})
    for learner in LEARNERS
}
NAMED = ("text", "reference", "code")


def named(name: str, learner: str = HEBBIAN.name) -> Protocol:
    """The protocol of a named reading."""
    return {"text": TEXT, "reference": REFERENCE, "code": _CODE[learner]}[name]


CODE = named("code")  # for Hebbian learning

# What every reading has in common; these are not switches.
AGREED: dict[str, str] = {
    "inhibition": "h_i = (a_i / max_k a_k)^λ, and h = 0 where every a is 0",
    "initial_weights": "Uniform(0, β) for Hebbian learning",
    "evaluation": "argmax over all outputs: no task identity, ever",
}


def _ladder() -> list[tuple[str, Protocol]]:
    rungs = [("", TEXT)]
    for goal in (REFERENCE, CODE):
        for name in SWITCHES:
            if getattr(goal, name) != getattr(rungs[-1][1], name):
                value = {name: getattr(goal, name)}
                rungs.append((name, dataclasses.replace(rungs[-1][1], **value)))
    return rungs


# From `text` to `reference` and on to `code`, for Hebbian learning: one switch at a time, each with
# the protocol that it leads to.
LADDER = _ladder()
