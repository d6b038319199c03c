"""snap status, costs, verify and restore: inspect a run, or continue from a published one."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from snap.cli.options import add_folder, add_json, add_results


def add(commands: Any) -> None:
    _add_status(commands)
    _add_costs(commands)
    _add_verify(commands)
    _add_restore(commands)


# snap status


def _add_status(commands: Any) -> None:
    status = commands.add_parser("status", help="show the progress of a run")
    _add_run(status)
    status.add_argument("--follow", action="store_true", help="repeat until the run has ended")
    add_json(status)
    status.set_defaults(command=_status)


def _status(options: argparse.Namespace) -> None:
    from snap.pipeline import status

    plan_file = status.plan_file_of(options.results, options.run)
    while True:
        now = status.state(plan_file)
        print(json.dumps(now) if options.json else status.report(now), flush=True)
        trained = all(stage["jobs_done"] == stage["jobs"] for stage in now["stages"].values())
        if not options.follow or trained or now["stopped"]:
            return
        time.sleep(5)


# snap costs


def _add_costs(commands: Any) -> None:
    costs = commands.add_parser(
        "costs",
        help="show where the time of a run went",
        description="Show the core time of a run by stage, from the benchmark files: in training,"
        " in figures and the report, and in everything else (start-up, scheduling, idle cores).",
    )
    _add_run(costs)
    costs.add_argument(
        "--project",
        nargs="+",
        type=Path,
        metavar="CONFIG",
        help="also estimate the cost of this configuration at the rates of the run",
    )
    costs.add_argument(
        "--cores",
        nargs="+",
        default=[],
        metavar="N",
        help="with --project: estimate the wall time on N cores",
    )
    add_json(costs)
    costs.set_defaults(command=_costs)


def _add_run(command: argparse.ArgumentParser) -> None:
    add_results(command)
    command.add_argument("--run", help="the run's name (default: the one started last)")


def _costs(options: argparse.Namespace) -> None:
    from snap.numbers import parse_whole
    from snap.pipeline import costs, status
    from snap.pipeline.config import read
    from snap.pipeline.plan import Plan

    cores = [parse_whole(number, "--cores", least=1) for number in options.cores]
    spent = costs.costs(status.plan_file_of(options.results, options.run))
    if options.project:
        workflow = Path("workflow")
        plan = Plan.load(
            read(options.project), workflow / "schemas/config.schema.yaml", workflow / "paper.yaml"
        )
        spent["projected"] = {"run": plan.run, **costs.projected(spent, plan, cores)}
    print(json.dumps(spent) if options.json else costs.cost_table(spent))


# snap verify


def _add_verify(commands: Any) -> None:
    verify = commands.add_parser(
        "verify",
        help="compare data, trials and results with their records",
        description="List every file that does not match its checksum. Checksums of datasets are in"
        " the code, those of trials in the files themselves, those of results beside them.",
    )
    add_results(verify)
    add_folder(verify)
    verify.add_argument(
        "--remove", action="store_true", help="remove these files; the next run makes them again"
    )
    verify.set_defaults(command=_verify)


def _verify(options: argparse.Namespace) -> int:
    from snap.data.store import default_folder
    from snap.pipeline.verify import check

    checked = list(check(options.results, options.dir or default_folder()))
    wrong = [file for file in checked if file.fault is not None]
    for file in wrong:
        print(f"{file.path} {file.fault}")
        if options.remove:
            file.remove()
    ending = ", removed" if wrong and options.remove else ""
    print(f"{len(checked)} files checked, {len(wrong)} missing or damaged{ending}")
    return 1 if wrong and not options.remove else 0


# snap restore


def _add_restore(commands: Any) -> None:
    restore = commands.add_parser(
        "restore",
        help="continue from published results",
        description="Put the trials of a published run into the store of finished trials, so that"
        " the workflow trains only what is different or new.",
    )
    restore.add_argument(
        "published", type=Path, help="the folder of the published run, such as reports/paper"
    )
    add_results(restore)
    restore.set_defaults(command=_restore)


def _restore(options: argparse.Namespace) -> None:
    from snap.engines import resolve
    from snap.notebook.places import found
    from snap.pipeline.restore import restore

    workflow = found("workflow/schemas/config.schema.yaml").parents[1]
    restored = restore(options.published, options.results, workflow)
    store, here = options.results / "trials", resolve()[0]
    print(f"{sum(restored.values())} trials of {options.published} restored to {store}")
    for engine in restored.keys() - {here}:
        print(
            f"engine {engine} trained {restored[engine]} of them, but a run here uses {here}:"
            f" set `engine: {engine}` in the configuration to use them"
        )
