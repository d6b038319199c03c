"""A made-up run for the report: two datasets, with every kind of figure, table and verdict."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import figure_runs
import little_run
from snap.cli.main import main
from snap.pipeline import snapshots
from snap.report import page
from snap.report.figures.style import read_style
from snap.trial import Sequential, Trial

ROOT = Path(__file__).parents[1]
DATASETS = ("MNIST", "FashionMNIST")
HEADLINE = "Sigmoidal growth keeps what it has learned, task after task"
STYLE = read_style(ROOT / "workflow/style.yaml")
UNTESTED = "not testable"

# kind, title, section, number in the paper, source tables; {} stands for each dataset
KINDS = [
    ("headline", HEADLINE, "Headline", None, ["sequential", "iid"]),
    ("growth", "How a weight grows", "The model", 1, ["growth"]),
    ("network", "The network", "The model", 5, []),
    ("iid", "Accuracy against λ", "Learning", 2, ["iid"]),
    ("forget-{}", "Sequential accuracy", "Forgetting", 3, ["matrix"]),
    ("retention-{}", "Retention per class pair: {}", "Forgetting", 8, ["matrix"]),
    ("curves-{}", "Accuracy through the sequence", "Forgetting", 4, ["curve"]),
    ("sgd-{}", "SGD in sequence", "Forgetting", 6, ["curve"]),
    ("consolidation-{}", "Strength and plasticity over time", "Beyond", None, ["consolidation"]),
    ("landscape-{}", "The search landscape over (η, α)", "Beyond", None, ["search", "selected"]),
    ("ladder", "From the text to the reference", "Beyond", None, ["ladder"]),
]
LEFT_OUT = "ladder"
CONTROLS = "controls"  # drawn as in a report
WITHOUT = "The ladder of Hebbian learning was not part of this run."

# id, short name, claim, figure or table, verdict for each dataset
CLAIMS = [
    ("iid", "Equal", "i.i.d., every growth type is about as accurate", "iid", "not", "partly"),
    ("iid-sgd", "Equal, SGD", "The same holds for SGD", "sgd-iid", "partly", "reproduced"),
    ("best", "Best", "In sequence, sigmoidal growth is best", "forget", "reproduced", "partly"),
    ("worst", "Worst", "Exponential growth is worst", "headline", "reproduced", "not"),
    ("between", "Between", "Linear growth lies in between", "forget", "not", "not"),
    ("none", "None lost", "Sigmoidal growth prevents forgetting", "curves", "reproduced", "partly"),
    ("less", "Less than SGD", "Linear growth forgets less", "sgd", "reproduced", "reproduced"),
    ("before", "Before", "SGD is accurate early", "consolidation", UNTESTED, UNTESTED),
]

TABLES = {
    "growth": "Growth equations",
    "hyperparameters": "General hyperparameters",
    "optimal-MNIST": "Optimal (η, α), MNIST",
    "optimal-FashionMNIST": "Optimal (η, α), FashionMNIST",
    "sgd-iid": "SGD i.i.d. accuracy",
    "metrics": "Continual-learning metrics per configuration",
    "notation": "Notation",
    "controls-MNIST": "Controls: MNIST",
}
CONFIGURATIONS = [
    "linear-linear",
    "exponential-linear-neuron",
    "sigmoid-linear-neuron",
    "sigmoid-sigmoid-neuron",
    "exponential-exponential-neuron",
    "sigmoid-linear-synapse",
    "sigmoid-sigmoid-synapse",
]


@dataclass(frozen=True)
class Run:
    folder: Path
    figures: list[str]
    tables: list[str]

    @property
    def page(self) -> Path:
        return self.folder / "report.html"

    def write(self, output: Path | None = None) -> Path:
        """Write the page."""
        contents = page.Contents(self.figures, self.tables, snapshots=[DATASETS[0]])
        page.write(self.folder, output or self.page, contents, STYLE)
        return output or self.page

    def change(self, file: str, **values: Any) -> None:
        """Change values in one of the run's JSON files; in every entry if it holds a list."""
        path = self.folder / file
        content = json.loads(path.read_text())
        for entry in content if isinstance(content, list) else [content]:
            entry |= values
        path.write_text(json.dumps(content))


def build(folder: Path) -> Run:
    """Write the files of a run."""
    figures = []
    for kind, title, section, number, sources in KINDS:
        for dataset in DATASETS if "{}" in kind else (None,):
            name = kind.format(dataset)
            figures.append(name)
            about = {"name": name, "title": title.format(dataset), "section": section}
            about |= {"kind": kind.removesuffix("-{}"), "dataset": dataset, "sources": sources}
            about |= {"paper": _in_paper("Figure", number), "data": name != "network"}
            about["left_out"] = WITHOUT if name == LEFT_OUT else ""
            _json(folder / "figures" / f"{name}.json", about | _words(title, dataset))
            (folder / "figures" / f"{name}.svg").write_text(svg(name))
            if about["data"]:
                data = "configuration,λ,mean\nlinear-linear,0.5,0.713\n"
                (folder / "figures" / f"{name}.csv").write_text(data)
    for ending, content in drawn_controls().items():
        (folder / "figures" / f"{CONTROLS}{ending}").write_bytes(content)
    figures.append(CONTROLS)
    for place, (name, title) in enumerate(TABLES.items(), start=1):
        _json(folder / "paper_tables" / f"{name}.json", _table(name, title, place))
        for ending in page.FORMATS:
            (folder / "paper_tables" / f"{name}.{ending}").write_text(f"{title} as {ending}\n")
    _json(folder / "claims.json", [_verdict(*claim, n) for claim in CLAIMS for n in (0, 1)])
    _json(folder / "provenance.json", provenance())
    rows: dict[str, list[dict[str, Any]]] = {}
    for dataset in DATASETS:
        for table, own in little_run.rows_of(little_run.as_in_the_paper(), dataset).items():
            rows.setdefault(table, []).extend(own)
    for row in rows["matrix"]:
        row["classes"] = f"{2 * row['task'] - 2}+{2 * row['task'] - 1}"
    for row in rows["curve"]:
        row["accuracy"] = 0.2 * row["training"]
    rows[CONTROLS] = figure_runs.controls(little_run.CELLS, DATASETS, (little_run.BEST,))
    little_run.write(folder / "tables", rows, "quick")
    portraits(folder / f"portrait/{DATASETS[0]}.snapshots.npz")
    return Run(folder, figures, list(TABLES))


@cache
def drawn_controls() -> Mapping[str, bytes]:
    """The files of the figure of the controls, by ending."""
    with tempfile.TemporaryDirectory() as folder:
        tables = figure_runs.tables_of("of the paper").folder
        files = {"tables": tables, "style": ROOT / "workflow/style.yaml", "all": folder}
        files["paper"] = ROOT / "workflow/paper.yaml"
        files["caption"] = ROOT / f"reports/captions/{CONTROLS}.rst"
        options = [str(word) for name, file in files.items() for word in (f"--{name}", file)]
        assert main(["report", "figure", CONTROLS, *options]) == 0
        return {path.suffix: path.read_bytes() for path in Path(folder).glob(f"{CONTROLS}.*")}


def portraits(path: Path) -> None:
    """Snapshots of two small networks through two tasks."""
    random = np.random.default_rng(0)
    seen = {}
    for name in ("linear-linear", "sigmoid-sigmoid-neuron"):
        trial = Trial(name, 0.1, 16, 0.1, DATASETS[0], hidden=5, experiment=Sequential())
        at = np.arange(9, dtype=np.float32) / 4
        strength = np.minimum(at[:, None] * random.uniform(0.2, 0.9, 5), 1).astype(np.float32)
        tiles = random.integers(0, 255, (9, 5, 784), np.uint8)
        frozen = (strength > 0.9).astype(np.float32)
        seen[trial] = snapshots.Snapshots(tiles, strength, frozen, at)
    path.parent.mkdir(parents=True, exist_ok=True)
    snapshots.write(path, seen)


def _in_paper(what: str, number: int | None) -> list[dict[str, str]]:
    if number is None:
        return []
    label = f"{what[:3].lower()}:number-{number}"
    return [{"number": f"{what} {number}", "label": label, "about": "something of the paper"}]


def _words(title: str, dataset: str | None) -> dict[str, Any]:
    caption = (
        f"**{title}.** Colour is the growth type of the hidden layer, *solid* neuron-wise and"
        " *dotted* synapse-wise; :math:`\\lambda` is the strength of lateral inhibition, on a"
        " logarithmic axis. The band spans the lowest and the highest of the seeds.\n\n"
        "A line ends where a trial diverged; ``linear-linear`` has no focus."
    )
    gaps = ["exponential-exponential-neuron diverged at λ = 0.5 with seeds 0 and 1."]
    where = f" on {dataset}" if dataset else ""
    alt = f"{title}{where}: sigmoidal growth ends at 0.71, linear at 0.34, exponential at 0.19."
    return {"caption": caption, "alt": alt, "gaps": gaps if dataset == "MNIST" else []}


