# The figures, the paper's tables, the verdicts on its claims, and the page that shows them all.


localrules:
    figure,
    diagram,
    paper_tables,
    claims,
    page,


rule figure:
    input:
        figure_tables,
        weights=figure_weights,
        style=here("workflow/style.yaml"),
        paper=here("workflow/paper.yaml"),
        caption=caption_file,
    output:
        png=report(
            FIGURE.replace("{form}", "png"),
            caption="../../reports/captions/figure.rst",
            category="Figures",
            subcategory=figure_section,
            labels=figure_labels,
        ),
        others=multiext(FIGURE.removesuffix(".{form}"), ".pdf", ".svg", ".csv", ".json"),
    log:
        log_of(FIGURE),
    benchmark:
        benchmark_of(FIGURE)
    wildcard_constraints:
        figure="|".join(WITH_DATA),
    conda:
        "../../envs/snap.yaml"
    params:
        tables=folder_of_input,
        folder=folder_of_output,
        caption=caption_text,
        made_from=made_from,
        code=figure_code,
    shell:
        "snap report figure {wildcards.figure:q} --tables {params.tables:q} --style {input.style:q}"
        " --paper {input.paper:q} --caption {input.caption:q} --weights {input.weights:q}"
        " --all {params.folder:q} 2> {log:q}"


# A figure without data, such as a drawing of the network.
use rule figure as diagram with:
    output:
        png=report(
            FIGURE.replace("{form}", "png"),
            caption="../../reports/captions/figure.rst",
            category="Figures",
            subcategory=figure_section,
            labels=figure_labels,
        ),
        others=multiext(FIGURE.removesuffix(".{form}"), ".pdf", ".svg", ".json"),
    wildcard_constraints:
        figure="|".join(name for name in FIGURES if name not in WITH_DATA),


rule paper_tables:
    input:
        collect(TABLE, table=TABLES, allow_missing=True),
        readings=tables_of_readings,
        paper=here("workflow/paper.yaml"),
    output:
        csv=report(
            collect(PAPER_TABLE, name=PAPER_TABLES, form="csv", allow_missing=True),
            caption="../../reports/captions/tables.rst",
            category="Tables",
        ),
        others=collect(
            PAPER_TABLE,
            name=PAPER_TABLES,
            form=["md", "tex", "json"],
            allow_missing=True,
        ),
    log:
        "logs/{run}/paper_tables.log",
    benchmark:
        "benchmarks/{run}/paper_tables.tsv"
    conda:
        "../../envs/snap.yaml"
    params:
        names=PAPER_TABLES,
        tables=folder_of_input,
        folder=folder_of_output,
        config=as_argument(config_json),
        made_from=made_from,
        code=versions.of("snap.report.paper_tables"),
    shell:
        "snap report tables {params.names:q} --tables {params.tables:q} --paper {input.paper:q}"
        " --config {params.config:q} --output {params.folder:q} 2> {log:q}"


rule claims:
    input:
        collect(TABLE, table=TABLES, allow_missing=True),
        paper=here("workflow/paper.yaml"),
        claims=here("workflow/claims.yaml"),
    output:
        json=CLAIMS.replace("{form}", "json"),
        csv=report(
            CLAIMS.replace("{form}", "csv"),
            caption="../../reports/captions/claims.rst",
            category="Claims",
        ),
    log:
        "logs/{run}/claims.log",
    benchmark:
        "benchmarks/{run}/claims.tsv"
    conda:
        "../../envs/snap.yaml"
    params:
        tables=folder_of_input,
        config=as_argument(config_json),
        made_from=made_from,
        code=versions.of("snap.report.claims"),
    shell:
        "snap report claims --tables {params.tables:q} --paper {input.paper:q}"
        " --config {params.config:q} --claims {input.claims:q} --output {output.json:q} 2> {log:q}"


rule page:
    input:
        collect(TABLE, run=MAIN, table=TABLES),
        collect(FIGURE, run=MAIN, figure=FIGURES, form=["svg", "json"]),
        collect(FIGURE, run=MAIN, figure=WITH_DATA, form="csv"),
        collect(PAPER_TABLE, run=MAIN, name=PAPER_TABLES, form=TABLE_FORMS),
        collect(FIGURE, run=OTHERS, figure=OTHER_FIGURES, form=["svg", "csv", "json"]),
        collect(PAPER_TABLE, run=OTHERS, name=OTHER_TABLES, form=TABLE_FORMS),
        collect(CLAIMS, run=PLANS, form="json"),
        collect(SNAPSHOTS, run=MAIN, dataset=PLAN.datasets),
        style=here("workflow/style.yaml"),
    output:
        page=report(PAGE, caption="../../reports/captions/page.rst", category="Report"),
        provenance=PROVENANCE,
    log:
        log_of(PAGE),
    benchmark:
        benchmark_of(PAGE)
    conda:
        "../../envs/snap.yaml"
    params:
        folder=folder_of_output,
        figures=FIGURES,
        tables=PAPER_TABLES,
        other_figures=OTHER_FIGURES,
        other_tables=OTHER_TABLES,
        readings=[Path(run).name for run in OTHERS],
        snapshots=PLAN.datasets,
        config=as_argument(config_json),
        made_from=made_from,
        code=versions.of("snap.report.page"),
    shell:
        "snap report page --folder {params.folder:q} --figures {params.figures:q}"
        " --tables {params.tables:q} --readings {params.readings:q}"
        " --reading-figures {params.other_figures:q} --reading-tables {params.other_tables:q}"
        " --snapshots {params.snapshots:q} --style {input.style:q}"
        " --config {params.config:q} --output {output.page:q} 2> {log:q}"
