# The optimal (η, α) of every cell. Snakemake compares small files by content, so what follows a
# selection runs again only if the pair, or what is told about it, has changed.


localrules:
    select,


def search_results(wildcards):
    """The search results that hold a cell's points; none where the paper gives the pair."""
    cell = cell_of(wildcards)
    if PLAN.given_pair(cell) is not None:
        return []
    jobs = [job for job in PLAN.jobs("search", *family(wildcards)) if cell in job.cells]
    return [
        SEARCH.format(**wildcards, job=job.label, seed=seed)
        for job in jobs
        for seed in PLAN.seeds("search")
    ]


def select_spec(wildcards):
    return PLAN.select_spec(cell_of(wildcards))


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
