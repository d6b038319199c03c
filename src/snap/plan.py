"""A configuration as typed data, and the jobs and trials that follow from it.

Nothing here is heavy to import or knows who runs the trials. What a job is told is in snap.specs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from snap.canonical import number_text
from snap.errors import SnapError
from snap.protocol import LADDER, Protocol
from snap.trial import Configuration, Iid, Sequential, Trial

NO_LAMBDA = "none"  # how a path spells the λ that SGD does not have
STAGES = ("search", "iid", "sequential", "ladder", "portrait")

# For estimates before anything has been measured.
SECONDS_PER_WEIGHT_ROW = 0.17e-6  # per sample and hidden neuron, on one core
TRAINING_SAMPLES = {"MNIST": 60_000, "FashionMNIST": 60_000, "Synthetic": 2_000}


@dataclass(frozen=True)
class Cell:
    """What one optimum is sought for: a learner, a dataset, a configuration and a λ."""

    learner: str
    dataset: str
    hidden: int
    configuration: str
    lateral_inhibition: float | None

    @property
    def lambda_text(self) -> str:
        power = self.lateral_inhibition
        return NO_LAMBDA if power is None else number_text(power)


@dataclass(frozen=True)
class Job:
    """Cells that are computed together; `part` of `parts` where their points are spread.

    Of a search, cells of configurations that share their hidden layer follow each other.
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
        """Check a configuration against its schema and its meaning; errors name the key."""
        from snap.config import complete

        plan = cls(
            complete(config, yaml.safe_load(schema.read_text())),
            yaml.safe_load(paper.read_text()),
        )
        plan._check()
        return plan

    # What there is

    @property
    def run(self) -> str:
        return str(self.config["run"])

    @property
    def reduced(self) -> str:
        return str(self.config["reduced"])

    @property
    def datasets(self) -> list[str]:
        return [dataset["name"] for dataset in self.config["datasets"]]

    @property
    def searches(self) -> bool:
        """Whether Hebbian pairs are searched for, or given by the paper."""
        return self.config["search"]["pairs"] is None

    def configurations(self, learner: str) -> list[str]:
        section = self.config["sgd"] if learner == "sgd" else self.config
        names = [Configuration.parse(name).name for name in section["configurations"]]
        return names

    @property
    def families(self) -> list[tuple[str, str, str]]:
        """Every learner, dataset and configuration."""
        return [
            (learner, dataset, configuration)
            for learner in ("hebbian", "sgd")
            for dataset in self.datasets
            for configuration in self.configurations(learner)
        ]

    def layers(self, learner: str) -> dict[str, list[str]]:
        """The configurations by what their search jobs are named after.

        Hebbian ones whose hidden layers grow alike share it, so that it is trained once for all.
        """
        found: dict[str, list[str]] = {}
        for name in self.configurations(learner):
            hebbian = learner == "hebbian"
            layer = Configuration.parse(name).hidden_layer if hebbian else name
            found.setdefault(layer, []).append(name)
        return found

    def layer(self, cell: Cell) -> str:
        """What the search jobs of a cell are named after."""
        layers = self.layers(cell.learner)
        return next(layer for layer, names in layers.items() if cell.configuration in names)

    def cells(self, learner: str, dataset: str, configuration: str) -> list[Cell]:
        """The cells of a family, in the order of λ."""
        hidden = next(d["hidden"] for d in self.config["datasets"] if d["name"] == dataset)
        powers: list[float | None] = [None]
        if learner == "hebbian":
            powers = [float(power) for power in sorted(self.config["lambdas"])]
        return [Cell(learner, dataset, hidden, configuration, power) for power in powers]

    @property
    def all_cells(self) -> list[Cell]:
        return [cell for family in self.families for cell in self.cells(*family)]

    def pairs(self, cell: Cell) -> list[tuple[float | None, float]]:
        """The (η, α) to try for a cell; a single one, from the paper's table, where it is given."""
        if cell.learner == "sgd":
            return [(None, alpha) for alpha in sorted(map(float, self.config["sgd"]["alpha"]))]
        given = self.given_pair(cell)
        if given is not None:
            return [given]
        grid = self.config["grids"][self.config["search"]["grid"]]
        etas, alphas = (sorted(map(float, grid[name])) for name in ("eta", "alpha"))
        return list(itertools.product(etas, alphas))

    def paper_pair(self, cell: Cell) -> tuple[float, float] | None:
        """The pair in the paper's table, if it has the cell."""
        table = self.paper["pairs"].get(cell.dataset, {}).get(cell.configuration, {})
        for power, (eta, alpha) in table.items():
            if float(power) == cell.lateral_inhibition:
                return float(eta), float(alpha)
        return None

    def given_pair(self, cell: Cell) -> tuple[float, float] | None:
        return None if self.searches or cell.learner == "sgd" else self.paper_pair(cell)

    # Jobs

    def jobs(self, stage: str, learner: str, dataset: str, name: str) -> list[Job]:
        """How a stage's cells are put into jobs. Changes no result.

        The name is that of a configuration, or for the search that of a layer.
        """
        names = self.layers(learner)[name] if stage == "search" else [name]
        cells = list(zip(*(self.cells(learner, dataset, one) for one in names), strict=True))
        together = int(self.config["lambdas_per_job"])
        most = self.config["points_per_job"]
        points = len(self.pairs(cells[0][0]))
        if stage == "search" and most is not None and most < points:
            parts = math.ceil(points / most)
            return [Job(alike, part, parts) for alike in cells for part in range(1, parts + 1)]
        groups = [cells[n : n + together] for n in range(0, len(cells), together)]
        return [Job(tuple(itertools.chain(*group))) for group in groups]

    def job(self, stage: str, learner: str, dataset: str, name: str, label: str) -> Job:
        """The job whose label a path holds."""
        for job in self.jobs(stage, learner, dataset, name):
            if job.label == label:
                return job
        raise SnapError(f"no {stage} job {label} for {learner} {dataset} {name}")

    def points(self, job: Job, cell: Cell) -> list[tuple[float | None, float]]:
        """The pairs of a cell that a search job tries."""
        pairs = self.pairs(cell)
        size = math.ceil(len(pairs) / job.parts)
        return pairs[(job.part - 1) * size : job.part * size]

    def seeds(self, stage: str) -> list[int]:
        return [int(seed) for seed in self.config[stage]["seeds"]]

    @property
    def ladder_cells(self) -> list[Cell]:
        """The cells in which one protocol switch after the other is turned."""
        wanted = self.config["ladder"]
        names = [Configuration.parse(name).name for name in wanted["configurations"]]
        return [
            cell
            for cell in self.all_cells
            if cell.learner == "hebbian"
            and cell.configuration in names
            and cell.lateral_inhibition == wanted["lambda"]
        ]

    def portrait_families(self, dataset: str) -> list[tuple[str, str, str]]:
        """The families of a dataset whose weights are looked at."""
        names = [Configuration.parse(name).name for name in self.config["portraits"]]
        return [f for f in self.families if f[1] == dataset and f[2] in names]

    def open_trial(self, stage: str, cell: Cell, seed: int) -> Trial:
        """A trial whose pair is still open: η = 0 and α = 1 hold the places."""
        return self.trial(stage, cell, None if cell.learner == "sgd" else 0.0, 1.0, seed)

    def trial(self, stage: str, cell: Cell, eta: float | None, alpha: float, seed: int) -> Trial:
        config = self.config
        experiment: Iid | Sequential
        if stage == "sequential":
            section = config["sequential"]
            experiment = Sequential(
                section["tasks"],
                section["threshold"],
                section["max_epochs"],
                section["judged_on"],
                (config["sgd"] if cell.learner == "sgd" else section)["curve_every"],
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
            protocol=Protocol.parse(config["protocol"]),
            experiment=experiment,
            hidden=cell.hidden,
            beta=config["beta"],
            seed=seed,
            split=config["search"]["split"] if stage == "search" else "test",
            train_limit=config["limits"]["train"],
            test_limit=config["limits"]["test"],
        )

    def work(self, stage: str) -> list[dict[str, Any]]:
        """Every training job of a stage: the pieces of its paths, its trials, a rough cost."""
        if stage == "ladder":
            return [self._ladder_work(cell) for cell in self.ladder_cells]
        if stage == "portrait":
            return [self._portrait_work(dataset) for dataset in self.datasets]
        if stage == "search":
            return self._search_work()
        found = []
        for learner, dataset, configuration in self.families:
            for job in self.jobs(stage, learner, dataset, configuration):
                pieces: dict[str, Any] = {"learner": learner, "dataset": dataset}
                pieces |= {"configuration": configuration, "job": job.label}
                trials = len(job.cells) * len(self.seeds(stage))
                found.append(pieces | {"trials": trials, "cost": trials * self._cost(stage, job)})
        return found

    def _search_work(self) -> list[dict[str, Any]]:
        found = []
        for learner, dataset in itertools.product(("hebbian", "sgd"), self.datasets):
            layers = self.layers(learner) if self.searches or learner == "sgd" else {}
            for layer, configurations in layers.items():
                for job in self.jobs("search", learner, dataset, layer):
                    pieces: dict[str, Any] = {"learner": learner, "dataset": dataset}
                    pieces |= {"layer": layer, "job": job.label}
                    trials = sum(len(self.points(job, cell)) for cell in job.cells)
                    cost = trials / len(configurations) * self._cost("search", job)
                    pieces |= {"trials": trials, "cost": cost}
                    found += [pieces | {"seed": seed} for seed in self.seeds("search")]
        return found

    def _cost(self, stage: str, job: Job) -> float:
        """Seconds, roughly, for a hidden layer of the job."""
        cell = job.cells[0]
        return self._samples(stage, cell.dataset) * cell.hidden * SECONDS_PER_WEIGHT_ROW

    @property
    def core_hours(self) -> float:
        """What all its training would take on one core, roughly, if none of it were done."""
        return float(sum(job["cost"] for stage in STAGES for job in self.work(stage)) / 3600)

    def _ladder_work(self, cell: Cell) -> dict[str, Any]:
        # The last rung is a trial of the final runs.
        trials = 2 * (len(LADDER) - 1) * len(self.seeds("ladder"))
        samples = sum(self._samples(stage, cell.dataset) for stage in ("iid", "sequential")) / 2
        cost = trials * samples * cell.hidden * SECONDS_PER_WEIGHT_ROW
        where = {"dataset": cell.dataset, "configuration": cell.configuration}
        return where | {"trials": trials, "cost": cost}

    def _portrait_work(self, dataset: str) -> dict[str, Any]:
        families = self.portrait_families(dataset)
        width = max(d["hidden"] for d in self.config["datasets"] if d["name"] == dataset)
        cost = self._samples("sequential", dataset) * width * SECONDS_PER_WEIGHT_ROW
        return {"dataset": dataset, "trials": len(families), "cost": len(families) * cost}

    def _samples(self, stage: str, dataset: str) -> float:
        """Samples of a trial, roughly: a task in sequence takes a quarter of its epochs."""
        samples = self.config["limits"]["train"] or TRAINING_SAMPLES[dataset]
        if stage == "sequential":
            return float(samples * (1 + self.config["sequential"]["max_epochs"] / 4))
        return float(samples * self.config[stage]["epochs"])

    def _check(self) -> None:
        """What a schema cannot say."""
        config = self.config
        for learner, key in (("hebbian", "configurations"), ("sgd", "sgd.configurations")):
            names = _named(key, lambda at=learner: self.configurations(at))
            if len(set(names)) < len(names):
                raise SnapError(f"config key {key}: a configuration is named twice")
        _named("protocol", lambda: Protocol.parse(config["protocol"]))
        names = self.datasets
        if len(set(names)) < len(names):
            raise SnapError("config key datasets: a dataset is named twice")
        if self.run == "trials":
            raise SnapError("config key run: results/trials is where finished trials are kept")
        search = config["search"]
        if (search["grid"] is None) == (search["pairs"] is None):
            raise SnapError("config key search: give either grid or pairs, and null for the other")
        if search["grid"] is not None and search["grid"] not in config["grids"]:
            known = ", ".join(sorted(config["grids"]))
            raise SnapError(
                f"config key search.grid: {search['grid']!r} is not among grids: {known}"
            )
        for cell in self.all_cells:
            if not self.searches and cell.learner == "hebbian" and not self.paper_pair(cell):
                raise SnapError(
                    f"config key search.pairs: the paper's table has no pair for {cell.dataset},"
                    f" {cell.configuration}, λ = {cell.lambda_text}"
                )
        _named("sequential", lambda: self.open_trial("sequential", self.all_cells[0], 0))
        for key, given in (
            ("ladder.configurations", config["ladder"]["configurations"]),
            ("portraits", config["portraits"]),
        ):
            _named(key, lambda at=given: [Configuration.parse(name) for name in at])


def _named(key: str, make: Any) -> Any:
    try:
        return make()
    except SnapError as error:
        raise SnapError(f"config key {key}: {error}") from None
