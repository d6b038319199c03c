# The optimal (η, α) of every cell. Snakemake compares small files by content, so what follows a
# selection runs again only if the pair, or what is told about it, has changed.


localrules:
    select,


rule select:
    input:
        search_results,
    output:
        SELECT,
    log:
        log_of(SELECT),
    benchmark:
        benchmark_of(SELECT)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=select_spec,
    shell:
        "snap job select {input:q} --spec {params.spec:q} --output {output:q} 2> {log:q}"
