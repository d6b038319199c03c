# The runs that the paper reports, with the selected pairs: i.i.d., and tasks in sequence.


rule iid:
    input:
        STAMP,
        selected=selections("iid"),
    output:
        IID,
    log:
        log_of(IID),
        ledger=ledger_of(IID),
    benchmark:
        benchmark_of(IID)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=final_spec("iid"),
        store=STORE,
        running=RUNNING,
    shell:
        "snap job iid {input.selected:q} --spec {params.spec:q} --output {output:q}"
        " --threads {threads} --ledger {log.ledger:q} --store {params.store:q}"
        " --running {params.running:q} --dir data 2> {log[0]:q}"


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
        ledger=ledger_of(SEQUENTIAL),
    benchmark:
        benchmark_of(SEQUENTIAL)
    conda:
        "../../envs/snap.yaml"
    params:
        spec=final_spec("sequential"),
        store=STORE,
        running=RUNNING,
    shell:
        "snap job sequential {input.selected:q} --spec {params.spec:q} --output {output.outcome:q}"
        " --matrix {output.matrix:q} --curve {output.curve:q}"
        " --threads {threads} --ledger {log.ledger:q} --store {params.store:q}"
        " --running {params.running:q} --dir data 2> {log[0]:q}"
