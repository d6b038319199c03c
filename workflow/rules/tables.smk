# Tidy tables: the files of all jobs of a step in one, with the name of the run in every row.


localrules:
    table,


TABLES = {
    "search": paths(SEARCH, "search"),
    "selected": [
        SELECT.format(**vars(cell), power=cell.lambda_text) for cell in PLAN.all_cells
    ],
    "iid": paths(IID, "iid"),
    "sequential": paths(SEQUENTIAL, "sequential"),
    "matrix": paths(MATRIX, "sequential"),
    "curve": paths(CURVE, "sequential"),
}


def table_parts(wildcards):
    return TABLES[wildcards.table]


rule table:
    input:
        table_parts,
    output:
        TABLE,
    log:
        log_of(TABLE),
    benchmark:
        benchmark_of(TABLE)
    conda:
        "../../envs/snap.yaml"
    params:
        run=PLAN.run,
        reduced=PLAN.reduced,
    shell:
        "snap job table {input:q} --output {output:q} --run {params.run:q}"
        " --reduced {params.reduced:q} 2> {log:q}"
