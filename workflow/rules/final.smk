# The runs that the paper reports, with the selected pairs: i.i.d. and sequential.


use rule search as iid with:
    input:
        STAMP,
        results=selections("iid"),
    output:
        result=IID,
    log:
        text=log_of(IID),
        ledger=ledger_of(IID),
    benchmark:
        benchmark_of(IID)
    group:
        batch_of("iid")
    resources:
        batch=batch_file_of("iid"),
        unusable_gpu="cpu",
    params:
        step="iid",
        spec=as_argument(final_spec("iid")),


use rule search as sequential with:
    input:
        STAMP,
        results=selections("sequential"),
    output:
        result=SEQUENTIAL,
        matrix=MATRIX,
        curve=CURVE,
    log:
        text=log_of(SEQUENTIAL),
        ledger=ledger_of(SEQUENTIAL),
    benchmark:
        benchmark_of(SEQUENTIAL)
    group:
        batch_of("sequential")
    resources:
        batch=batch_file_of("sequential"),
        unusable_gpu="cpu",
    params:
        step="sequential",
        spec=as_argument(final_spec("sequential")),
