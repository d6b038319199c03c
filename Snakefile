# The paper as a workflow: data → search → select → i.i.d. and sequential runs → tables → report.
#
# To trace a number back to its trial, follow these files from top to bottom:
#   results/<run>/report.html
#   results/<run>/figures/<figure>.{png,pdf,csv}, paper_tables/<table>.{csv,md,tex}, claims.{json,csv}
#   results/<run>/tables/<table>.csv
#   results/<run>/{iid,sequential}/<learner>/<dataset>/<configuration>/lambda=<λ>.csv
#   results/<run>/select/<learner>/<dataset>/<configuration>/lambda=<λ>.csv
#   results/<run>/search/<learner>/<dataset>/<hidden layer>/lambda=<λ>/seed=<seed>.csv
#   results/trials/<first two>/<fingerprint>.json    every finished trial, shared by all runs
# logs/ and benchmarks/ mirror these paths. A job with several λ is called lambda=<first>..<last>.

from snakemake.utils import min_version

min_version("9.27")


report: "reports/captions/workflow.rst"


configfile: "config.yaml"


include: "workflow/rules/common.smk"
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
        SEARCHED,
        SELECTED,


rule tables:
    input:
        PARTS,
        collect(WEIGHTS, dataset=PLAN.datasets),
        collect(TABLE, table=TABLES),
        CHECKED,


rule all:
    default_target: True
    input:
        rules.tables.input,
        collect(FIGURE, figure=FIGURES, form=["png", "pdf", "csv", "json"]),
        collect(PAPER_TABLE, name=PAPER_TABLES, form=["csv", "md", "tex", "json"]),
        collect(CLAIMS, form=["json", "csv"]),
        PAGE,
