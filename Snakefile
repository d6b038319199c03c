# The paper as a workflow: data → search → select → i.i.d. and sequential runs → tables → report.
#
# To trace a number back to its trial, follow these files from top to bottom:
#   results/<run>/report.html
#   results/<run>/figures/<figure>.{png,pdf,svg,csv}, paper_tables/<table>.{csv,md,tex},
#     claims.{json,csv}
#   results/<run>/tables/<table>.csv
#   results/<run>/{iid,sequential}/<learner>/<dataset>/<configuration>/lambda=<λ>.csv
#   results/<run>/select/<learner>/<dataset>/<configuration>/lambda=<λ>.csv
#   results/<run>/search/<learner>/<dataset>/<hidden layer>/lambda=<λ>/seed=<seed>.csv
#   results/trials/<first two>/<fingerprint>.json    every finished trial, shared by all runs
# logs/ and benchmarks/ mirror these paths. A job with several λ is called lambda=<first>..<last>.

from snakemake.utils import min_version

min_version("9.27")


report: "reports/captions/workflow.rst"


include: "workflow/rules/files.smk"


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/arguments.smk"
include: "workflow/rules/lookups.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/select.smk"
include: "workflow/rules/final.smk"
include: "workflow/rules/beyond.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/progress.smk"


# The targets list every result, including intermediate ones, so that any missing file is made again.


rule pairs:
    input:
        STAMPS,
        [PARTS[run][table] for run in PLANS for table in ("search", "selected")],


rule searches:
    input:
        collect(TABLE, run=PLANS, table=["search", "selected"]),


rule tables:
    input:
        STAMPS,
        [parts for run in PLANS for parts in PARTS[run].values()],
        collect([WEIGHTS, SNAPSHOTS], run=PLANS, dataset=PLAN.datasets),
        collect(TABLE, run=PLANS, table=TABLES),
        collect(CHECKED, run=PLANS),


rule all:
    default_target: True
    input:
        rules.tables.input,
        collect(FIGURE, run=MAIN, figure=FIGURES, form=["png", "pdf", "svg", "json"]),
        collect(FIGURE, run=MAIN, figure=WITH_DATA, form="csv"),
        collect(
            FIGURE,
            run=OTHERS,
            figure=OTHER_FIGURES,
            form=["png", "pdf", "svg", "csv", "json"],
        ),
        collect(
            PAPER_TABLE,
            run=PLANS,
            name=PAPER_TABLES,
            form=["csv", "md", "tex", "json"],
        ),
        collect(CLAIMS, run=PLANS, form=["json", "csv"]),
        PAGE,
        PROVENANCE,
