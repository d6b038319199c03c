"""How fast the engines are, and how fast this core could be.

The roofline is the shortest possible time per sample. It is the longer of two times, both measured
in the same run: the floating-point work of the rule, at the speed of a loop that does nothing else,
and reading and writing W once. Engines and roofline are measured in alternating turns, and the best
turn counts, so that other load on the machine disturbs the ratios as little as possible.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from snap.data import synthetic
from snap.data.samples import Samples
from snap.engines import population_class
from snap.engines.compiling import compiled
from snap.initial import initial_weights
from snap.learners import HEBBIAN, LEARNERS, SGD
from snap.trial import Configuration, Trial

# Additions, multiplications and fused multiply-adds per hidden weight and sample in the reference
# protocol: the update, the running sum of eq:sanger, the next product, the norm.
WORK = {
    (HEBBIAN.name, "linear-linear"): 5,
    (HEBBIAN.name, "sigmoid-sigmoid-neuron"): 5,
    (HEBBIAN.name, "exponential-exponential-neuron"): 6,
    (HEBBIAN.name, "sigmoid-sigmoid-synapse"): 8,
    (HEBBIAN.name, "exponential-exponential-synapse"): 6,
    (SGD.name, "linear-linear"): 3,
    (SGD.name, "sigmoid-sigmoid-neuron"): 3,
    (SGD.name, "exponential-exponential-neuron"): 4,
    (SGD.name, "sigmoid-sigmoid-synapse"): 6,
}
CHAIN = 8  # dependent multiply-adds per element; more or fewer were slower
SAMPLES = {"cpu": 2000, "torch": 40, "reference": 10}  # per turn


@compiled
def _arithmetic(values, factor, rounds):
    """Multiply-adds on values that stay in the nearest cache."""
    half = values.size // 2
    for _ in range(rounds):
        for k in range(half):
            u, v = values[k], values[k + half]
            for _ in range(CHAIN):
                u, v = u * factor + factor, v * factor + factor
            values[k], values[k + half] = u, v


@compiled
def _stream(W, rounds):
    """Read and write every weight once per round."""
    for _ in range(rounds):
        for k in range(W.size):
            W[k] = -W[k]


def _timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Roofline:
    """The best times so far for this core's arithmetic and for reading and writing W."""

    def __init__(self, hidden: int, width: int) -> None:
        self.weights = hidden * width
        self.values = np.full(1024, 0.5, np.float32)
        self.W = np.ones(self.weights, np.float32)
        self.operation = self.traffic = np.inf  # seconds
        self.turn()  # compiles
        self.operation = self.traffic = np.inf

    def turn(self) -> None:
        factor = np.float32(0.5)
        spent = _timed(lambda: _arithmetic(self.values, factor, 400))
        self.operation = min(self.operation, spent / (400 * self.values.size * CHAIN))
        self.traffic = min(self.traffic, _timed(lambda: _stream(self.W, 200)) / 200)

    def sample(self, work: int) -> float:
        """Seconds per sample for a rule with `work` operations per weight."""
        return max(work * self.weights * self.operation, self.traffic)


def images() -> Samples:
    """As many images as in MNIST, so that they are read from memory as in real training."""
    files = synthetic.files()
    images = files["train-images-idx3-ubyte"].reshape(synthetic.TRAIN, -1)
    labels = files["train-labels-idx1-ubyte"]
    return Samples(np.tile(images, (30, 1)), np.tile(labels, 30))


def trial_of(learner: str, configuration: str, hidden: int) -> Trial:
    inhibits = LEARNERS[learner].inhibits
    return Trial(
        Configuration.parse(configuration),
        alpha=0.01,
        lateral_inhibition=2 if inhibits else None,
        eta=0.1 if inhibits else None,
        dataset="Synthetic",
        learner=learner,
        hidden=hidden,
    )


