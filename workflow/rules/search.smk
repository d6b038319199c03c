# The accuracy of every (η, α) for each configuration and λ. A job skips the points that an earlier job,
# in this run or another, has put in the trial store.
#
# The other training rules reuse this rule with their own input, output and specification.


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
    group:
        batch_of("search")
    conda:
        "../../envs/snap.yaml"
    resources:
        batch=batch_file_of("search"),
        unusable_gpu="cpu",  # the SLURM profile sets it
    params:
        step="search",
        spec=as_argument(search_spec),
        results=result_arguments,
        made_from=made_from,
        store=STORE,
        heartbeats=HEARTBEATS,
    shell:
        "snap job {params.step} {params.results:q} --spec {params.spec:q} --output {output.result:q}"
        " --threads {threads} --ledger {log.ledger:q} --store {params.store:q}"
        " --heartbeats {params.heartbeats:q} --batch={resources.batch:q}"
        " --unusable-gpu {resources.unusable_gpu:q} --dir data 2> {log.text:q}"
