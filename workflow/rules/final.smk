# The runs that the paper reports, with the selected pairs: i.i.d., and tasks in sequence.


def selections(stage):
    """The selected pairs of a job's cells, in their order."""

    def found(wildcards):
        job = PLAN.job(stage, *family(wildcards), wildcards.job)
        places = {
            key: wildcards[key] for key in ("learner", "dataset", "configuration")
        }
        return [SELECT.format(**places, power=cell.lambda_text) for cell in job.cells]

    return found


def final_spec(stage):
    def found(wildcards):
        return PLAN.final_spec(
            stage, PLAN.job(stage, *family(wildcards), wildcards.job)
        )

    return found


rule iid:
    input:
        STAMP,
        selected=selections("iid"),
    output:
        IID,
    log:
        log_of(IID),
    benchmark:
        benchmark_of(IID)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=final_spec("iid"),
    shell:
        "snap job iid {input.selected:q} --spec {params.spec:q} --output {output:q}"
        " --threads {threads} --store {STORE} --running {RUNNING} --dir data 2> {log:q}"


rule sequential:
    input:
        STAMP,
        selected=selections("sequential"),
    output:
        outcome=SEQUENTIAL,
        matrix=MATRIX,
        curve=CURVE,
    log:
        log_of(SEQUENTIAL),
    benchmark:
        benchmark_of(SEQUENTIAL)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=final_spec("sequential"),
    shell:
        "snap job sequential {input.selected:q} --spec {params.spec:q} --output {output.outcome:q}"
        " --matrix {output.matrix:q} --curve {output.curve:q}"
        " --threads {threads} --store {STORE} --running {RUNNING} --dir data 2> {log:q}"
