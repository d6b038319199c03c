# Tidy tables: each combines the files of all jobs of a step and adds the name of the run to every row.
# `check` verifies that the tables contain exactly the trials of the plan.


localrules:
    table,
    check,


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
        run=run_name,
        parts=input_arguments,
        reduced=reduced_words,
        format=specs.FORMAT,
        made_from=made_from,
    shell:
        "snap job table {params.parts:q} --output {output:q} --run {params.run:q}"
        " --reduced={params.reduced:q} 2> {log:q}"


rule check:
    input:
        collect(TABLE, table=TABLES, allow_missing=True),
        paper=here("workflow/paper.yaml"),
    output:
        CHECKED,
    log:
        log_of(CHECKED),
    benchmark:
        benchmark_of(CHECKED)
    conda:
        "../../envs/snap.yaml"
    params:
        config=as_argument(config_json),
        made_from=made_from,
        tables=folder_of_input,
    shell:
        "snap job check --tables {params.tables:q} --config {params.config:q}"
        " --paper {input.paper:q} --output {output:q} 2> {log:q}"
