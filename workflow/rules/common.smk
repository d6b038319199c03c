# The plan given by the configuration, the path of every result, and small helpers.

import json
import os
import shlex
import sys
from pathlib import Path

from snakemake_interface_executor_plugins.settings import DeploymentMethod

from snap.errors import SnapError
from snap.files import digest, write_atomically
from snap.learners import LEARNERS
from snap.pipeline import keeper, methods, reduced, specs
from snap.pipeline.cluster.settings import settings
from snap.pipeline.readings import load_all
from snap.pipeline.work import (
    STAGES,
    check_memory,
    core_hours,
    memory,
    slurm_job_names,
    work_of,
)
from snap.report import catalog, paper_tables, versions

HERE = Path(workflow.basedir)

try:
    PLANS = load_all(
        config,
        HERE / "workflow/schemas/config.schema.yaml",
        HERE / "workflow/paper.yaml",
    )
except SnapError as error:
    sys.exit(f"snap: error: {error}")

# The run itself, and its other readings in folders of their own below it.
MAIN, *OTHERS = PLANS
PLAN = PLANS[MAIN]

RUN = "results/{run}"
STORE = "results/trials"
HEARTBEATS = f"results/{MAIN}/heartbeats"

FAMILY = "{learner}/{dataset}/{configuration}"
STAMP = "data/{dataset}/verified.txt"
SEARCH = f"{RUN}/search/{{learner}}/{{dataset}}/{{layer}}/{{job}}/seed={{seed}}.csv"
SELECT = f"{RUN}/select/{FAMILY}/lambda={{lambda_text}}.csv"
IID = f"{RUN}/iid/{FAMILY}/{{job}}.csv"
SEQUENTIAL = f"{RUN}/sequential/{FAMILY}/{{job}}.csv"
MATRIX = f"{RUN}/sequential/{FAMILY}/{{job}}.matrix.csv"
CURVE = f"{RUN}/sequential/{FAMILY}/{{job}}.curve.csv"
LADDER = f"{RUN}/ladder/{FAMILY}.csv"
PORTRAIT = f"{RUN}/portrait/{{dataset}}.csv"
WEIGHTS = f"{RUN}/portrait/{{dataset}}.npz"
SNAPSHOTS = f"{RUN}/portrait/{{dataset}}.snapshots.npz"
CONTROL = f"{RUN}/control/{{dataset}}/{{method}}.csv"
CONTROL_SEARCH = f"{RUN}/control/{{dataset}}/{{method}}.search.csv"
CONTROL_MATRIX = f"{RUN}/control/{{dataset}}/{{method}}.matrix.csv"
CONTROL_CURVE = f"{RUN}/control/{{dataset}}/{{method}}.curve.csv"
TABLE = f"{RUN}/tables/{{table}}.csv"
CHECKED = f"{RUN}/checked.json"
FIGURE = f"{RUN}/figures/{{figure}}.{{form}}"
PAPER_TABLE = f"{RUN}/paper_tables/{{name}}.{{form}}"
CLAIMS = f"{RUN}/claims.{{form}}"
PAGE = f"results/{MAIN}/report.html"
PROVENANCE = f"results/{MAIN}/provenance.json"
TRAINED = {
    "search": SEARCH,
    "iid": IID,
    "sequential": SEQUENTIAL,
    "ladder": LADDER,
    "portrait": PORTRAIT,
    "control": CONTROL,
}

# Define `snap` for shell commands. A conda environment imports the package from this folder;
# in a container the package is installed; otherwise it is for the interpreter that runs Snakemake.
if PLAN.config["container"]:

    container: PLAN.config["container"]


if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method:
    SNAP = "python"
elif DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
    SNAP = f"PYTHONPATH={shlex.quote(str(HERE / 'src'))} python"
else:
    SNAP = shlex.quote(sys.executable)
# A job ends with its shell and with this Snakemake, which a container may not see.
PARENTS = "$$"
if DeploymentMethod.APPTAINER not in workflow.deployment_settings.deployment_method:
    PARENTS += f" {os.getpid()}"
shell.prefix(f'snap() {{{{ {keeper.PARENTS}="{PARENTS}" {SNAP} -m snap "$@"; }}}}; ')


wildcard_constraints:
    run="|".join(PLANS),
    learner="|".join(LEARNERS),
    dataset="[A-Za-z]+",
    configuration="[a-z-]+",
    layer="[a-z-]+",
    job=r"lambda=[0-9a-z.-]+(,part=\d+of\d+)?",
    lambda_text="[0-9a-z.-]+",
    seed=r"\d+",
    table="[a-z_]+",
    figure="[A-Za-z-]+",
    method="[a-z0-9-]+",


def here(path):
    """The path of a workflow file, which may be in another folder than the results (--directory)."""
    return path if Path.cwd() == HERE else str(HERE / path)


def mirror(path, folder, suffix):
    """The path of a log or benchmark: that of its result, in another folder."""
    return path.replace("results/", folder, 1).rsplit(".", 1)[0] + suffix


def log_of(path):
    return mirror(path, "logs/", ".log")


def ledger_of(path):
    """The file beside the log in which a training job records what it trained."""
    return mirror(path, "logs/", ".json")


def benchmark_of(path):
    return mirror(path, "benchmarks/", ".tsv")


def made_from(wildcards, input):
    """A checksum of a job's input files, used as a parameter.

    It makes a job due whenever the content of its input has changed, regardless of file times.
    """
    return digest(input)


def paths(run, pattern, stage):
    """The paths of all jobs of a stage."""
    return [pattern.format(run=run, **work) for work in work_of(PLANS[run], stage)]


def parts_of(run):
    """The files that each tidy table of a run is made from."""
    return {
        "search": paths(run, SEARCH, "search"),
        "selected": [
            SELECT.format(run=run, **vars(cell), lambda_text=cell.lambda_text)
            for cell in PLANS[run].all_cells
        ],
        "iid": paths(run, IID, "iid"),
        "sequential": paths(run, SEQUENTIAL, "sequential"),
        "matrix": paths(run, MATRIX, "sequential"),
        "curve": paths(run, CURVE, "sequential"),
        "ladder": paths(run, LADDER, "ladder"),
        "consolidation": paths(run, PORTRAIT, "portrait"),
        "controls": paths(run, CONTROL, "control"),
        "controls_search": paths(run, CONTROL_SEARCH, "control"),
        "controls_matrix": paths(run, CONTROL_MATRIX, "control"),
        "controls_curve": paths(run, CONTROL_CURVE, "control"),
    }


PARTS = {run: parts_of(run) for run in PLANS}
STAMPS = collect(
    STAMP, dataset=sorted({name for plan in PLANS.values() for name in plan.datasets})
)
TABLES = list(PARTS[MAIN])

FIGURES = catalog.names(PLAN.datasets)
WITH_DATA = [figure for figure in FIGURES if catalog.find(figure)[0].data]
PAPER_TABLES = paper_tables.names(PLAN.datasets)
TABLE_FORMS = ["csv", "md", "tex", "json"]
# What the report shows of the other readings.
OTHER_FIGURES = ["iid", "sequential"]
OTHER_TABLES = [
    paper_tables.of_dataset(paper_tables.METRICS, dataset) for dataset in PLAN.datasets
]
