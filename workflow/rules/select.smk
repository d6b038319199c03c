# The optimal (η, α) of every cell. Jobs that use a selection are due only if its content has changed.


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
        results=input_arguments,
        made_from=made_from,
    shell:
        "snap job select {params.results:q} --spec {params.spec:q} --output {output:q} 2> {log:q}"
