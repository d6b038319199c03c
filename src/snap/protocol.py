"""The two readings of the paper, and every switch between them.

Trained as the text has it, the network does not learn; the reference reading fills in what the
text leaves out. Each difference is one switch, and any mixture of switches is a valid protocol.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from snap.errors import SnapError


@dataclass(frozen=True)
class Switch:
    """One difference between the readings: its values, the text's first, and what it decides."""

    values: tuple[str, ...]
    reference: str
    learners: str
    meaning: str


HEBBIAN, BOTH = "hebbian", "hebbian, sgd"

SWITCHES: dict[str, Switch] = {
    "forward_weights": Switch(
        ("raw", "normalized"),
        "normalized",
        HEBBIAN,
        "hidden activation from W_i·x, or from W_i·x / ‖W_i‖",
    ),
    "orthogonality": Switch(
        ("raw", "norm-ratio"),
        "norm-ratio",
        HEBBIAN,
        "subtract η·Σ h_k·W_k, or η·‖W_i‖·Σ h_k·W_k/‖W_k‖, over k < i",
    ),
    "neuron_norm": Switch(
        ("l2", "rms"),
        "rms",
        BOTH,
        "strength of a neuron: ‖W_i‖, or ‖W_i‖/√fan-in",
    ),
    "plasticity_floor": Switch(
        ("none", "clamped"),
        "clamped",
        BOTH,
        "sigmoid plasticity beyond strength 1: negative, or zero (consolidated is frozen)",
    ),
    "hidden_sign": Switch(
        ("free", "non-negative"),
        "non-negative",
        HEBBIAN,
        "hidden weights after an update: as they come, or max(W, 0)",
    ),
    "neuron_exponential": Switch(
        ("multiply", "renormalise"),
        "renormalise",
        BOTH,
        "neuron-wise exponential growth: multiply by the norm, or keep every row at unit length"
        " (hebbian: hidden rows, in place of the factor; sgd: both layers, besides the factor)",
    ),
    "output_rows": Switch(
        ("free", "renormalised"),
        "renormalised",
        HEBBIAN,
        "output rows after an update: as they come, or every row at unit length",
    ),
    "output_rule": Switch(
        ("error-softmax", "error-onehot", "error-raw", "label"),
        "label",
        HEBBIAN,
        "output update: (label − ỹ)·h with ỹ the softmax, the one-hot prediction or the raw"
        " activation; or label·h, which moves the label's row alone",
    ),
}

# Rows of the comparison in which the two readings agree; they are not switches.
AGREED: dict[str, str] = {
    "inhibition": "h_i = (a_i / max_k a_k)^λ, and h = 0 where every a is 0",
    "initial_weights": "Uniform(0, β)",
    "evaluation": "argmax over all outputs: no task identity, ever",
}


@dataclass(frozen=True)
class Protocol:
    """A setting of every switch. The defaults are the reference reading."""

    forward_weights: str = "normalized"
    orthogonality: str = "norm-ratio"
    neuron_norm: str = "rms"
    plasticity_floor: str = "clamped"
    hidden_sign: str = "non-negative"
    neuron_exponential: str = "renormalise"
    output_rows: str = "renormalised"
    output_rule: str = "label"

    def __post_init__(self) -> None:
        for name, switch in SWITCHES.items():
            value = getattr(self, name)
            if value not in switch.values:
                raise SnapError(
                    f"protocol switch {name} must be one of {', '.join(switch.values)},"
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
            switch, _, value = change.partition("=")
            if switch not in SWITCHES:
                raise SnapError(
                    f"unknown protocol switch {switch!r}: choose from {', '.join(SWITCHES)}"
                )
            values[switch] = value
        return dataclasses.replace(NAMED[name], **values)


REFERENCE = Protocol()
TEXT = Protocol(**{name: switch.values[0] for name, switch in SWITCHES.items()})
NAMED = {"text": TEXT, "reference": REFERENCE}


def _ladder() -> list[tuple[str, Protocol]]:
    rungs = [("", TEXT)]
    for name in SWITCHES:
        value = {name: getattr(REFERENCE, name)}
        rungs.append((name, dataclasses.replace(rungs[-1][1], **value)))
    return rungs


# From `text` to `reference`: each switch in turn, with the protocol that it leads to.
LADDER = _ladder()
