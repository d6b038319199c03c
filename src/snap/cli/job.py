"""snap job: the steps of the workflow."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from snap.cli.options import add_folder

# The training steps and the modules of their functions, which may be slow to import.
TRAINING = {
    "search": "snap.pipeline.jobs",
    "iid": "snap.pipeline.jobs",
    "sequential": "snap.pipeline.jobs",
    "ladder": "snap.pipeline.ladder",
    "portrait": "snap.pipeline.portrait",
    "control": "snap.pipeline.controls",
}


def add(commands: Any) -> None:
    job = commands.add_parser(
        "job",
        help="run a step of the workflow",
        description="The steps of the workflow. Training steps take a JSON specification and the"
        " files of earlier steps, and write CSV.",
    )
    steps = job.add_subparsers(title="steps", metavar="STEP", required=True)
    for name in TRAINING:
        step = _add_step(steps, name, _train)
        step.set_defaults(step=name)
        step.add_argument("--spec", required=True, help="the specification: JSON, or @FILE")
        step.add_argument("--store", type=Path, required=True, help="folder of finished trials")
        step.add_argument("--heartbeats", type=Path, help="folder of heartbeats")
        step.add_argument("--ledger", type=Path, help="file for the counts and times of training")
        step.add_argument(
            "--unusable-gpu",
            choices=("fail", "cpu"),
            default="cpu",
            help="what to do if the cluster granted a GPU that cannot be used",
        )
        step.add_argument("--batch", default="", help="file with jobs to train for in advance")
        step.add_argument("--threads", type=int, default=1, help="trials trained at once")
        add_folder(step)
    select = _add_step(steps, "select", _select)
    select.add_argument("--spec", required=True, help="the specification: JSON, or @FILE")
    table = _add_step(steps, "table", _table)
    table.add_argument("--run", required=True, help="the name of the run")
    table.add_argument("--reduced", default="", help="how the run is reduced")
    check = _add_step(steps, "check", _check)
    check.add_argument("--tables", type=Path, required=True, help="folder of tidy tables")
    check.add_argument("--config", required=True, help="the configuration: JSON, or @FILE")
    check.add_argument("--paper", type=Path, required=True, help="numbers of the paper (YAML)")


def _add_step(
    steps: Any, name: str, command: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    step: argparse.ArgumentParser = steps.add_parser(name)
    step.set_defaults(command=command)
    step.add_argument("inputs", nargs="*", help="files of earlier steps, or @FILE that lists them")
    step.add_argument("--output", type=Path, required=True, help="the file to write")
    return step


def _train(options: argparse.Namespace) -> None:
    from snap.pipeline import resources

    threads = resources.bind(options.threads)  # before numpy is imported
    resources.take_gpu()
    from snap.pipeline.jobs import load_spec
    from snap.pipeline.shapes import given_paths
    from snap.pipeline.training import Workplace, log

    spec, inputs = load_spec(options.spec, options.step), given_paths(options.inputs)
    log(resources.text(threads))
    place = Workplace(
        store=options.store,
        data=options.dir,
        threads=threads,
        heartbeats=options.heartbeats,
        ledger=options.ledger,
        without_gpu=options.unusable_gpu == "cpu",
        label=str(options.output),
    )
    if options.batch:
        from snap.pipeline import batch

        in_advance = batch.train(Path(options.batch), place)
        place = dataclasses.replace(place, in_advance=in_advance)
    step = getattr(import_module(TRAINING[options.step]), options.step)
    step(spec, inputs, options.output, place)


def _select(options: argparse.Namespace) -> None:
    from snap.pipeline import jobs
    from snap.pipeline.shapes import given_paths

    spec = jobs.load_spec(options.spec, "select")
    jobs.select(spec, given_paths(options.inputs), options.output)


def _table(options: argparse.Namespace) -> None:
    from snap.pipeline import rows
    from snap.pipeline.shapes import given_paths

    rows.table(given_paths(options.inputs), options.output, options.run, options.reduced)


def _check(options: argparse.Namespace) -> None:
    from snap.files import write_result
    from snap.pipeline import plan_check
    from snap.pipeline.check import check
    from snap.pipeline.plan import Plan
    from snap.pipeline.shapes import read_config, read_paper

    plan = Plan(read_config(options.config), read_paper(options.paper))
    plan_check.check(plan)
    rows = check(plan, options.tables)
    write_result(options.output, json.dumps({"rows": rows}, indent=1).encode())
