"""A made-up run for the report: two datasets, with every kind of figure, table and verdict."""

from __future__ import annotations

import functools
import json
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATASETS = ("MNIST", "FashionMNIST")
HEADLINE = "Sigmoidal growth keeps what it has learned, task after task"

UNTESTED = "not testable"

# kind, title, section, label in the paper, source tables; {} stands for each dataset
KINDS = [
    ("headline", HEADLINE, "Headline", None, ["sequential", "iid"]),
    ("growth", "How a weight grows", "The model", "fig:weight-growth", ["growth"]),
    ("network", "The network", "The model", "fig:simplified-model-config", []),
    ("iid", "Accuracy against λ", "Learning", "fig:Baseline_Model_Performance", ["iid"]),
    ("forget-{}", "Sequential accuracy", "Forgetting", "fig:Forget_Model_Performance", ["matrix"]),
    ("retention-{}", "Retention per class pair: {}", "Forgetting", "fig:DIGIT_Forget", ["matrix"]),
    ("curves-{}", "Accuracy through the sequence", "Forgetting", "fig:top_performance", ["curve"]),
    ("sgd-{}", "SGD in sequence", "Forgetting", "fig:mnist_sgd", ["curve"]),
    ("consolidation-{}", "Strength and plasticity over time", "Beyond", None, ["consolidation"]),
    ("landscape-{}", "The search landscape over (η, α)", "Beyond", None, ["search", "selected"]),
    ("ladder-{}", "From the text to the reference", "Beyond", None, ["ladder"]),
]

# id, claim, figure or table, verdict for each dataset
CLAIMS = [
    ("iid", "i.i.d., every growth type is about as accurate at its best λ", "iid", "not", "partly"),
    ("iid-sgd", "The same holds for SGD", "sgd-iid", "partly", "reproduced"),
    ("best", "In sequence, sigmoidal growth is most accurate", "forget", "reproduced", "partly"),
    ("worst", "Exponential growth is least accurate in sequence", "headline", "reproduced", "not"),
    ("between", "Linear growth lies in between, with moderate forgetting", "forget", "not", "not"),
    ("none", "Sigmoidal growth prevents forgetting completely", "curves", "reproduced", "partly"),
    ("less", "Linear Hebbian learning forgets less than SGD", "sgd", "reproduced", "reproduced"),
    ("before", "SGD is accurate before it consolidates", "consolidation", UNTESTED, UNTESTED),
]

TABLES = {
    "growth": "Growth equations",
    "hyperparameters": "General hyperparameters",
    "optimal-MNIST": "Optimal (η, α), MNIST",
    "optimal-FashionMNIST": "Optimal (η, α), FashionMNIST",
    "sgd-iid": "SGD i.i.d. accuracy",
    "metrics": "Continual-learning metrics per configuration",
    "notation": "Notation",
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
    for kind, title, section, paper, sources in KINDS:
        for dataset in DATASETS if "{}" in kind else (None,):
            name = kind.format(dataset)
            figures.append(name)
            about = {
                "name": name,
                "title": title.format(dataset),
                "section": section,
                "paper": paper,
            }
            about |= {"kind": kind.removesuffix("-{}"), "dataset": dataset, "sources": sources}
            _json(folder / "figures" / f"{name}.json", about | _words(title, dataset))
            (folder / "figures" / f"{name}.png").write_bytes(png(1600, 900))
    for name, title in TABLES.items():
        _json(folder / "paper_tables" / f"{name}.json", _table(name, title))
    _json(folder / "claims.json", [_verdict(*claim, n) for claim in CLAIMS for n in (0, 1)])
    _json(folder / "provenance.json", provenance())
    return Run(folder, figures, list(TABLES))


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


def _table(name: str, title: str) -> dict[str, Any]:
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
    }


def _verdict(
    name: str, claim: str, figure: str, first: str, second: str, which: int
) -> dict[str, Any]:
    return {
        "id": name,
        "claim": f"{claim}.",
        "where": "Section 4.2, fig:Forget_Model_Performance",
        "figure": figure,
        "dataset": DATASETS[which],
        "verdict": (first, second)[which],
        "reason": "Of the seven configurations, five lie within 0.05 of the best; two do not.",
        "numbers": "Highest of sigmoid less highest of linear: 0.713 (sigmoid-sigmoid-neuron, λ ="
        " 8, 3 seeds) minus 0.340 (linear-linear, λ = 4, 3 seeds) = 0.373.",
        "seeds": 3,
        "tests": [
            {
                "what": "highest accuracy of sigmoid less highest of linear",
                "value": 0.3731,
                "wanted": "at least 0.05",
                "outcome": "reproduced",
                "afterwards": False,
            },
            {
                "what": "accuracy of exponential growth",
                "value": None,
                "wanted": "below 0.3",
                "outcome": UNTESTED,
                "afterwards": True,
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
    path.write_text(json.dumps(content))


@functools.cache
def png(width: int, height: int) -> bytes:
    """A greyscale image of a sigmoid in a frame."""
    rows = [bytearray(b"\xff" * width) for _ in range(height)]
    for x in range(width):
        rows[0][x] = rows[-1][x] = 0
        y = round((height - 1) * (0.9 - 0.8 / (1 + math.exp(12 * (0.5 - x / width)))))
        for row in rows[y : y + 6]:
            row[x] = 40
    for row in rows:
        row[0] = row[-1] = 0

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\x00" + bytes(row) for row in rows))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )
