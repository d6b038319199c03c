"""Measure how the workflow scales to 20 seeds: time and memory of the DAG, tables and figures.

Run by `make load`. Prints one line per measurement, with its values at 5, 10 and 20 seeds and its
growth from 10 to 20: twice the seeds should take at most about twice the time. Results are made up;
nothing is trained.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from snap.pipeline.config import merge, read
from snap.pipeline.plan import Plan
from snap.pipeline.rows import COLUMNS, write_rows
from snap.report import catalog

ROOT = Path(__file__).parents[1]
SEEDS = (5, 10, 20)
FIGURES = ("iid", "curves-MNIST", "landscape-MNIST", "retention-MNIST")


def measured(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its CPU seconds and peak megabytes."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command[:6])} … failed:\n{errors[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def configure(folder: Path, seeds: int) -> Plan:
    several = {"seeds": list(range(seeds))}
    overlay = {"search": {"grid": "union", **several}, "iid": several, "sequential": several}
    config = merge(read([ROOT / "config.yaml"]), overlay)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    schema, paper = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"
    return Plan.load(config, schema, paper)


def made_up(folder: Path, plan: Plan) -> None:
    """Write made-up search results, and the tables that figures are drawn from."""
    rng = random.Random(0)
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in COLUMNS}
    for cell in plan.all_cells:
        who: dict[str, object] = {
            "run": plan.run,
            "learner": cell.learner,
            "dataset": cell.dataset,
            "configuration": cell.configuration,
            "lambda": cell.lateral_inhibition,
        }
        pairs = plan.pairs(cell)
        eta, alpha = pairs[0]
        tables["selected"].append(who | {"eta": eta, "alpha": alpha, "status": "selected"})
        for seed in plan.seeds("search"):
            rows = [
                who | {"eta": e, "alpha": a, "seed": seed, "accuracy": rng.random(), "epochs": 10}
                for e, a in pairs
            ]
            tables["search"] += rows
            name = f"{cell.learner}-{cell.dataset}-{cell.configuration}-{cell.lambda_text}-{seed}"
            write_rows(folder / f"parts/{name}.csv", COLUMNS["search"], rows)
            one = who | {"eta": eta, "alpha": alpha, "seed": seed}
            tables["iid"] += [one | {"epoch": n, "accuracy": rng.random()} for n in range(1, 11)]
            tables["sequential"].append(one | {"accuracy": rng.random(), "forgetting": 0.1})
            for after, task in itertools.product(range(6), range(1, 6)):
                cells = {"after": after, "task": task, "accuracy": rng.random(), "classes": "0+1"}
                tables["matrix"].append(one | cells)
            for at in range(41):
                point = {"training": -(-at // 8), "epoch": 1, "samples": at * 1500}
                lines = {f"task{n}": rng.random() for n in range(1, 6)}
                tables["curve"].append(one | point | lines)
    for name, columns in COLUMNS.items():
        tasks = [f"task{n}" for n in range(1, 6)] if name == "curve" else []
        write_rows(folder / f"tables/{name}.csv", ["run", *columns, *tasks], tables[name])


def measure(folder: Path, seeds: int) -> dict[str, tuple[float, float]]:
    plan = configure(folder, seeds)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    measurements = {
        "snakemake -n": measured([*snakemake, "--directory", str(folder), "-n"], folder)
    }
    # Use a separate process: a child's peak memory starts at its parent's size.
    maker = multiprocessing.Process(target=made_up, args=(folder, plan))
    maker.start()
    maker.join()
    parts = sorted(f"parts/{path.name}" for path in (folder / "parts").glob("*.csv"))
    snap = [sys.executable, "-m", "snap"]
    table = [*snap, "job", "table", *parts, "--output", "search.csv", "--run", "load"]
    measurements["table search"] = measured(table, folder)
    for name in FIGURES:
        kind, _ = catalog.find(name)
        options = ["--tables", "tables", "--style", str(ROOT / "workflow/style.yaml")]
        options += ["--paper", str(ROOT / "workflow/paper.yaml"), "--output", f"{name}.png"]
        options += ["--caption", str(ROOT / f"reports/captions/{kind.name}.rst")]
        measurements[f"figure {name}"] = measured(
            [*snap, "report", "figure", name, *options], folder
        )
    return measurements


def main() -> None:
    start, results = time.time(), {}
    for seeds in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            results[seeds] = measure(Path(folder), seeds)
    print(f"{'':26}" + "".join(f"{f'{seeds} seeds':>18}" for seeds in SEEDS) + f"{'20 / 10':>10}")
    for name in results[SEEDS[0]]:
        cells = [results[seeds][name] for seeds in SEEDS]
        shown = "".join(f"{f'{s:.1f} s {mb:.0f} MB':>18}" for s, mb in cells)
        print(f"{name:26}{shown}{cells[-1][0] / cells[-2][0]:>9.2f}×")
    print(f"measured in {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
