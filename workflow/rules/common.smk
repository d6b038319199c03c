# The plan that the configuration describes, the paths of each step, and what the rules look up.

import logging
import sys
from pathlib import Path

from snap import status
from snap.errors import SnapError
from snap.plan import Plan

HERE = Path(workflow.basedir)

try:
    PLAN = Plan.load(
        config,
        HERE / "workflow/schemas/config.schema.yaml",
        HERE / "workflow/paper.yaml",
    )
except SnapError as error:
    sys.exit(f"snap: error: {error}")

RUN = f"results/{PLAN.run}"
STORE = "results/trials"
RUNNING = f"{RUN}/running"

FAMILY = "{learner}/{dataset}/{configuration}"
STAMP = "data/{dataset}/verified.txt"
SEARCH = f"{RUN}/search/{FAMILY}/{{job}}/seed={{seed}}.csv"
SELECT = f"{RUN}/select/{FAMILY}/lambda={{power}}.csv"
IID = f"{RUN}/iid/{FAMILY}/{{job}}.csv"
SEQUENTIAL = f"{RUN}/sequential/{FAMILY}/{{job}}.csv"
MATRIX = f"{RUN}/sequential/{FAMILY}/{{job}}.matrix.csv"
CURVE = f"{RUN}/sequential/{FAMILY}/{{job}}.curve.csv"
TABLE = f"{RUN}/tables/{{table}}.csv"


wildcard_constraints:
    learner="hebbian|sgd",
    dataset="[A-Za-z]+",
    configuration="[a-z-]+",
    job=r"lambda=[0-9a-z.-]+(,part=\d+of\d+)?",
    power="[0-9a-z.-]+",
    seed=r"\d+",
    table="[a-z_]+",


def log_of(path):
    """The log that mirrors a result."""
    return path.replace("results/", "logs/", 1).replace(".csv", ".log")


def benchmark_of(path):
    """The benchmark that mirrors a result."""
    return path.replace("results/", "benchmarks/", 1).replace(".csv", ".tsv")


def family(wildcards):
    return wildcards.learner, wildcards.dataset, wildcards.configuration


def cell_of(wildcards):
    """The cell that a selection's path names."""
    cells = PLAN.cells(*family(wildcards))
    return next(cell for cell in cells if cell.lambda_text == wildcards.power)


def paths(pattern, stage):
    """The paths of every job of a stage."""
    return [pattern.format(**work) for work in PLAN.work(stage)]


def training_jobs():
    """Every job that trains, for the progress report."""
    patterns = {"search": SEARCH, "iid": IID, "sequential": SEQUENTIAL}
    for stage, pattern in patterns.items():
        for work in PLAN.work(stage):
            output = pattern.format(**work)
            yield {
                "stage": stage,
                "output": output,
                "benchmark": benchmark_of(output),
                "trials": work["trials"],
                "cost": work["cost"],
            }


def only_warnings():
    """Keep Snakemake's terminal output to warnings and errors; its log file has the rest.

    `quiet` in a profile would not do: it hides the errors of jobs as well.
    """
    if workflow.output_settings.verbose or workflow.output_settings.printshellcmds:
        return
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.setLevel(logging.WARNING)


PLAN_FILE = Path(RUN) / "plan.json"
ANNOUNCER = status.Announcer(PLAN_FILE)


onstart:
    status.write_plan(PLAN_FILE, PLAN.run, workflow.cores, list(training_jobs()))
    only_warnings()
    ANNOUNCER.start()


onsuccess:
    ANNOUNCER.stop()


onerror:
    ANNOUNCER.stop()
