"""Configurations: how they are checked, and the trials that they describe."""

from __future__ import annotations

import copy
import json
from itertools import product
from pathlib import Path

import pytest
import yaml

from snap import CODE, REFERENCE, TEXT, SnapError, Trial
from snap.learners import HEBBIAN
from snap.pipeline import specs
from snap.pipeline.config import merge, read
from snap.pipeline.plan import Plan
from snap.pipeline.reduced import words
from snap.pipeline.work import work_of

ROOT = Path(__file__).parents[1]
SCHEMA, PAPER = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"
CONFIG = read([ROOT / "config.yaml"])


def load(config) -> Plan:
    return Plan.load(config, SCHEMA, PAPER)


def changed(path: str, value) -> dict:
    """The paper's configuration with one key set, or removed if the value is `...`."""
    config = copy.deepcopy(CONFIG)
    *parents, last = path.split(".")
    section = config

    def place(name):
        return int(name) if isinstance(section, list) else name

    for name in parents:
        section = section[place(name)]
    if value is ...:
        del section[place(last)]
    else:
        section[place(last)] = value
    return config


# The paper's two tables of pairs, row by row as printed.
PRINTED = {
    "MNIST": """
0.5 | 0.03,0.01 1,0.001 1,0.01 0.3,0.1 1,0.001 1,0.001 0.1,0.001
1 | 0.1,0.01 1,0.01 0.3,0.01 0.3,0.03 1,0.001 1,0.001 1,0.001
2 | 0.1,0.001 1,0.001 0.1,0.01 0.3,0.001 1,0.03 1,0.01 0.3,0.03
4 | 0.03,0.001 1,0.001 0.1,0.01 0.3,0.001 1,0.001 1,0.03 0.1,0.1
8 | 0.01,0.01 1,0.001 0.1,0.03 0.1,0.1 1,0.001 0.1,0.001 0.1,0.001
16 | 0.01,0.03 1,0.01 0.003,0.01 0.003,0.3 1,0.01 1,0.01 1,0.1
32 | 0.01,0.01 0.3,0.1 0.01,0.01 0.01,0.3 0.3,0.03 0.1,0.3 1,0.1
64 | 0.01,0.01 0.1,0.1 0.001,0.1 0.003,0.3 0.1,0.03 0.03,0.03 0.3,0.3
""",
    "FashionMNIST": """
0.5 | 0.03,0.01 1,0.001 1,0.01 0.3,0.1 1,0.001 1,0.001 0.1,0.001
1 | 0.1,0.01 1,0.01 0.3,0.01 0.3,0.03 1,0.001 1,0.001 1,0.001
2 | 0.1,0.001 1,0.001 0.1,0.01 0.3,0.001 1,0.03 1,0.01 0.3,0.03
4 | 0.03,0.001 1,0.001 0.3,0.001 0.3,0.001 1,0.001 0.7,0.001 0.3,0.001
8 | 0.01,0.01 1,0.001 0.3,0.001 0.3,0.001 1,0.001 0.1,0.03 0.3,0.03
16 | 0.01,0.03 1,0.01 0.3,0.001 0.7,0.001 1,0.01 0.3,0.1 0.7,0.01
32 | 0.01,0.01 0.3,0.1 0.7,0.1 0.7,0.3 0.3,0.03 0.7,0.1 0.7,0.1
64 | 0.01,0.01 0.1,0.1 0.7,0.3 0.01,0.1 0.1,0.03 0.3,0.3 0.01,0.001
""",
}


def test_all_pairs_of_the_paper_are_present():
    plan = load(CONFIG)
    cells = {
        (c.dataset, c.configuration, c.lateral_inhibition): plan.paper_pair(c)
        for c in plan.all_cells
        if c.learner == "hebbian"
    }
    printed = {}
    for dataset, rows in PRINTED.items():
        for row in rows.strip().splitlines():
            power, pairs = row.split(" | ")
            for name, pair in zip(HEBBIAN.paper_configurations, pairs.split(), strict=True):
                eta, alpha = pair.split(",")
                printed[dataset, name, float(power)] = (float(eta), float(alpha))
    assert len(printed) == 112
    assert cells == printed


