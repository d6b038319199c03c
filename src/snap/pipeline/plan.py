"""A configuration as typed data, and the jobs and trials that follow from it.

This module imports quickly. Job specifications are in specs.py, cost estimates in work.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.learners import LEARNERS, Learner
from snap.numbers import number_text
from snap.pipeline import plan_check
from snap.pipeline.config import complete
from snap.pipeline.shapes import read_paper
from snap.protocol import LADDER, REFERENCE, Protocol, named
from snap.reading import read_mapping
from snap.trial import Configuration, Iid, Sequential, Trial

NO_LAMBDA = "none"  # stands for λ in the paths of a learner that has none
Pair = tuple[float | None, float]  # (η, α); η is None for a learner that has none
Rung = tuple[str, Protocol, float | None]  # what changes, where it leads, and α unless selected


@dataclass(frozen=True)
class Cell:
    """A learner, dataset, configuration and λ; the search finds one optimum for each cell."""

    learner: str
    dataset: str
    hidden: int
    configuration: str
    lateral_inhibition: float | None

    @property
    def lambda_text(self) -> str:
        lambda_ = self.lateral_inhibition
        return NO_LAMBDA if lambda_ is None else number_text(lambda_)


@dataclass(frozen=True)
class Job:
    """Cells that are computed together.

    If the points of the cells are spread over several jobs, this is job `part` of `parts`. In a
    search job, cells of configurations that share a hidden layer are adjacent.
    """

    cells: tuple[Cell, ...]
    part: int = 1
    parts: int = 1

    @property
    def label(self) -> str:
        """lambda=2, lambda=0.5..64 or lambda=2,part=1of3: the last piece of the job's paths."""
        first, last = self.cells[0].lambda_text, self.cells[-1].lambda_text
        several = f"..{last}" if last != first else ""
        spread = f",part={self.part}of{self.parts}" if self.parts > 1 else ""
        return f"lambda={first}{several}{spread}"


@dataclass(frozen=True)
class Plan:
    """The whole experiment."""

    config: Mapping[str, Any]
    paper: Mapping[str, Any]

    @classmethod
    def load(cls, config: Mapping[str, Any], schema: Path, paper: Path) -> Plan:
        """Make a plan from a configuration, after checking it; errors name the invalid key."""
        plan = cls(
            complete(config, read_mapping(schema)),
            read_paper(paper),
        )
        plan_check.check(plan)
        return plan

    # Cells and pairs

    @property
    def run(self) -> str:
        return str(self.config["run"])

    @property
    def datasets(self) -> list[str]:
        return [dataset["name"] for dataset in self.config["datasets"]]

    def section(self, learner: Learner) -> Mapping[str, Any]:
        """The part of the configuration that a learner reads."""
        part: Mapping[str, Any] = self.config[learner.section] if learner.section else self.config
        return part

    def configurations(self, learner: str) -> list[str]:
        names = self.section(LEARNERS[learner])["configurations"]
        return [Configuration.parse(name).name for name in names]

    @property
    def families(self) -> list[tuple[str, str, str]]:
        """Every learner, dataset and configuration."""
        return [
            (learner, dataset, configuration)
            for learner in LEARNERS
            for dataset in self.datasets
            for configuration in self.configurations(learner)
        ]

    def layers(self, learner: str) -> dict[str, list[str]]:
        """The configurations, grouped by the layer that their search jobs are named after.

        Configurations whose hidden layers grow alike share one, if the learner allows it.
        """
        layers: dict[str, list[str]] = {}
        for name in self.configurations(learner):
            shares = LEARNERS[learner].shares_hidden
            layer = Configuration.parse(name).hidden_layer if shares else name
            layers.setdefault(layer, []).append(name)
        return layers

    def layer(self, cell: Cell) -> str:
        """The layer that the search jobs of a cell are named after."""
        layers = self.layers(cell.learner)
        return next(layer for layer, names in layers.items() if cell.configuration in names)

    def cells(self, learner: str, dataset: str, configuration: str) -> list[Cell]:
        """The cells of a family, ordered by λ."""
        hidden = next(d["hidden"] for d in self.config["datasets"] if d["name"] == dataset)
        lambdas: list[float | None] = [None]
        if LEARNERS[learner].inhibits:
            lambdas = [float(value) for value in sorted(self.config["lambdas"])]
        return [Cell(learner, dataset, hidden, configuration, lambda_) for lambda_ in lambdas]

    @property
    def all_cells(self) -> list[Cell]:
        return [cell for family in self.families for cell in self.cells(*family)]

    def searches_for(self, learner: str) -> bool:
        """Whether to search for a learner's pairs; the paper's tables only list pairs with an η."""
        return self.config["search"]["pairs"] is None or not LEARNERS[learner].inhibits

    def pairs(self, cell: Cell) -> list[Pair]:
        """The (η, α) pairs to try for a cell; only the one from the paper's table if given."""
        learner = LEARNERS[cell.learner]
        if not learner.inhibits:
            return [(None, alpha) for alpha in sorted(map(float, self.section(learner)["alpha"]))]
        given = self.given_pair(cell)
        if given is not None:
            return [given]
        etas, alphas = self._grid
        if self.coordinate_wise:
            return [(eta, float(self.config["search"]["first_alpha"])) for eta in etas]
        return list(itertools.product(etas, alphas))

    @property
    def coordinate_wise(self) -> bool:
        """Whether η is searched first, at one α, and then α with the best η."""
        return bool(self.config["search"]["method"] == "coordinate")

    def then_alphas(self, cell: Cell) -> list[float]:
        """The rates that are tried with the best η; none unless the search is coordinate-wise."""
        learner = LEARNERS[cell.learner]
        if not self.coordinate_wise or not learner.inhibits or self.given_pair(cell):
            return []
        first = float(self.config["search"]["first_alpha"])
        return [alpha for alpha in self._grid[1] if alpha != first]

    @property
    def _grid(self) -> tuple[list[float], list[float]]:
        grid = self.config["grids"][self.config["search"]["grid"]]
        etas, alphas = (sorted(map(float, grid[name])) for name in ("eta", "alpha"))
        return etas, alphas

    def paper_pair(self, cell: Cell) -> tuple[float, float] | None:
        """The cell's pair in the paper's table, or None."""
        table = self.paper["pairs"].get(cell.dataset, {}).get(cell.configuration, {})
        for lambda_, (eta, alpha) in table.items():
            if float(lambda_) == cell.lateral_inhibition:
                return float(eta), float(alpha)
        return None

    def given_pair(self, cell: Cell) -> tuple[float, float] | None:
        return None if self.searches_for(cell.learner) else self.paper_pair(cell)

    # Jobs

    def jobs(self, stage: str, learner: str, dataset: str, name: str) -> list[Job]:
        """The jobs that compute a stage's cells. The grouping does not affect results.

        `name` is the name of a configuration, or of a layer if the stage is the search.
        """
        names = self.layers(learner)[name] if stage == "search" else [name]
        cells = list(zip(*(self.cells(learner, dataset, one) for one in names), strict=True))
        together = int(self.config["lambdas_per_job"] or self.config["lambdas_by_default"])
        most = self.config["points_per_job"]
        points = len(self.pairs(cells[0][0]))
        spread = most is not None and most < points and not self.then_alphas(cells[0][0])
        if stage == "search" and spread:
            parts = math.ceil(points / most)
            return [Job(alike, part, parts) for alike in cells for part in range(1, parts + 1)]
        groups = [cells[n : n + together] for n in range(0, len(cells), together)]
        return [Job(tuple(itertools.chain(*group))) for group in groups]

    def job(self, stage: str, learner: str, dataset: str, name: str, label: str) -> Job:
        """The job with this label, which is part of its paths."""
        for job in self.jobs(stage, learner, dataset, name):
            if job.label == label:
                return job
        raise SnapError(f"no {stage} job {label} for {learner} {dataset} {name}")

    def points(self, job: Job, cell: Cell) -> list[Pair]:
        """The pairs that a search job tries for a cell."""
        pairs = self.pairs(cell)
        size = math.ceil(len(pairs) / job.parts)
        return pairs[(job.part - 1) * size : job.part * size]

    def seeds(self, stage: str) -> list[int]:
        return [int(seed) for seed in self.config[stage]["seeds"]]

    @property
    def ladder_cells(self) -> list[Cell]:
        """The cells that are trained with one difference between the readings after the other."""
        wanted = self.config["ladder"]
        names = [Configuration.parse(name).name for name in wanted["configurations"]]
        return [
            cell
            for cell in self.all_cells
            if (
                cell.configuration in names and cell.lateral_inhibition == wanted["lambda"]
                if LEARNERS[cell.learner].inhibits
                else wanted["sgd_alpha"] is not None
            )
        ]

    def rungs(self, cell: Cell) -> list[Rung]:
        """The rungs of a cell's ladder.

        For SGD they lead from `reference` to `code`: the rate that was run, then initial weights.
        """
        if LEARNERS[cell.learner].inhibits:
            return [(switch, protocol, None) for switch, protocol in LADDER]
        rate = float(self.config["ladder"]["sgd_alpha"])
        code = named("code", cell.learner)
        return [
            ("", REFERENCE, None),
            ("alpha", REFERENCE, rate),
            ("sgd_initial_weights", code, rate),
        ]

    def portrait_families(self, dataset: str) -> list[tuple[str, str, str]]:
        """The families of a dataset whose weights are recorded: also those not in the paper."""
        names = {Configuration.parse(name).name for name in self.config["portraits"]}
        papers = {name for one in LEARNERS.values() for name in one.paper_configurations}
        return [
            (learner, name, configuration)
            for learner, name, configuration in self.families
            if name == dataset and (configuration in names or configuration not in papers)
        ]

    def open_trial(self, stage: str, cell: Cell, seed: int) -> Trial:
        """A trial whose pair is not yet known: η = 0 and α = 1 are placeholders."""
        return self.trial(stage, cell, 0.0 if LEARNERS[cell.learner].inhibits else None, 1.0, seed)

    def trial(self, stage: str, cell: Cell, eta: float | None, alpha: float, seed: int) -> Trial:
        config = self.config
        experiment: Iid | Sequential
        if stage == "sequential":
            section = config["sequential"]
            own = self.section(LEARNERS[cell.learner])
            experiment = Sequential(
                section["tasks"],
                section["threshold"],
                section["max_epochs"],
                section["judged_on"],
                own.get("curve_every", section["curve_every"]),
            )
        else:
            experiment = Iid(config[stage]["epochs"])
        return Trial(
            configuration=Configuration.parse(cell.configuration),
            alpha=alpha,
            lateral_inhibition=cell.lateral_inhibition,
            eta=eta,
            dataset=cell.dataset,
            learner=cell.learner,
            protocol=Protocol.parse(config["protocol"], cell.learner),
            experiment=experiment,
            hidden=cell.hidden,
            beta=config["beta"],
            seed=seed,
            split=config["search"]["split"] if stage == "search" else "test",
            train_limit=config["limits"]["train"],
            test_limit=config["limits"]["test"],
        )