def _table(name: str, title: str, number: int) -> dict[str, Any]:
    columns = ["Configuration", "λ", "Accuracy", "Forgetting", "Paper", "Agreement"]
    rows = [
        [
            configuration,
            f"{2.0**n:g}",
            f"{math.sin(n + i) ** 2:.3f} ± 0.004",
            f"{-0.01 * n * i:+.2f}",
            "0.9147",
            "within",
        ]
        for i, configuration in enumerate(CONFIGURATIONS)
        for n in range(-1, 3)
    ]
    rows[3][2], rows[4][2], rows[4][5] = "missing", "diverged", "–"
    caption = f"{title}: mean over seeds beside the paper's own, agreement within 0.05 marked."
    return {"name": name, "title": title, "caption": caption, "columns": columns} | {
        "rows": rows,
        "numeric": [column in columns[1:5] for column in columns],
        "paper": _in_paper("Table", number),
    }


def _verdict(
    name: str, short: str, claim: str, figure: str, first: str, second: str, which: int
) -> dict[str, Any]:
    return {
        "id": name,
        "short": short,
        "claim": f"{claim}.",
        "where": "Experiment 2, Figure 3 (accuracy after the sequence)",
        "figure": figure,
        "dataset": DATASETS[which],
        "verdict": (first, second)[which],
        "reason": "Weights were not recorded, so -0.1 cannot be told from 0.1.",
        "seeds": 3,
        "tests": [
            {
                "what": "highest accuracy of sigmoid less highest of linear",
                "value": (0.3731, -0.012)[which],
                "wanted": "at least 0.05; partly: at least -0.05",
                "outcome": ("reproduced", "partly")[which],
                "note": "",
                "afterwards": False,
                "by_seed": ([0.36, 0.37, 0.389], [-0.02, -0.012, -0.004])[which],
                "paper": (0.41, None)[which],
                "made_of": "S.S. neuron (λ = 8) 0.713 ± 0.015 minus L.L. (λ = 4) 0.340 ± 0.012",
                "limits": {"reproduced": ["at least", 0.05], "partly": ["at least", -0.05]},
            },
            {
                "what": "accuracy of exponential growth",
                "value": None,
                "wanted": "below 0.3",
                "outcome": UNTESTED,
                "note": "",
                "afterwards": True,
                "by_seed": [],
                "paper": None,
                "made_of": "",
                "limits": {"reproduced": ["below", 0.3]},
            },
        ],
        "details": ["neuron_norm"],
    }


def provenance() -> dict[str, Any]:
    stage = {"jobs": 22, "trials": 1048, "trained": 1000, "reused": 48, "diverged": 3}
    stage |= {"wall_seconds": 553.58, "core_seconds": 500.26}
    other = stage | {"jobs": 9, "trained": 90, "wall_seconds": 39.46, "core_seconds": 4030.8}
    return {
        "run": "quick",
        "reduced": "16,000 training and 2,000 test samples, 2 epochs, 9 pairs, 2 seeds",
        "date": "2031-02-03T04:05:06+00:00",
        "semantics": 2,
        "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "changed": True},
        "versions": {"python": "3.11.9", "snap": "0.1.0", "numpy": "2.4.6", "torch": None},
        "platform": "Linux-6.1.0-x86_64-with-glibc2.36",
        "hardware": {"cpu": "A Processor @ 2.60GHz", "cores": 2, "memory": 8 * 2**30},
        "costs": {
            "stages": {"search": stage, "iid": other},
            "wall_seconds": 352.3,
            "core_seconds": 704.6,
            "training_seconds": 614.8,
        },
        "restored": [],
        "config": {
            "run": "quick",
            "protocol": "reference",
            "datasets": [{"name": name, "hidden": 64} for name in DATASETS],
            "lambdas": [0.5, 1, 2, 4, 8, 16, 32, 64],
        },
    }


def _json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def svg(name: str) -> str:
    """A sigmoid in a frame, in the form in which figures are written."""
    points = " ".join(
        f"{x} {90 - 80 / (1 + math.exp(12 * (0.5 - x / 300))):.1f}" for x in range(300)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 400" width="933" height="533"'
        f' role="img"><defs><clipPath id="{name}-0"><rect width="700" height="400"/></clipPath>'
        f'</defs><g clip-path="url(#{name}-0)"><path d="M{points}"'
        ' style="fill:none;stroke:light-dark(#0072b2, #56b4f0)"/></g>'
        '<text x="20" y="120" style="fill:light-dark(#1b222c, #e6e9ee)">accuracy</text></svg>\n'
    )
