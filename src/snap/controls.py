"""Controls: what a trial does besides its learner's rule, to be compared with the paper's methods.

One record for each. They are not in the paper. A control acts on tasks in sequence; on i.i.d. data
only `random-hidden` differs from its learner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from snap.errors import SnapError
from snap.learners import HEBBIAN, SGD
from snap.numbers import number_text, parse_number, parse_whole

MOST_SAMPLES = 1_000_000
DAMPING = 0.1  # ξ of SI: keeps the importance of a weight that hardly moved finite


@dataclass(frozen=True)
class Kind:
    """The properties of a control. Its rule is in the engines, replay's in `snap.replay`."""

    name: str
    label: str  # in tables and figures
    learners: tuple[str, ...]  # those that it can be combined with
    amount: str = ""  # what its number is, if it has one
    whole: bool = False  # whether that is a whole number
    linear: bool = False  # whether both layers must grow linearly
    alters_iid: bool = False  # whether it makes a difference on i.i.d. data
    keeps: bool = False  # whether it keeps numbers from earlier tasks, besides the weights
    engines: tuple[str, ...] | None = ("reference", "cpu")  # None: no engine needs a rule for it


KINDS = {
    kind.name: kind
    for kind in (
        # The hidden layer stays as it was initialised.
        Kind("random-hidden", "random hidden layer", (HEBBIAN.name,), alters_iid=True),
        # The softmax of training leaves out the classes of other tasks.
        Kind("mask", "softmax over the task's classes", (SGD.name,)),
        # Each new sample is followed by one from a reservoir of past ones.
        Kind(
            "replay",
            "replay",
            (HEBBIAN.name, SGD.name),
            amount="number of samples",
            whole=True,
            engines=None,
        ),
        # Online elastic weight consolidation: a quadratic penalty weighted by the diagonal Fisher
        # information, which is summed over tasks (Kirkpatrick et al. 2017; Schwarz et al. 2018).
        Kind("ewc", "EWC", (SGD.name,), amount="strength", linear=True, keeps=True),
        # Synaptic intelligence: the penalty is weighted by how much the path of each weight has
        # lowered the loss (Zenke et al. 2017).
        Kind("si", "SI", (SGD.name,), amount="strength", linear=True, keeps=True),
    )
}


@dataclass(frozen=True)
class Control:
    """A control and its number, if it has one: mask, replay-500, ewc-0.1."""

    name: str
    amount: float | None = None

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            raise SnapError(f"control must be one of {', '.join(KINDS)}, got {self.name!r}")
        kind = self.kind
        if not kind.amount:
            if self.amount is not None:
                raise SnapError(
                    f"the control {self.name} has no number, got {number_text(self.amount)}"
                )
            return
        what = f"the {kind.amount} of {self.name}"
        if self.amount is None:
            raise SnapError(f"{what} is missing: write {self.name}-100, for example")
        if kind.whole:
            amount: float = parse_whole(number_text(self.amount), what, least=1)
            if amount > MOST_SAMPLES:
                raise SnapError(f"{what} must be at most {MOST_SAMPLES}, got {number_text(amount)}")
        else:
            amount = parse_number(self.amount, what)
            if amount <= 0:
                raise SnapError(f"{what} must be above 0, got {number_text(amount)}")
        object.__setattr__(self, "amount", amount)

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]

    @property
    def text(self) -> str:
        return self.name if self.amount is None else f"{self.name}-{number_text(self.amount)}"

    def runs_on(self, engine: str) -> bool:
        return self.kind.engines is None or engine in self.kind.engines

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read its text. A number follows the name and a hyphen; it may be negative or not."""
        for name, kind in KINDS.items():
            if text.startswith(f"{name}-"):
                what = f"the {kind.amount or 'number'} of {name}"
                return cls(name, parse_number(text.removeprefix(f"{name}-"), what))
        return cls(text)
