"""The training jobs of a plan: the wildcards of their paths, their trials, and a rough cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from snap.data.datasets import DATASETS
from snap.errors import SnapError
from snap.learners import LEARNERS
from snap.pipeline import methods
from snap.pipeline.methods import Method
from snap.pipeline.plan import Cell, Job, Plan

STAGES = ("search", "iid", "sequential", "ladder", "portrait", "control")
# The stages whose trials are known before their jobs run, and kept in the store.
IN_ADVANCE = ("search", "iid", "sequential", "ladder", "control")
# The stages that need selections. They may share SLURM jobs: each waits only for those before it.
FINAL = ("iid", "sequential", "ladder", "portrait", "control")

# The work of a SLURM job in minutes on one core. By an estimate (docs/engines.md), a GPU does the
# work of 40 cores or more.
CORE_MINUTES = {"cpu": 15, "gpu": 400}

# Used for estimates before anything has been measured.
SECONDS_PER_WEIGHT_ROW = 0.17e-6  # per sample and hidden neuron, on one core

# Of a job: at the start, and for each weight of the hidden layer, which exists four times in single
# precision: as initialised, as trained, and twice while loops are compiled. Both are measured with
# the cpu engine; the others need as much or more.
BYTES_AT_START = 160_000_000
BYTES_PER_WEIGHT = 16

Work = dict[str, Any]
T = TypeVar("T")


def work_of(plan: Plan, stage: str) -> list[Work]:
    """Every training job of a stage. Costs are in seconds on one core."""
    if stage == "ladder":
        return [_ladder(plan, cell) for cell in plan.ladder_cells]
    if stage == "portrait":
        return [_portrait(plan, dataset) for dataset in plan.datasets]
    if stage == "control":
        return [_control(plan, method) for method in methods.methods(plan)]
    if stage == "search":
        return _search(plan)
    works = []
    for learner, dataset, configuration in plan.families:
        for job in plan.jobs(stage, learner, dataset, configuration):
            pieces: Work = {"learner": learner, "dataset": dataset}
            pieces |= {"configuration": configuration, "job": job.label}
            trials = len(job.cells) * len(plan.seeds(stage))
            cost = trials * _layer_cost(plan, stage, job)
            works.append(pieces | {"trials": trials, "cost": cost})
    return works


def batches(costs: Mapping[T, float], seconds: float) -> dict[T, int]:
    """Put jobs into batches, in order, that each cost at least this much; return their numbers.

    What is left at the end joins the last batch, unless it is as much as half of one.
    """
    numbers: dict[T, int] = {}
    current, spent = 0, 0.0
    for name, cost in costs.items():
        numbers[name] = current
        spent += cost
        if spent >= seconds:
            current, spent = current + 1, 0.0
    if spent < seconds / 2 and current > 0:
        numbers = {name: min(number, current - 1) for name, number in numbers.items()}
    return numbers


def trains_on(stage: str, site: Mapping[str, Any]) -> str:
    """Where a stage trains: on cpu or gpu. Most controls exist only in the engines for the CPU."""
    return "cpu" if stage == "control" else str(site["train_on"])


def slurm_job_names(
    costs: Mapping[str, Mapping[str, float]], minutes: float, site: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """The name of the SLURM job of each training job, by stage.

    `costs` has the training jobs of each stage. A SLURM job holds this many minutes of work on one
    core; no more than usual on CPU nodes if most stages train on GPUs. Stages that train elsewhere
    or have other resources have other SLURM jobs.
    """

    def asked(stage: str) -> tuple[str, Mapping[str, Any] | None]:
        return trains_on(stage, site), site["resources"].get(stage)

    def seconds(stage: str) -> float:
        elsewhere = trains_on(stage, site) != site["train_on"]
        return 60 * (min(minutes, CORE_MINUTES["cpu"]) if elsewhere else minutes)

    alike = [stage for stage in FINAL if asked(stage) == asked(FINAL[0])]
    labels = {stage: "final" if stage in alike else stage for stage in costs}
    names: dict[str, dict[str, str]] = {stage: {} for stage in costs}
    for label in dict.fromkeys(labels.values()):
        stages = [stage for stage in costs if labels[stage] == label]
        jobs = {(stage, name): cost for stage in stages for name, cost in costs[stage].items()}
        for (stage, name), number in batches(jobs, seconds(stages[0])).items():
            names[stage][name] = f"{label}{number}"
    return names


def core_hours(plan: Plan) -> float:
    """A rough estimate of the core hours needed to train a whole plan from scratch."""
    return float(sum(work["cost"] for stage in STAGES for work in work_of(plan, stage)) / 3600)


def memory(plan: Plan) -> float:
    """A rough estimate of the bytes that a training job needs at least."""
    known = [(DATASETS[data["name"]], int(data["hidden"])) for data in plan.config["datasets"]]
    return BYTES_AT_START + max(
        record.most_bytes + hidden * record.pixels * BYTES_PER_WEIGHT for record, hidden in known
    )


def check_memory(plans: Iterable[Plan], usable: int | None) -> None:
    """Raise an error if a job needs more memory than there is."""
    needed = max(map(memory, plans))
    if usable is not None and needed > usable:
        raise SnapError(
            f"config key datasets: with so many hidden neurons, a job needs at least"
            f" {needed / 1e9:,.1f} GB of memory, but here are {usable / 1e9:,.1f} GB"
        )


def _search(plan: Plan) -> list[Work]:
    works = []
    for learner in filter(plan.searches_for, LEARNERS):
        for dataset in plan.datasets:
            for layer, configurations in plan.layers(learner).items():
                for job in plan.jobs("search", learner, dataset, layer):
                    pieces: Work = {"learner": learner, "dataset": dataset}
                    pieces |= {"layer": layer, "job": job.label}
                    trials = sum(
                        len(plan.points(job, cell)) + len(plan.then_alphas(cell))
                        for cell in job.cells
                    )
                    cost = trials / len(configurations) * _layer_cost(plan, "search", job)
                    pieces |= {"trials": trials, "cost": cost}
                    works += [pieces | {"seed": seed} for seed in plan.seeds("search")]
    return works


def _layer_cost(plan: Plan, stage: str, job: Job) -> float:
    """The cost of one hidden layer of a job."""
    cell = job.cells[0]
    return _samples(plan, stage, cell.dataset) * cell.hidden * SECONDS_PER_WEIGHT_ROW


def _ladder(plan: Plan, cell: Cell) -> Work:
    trials = 2 * len(plan.rungs(cell)) * len(plan.seeds("ladder"))
    samples = sum(_samples(plan, stage, cell.dataset) for stage in ("iid", "sequential")) / 2
    # One rung is the reading of the final runs, which usually have its trials.
    new = trials * (1 - 1 / len(plan.rungs(cell)))
    cost = new * samples * cell.hidden * SECONDS_PER_WEIGHT_ROW
    where = {"learner": cell.learner, "dataset": cell.dataset, "configuration": cell.configuration}
    return where | {"trials": trials, "cost": cost}


def _portrait(plan: Plan, dataset: str) -> Work:
    families = plan.portrait_families(dataset)
    width = max(d["hidden"] for d in plan.config["datasets"] if d["name"] == dataset)
    cost = _samples(plan, "sequential", dataset) * width * SECONDS_PER_WEIGHT_ROW
    return {"dataset": dataset, "trials": len(families), "cost": len(families) * cost}


def _control(plan: Plan, method: Method) -> Work:
    own = methods.cells(plan, method)
    seeds, finals = len(plan.seeds("search")), len(plan.seeds("sequential"))
    chosen = sum(
        len(methods.sequence_pairs(plan, method, cell)) * len(method.amounts)
        for cell in methods.sequence_cells(plan, method)
    )
    counts = {
        "search": seeds * sum(len(methods.search_pairs(plan, cell)) for cell in own)
        if method.own_search
        else 0,
        "sequential": seeds * chosen + finals * (len(own) + bool(chosen)),
        "iid": finals * len(own) if method.section == methods.JOINT else 0,
    }
    recruits = len(own) if method.recruits else 0
    where = {"dataset": method.dataset, "method": method.name}
    # The final runs have the trials of the paper's own methods.
    new = dict(counts)
    if method.section in (methods.PLAIN, methods.JOINT):
        new |= {"sequential": seeds * chosen + recruits, "iid": 0}
    cost = sum(count * _samples(plan, stage, method.dataset) for stage, count in new.items())
    cost *= (own[0].hidden if own else 0) * SECONDS_PER_WEIGHT_ROW
    return where | {"trials": sum(counts.values()) + recruits, "cost": cost}


def _samples(plan: Plan, stage: str, dataset: str) -> float:
    """The rough number of samples of a trial; a sequential task takes a quarter of its epochs."""
    samples = plan.config["limits"]["train"] or DATASETS[dataset].training_samples
    if stage == "sequential":
        return float(samples * (1 + plan.config["sequential"]["max_epochs"] / 4))
    return float(samples * plan.config[stage]["epochs"])