def test_only_the_union_grid_contains_every_pair_of_the_paper():
    plan = load(CONFIG)
    hebbian = [cell for cell in plan.all_cells if cell.learner == "hebbian"]
    grids = CONFIG["grids"]

    def inside(grid, pair):
        return pair[0] in grid["eta"] and pair[1] in grid["alpha"]

    assert all(inside(grids["union"], plan.paper_pair(cell)) for cell in hebbian)
    assert not all(inside(grids["text"], plan.paper_pair(cell)) for cell in hebbian)


def test_the_number_of_trials_in_the_paper():
    plan = load(CONFIG)
    assert len(plan.all_cells) == 2 * 7 * 8 + 2 * 4
    trials = {stage: sum(w["trials"] for w in work_of(plan, stage)) for stage in ("search", "iid")}
    assert trials == {"search": 2 * 7 * 8 * 25 + 2 * 4 * 5, "iid": 3 * 120}
    assert words(plan.config) == ""


def test_pairs_from_the_paper_need_no_search():
    plan = load(merge(CONFIG, {"search": {"grid": None, "pairs": "paper"}}))
    assert {work["learner"] for work in work_of(plan, "search")} == {"sgd"}
    cell = plan.cells("hebbian", "MNIST", "sigmoid-sigmoid-neuron")[5]
    assert plan.given_pair(cell) == (0.003, 0.3)


@pytest.mark.parametrize("preset", sorted((ROOT / "workflow/presets").glob("*.yaml")))
def test_presets_are_valid_and_marked_as_reduced(preset):
    plan = load(read([ROOT / "config.yaml", preset]))
    assert plan.run == preset.stem
    assert words(plan.config)


@pytest.mark.parametrize("variation", sorted((ROOT / "workflow/variations").glob("*.yaml")))
def test_a_variation_shares_the_trials_that_its_choice_does_not_affect(variation):
    base, plan = load(CONFIG), load(read([ROOT / "config.yaml", variation]))
    assert plan.run == variation.stem
    assert set(plan.all_cells) < set(base.all_cells)
    changed = {
        "validation": {"search"},
        "judged-on-test": {"sequential"},
        "paper-pairs": set(),
        "union": set(),
        "union-code": {"search", "iid", "sequential"},
    }
    for stage, cell in product(("search", "iid", "sequential"), plan.all_cells):
        trials = {spec.trial(stage, cell, 0.1, 0.1, seed=0) for spec in (base, plan)}
        assert len(trials) == 1 + (stage in changed[plan.run])
    own = [plan.pairs(cell) for cell in plan.all_cells] == [
        [base.paper_pair(cell)] for cell in plan.all_cells
    ]
    assert own == (plan.run == "paper-pairs")


def test_quick_keeps_every_dataset_configuration_and_lambda():
    quick = load(read([ROOT / "config.yaml", ROOT / "workflow/presets/quick.yaml"]))
    assert quick.all_cells == load(CONFIG).all_cells


def test_the_size_of_jobs_changes_no_trial():
    def trials(plan):
        return sorted(
            (cell.learner, cell.dataset, cell.configuration, cell.lambda_text, pair)
            for learner, dataset in product(("hebbian", "sgd"), plan.datasets)
            for layer in plan.layers(learner)
            for job in plan.jobs("search", learner, dataset, layer)
            for cell in job.cells
            for pair in map(str, plan.points(job, cell))
        )

    expected = trials(load(CONFIG))
    for changes in ({"lambdas_per_job": 8}, {"points_per_job": 4}, {"points_per_job": 1}):
        assert trials(load(merge(CONFIG, changes))) == expected


