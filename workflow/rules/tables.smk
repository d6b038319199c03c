# Tidy tables: the files of all jobs of a step in one, with the name of the run in every row.


localrules:
    table,


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
        reduced=reduced_words,
        format=specs.FORMAT,
    shell:
        "snap job table {input:q} --output {output:q} --run {params.run:q}"
        " --reduced={params.reduced:q} --format {params.format} 2> {log:q}"
