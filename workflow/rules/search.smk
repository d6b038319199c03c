# Accuracy of every (η, α) of a configuration and λ. A job trains all its points; those that a job
# before it finished, in this run or another, are taken from the store of trials.


def search_spec(wildcards):
    job = PLAN.job("search", *family(wildcards), wildcards.job)
    return PLAN.search_spec(job, int(wildcards.seed))


rule search:
    input:
        STAMP,
    output:
        SEARCH,
    log:
        log_of(SEARCH),
    benchmark:
        benchmark_of(SEARCH)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=search_spec,
    shell:
        "snap job search --spec {params.spec:q} --output {output:q} --threads {threads}"
        " --store {STORE} --running {RUNNING} --dir data 2> {log:q}"
