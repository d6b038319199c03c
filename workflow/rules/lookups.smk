# Input and parameter functions of the rules.


def plan_of(wildcards):
    """The plan of the run, or of the other reading, that a path belongs to."""
    return PLANS[wildcards.get("run", MAIN)]


def family(wildcards):
    return wildcards.learner, wildcards.dataset, wildcards.configuration


def works(stage):
    """The training jobs of a stage, of the run and of its other readings, by their output."""
    return {
        TRAINED[stage].format(run=run, **work): work
        for run in PLANS
        for work in work_of(PLANS[run], stage)
    }


def batch_names():
    """The SLURM job, called a group, of every training job by stage; empty without SLURM."""
    minutes = PLAN.config["core_minutes_per_job"]
    if minutes is None:
        return {stage: {} for stage in STAGES}
    costs = {
        stage: {output: work["cost"] for output, work in works(stage).items()}
        for stage in STAGES
    }
    return slurm_job_names(costs, minutes, settings())


BATCHES = batch_names()


def batch_of(stage):
    """Return a function that gives the group of a job, or None."""
    names = BATCHES[stage]

    def look_up(wildcards):
        name = names[TRAINED[stage].format(**wildcards)]
        # Jobs that do not depend on one another share a group only up to this number.
        count = sum(len(members) for members in BATCHES.values())
        workflow.group_settings.group_components[name] = count
        return name

    return look_up if names else None


def batch_file(name):
    return f"results/{MAIN}/batches/{name}.json"


def batch_file_of(stage):
    """Return a function that gives the file with the jobs of a job's group, or an empty text."""

    def look_up(wildcards):
        name = BATCHES[stage].get(TRAINED[stage].format(**wildcards))
        return batch_file(name) if name else ""

    return look_up


def write_batches(jobs):
    """Write the files with the jobs of each group, for the first of them to train for all."""
    functions = {
        "search": search_spec,
        "iid": final_spec("iid"),
        "sequential": final_spec("sequential"),
        "ladder": ladder_spec,
        "control": control_spec,
    }
    files = {}
    for job in jobs:
        stage = job.rule.name
        name = BATCHES.get(stage, {}).get(str(job.output[0]))
        if name and stage in functions:
            files.setdefault(batch_file(name), []).append(
                {
                    "step": stage,
                    "spec": functions[stage](job.wildcards),
                    "inputs": as_list(job.input.results),
                    "output": str(job.output[0]),
                }
            )
    for file, members in files.items():
        write_atomically(Path(file), json.dumps(members).encode(), durable=False)


def search_spec(wildcards):
    where = wildcards.learner, wildcards.dataset, wildcards.layer
    job = plan_of(wildcards).job("search", *where, wildcards.job)
    return specs.search(plan_of(wildcards), job, int(wildcards.seed))


def cell_of(wildcards):
    """The cell named by the path of a selection."""
    cells = plan_of(wildcards).cells(*family(wildcards))
    return next(cell for cell in cells if cell.lambda_text == wildcards.lambda_text)


def search_results(wildcards):
    """The search results that contain a cell's points; none if its pair is given by the paper."""
    cell = cell_of(wildcards)
    if plan_of(wildcards).given_pair(cell) is not None:
        return []
    where = {"learner": cell.learner, "dataset": cell.dataset}
    where["layer"] = plan_of(wildcards).layer(cell)
    jobs = [
        job
        for job in plan_of(wildcards).jobs("search", *where.values())
        if cell in job.cells
    ]
    return [
        SEARCH.format(run=wildcards.run, **where, job=job.label, seed=seed)
        for job in jobs
        for seed in plan_of(wildcards).seeds("search")
    ]


def select_spec(wildcards):
    return specs.select(plan_of(wildcards), cell_of(wildcards))


def selections(stage):
    """Return a function that gives the selection files of a job's cells, in order."""

    def look_up(wildcards):
        job = plan_of(wildcards).job(stage, *family(wildcards), wildcards.job)
        places = {
            key: wildcards[key]
            for key in ("run", "learner", "dataset", "configuration")
        }
        return [
            SELECT.format(**places, lambda_text=cell.lambda_text) for cell in job.cells
        ]

    return look_up


