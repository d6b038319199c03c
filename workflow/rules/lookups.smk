# Input and parameter functions of the rules.


def family(wildcards):
    return wildcards.learner, wildcards.dataset, wildcards.configuration


def search_spec(wildcards):
    where = wildcards.learner, wildcards.dataset, wildcards.layer
    job = PLAN.job("search", *where, wildcards.job)
    return specs.search(PLAN, job, int(wildcards.seed))


def cell_of(wildcards):
    """The cell named by the path of a selection."""
    cells = PLAN.cells(*family(wildcards))
    return next(cell for cell in cells if cell.lambda_text == wildcards.lambda_text)


def search_results(wildcards):
    """The search results that contain a cell's points; none if its pair is given by the paper."""
    cell = cell_of(wildcards)
    if PLAN.given_pair(cell) is not None:
        return []
    where = {"learner": cell.learner, "dataset": cell.dataset}
    where["layer"] = PLAN.layer(cell)
    jobs = [job for job in PLAN.jobs("search", *where.values()) if cell in job.cells]
    return [
        SEARCH.format(**where, job=job.label, seed=seed)
        for job in jobs
        for seed in PLAN.seeds("search")
    ]


def select_spec(wildcards):
    return specs.select(PLAN, cell_of(wildcards))


def selections(stage):
    """Return a function that gives the selection files of a job's cells, in order."""

    def look_up(wildcards):
        job = PLAN.job(stage, *family(wildcards), wildcards.job)
        places = {
            key: wildcards[key] for key in ("learner", "dataset", "configuration")
        }
        return [
            SELECT.format(**places, lambda_text=cell.lambda_text) for cell in job.cells
        ]

    return look_up


def final_spec(stage):
    def look_up(wildcards):
        job = PLAN.job(stage, *family(wildcards), wildcards.job)
        return specs.final(PLAN, stage, job)

    return look_up


def ladder_cell(wildcards):
    return next(
        cell
        for cell in PLAN.ladder_cells
        if (cell.dataset, cell.configuration)
        == (wildcards.dataset, wildcards.configuration)
    )


def ladder_selection(wildcards):
    """The file with the pair that is used for every rung of a ladder."""
    cell = ladder_cell(wildcards)
    return SELECT.format(**vars(cell), lambda_text=cell.lambda_text)


def ladder_spec(wildcards):
    return specs.ladder(PLAN, ladder_cell(wildcards))


def portrait_outcomes(wildcards):
    """The sequential results that determine the λ of a dataset's portraits."""
    families = PLAN.portrait_families(wildcards.dataset)
    return [
        SEQUENTIAL.format(**work)
        for work in work_of(PLAN, "sequential")
        if (work["learner"], work["dataset"], work["configuration"]) in families
    ]


def portrait_spec(wildcards):
    return specs.portrait(PLAN, wildcards.dataset)


def table_parts(wildcards):
    """The files that go into a table."""
    return TABLES[wildcards.table]


def figure_tables(wildcards):
    """The tidy tables that a figure is drawn from."""
    kind, _ = catalog.find(wildcards.figure)
    return collect(TABLE, table=kind.tables)


def figure_section(wildcards):
    return catalog.find(wildcards.figure)[0].section


def figure_labels(wildcards):
    kind, dataset = catalog.find(wildcards.figure)
    return {"figure": kind.title.format(dataset=dataset)}


def figure_weights(wildcards):
    kind, dataset = catalog.find(wildcards.figure)
    return [WEIGHTS.format(dataset=dataset)] if kind.weights else []


def figure_code(wildcards):
    """The version of the code that draws a figure."""
    return versions.of(catalog.find(wildcards.figure)[0].module)


def caption_file(wildcards):
    kind, _ = catalog.find(wildcards.figure)
    return here(f"reports/captions/{kind.name}.rst")


def caption_text(wildcards):
    """For Snakemake's own report."""
    return Path(caption_file(wildcards)).read_text()


def folder_of_input(wildcards, input):
    return str(Path(input[0]).parent)


def folder_of_output(wildcards, output):
    return str(Path(output[0]).parent)


# These are functions because Snakemake would treat braces in a string as wildcards.


def reduced_words(wildcards):
    return reduced.words(PLAN.config)


def config_json(wildcards):
    return json.dumps(PLAN.config, sort_keys=True)
