# The plan that the configuration describes, the paths of each step, and what the rules look up.

import json
import shlex
import sys
from pathlib import Path

from snakemake_interface_executor_plugins.settings import DeploymentMethod

from snap import specs
from snap.errors import SnapError
from snap.plan import Plan
from snap.report import catalog, paper_tables

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
SEARCH = f"{RUN}/search/{{learner}}/{{dataset}}/{{layer}}/{{job}}/seed={{seed}}.csv"
SELECT = f"{RUN}/select/{FAMILY}/lambda={{power}}.csv"
IID = f"{RUN}/iid/{FAMILY}/{{job}}.csv"
SEQUENTIAL = f"{RUN}/sequential/{FAMILY}/{{job}}.csv"
MATRIX = f"{RUN}/sequential/{FAMILY}/{{job}}.matrix.csv"
CURVE = f"{RUN}/sequential/{FAMILY}/{{job}}.curve.csv"
LADDER = f"{RUN}/ladder/{{dataset}}/{{configuration}}.csv"
PORTRAIT = f"{RUN}/portrait/{{dataset}}.csv"
WEIGHTS = f"{RUN}/portrait/{{dataset}}.npz"
TABLE = f"{RUN}/tables/{{table}}.csv"
FIGURE = f"{RUN}/figures/{{figure}}.png"
PAPER_TABLE = f"{RUN}/paper/{{name}}.{{form}}"
CLAIMS = f"{RUN}/claims.json"
PAGE = f"{RUN}/report.html"

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
    layer="[a-z-]+",
    job=r"lambda=[0-9a-z.-]+(,part=\d+of\d+)?",
    power="[0-9a-z.-]+",
    seed=r"\d+",
    table="[a-z_]+",
    figure="[A-Za-z-]+",


def here(path):
    """A file of the workflow, which may be elsewhere than the results (--directory)."""
    return path if Path.cwd() == HERE else str(HERE / path)


def log_of(path):
    """The log that mirrors a result."""
    return path.replace("results/", "logs/", 1).rsplit(".", 1)[0] + ".log"


def benchmark_of(path):
    """The benchmark that mirrors a result."""
    return path.replace("results/", "benchmarks/", 1).rsplit(".", 1)[0] + ".tsv"


def ledger_of(path):
    """Where a training job notes what it trained, beside its log."""
    return path.replace("results/", "logs/", 1).rsplit(".", 1)[0] + ".json"


def family(wildcards):
    return wildcards.learner, wildcards.dataset, wildcards.configuration


def paths(pattern, stage):
    """The paths of every job of a stage."""
    return [pattern.format(**work) for work in PLAN.work(stage)]


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

FIGURES = catalog.names(PLAN.datasets)
PAPER_TABLES = paper_tables.names(PLAN.datasets)
DRAWING = catalog.code_version()
