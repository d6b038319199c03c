"""Count the trials of a plan that are in the store, also those of jobs that have not finished."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snap.engines import ENGINES, resolve
from snap.errors import SnapError
from snap.pipeline import methods, specs
from snap.pipeline.controls import chosen
from snap.pipeline.jobs import best_eta, selected_pair
from snap.pipeline.plan import Cell, Pair, Plan
from snap.pipeline.shapes import CONFIG, PAPER, check
from snap.trial import Trial

Described = Mapping[str, Any]  # a job in plan.json
Find = Callable[[Trial], Path | None]  # a trial's file in the store, or None


def kept(content: Mapping[str, Any], results: Path, jobs: Sequence[Described]) -> dict[str, int]:
    """How many trials of each of the jobs are in the store, by the output of the job.

    `content` is that of plan.json. Jobs that cannot be counted are left out: a plan.json of another
    version may lack what is needed.
    """
    store = results / "trials"
    files = {path.name for path in store.glob("??/*.json")}
    counts = {}
    for run, config in content.get("plans", {}).items():
        try:
            check(config, CONFIG, "the configuration")
            paper = content["paper"]
            check(paper, PAPER, "the paper")
            engines = _engines(config, content["slurm"] is not None)
        except (LookupError, SnapError):
            continue

        def find(trial: Trial, engines: Sequence[str] = engines) -> Path | None:
            for engine in engines:
                name = trial.fingerprint(trial.record.checksum, engine)
                if f"{name}.json" in files:
                    return store / name[:2] / f"{name}.json"
            return None

        counter = _Counter(Plan(config, paper), results / run, find)
        for job in jobs:
            count = COUNTED.get(job["stage"])
            if count and job["output"].startswith(f"results/{run}/{job['stage']}/"):
                with contextlib.suppress(LookupError, TypeError, ValueError, OSError):
                    counts[job["output"]] = count(counter, job)
    return counts


def _engines(config: Mapping[str, Any], on_slurm: bool) -> list[str]:
    """The engines that may have trained the trials of a run.

    The nodes of a cluster may choose another engine than this machine would.
    """
    if config["engine"] == "auto" and on_slurm:
        return list(ENGINES)
    name = resolve()[0] if config["engine"] == "auto" else config["engine"]
    instead = ENGINES[name].instead
    return [name, instead] if instead else [name]


class _Counter:
    """Counts the kept trials of the jobs of one plan."""

    def __init__(self, plan: Plan, folder: Path, find: Find) -> None:
        self.plan, self.folder, self.find = plan, folder, find

    def search(self, job: Described) -> int:
        where = job["learner"], job["dataset"], job["layer"]
        described = self.plan.job("search", *where, job["job"])
        count = 0
        for cell in described.cells:
            pairs = self.plan.points(described, cell)
            found = self._found(self._searched(cell, pairs, job["seed"]))
            count += len(found)
            alphas = self.plan.then_alphas(cell)
            if alphas and len(found) == len(pairs):  # so its first half is done
                eta = best_eta([_point(trial, file) for trial, file in found.items()])
                then: list[Pair] = [(eta, alpha) for alpha in alphas]
                count += len(self._found(self._searched(cell, then, job["seed"])))
        return count

    def final(self, job: Described) -> int:
        stage = job["stage"]
        where = job["learner"], job["dataset"], job["configuration"]
        cells = self.plan.job(stage, *where, job["job"]).cells
        return len(
            self._found(
                self.plan.trial(stage, cell, *pair, seed)
                for cell in cells
                for pair in self._selected(cell)
                for seed in self.plan.seeds(stage)
            )
        )

    def ladder(self, job: Described) -> int:
        where = job["learner"], job["dataset"], job["configuration"]
        cells = self.plan.ladder_cells
        (cell,) = (c for c in cells if (c.learner, c.dataset, c.configuration) == where)
        trials = []
        for eta, alpha in self._selected(cell):
            for _, protocol, rate in self.plan.rungs(cell):
                for stage in ("iid", "sequential"):
                    for seed in self.plan.seeds("ladder"):
                        pair = eta, alpha if rate is None else rate
                        trial = self.plan.trial(stage, cell, *pair, seed)
                        trials.append(dataclasses.replace(trial, protocol=protocol))
        return len([trial for trial in trials if self.find(trial)])

    def control(self, job: Described) -> int:
        """Final trials are known once it has been chosen. The store does not keep recruits."""
        method = methods.find(self.plan, job["dataset"], job["method"])
        spec = json.loads(specs.control(self.plan, method))
        own = [] if method.own_search else methods.cells(self.plan, method)
        asking = chosen(spec, [self._selection(cell) for cell in own])
        found: dict[Trial, Path] = {}
        results = None
        # A cell may have no selection yet.
        with contextlib.suppress(StopIteration, OSError, SnapError):
            while True:
                trials, _ = asking.send(results)
                now = self._found(trials)
                found |= now
                if len(now) < len(set(trials)):
                    break
                results = {trial: _result(file) for trial, file in now.items()}
        return len(found)

    def _found(self, trials: Iterable[Trial]) -> dict[Trial, Path]:
        files = ((trial, self.find(trial)) for trial in trials)
        return {trial: file for trial, file in files if file is not None}

    def _searched(self, cell: Cell, pairs: Sequence[Pair], seed: int) -> Iterator[Trial]:
        return (self.plan.trial("search", cell, *pair, seed) for pair in pairs)

    def _selected(self, cell: Cell) -> list[Pair]:
        """The pair of a cell; none if it is not selected yet, or if all pairs diverged."""
        given = self.plan.given_pair(cell)
        if given is not None:
            return [given]
        try:
            return selected_pair(self._selection(cell))
        except (OSError, SnapError):
            return []

    def _selection(self, cell: Cell) -> Path:
        family = self.folder / "select" / cell.learner / cell.dataset / cell.configuration
        return family / f"lambda={cell.lambda_text}.csv"


# How the kept trials of each stage are counted. Portraits are not kept in the store.
COUNTED: Mapping[str, Callable[[_Counter, Described], int]] = {
    "search": _Counter.search,
    "iid": _Counter.final,
    "sequential": _Counter.final,
    "ladder": _Counter.ladder,
    "control": _Counter.control,
}


def _point(trial: Trial, file: Path) -> dict[str, Any]:
    """A kept trial as a row of a search."""
    result = _result(file)
    outcome = {"accuracy": result["accuracy"], "diverged": result["diverged"]}
    return {"eta": trial.eta, "alpha": trial.alpha, **outcome}


def _result(file: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(file.read_bytes())["result"]
    return result
