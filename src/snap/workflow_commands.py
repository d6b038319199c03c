"""The commands that the workflow is made of, and those that look at a run or start from one: job,
status, costs, verify, restore."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AddFolder = Callable[[argparse.ArgumentParser], None]


def add(commands: Any, add_folder: AddFolder) -> None:
    """Add them to the command line; `add_folder` adds the option for the data folder."""
    _add_jobs(commands, add_folder)
    _add_status(commands)
    _add_costs(commands)
    _add_verify(commands, add_folder)
    _add_restore(commands)


# snap job: the steps of the workflow


def _add_jobs(commands: Any, add_folder: AddFolder) -> None:
    job = commands.add_parser(
        "job",
        help="a step of the workflow",
        description="The steps the workflow is made of. Each takes a specification in JSON, the"
        " files of the steps before it, and writes CSV.",
    )
    steps = job.add_subparsers(title="steps", metavar="STEP", required=True)
    for name in ("search", "select", "iid", "sequential", "ladder", "portrait", "table"):
        step = steps.add_parser(name)
        step.set_defaults(command=_job, step=name)
        step.add_argument("inputs", nargs="*", type=Path, help="files of the steps before")
        step.add_argument("--output", type=Path, required=True, help="the file to write")
        if name == "table":
            step.add_argument("--run", required=True, help="the name of the run")
            step.add_argument("--reduced", default="", help="in what way it is reduced")
            step.add_argument("--format", type=int, help="version of what the steps write")
            continue
        step.add_argument("--spec", required=True, help="the specification, as JSON")
        if name == "select":
            continue
        if name == "portrait":
            step.add_argument("--weights", type=Path, required=True, help="hidden weights (npz)")
        else:
            step.add_argument("--store", type=Path, required=True, help="folder of finished trials")
        step.add_argument("--running", type=Path, help="folder of heartbeats")
        step.add_argument("--ledger", type=Path, help="where to note what was trained")
        step.add_argument("--threads", type=int, default=1, help="trials trained at once")
        add_folder(step)
        if name == "sequential":
            step.add_argument("--matrix", type=Path, required=True, help="accuracy matrices")
            step.add_argument("--curve", type=Path, required=True, help="accuracy curves")


def _job(options: argparse.Namespace) -> None:
    from snap import granted

    threads = granted.bind(getattr(options, "threads", 1))  # before numpy is imported
    from snap import jobs, rows

    if options.step == "table":
        rows.table(options.inputs, options.output, options.run, options.reduced)
        return
    spec = jobs.load_spec(options.spec)
    if options.step == "select":
        jobs.select(spec, options.inputs, options.output)
        return
    jobs.log(granted.text(threads))
    running = {
        "threads": threads,
        "data": options.dir,
        "heartbeat": options.running,
        "ledger": options.ledger,
        "label": str(options.output),
    }
    if options.step == "portrait":
        from snap import beyond

        beyond.portrait(spec, options.inputs, options.output, options.weights, **running)
        return
    running["store"] = options.store
    if options.step == "ladder":
        from snap import beyond

        beyond.ladder(spec, options.inputs[0], options.output, **running)
    elif options.step == "search":
        jobs.search(spec, options.output, **running)
    elif options.step == "iid":
        jobs.iid(spec, options.inputs, options.output, **running)
    else:
        jobs.sequential(
            spec, options.inputs, options.output, options.matrix, options.curve, **running
        )


# snap status


def _add_status(commands: Any) -> None:
    status = commands.add_parser("status", help="how far a run of the workflow is")
    _add_run(status)
    status.add_argument("--follow", action="store_true", help="go on until the run has ended")
    status.add_argument("--json", action="store_true", help="print as JSON")
    status.set_defaults(command=_status)


def _status(options: argparse.Namespace) -> None:
    from snap import status

    plan = status.plan_of(options.results, options.run)
    while True:
        now = status.state(plan)
        print(json.dumps(now) if options.json else status.report(now), flush=True)
        stages = now["stages"].values()
        if not options.follow or all(s["jobs_done"] == s["jobs"] for s in stages):
            return
        time.sleep(5)


# snap costs


def _add_costs(commands: Any) -> None:
    costs = commands.add_parser(
        "costs",
        help="where the time of a run went",
        description="Core time of a run by stage, from the benchmark files: in training, in figures"
        " and the report, and in all that is neither (start-up, scheduling, idle cores).",
    )
    _add_run(costs)
    costs.add_argument(
        "--project",
        nargs="+",
        type=Path,
        metavar="CONFIG",
        help="say too what this configuration would cost, at the rates of the run",
    )
    costs.add_argument(
        "--cores",
        nargs="+",
        type=int,
        default=[],
        metavar="N",
        help="with --project: how long it would take on so many cores",
    )
    costs.add_argument("--json", action="store_true", help="print as JSON")
    costs.set_defaults(command=_costs)


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--results", type=Path, default=Path("results"), help="the results folder")
    command.add_argument("--run", help="the run's name (default: the one started last)")


def _costs(options: argparse.Namespace) -> None:
    from snap import costs, status
    from snap.config import read
    from snap.plan import Plan

    found = costs.costs(status.plan_of(options.results, options.run))
    if options.project:
        workflow = Path("workflow")
        plan = Plan.load(
            read(options.project), workflow / "schemas/config.schema.yaml", workflow / "paper.yaml"
        )
        found["projected"] = {"run": plan.run, **costs.projected(found, plan, options.cores)}
    print(json.dumps(found) if options.json else costs.cost_table(found))


# snap verify


def _add_verify(commands: Any, add_folder: AddFolder) -> None:
    verify = commands.add_parser(
        "verify",
        help="compare data, trials and results with their records",
        description="Name every file that is not what its record says: datasets by their"
        " checksums, finished trials by the one they hold, results by the one beside them.",
    )
    verify.add_argument("--results", type=Path, default=Path("results"), help="the results folder")
    add_folder(verify)
    verify.add_argument(
        "--remove", action="store_true", help="remove such files: the next run makes them again"
    )
    verify.set_defaults(command=_verify)


def _verify(options: argparse.Namespace) -> int:
    from snap.data.store import default_folder
    from snap.verify import check

    checked = list(check(options.results, options.dir or default_folder()))
    wrong = [file for file in checked if file.fault is not None]
    for file in wrong:
        print(f"{file.path} {file.fault}")
        if options.remove:
            file.remove()
    ending = ", removed" if wrong and options.remove else ""
    print(f"{len(checked)} files looked at, {len(wrong)} not what they should be{ending}")
    return 1 if wrong and not options.remove else 0


# snap restore


def _add_restore(commands: Any) -> None:
    restore = commands.add_parser(
        "restore",
        help="go on from published results",
        description="Put the trials of a published run into the store of finished trials, so that"
        " the workflow trains only what differs from it.",
    )
    restore.add_argument("published", type=Path, help="its folder, such as reports/paper")
    restore.add_argument("--results", type=Path, default=Path("results"), help="the results folder")
    restore.set_defaults(command=_restore)


def _restore(options: argparse.Namespace) -> None:
    from snap.engines import resolve
    from snap.report.restore import restore

    found = restore(options.published, options.results)
    store, here = options.results / "trials", resolve()[0]
    print(f"{sum(found.values())} trials of {options.published} restored to {store}")
    for engine in found.keys() - {here}:
        print(
            f"engine {engine} trained {found[engine]} of them, and by itself a run here takes"
            f" {here}: `engine: {engine}` in the configuration makes use of them"
        )
