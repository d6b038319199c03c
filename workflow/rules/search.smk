# Accuracy of every (η, α) of a configuration and λ. A job trains its points, except for those that
# the store of trials has from an earlier job, in this run or another.
#
# The other rules that train are this one with another input, output and specification.


rule search:
    input:
        STAMP,
        results=[],
    output:
        result=SEARCH,
    log:
        text=log_of(SEARCH),
        ledger=ledger_of(SEARCH),
    benchmark:
        benchmark_of(SEARCH)
    conda:
        "../../envs/snap.yaml"
    params:
        step="search",
        spec=search_spec,
        made_from=made_from,
        store=STORE,
        heartbeats=HEARTBEATS,
    shell:
        "snap job {params.step} {input.results:q} --spec {params.spec:q} --output {output.result:q}"
        " --threads {threads} --ledger {log.ledger:q} --store {params.store:q}"
        " --heartbeats {params.heartbeats:q} --dir data 2> {log.text:q}"