def test_a_search_job_contains_the_configurations_that_share_a_hidden_layer():
    plan = load(CONFIG)
    assert plan.layers("hebbian") == {
        "linear": ["linear-linear"],
        "exponential-neuron": ["exponential-linear-neuron", "exponential-exponential-neuron"],
        "sigmoid-neuron": ["sigmoid-linear-neuron", "sigmoid-sigmoid-neuron"],
        "sigmoid-synapse": ["sigmoid-linear-synapse", "sigmoid-sigmoid-synapse"],
    }
    assert list(plan.layers("sgd")) == plan.configurations("sgd")  # gradients depend on outputs
    job = plan.jobs("search", "hebbian", "MNIST", "sigmoid-neuron")[0]
    assert [cell.configuration for cell in job.cells] == plan.layers("hebbian")["sigmoid-neuron"]
    assert {cell.lateral_inhibition for cell in job.cells} == {0.5}
    assert job.label == "lambda=0.5"


def test_labels_name_jobs():
    plan = load(merge(CONFIG, {"lambdas_per_job": 3}))
    family = ("hebbian", "MNIST", "sigmoid-neuron")
    labels = [job.label for job in plan.jobs("search", *family)]
    assert labels == ["lambda=0.5..2", "lambda=4..16", "lambda=32..64"]
    assert plan.job("search", *family, "lambda=4..16").cells[0].lateral_inhibition == 4
    with pytest.raises(SnapError, match="no search job"):
        plan.job("search", *family, "lambda=3")
    split = load(merge(CONFIG, {"points_per_job": 10}))
    assert split.jobs("search", *family)[0].label == "lambda=0.5,part=1of3"


def test_trials_in_specifications_can_be_parsed():
    plan = load(CONFIG)
    for stage in ("iid", "sequential"):
        job = plan.jobs(stage, "hebbian", "MNIST", "linear-linear")[0]
        spec = json.loads(specs.final(plan, stage, job))
        seeds = [Trial.parse(text).seed for text in spec["cells"][0]["trials"]]
        assert seeds == plan.seeds(stage)


def test_the_ladder_goes_from_text_to_code_one_switch_at_a_time():
    plan = load(CONFIG)
    (cell, *_) = plan.ladder_cells
    assert cell.lateral_inhibition == 16
    rungs = json.loads(specs.ladder(plan, cell))["rungs"]
    protocols = [Trial.parse(rung["iid"][0]).protocol for rung in rungs]
    assert (protocols[0], protocols[-1]) == (TEXT, CODE)
    assert REFERENCE in protocols
    for before, after, rung in zip(protocols, protocols[1:], rungs[1:], strict=False):
        differs = [
            name for name in vars(REFERENCE) if getattr(before, name) != getattr(after, name)
        ]
        assert differs == [rung["switch"]]


def test_ladder_and_portraits_skip_configurations_that_are_not_in_the_run():
    changes = {"lambdas": [1], "configurations": ["sigmoid-linear-neuron"]}
    plan = load(merge(CONFIG, changes | {"ladder": {"sgd_alpha": None}}))
    assert plan.ladder_cells == []
    assert [f[0] for f in plan.portrait_families("MNIST")] == ["sgd", "sgd", "sgd"]
    assert work_of(plan, "ladder") == []


def test_a_configuration_that_is_not_in_the_paper_has_a_portrait():
    plan = load(changed("configurations", ["linear-linear", "sigmoid-exponential-neuron"]))
    hebbian = [f[2] for f in plan.portrait_families("MNIST") if f[0] == "hebbian"]
    assert hebbian == ["linear-linear", "sigmoid-exponential-neuron"]


