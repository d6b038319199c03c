"""The specification of each job: JSON with everything that its result depends on."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from snap.data.datasets import checksum
from snap.learners import SGD
from snap.pipeline import methods
from snap.pipeline.methods import Method
from snap.pipeline.plan import Cell, Job, Plan
from snap.trial import SEMANTICS

# The version of selection and tables. Raise it when a selection rule or a column of a table
# changes. Every step then runs again; only the portraits are trained again.
FORMAT = 2


def search(plan: Plan, job: Job, seed: int) -> str:
    cells = [
        {
            "trials": [plan.open_trial("search", cell, seed).text],
            "pairs": plan.points(job, cell),
            "then": plan.then_alphas(cell),
        }
        for cell in job.cells
    ]
    return _training(plan, job.cells[0].dataset, cells=cells)


def select(plan: Plan, cell: Cell) -> str:
    who = {
        "learner": cell.learner,
        "dataset": cell.dataset,
        "configuration": cell.configuration,
        "lambda": cell.lambda_text,
    }
    return _json(**who, given=plan.given_pair(cell))


def final(plan: Plan, stage: str, job: Job) -> str:
    cells = [
        {"trials": [plan.open_trial(stage, cell, seed).text for seed in plan.seeds(stage)]}
        for cell in job.cells
    ]
    return _training(plan, job.cells[0].dataset, cells=cells)


def ladder(plan: Plan, cell: Cell) -> str:
    """The rungs: a switch, its rate if given, and per seed an i.i.d. and a sequential trial."""
    rungs = []
    for switch, protocol, alpha in plan.rungs(cell):
        trials = {
            stage: [
                dataclasses.replace(plan.open_trial(stage, cell, seed), protocol=protocol).text
                for seed in plan.seeds("ladder")
            ]
            for stage in ("iid", "sequential")
        }
        rungs.append({"switch": switch, "alpha": alpha, **trials})
    return _training(plan, cell.dataset, rungs=rungs)


def portrait(plan: Plan, dataset: str) -> str:
    """One sequential trial per family; the job fills in the best λ and pair."""
    seed = plan.seeds("sequential")[0]
    trials = [
        plan.open_trial("sequential", plan.cells(*family)[0], seed).text
        for family in plan.portrait_families(dataset)
    ]
    return _training(plan, dataset, trials=trials)


def control(plan: Plan, method: Method) -> str:
    """Among what a method is chosen, and its final trials; the job adds its control to them."""
    own = methods.cells(plan, method)
    seeds = plan.seeds("search")

    def searched(cell: Cell) -> dict[str, Any]:
        trials = [plan.open_trial("search", cell, seed).text for seed in seeds]
        return {"trials": trials, "pairs": methods.search_pairs(plan, cell)}

    def by_sequence(cell: Cell) -> dict[str, Any]:
        trials = [methods.open_sequence(plan, cell, seed).text for seed in seeds]
        return {"trials": trials, "pairs": methods.sequence_pairs(plan, method, cell)}

    return _training(
        plan,
        method.dataset,
        control=method.section,
        amounts=method.amounts,
        searched=[searched(cell) for cell in own] if method.own_search else None,
        by_sequence=[by_sequence(cell) for cell in methods.sequence_cells(plan, method)],
        final=[
            [plan.open_trial("sequential", cell, seed).text for seed in plan.seeds("sequential")]
            for cell in own
        ],
        joint=plan.config["iid"]["epochs"] if method.section == methods.JOINT else None,
        recruits=plan.seeds("sequential")[0] if method.recruits else None,
        means=None if method.learner else _means(plan, method.dataset),
    )


def _means(plan: Plan, dataset: str) -> dict[str, Any]:
    """What class means depend on. They have no network; of the trial, only its data and tasks."""
    width = next(data["hidden"] for data in plan.config["datasets"] if data["name"] == dataset)
    cell = Cell(SGD.name, dataset, width, "linear-linear", None)
    return {
        "nearest": methods.nearest(plan),
        "trial": plan.open_trial("sequential", cell, 0).text,
    }


def _training(plan: Plan, dataset: str, **values: Any) -> str:
    data = checksum(dataset)
    return _json(semantics=SEMANTICS, data=data, engine=plan.config["engine"], **values)


def _json(**values: Any) -> str:
    return json.dumps(values | {"format": FORMAT}, sort_keys=True, separators=(",", ":"))
