# Results that are not in the paper: the ladder between its readings, portraits of weights, and controls.


use rule search as ladder with:
    input:
        STAMP,
        results=ladder_selection,
    output:
        result=LADDER,
    log:
        text=log_of(LADDER),
        ledger=ledger_of(LADDER),
    benchmark:
        benchmark_of(LADDER)
    group:
        batch_of("ladder")
    resources:
        batch=batch_file_of("ladder"),
        unusable_gpu="cpu",
    params:
        step="ladder",
        spec=as_argument(ladder_spec),


use rule search as portrait with:
    input:
        STAMP,
        results=portrait_outcomes,
    output:
        result=PORTRAIT,
        weights=WEIGHTS,
        snapshots=SNAPSHOTS,
    log:
        text=log_of(PORTRAIT),
        ledger=ledger_of(PORTRAIT),
    benchmark:
        benchmark_of(PORTRAIT)
    group:
        batch_of("portrait")
    resources:
        batch=batch_file_of("portrait"),
        unusable_gpu="cpu",
    params:
        step="portrait",
        spec=as_argument(portrait_spec),


# What the results are compared with. The paper's own methods among them take finished trials from the
# store, so they wait for the jobs that train these.
use rule search as control with:
    input:
        STAMP,
        results=control_selections,
        after=control_after,
    output:
        result=CONTROL,
        search=CONTROL_SEARCH,
        matrix=CONTROL_MATRIX,
        curve=CONTROL_CURVE,
    log:
        text=log_of(CONTROL),
        ledger=ledger_of(CONTROL),
    benchmark:
        benchmark_of(CONTROL)
    group:
        batch_of("control")
    resources:
        batch=batch_file_of("control"),
        unusable_gpu="cpu",
    params:
        step="control",
        spec=as_argument(control_spec),
