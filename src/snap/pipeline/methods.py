"""The methods of the controls: what a plan compares the paper's results with. Not in the paper.

A method is a control with a learner and a configuration, on one dataset. Its learning rate, and the
strength of its penalty if it has one, are chosen in two ways: as the paper chooses (η, α), by
accuracy on i.i.d. data; and by accuracy after the sequence, on held-out training samples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snap.controls import KINDS, Control
from snap.data.datasets import record
from snap.errors import SnapError
from snap.learners import LEARNERS
from snap.numbers import number_text
from snap.trial import Configuration, Sequential, Trial

if TYPE_CHECKING:  # a plan checks its methods
    from snap.pipeline.plan import Cell, Pair, Plan

# Sections that are no control of a trial: the paper's methods as they are, the same with all
# classes at once, and the mean image per class, which needs no network.
PLAIN, JOINT, CLASS_MEANS = "plain", "joint", "class-means"
# The two ways of choosing.
IID, SEQUENCE = "iid", "sequence"


@dataclass(frozen=True)
class Method:
    """One job. With several amounts, one of them is chosen."""

    section: str  # of `controls` in the configuration
    dataset: str
    learner: str = ""  # of no learner: class means
    configuration: str = ""
    amounts: tuple[float | None, ...] = (None,)

    @property
    def name(self) -> str:
        """The last piece of the job's paths."""
        if not self.learner:
            return self.section
        control = self.section
        if control in KINDS and KINDS[control].whole and self.amounts[0] is not None:
            control += f"-{number_text(self.amounts[0])}"
        return f"{control}-{self.learner}-{self.configuration}"

    @property
    def own_search(self) -> bool:
        """Whether it is searched on i.i.d. data; other methods take the pairs of the paper's."""
        return self.section in KINDS and KINDS[self.section].alters_iid

    @property
    def by_sequence(self) -> bool:
        """Whether it is also chosen by the sequence."""
        return bool(self.learner) and self.section != JOINT

    @property
    def recruits(self) -> bool:
        """Whether its hidden neurons consolidate, so that they can be counted at every λ."""
        return self.section == PLAIN and self.configuration.startswith("sigmoid-")


def sections(plan: Plan) -> dict[str, Mapping[str, Any]]:
    """The sections of the controls that are run; none in a run without controls."""
    given = plan.config.get("controls") or {}
    return {name: part for name, part in given.items() if part is not None and name != SEQUENCE}


def methods(plan: Plan) -> list[Method]:
    """Every method of a plan. Configurations that are not in the run are skipped."""
    return [
        method
        for name, section in sections(plan).items()
        for dataset in plan.datasets
        for method in _of_section(plan, name, section, dataset)
    ]


def _of_section(
    plan: Plan, name: str, section: Mapping[str, Any], dataset: str
) -> Iterator[Method]:
    if name == CLASS_MEANS:
        yield Method(name, dataset)
        return
    strengths = tuple(sorted(map(float, section.get("strength", ()))))
    together: list[tuple[float | None, ...]] = [strengths or (None,)]
    if "samples" in section:
        together = [(float(size),) for size in sorted(section["samples"])]
    for learner in LEARNERS:
        for given in section.get(learner, ()):
            configuration = Configuration.parse(given).name
            if configuration in plan.configurations(learner):
                for amounts in together:
                    yield Method(name, dataset, learner, configuration, amounts)


def find(plan: Plan, dataset: str, name: str) -> Method:
    for method in methods(plan):
        if (method.dataset, method.name) == (dataset, name):
            return method
    raise SnapError(f"no control {name} for {dataset}")


def nearest(plan: Plan) -> list[str]:
    """The ways in which class means are compared."""
    return list(sections(plan)[CLASS_MEANS]["nearest"])


def cells(plan: Plan, method: Method) -> list[Cell]:
    """The cells of a method, ordered by λ: those of the run that its section does not leave out."""
    if not method.learner:
        return []
    own = sections(plan)[method.section].get("lambdas")
    return [
        cell
        for cell in plan.cells(method.learner, method.dataset, method.configuration)
        if own is None or cell.lateral_inhibition is None or cell.lateral_inhibition in own
    ]


def search_pairs(plan: Plan, cell: Cell) -> list[Pair]:
    """The pairs of a search of its own on i.i.d. data: every α of the run's search.

    A random hidden layer does not learn, so η makes no difference.
    """
    pairs = plan.pairs(cell)
    alphas = sorted({alpha for _, alpha in pairs} | set(plan.then_alphas(cell)))
    return [(pairs[0][0], alpha) for alpha in alphas]


def sequence_cells(plan: Plan, method: Method) -> list[Cell]:
    """The cells among which the sequence chooses."""
    if not method.by_sequence:
        return []
    wanted = _choice(plan)["lambdas"]
    return [
        cell
        for cell in cells(plan, method)
        if cell.lateral_inhibition is None or cell.lateral_inhibition in wanted
    ]


def sequence_pairs(plan: Plan, method: Method, cell: Cell) -> list[Pair]:
    """The pairs among which the sequence chooses; for SGD, all rates of its search."""
    if not LEARNERS[cell.learner].inhibits:
        return plan.pairs(cell)
    choice = _choice(plan)
    etas = [search_pairs(plan, cell)[0][0]] if method.own_search else sorted(choice["eta"])
    return [(eta, float(alpha)) for eta in etas for alpha in sorted(choice["alpha"])]


def _choice(plan: Plan) -> Mapping[str, Any]:
    choice: Mapping[str, Any] = (plan.config.get("controls") or {})[SEQUENCE]
    return choice


def open_sequence(plan: Plan, cell: Cell, seed: int) -> Trial:
    """A sequence on held-out training samples, by whose accuracy a method is chosen.

    Only the accuracy at its end counts, so that its curve has few points.
    """
    trial = plan.open_trial("sequential", cell, seed)
    assert isinstance(trial.experiment, Sequential)
    every = plan.config["sequential"]["curve_every"]
    experiment = dataclasses.replace(trial.experiment, curve_every=every)
    return dataclasses.replace(trial, split="validation", experiment=experiment)


def controlled(trial: Trial, section: str, amount: float | None) -> Trial:
    """A trial with the control of a section."""
    if section not in KINDS:
        return trial
    return dataclasses.replace(trial, control=Control(section, amount))


def numbers(trial: Trial) -> int:
    """How many weights its network has."""
    return trial.hidden * (trial.record.side**2 + trial.record.classes)


def stored(dataset: str, section: str, amount: float | None, weights: int) -> int:
    """How many numbers a method keeps of earlier tasks, besides the weights of its network.

    EWC keeps an importance and an anchor for every weight, SI also the path since the anchor.
    """
    data = record(dataset)
    sample = data.side**2 + 1  # its pixels, and its label or how many a mean has counted
    per_weight = {"ewc": 2, "si": 3}.get(section, 0)
    samples = {"replay": int(amount or 0), CLASS_MEANS: data.classes}.get(section, 0)
    return per_weight * weights + samples * sample


def check(plan: Plan) -> None:
    """Check every trial that will need a control: a SnapError says what is wrong with it."""
    if sections(plan) and not (plan.config.get("controls") or {}).get(SEQUENCE):
        raise SnapError("the section sequence is missing: it says among what the sequence chooses")
    for method in methods(plan):
        for cell in cells(plan, method)[:1]:
            for amount in method.amounts:
                controlled(plan.open_trial("sequential", cell, 0), method.section, amount)