def final_spec(stage):
    def look_up(wildcards):
        job = plan_of(wildcards).job(stage, *family(wildcards), wildcards.job)
        return specs.final(plan_of(wildcards), stage, job)

    return look_up


def ladder_cell(wildcards):
    return next(
        cell
        for cell in plan_of(wildcards).ladder_cells
        if (cell.learner, cell.dataset, cell.configuration) == family(wildcards)
    )


def ladder_selection(wildcards):
    """The file with the pair that is used for every rung of a ladder."""
    cell = ladder_cell(wildcards)
    return SELECT.format(run=wildcards.run, **vars(cell), lambda_text=cell.lambda_text)


def ladder_spec(wildcards):
    return specs.ladder(plan_of(wildcards), ladder_cell(wildcards))


def portrait_outcomes(wildcards):
    """The sequential results that determine the λ of a dataset's portraits."""
    families = plan_of(wildcards).portrait_families(wildcards.dataset)
    return [
        SEQUENTIAL.format(run=wildcards.run, **work)
        for work in work_of(plan_of(wildcards), "sequential")
        if (work["learner"], work["dataset"], work["configuration"]) in families
    ]


def portrait_spec(wildcards):
    return specs.portrait(plan_of(wildcards), wildcards.dataset)


def method_of(wildcards):
    return methods.find(plan_of(wildcards), wildcards.dataset, wildcards.method)


def control_spec(wildcards):
    return specs.control(plan_of(wildcards), method_of(wildcards))


def control_selections(wildcards):
    """The pairs that were selected for the paper's cells; none if the control has its own search."""
    method = method_of(wildcards)
    if method.own_search:
        return []
    return [
        SELECT.format(run=wildcards.run, **vars(cell), lambda_text=cell.lambda_text)
        for cell in methods.cells(plan_of(wildcards), method)
    ]


def control_after(wildcards):
    """The final results whose trials are also those of a control."""
    method = method_of(wildcards)
    stages = {
        methods.PLAIN: {"sequential": SEQUENTIAL},
        methods.JOINT: {"sequential": SEQUENTIAL, "iid": IID},
    }
    family = method.learner, method.dataset, method.configuration
    return [
        pattern.format(run=wildcards.run, **work)
        for stage, pattern in stages.get(method.section, {}).items()
        for work in work_of(plan_of(wildcards), stage)
        if (work["learner"], work["dataset"], work["configuration"]) == family
    ]


def tables_of_readings(wildcards):
    """The tables of the other readings, which the main run's tables quote."""
    return collect(TABLE, run=OTHERS if wildcards.run == MAIN else [], table=TABLES)


def run_name(wildcards):
    return plan_of(wildcards).run


def table_parts(wildcards):
    """The files that go into a table."""
    return PARTS[wildcards.run][wildcards.table]


def figure_tables(wildcards):
    """The tidy tables that a figure is drawn from."""
    kind, _ = catalog.find(wildcards.figure)
    return collect(TABLE, run=wildcards.run, table=kind.tables)


def figure_section(wildcards):
    return catalog.find(wildcards.figure)[0].section


def figure_labels(wildcards):
    kind, dataset = catalog.find(wildcards.figure)
    return {"figure": kind.title.format(dataset=dataset)}


def figure_weights(wildcards):
    kind, dataset = catalog.find(wildcards.figure)
    return [WEIGHTS.format(run=wildcards.run, dataset=dataset)] if kind.weights else []


def figure_code(wildcards):
    """The version of the code that draws a figure."""
    return versions.of(catalog.find(wildcards.figure)[0].module)


def caption_file(wildcards):
    kind, _ = catalog.find(wildcards.figure)
    return here(f"reports/captions/{kind.name}.rst")


def caption_text(wildcards):
    """For Snakemake's own report."""
    return Path(caption_file(wildcards)).read_text(encoding="utf-8")


def folder_of_input(wildcards, input):
    return str(Path(input[0]).parent)


def folder_of_output(wildcards, output):
    return str(Path(output[0]).parent)


# These are functions because Snakemake would treat braces in a string as wildcards.


def reduced_words(wildcards):
    return reduced.words(plan_of(wildcards).config)


def config_json(wildcards):
    return json.dumps(plan_of(wildcards).config, sort_keys=True)
