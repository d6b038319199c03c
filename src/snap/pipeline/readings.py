"""Other readings of the paper that run beside the main one: the configuration with other keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snap.pipeline.config import merge
from snap.pipeline.layout import READINGS
from snap.pipeline.plan import Plan
from snap.pipeline.plan_check import named_key
from snap.trial import Configuration


def load_all(config: Mapping[str, Any], schema: Path, paper: Path) -> dict[str, Plan]:
    """The plan of a configuration and those of its other readings, by folder under results/."""
    main = Plan.load(config, schema, paper)
    plans = {main.run: main}
    for name, reading in configurations(main).items():
        known = _with_pairs(reading, main.paper)
        if known["datasets"] and known["lambdas"]:
            plans[f"{main.run}/{READINGS}/{name}"] = named_key(
                f"readings.{name}", lambda at=known: Plan.load(at, schema, paper)
            )
    return plans


def configurations(plan: Plan) -> dict[str, dict[str, Any]]:
    """The configurations of the other readings, by name."""
    base = {key: value for key, value in plan.config.items() if key != "readings"}
    base |= {"controls": None}  # they are compared with the main reading
    return {
        name: merge(base, overlay) | {"run": f"{plan.run}-{name}"}
        for name, overlay in (plan.config.get("readings") or {}).items()
    }


def _with_pairs(config: Mapping[str, Any], paper: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without what the paper's tables have no pair for, if it takes its pairs."""
    if config["search"]["pairs"] is None:
        return dict(config)
    tables = paper["pairs"]
    datasets = [dataset for dataset in config["datasets"] if dataset["name"] in tables]
    cells = [tables[dataset["name"]] for dataset in datasets]
    configurations = [
        name
        for name in config["configurations"]
        if all(Configuration.parse(name).name in table for table in cells)
    ]
    known = [table[Configuration.parse(name).name] for table in cells for name in configurations]
    lambdas = [
        lambda_
        for lambda_ in config["lambdas"]
        if all(float(lambda_) in map(float, pairs) for pairs in known)
    ]
    kept = {"datasets": datasets, "configurations": configurations, "lambdas": lambdas}
    return {**config, **kept}