def measure(widths: list[int], quick: bool = False) -> dict[str, Any]:
    """Measure everything and return the report as data."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        samples = images()
        rows = [row for h in widths for row in _rows(samples, h, turns=3 if quick else 15)]
        scaling = _scaling(samples, widths[0], turns=2 if quick else 12)
        sharing = _sharing(samples, widths[0], turns=2 if quick else 12)
    finally:
        torch.set_num_threads(threads)
    return {
        "rows": rows,
        "two_threads_over_one": scaling,
        "shared_layer_over_two": sharing,
        "cores": os.cpu_count(),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "lambda": 2,
    }


def _rows(samples: Samples, hidden: int, turns: int) -> list[dict[str, Any]]:
    rows = []
    order = np.random.default_rng(0).permutation(len(samples))
    for (learner, configuration), work in WORK.items():
        trial = trial_of(learner, configuration, hidden)
        roofline = Roofline(hidden, samples.images.shape[1])
        populations = {}
        for engine in SAMPLES:
            weights = [initial_weights(trial, samples.images.shape[1])]
            populations[engine] = population_class(engine)([trial], weights, samples)
            populations[engine].train([order[:4]])  # compiles
        best = dict.fromkeys(SAMPLES, np.inf)
        for turn in range(turns):
            roofline.turn()
            for engine, count in SAMPLES.items():
                if engine != "cpu" and turn % 3:
                    continue
                start = turn * 2000 % (len(order) - 2000)
                train = partial(populations[engine].train, [order[start : start + count]])
                best[engine] = min(best[engine], _timed(train) / count)
        for engine, seconds in best.items():
            rows.append(
                {
                    "engine": engine,
                    "learner": learner,
                    "configuration": configuration,
                    "hidden": hidden,
                    "us_per_sample": seconds * 1e6,
                    "speedup_over_reference": best["reference"] / seconds,
                    "speedup_over_torch": best["torch"] / seconds,
                    "roofline_us": roofline.sample(work) * 1e6,
                    "times_roofline": seconds / roofline.sample(work),
                }
            )
    return rows


def _scaling(samples: Samples, hidden: int, turns: int) -> float:
    """How much faster two threads are than one at training populations; best turn of each."""
    trial = trial_of(HEBBIAN.name, "sigmoid-sigmoid-neuron", hidden)
    weights = [initial_weights(trial, samples.images.shape[1])]
    make = population_class("cpu")
    populations = [make([trial], weights, samples) for _ in range(8)]
    order = np.arange(4000)

    def train(threads: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            return _timed(lambda: list(pool.map(lambda p: p.train([order]), populations)))

    train(2)
    times = [(train(1), train(2)) for _ in range(turns)]
    return min(one for one, _ in times) / min(two for _, two in times)


def _sharing(samples: Samples, hidden: int, turns: int) -> float:
    """How much faster two configurations that share a layer train together than in turn."""
    names = ("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron")
    trials = [trial_of(HEBBIAN.name, name, hidden) for name in names]
    weights = [initial_weights(trial, samples.images.shape[1]) for trial in trials]
    make = population_class("cpu")
    together = make(trials, weights, samples)
    alone = [make([t], [w], samples) for t, w in zip(trials, weights, strict=True)]
    order = np.arange(4000)

    def in_turn() -> None:
        for population in alone:
            population.train([order])

    times = [(_timed(in_turn), _timed(lambda: together.train([order] * 2))) for _ in range(turns)]
    return min(apart for apart, _ in times) / min(one for _, one in times)


def table(report: dict[str, Any]) -> str:
    """The report as a text table."""
    head = (
        f"{'engine':10}{'learner':9}{'configuration':33}{'H':>3}{'µs/sample':>11}"
        f"{'× reference':>13}{'× torch':>9}{'of roofline':>13}"
    )
    lines = [head]
    for row in report["rows"]:
        lines.append(
            f"{row['engine']:10}{row['learner']:9}{row['configuration']:33}{row['hidden']:>3}"
            f"{row['us_per_sample']:11.1f}{row['speedup_over_reference']:13.1f}"
            f"{row['speedup_over_torch']:9.1f}{row['times_roofline']:12.2f}×"
        )
    lines.append(
        "two configurations that share their hidden layer are trained"
        f" {report['shared_layer_over_two']:.2f}× as fast as one after the other"
    )
    lines.append(
        f"two threads train a population {report['two_threads_over_one']:.2f}× as fast as one;"
        f" peak memory of this process {report['peak_memory_mb']:.0f} MB"
    )
    return "\n".join(lines)
