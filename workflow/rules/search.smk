# Accuracy of every (η, α) of a configuration and λ. A job trains all its points; those that a job
# before it finished, in this run or another, are taken from the store of trials.


rule search:
    input:
        STAMP,
    output:
        SEARCH,
    log:
        log_of(SEARCH),
        ledger=ledger_of(SEARCH),
    benchmark:
        benchmark_of(SEARCH)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=search_spec,
        store=STORE,
        running=RUNNING,
    shell:
        "snap job search --spec {params.spec:q} --output {output:q} --threads {threads}"
        " --ledger {log.ledger:q} --store {params.store:q}"
        " --running {params.running:q} --dir data 2> {log[0]:q}"