BAD = {
    "an unknown ladder": (changed("ladder.configurations", ["cubic"]), "ladder.configurations"),
    "an unknown portrait": (changed("portraits", ["cubic"]), "portraits"),
    "a ladder's λ of 0": (changed("ladder.lambda", 0), "ladder.lambda"),
    "an unknown key": (changed("colour", "red"), "colour"),
    "an unknown key below": (changed("search.speed", 1), "search.speed"),
    "a missing section": (changed("search", ...), "search"),
    "no datasets": (changed("datasets", []), "datasets"),
    "datasets as text": (changed("datasets", "MNIST"), "datasets"),
    "an unknown dataset": (
        changed("datasets.0", {"name": "CIFAR", "hidden": 9}),
        "datasets.0.name",
    ),
    "a dataset twice": (changed("datasets", [{"name": "MNIST", "hidden": 9}] * 2), "datasets"),
    "a dataset without width": (changed("datasets.0", {"name": "MNIST"}), "datasets.0.hidden"),
    "no hidden neuron": (changed("datasets.0.hidden", 0), "datasets.0.hidden"),
    "half a neuron": (changed("datasets.0.hidden", 0.5), "datasets.0.hidden"),
    "an unknown growth": (changed("configurations", ["cubic-linear-neuron"]), "configurations"),
    "a configuration twice": (changed("configurations", ["linear-linear"] * 2), "configurations"),
    "the same configuration": (
        changed("configurations", ["linear-linear", "linear-linear-synapse"]),
        "configurations",
    ),
    "no configurations": (changed("configurations", []), "configurations"),
    "a configuration that is a number": (changed("configurations", [7]), "configurations.0"),
    "a shell command": (changed("configurations", ["$(rm -rf .)"]), "configurations"),
    "a negative lambda": (changed("lambdas", [-1]), "lambdas.0"),
    "lambda zero": (changed("lambdas", [1, 0]), "lambdas.1"),
    "lambda as text": (changed("lambdas", ["big"]), "lambdas.0"),
    "lambda twice": (changed("lambdas", [1, 1]), "lambdas"),
    "lambda is NaN": (changed("lambdas", [float("nan")]), "lambdas.0"),
    "lambda is infinite": (changed("lambdas", [float("inf")]), "lambdas.0"),
    "an unknown protocol": (changed("protocol", "draft"), "protocol"),
    "an unknown switch": (changed("protocol", "text+speed=high"), "protocol"),
    "beta zero": (changed("beta", 0), "beta"),
    "a batch of two": (changed("batch_size", 2), "batch_size"),
    "an unknown grid": (changed("search.grid", "huge"), "search.grid"),
    "an empty grid": (changed("grids.text.eta", []), "grids.text.eta"),
    "a grid without alpha": (changed("grids.text", {"eta": [1]}), "grids.text.alpha"),
    "a negative eta": (changed("grids.text.eta", [-0.1]), "grids.text.eta.0"),
    "alpha is NaN": (changed("grids.text.alpha", [float("nan")]), "grids.text.alpha.0"),
    "grid and pairs": (changed("search.pairs", "paper"), "search"),
    "neither grid nor pairs": (changed("search.grid", ...), "search"),
    "no epoch": (changed("search.epochs", 0), "search.epochs"),
    "an unknown split": (changed("search.split", "train"), "search.split"),
    "no seed": (changed("iid.seeds", []), "iid.seeds"),
    "a negative seed": (changed("iid.seeds", [-1]), "iid.seeds.0"),
    "a seed twice": (changed("sequential.seeds", [1, 1]), "sequential.seeds"),
    "an empty task": (changed("sequential.tasks", [[0, 1], []]), "sequential.tasks.1"),
    "a class twice": (changed("sequential.tasks", [[0, 1], [1, 2]]), "sequential"),
    "class eleven": (changed("sequential.tasks", [[0, 11]]), "sequential"),
    "a threshold of 80": (changed("sequential.threshold", 80), "sequential.threshold"),
    "no task epoch": (changed("sequential.max_epochs", 0), "sequential.max_epochs"),
    "judged on both": (changed("sequential.judged_on", "both"), "sequential.judged_on"),
    "no sgd rate": (changed("sgd.alpha", []), "sgd.alpha"),
    "the store's name": (changed("run", "trials"), "run"),
    "a path as a name": (changed("run", "../elsewhere"), "run"),
    "an empty name": (changed("run", ""), "run"),
    "a limit of zero": (changed("limits", {"train": 0}), "limits.train"),
    "no lambda in a job": (changed("lambdas_per_job", 0), "lambdas_per_job"),
    "an unknown engine": (changed("engine", "tpu"), "engine"),
    "an unknown control": (
        changed("controls.dropout", {"sgd": ["linear-linear"]}),
        "controls.dropout",
    ),
    "a buffer of zero": (changed("controls.replay.samples", [0]), "controls.replay.samples.0"),
    "a negative strength": (changed("controls.ewc.strength", [-1]), "controls.ewc.strength.0"),
    "no strength": (changed("controls.si.strength", []), "controls.si.strength"),
    "a control of another learner": (
        changed("controls.mask.hebbian", ["linear-linear"]),
        "controls",
    ),
    "a control of another growth": (
        changed("controls.ewc.sgd", ["sigmoid-sigmoid-neuron"]),
        "controls",
    ),
    "a mean that is near by nothing": (
        changed("controls.class-means.nearest", ["cosine"]),
        "controls.class-means.nearest.0",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_the_error_for_a_bad_configuration_is_one_line_that_names_the_key(case):
    config, key = BAD[case]
    with pytest.raises(SnapError) as caught:
        load(config)
    message = str(caught.value)
    assert f"config key {key}" in message
    assert "\n" not in message
    assert len(message) < 300


def test_a_pair_that_is_not_in_the_paper_is_an_error():
    config = changed("lambdas", [3])
    config["search"] = {"pairs": "paper"}
    with pytest.raises(SnapError, match=r"search\.pairs: .*λ = 3"):
        load(config)


def test_numbers_may_be_strings():
    """Snakemake's --config option gives strings."""
    plan = load(merge(CONFIG, {"lambdas": ["4", ".5"], "search": {"epochs": "3"}}))
    assert plan.config["lambdas"] == [4, 0.5]
    assert plan.config["search"]["epochs"] == 3


def test_unreadable_files_are_errors(tmp_path):
    with pytest.raises(SnapError, match="cannot be read"):
        read([tmp_path / "absent.yaml"])
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1")
    with pytest.raises(SnapError, match="cannot be read"):
        read([broken])
    broken.write_text("- 1\n")
    with pytest.raises(SnapError, match="keys to values"):
        read([broken])


def described(whole, schema, path=()):
    """Every key of a schema, with what it refers to."""
    for name, given in schema.get("properties", {}).items():
        inner = resolved(whole, given)
        yield (*path, name), inner
        yield from described(whole, inner, (*path, name))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from described(whole, resolved(whole, schema[key]), (*path, "*"))


def resolved(whole, inner):
    if "$ref" not in inner:
        return inner
    return whole["$defs"][inner["$ref"].removeprefix("#/$defs/")] | inner


def test_the_schema_describes_every_key():
    schema = yaml.safe_load(SCHEMA.read_text())
    for path, inner in described(schema, schema):
        assert inner.get("description"), f"{'.'.join(path)} has no description"
        assert {"type", "enum", "const"} & set(inner), f"{'.'.join(path)} has no type"
        required = schema["required"] if len(path) == 1 else ()
        if len(path) == 1:
            assert ("default" in inner) != (path[0] in required), f"{path[0]} needs a default"


def test_the_defaults_of_the_schema_equal_config_yaml():
    minimal = {
        key: CONFIG[key] for key in ("datasets", "configurations", "lambdas", "grids", "sgd")
    }
    minimal |= {"search": {"grid": "text"}, "iid": {}, "sequential": {}}
    minimal |= {"readings": CONFIG["readings"], "controls": CONFIG["controls"]}
    assert load(minimal).config == load(CONFIG).config
