# What the paper does not show: the ladder between its two readings, and portraits of weights.


rule ladder:
    input:
        STAMP,
        selected=ladder_selection,
    output:
        LADDER,
    log:
        log_of(LADDER),
        ledger=ledger_of(LADDER),
    benchmark:
        benchmark_of(LADDER)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=ladder_spec,
        store=STORE,
        running=RUNNING,
    shell:
        "snap job ladder {input.selected:q} --spec {params.spec:q} --output {output:q}"
        " --threads {threads} --ledger {log.ledger:q} --store {params.store:q}"
        " --running {params.running:q} --dir data 2> {log[0]:q}"


rule portrait:
    input:
        STAMP,
        outcomes=portrait_outcomes,
    output:
        states=PORTRAIT,
        weights=WEIGHTS,
    log:
        log_of(PORTRAIT),
        ledger=ledger_of(PORTRAIT),
    benchmark:
        benchmark_of(PORTRAIT)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=portrait_spec,
        running=RUNNING,
    shell:
        "snap job portrait {input.outcomes:q} --spec {params.spec:q} --output {output.states:q}"
        " --weights {output.weights:q} --threads {threads} --ledger {log.ledger:q}"
        " --running {params.running:q} --dir data 2> {log[0]:q}"
