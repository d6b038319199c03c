"""A small run that is really trained, in the folders of the workflow, and its publication."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from snap.files import write_result
from snap.pipeline import jobs, methods, provenance, rows, specs, status
from snap.pipeline.config import merge
from snap.pipeline.plan import Plan
from snap.pipeline.training import Workplace
from snap.pipeline.work import work_of
from workspace import ROOT, SMOKE

CONFIG = merge(
    SMOKE,
    {
        "configurations": ["linear-linear"],
        "lambdas": [1],
        "grids": {"text": {"eta": [0.3], "alpha": [0.1, 0.01]}},
        "sgd": {"configurations": []},
        "limits": {"train": 200, "test": 100},
    },
)
TABLES = ("search", "selected", "iid", "sequential", "matrix", "curve")
SCHEMA, PAPER = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"


def train(folder: Path, data: Path) -> dict[str, str]:
    """Train the run below `folder`, in results and published; return each job's specification."""
    plan = Plan.load(CONFIG, SCHEMA, PAPER)
    run = folder / "results" / plan.run

    def place(stage: str) -> Workplace:
        return Workplace(folder / "results/trials", data, ledger=folder / f"logs/{stage}.json")

    (cell,) = plan.all_cells
    family = f"{cell.learner}/{cell.dataset}/{cell.configuration}"
    (job,) = plan.jobs("search", cell.learner, cell.dataset, plan.layer(cell))
    searched = f"search/{cell.learner}/{cell.dataset}/{plan.layer(cell)}/{job.label}/seed=0.csv"
    parts = {"search": run / searched, "selected": run / f"select/{family}/{job.label}.csv"}
    given = {"search": specs.search(plan, job, 0), "select": specs.select(plan, cell)}
    jobs.search(json.loads(given["search"]), [], parts["search"], place("search"))
    jobs.select(json.loads(given["select"]), [parts["search"]], parts["selected"])
    for stage, step in (("iid", jobs.iid), ("sequential", jobs.sequential)):
        (final,) = plan.jobs(stage, cell.learner, cell.dataset, cell.configuration)
        given[stage] = specs.final(plan, stage, final)
        parts[stage] = run / f"{stage}/{family}/{final.label}.csv"
        step(json.loads(given[stage]), [parts["selected"]], parts[stage], place(stage))
    for name in ("matrix", "curve"):
        parts[name] = parts["sequential"].with_suffix(f".{name}.csv")
    given["ladder"] = specs.ladder(plan, cell)
    given["portrait"] = specs.portrait(plan, cell.dataset)
    given["control"] = specs.control(plan, methods.methods(plan)[0])
    write_plan(run / "plan.json", plan, {name: parts[name] for name in given if name in parts})
    for name in TABLES:
        rows.table([parts[name]], run / f"tables/{name}.csv", plan.run, "")
    publish(plan, [run / f"tables/{name}.csv" for name in TABLES], folder / "published")
    return given


def write_plan(file: Path, plan: Plan, outputs: dict[str, Path]) -> None:
    """The plan of the run, with the jobs that were done."""
    places = file.parents[2]
    done = [
        {"stage": stage, "due": True, "output": str(output.relative_to(places))}
        | {"benchmark": f"benchmarks/{stage}.tsv", "ledger": f"logs/{stage}.json", **work}
        for stage, output in outputs.items()
        for work in work_of(plan, stage)
    ]
    status.write_plan(file, plan.run, 2, done, None, {plan.run: plan})
    status.end_plan(file)
    write_result(file.parent / "invocations/1.json", b'{"seconds": 20.5, "cores": 2}')


def publish(plan: Plan, tables: list[Path], to: Path) -> None:
    """A publication of the tables that a run is restored from."""
    (to / "tables").mkdir(parents=True)
    for table in tables:
        if table.stem != "selected":
            (to / "tables" / table.name).write_bytes(table.read_bytes())
    account = provenance.collect(plan.config, to / "plan.json", ROOT)
    (to / "provenance.json").write_text(json.dumps(account))
    write_record(to)


def write_record(folder: Path) -> None:
    """Record what is in the folder, so that only the content is wrong."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "record.json"]
    digests = {str(p.relative_to(folder)): sha256(p.read_bytes()).hexdigest() for p in files}
    (folder / "record.json").write_text(json.dumps({"run": "smoke", "files": digests}))
