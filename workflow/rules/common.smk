# The plan that the configuration describes, the paths of each step, and what the rules look up.

import shlex
import sys
from pathlib import Path

from snakemake_interface_executor_plugins.settings import DeploymentMethod

from snap import specs
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
LADDER = f"{RUN}/ladder/{{dataset}}/{{configuration}}.csv"
PORTRAIT = f"{RUN}/portrait/{{dataset}}.csv"
WEIGHTS = f"{RUN}/portrait/{{dataset}}.npz"
TABLE = f"{RUN}/tables/{{table}}.csv"

# What `snap` means in a shell command. In a conda environment the package is taken from here;
# otherwise the interpreter that runs Snakemake has it.
if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
    SNAP = f"PYTHONPATH={shlex.quote(str(HERE / 'src'))} python"
else:
    SNAP = shlex.quote(sys.executable)
shell.prefix(f'snap() {{{{ {SNAP} -m snap "$@"; }}}}; ')


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


def ledger_of(path):
    """Where a training job notes what it trained, beside its log."""
    return path.replace("results/", "logs/", 1).replace(".csv", ".json")


def family(wildcards):
    return wildcards.learner, wildcards.dataset, wildcards.configuration


def cell_of(wildcards):
    """The cell that a selection's path names."""
    cells = PLAN.cells(*family(wildcards))
    return next(cell for cell in cells if cell.lambda_text == wildcards.power)


def paths(pattern, stage):
    """The paths of every job of a stage."""
    return [pattern.format(**work) for work in PLAN.work(stage)]


def search_spec(wildcards):
    job = PLAN.job("search", *family(wildcards), wildcards.job)
    return specs.search(PLAN, job, int(wildcards.seed))


def search_results(wildcards):
    """The search results that hold a cell's points; none where the paper gives the pair."""
    cell = cell_of(wildcards)
    if PLAN.given_pair(cell) is not None:
        return []
    jobs = [job for job in PLAN.jobs("search", *family(wildcards)) if cell in job.cells]
    return [
        SEARCH.format(**wildcards, job=job.label, seed=seed)
        for job in jobs
        for seed in PLAN.seeds("search")
    ]


def select_spec(wildcards):
    return specs.select(PLAN, cell_of(wildcards))


def selections(stage):
    """The selected pairs of a job's cells, in their order."""

    def found(wildcards):
        job = PLAN.job(stage, *family(wildcards), wildcards.job)
        places = {
            key: wildcards[key] for key in ("learner", "dataset", "configuration")
        }
        return [SELECT.format(**places, power=cell.lambda_text) for cell in job.cells]

    return found


def final_spec(stage):
    def found(wildcards):
        job = PLAN.job(stage, *family(wildcards), wildcards.job)
        return specs.final(PLAN, stage, job)

    return found


def ladder_cell(wildcards):
    return next(
        cell
        for cell in PLAN.ladder_cells
        if (cell.dataset, cell.configuration)
        == (wildcards.dataset, wildcards.configuration)
    )


def ladder_selection(wildcards):
    """The pair that every rung of a ladder is trained with."""
    cell = ladder_cell(wildcards)
    return SELECT.format(**vars(cell), power=cell.lambda_text)


def ladder_spec(wildcards):
    return specs.ladder(PLAN, ladder_cell(wildcards))


def portrait_outcomes(wildcards):
    """The sequential results among which a dataset's portraits find their λ."""
    families = PLAN.portrait_families(wildcards.dataset)
    return [
        SEQUENTIAL.format(**work)
        for work in PLAN.work("sequential")
        if (work["learner"], work["dataset"], work["configuration"]) in families
    ]


def portrait_spec(wildcards):
    return specs.portrait(PLAN, wildcards.dataset)


def table_parts(wildcards):
    """The files that go into a table."""
    return TABLES[wildcards.table]


TABLES = {
    "search": paths(SEARCH, "search"),
    "selected": [
        SELECT.format(**vars(cell), power=cell.lambda_text) for cell in PLAN.all_cells
    ],
    "iid": paths(IID, "iid"),
    "sequential": paths(SEQUENTIAL, "sequential"),
    "matrix": paths(MATRIX, "sequential"),
    "curve": paths(CURVE, "sequential"),
    "ladder": paths(LADDER, "ladder"),
    "consolidation": paths(PORTRAIT, "portrait"),
}
