"""snap train: train one network from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from snap.cli.options import add_folder, add_json
from snap.controls import KINDS
from snap.data.datasets import DATASETS
from snap.engines import CHOICES
from snap.errors import SnapError
from snap.learners import HEBBIAN, LEARNERS
from snap.trial import SPLITS, Iid, Sequential, Trial

DEFAULTS = Sequential()
# The options of the sequential experiment. None of them is set unless it is given, so that one
# without its experiment is noticed.
SEQUENCE = {
    "tasks": ("tasks as lists of classes", None),
    "threshold": ("a task ends at this accuracy", None),
    "max_epochs": ("a task ends after this many epochs", None),
    "judged_on": ("the data on which a task's accuracy is judged", ("train", "test")),
    "curve_every": ("samples between two curve points", None),
}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


class Formatter(argparse.HelpFormatter):
    """Adds its default to the help of every option that has one."""

    def _get_help_string(self, action: argparse.Action) -> str:
        given = action.default not in (None, False, argparse.SUPPRESS)
        return f"{action.help} (default: %(default)s)" if given else str(action.help)


def add(commands: Any) -> None:
    train = commands.add_parser(
        "train",
        help="train one trial and print its accuracies",
        description="Train one network and print its accuracies.",
        formatter_class=Formatter,
    )
    train.set_defaults(command=_train)
    option = train.add_argument
    option("--dataset", default="MNIST", help=", ".join(DATASETS))
    option("--experiment", choices=("iid", "sequential"), default="iid", help="the experiment")
    option("--configuration", required=True, help="see: snap configurations")
    option("--learner", choices=LEARNERS, default=HEBBIAN.name, help="the learning rule")
    controls = ", ".join(kind.name + ("-N" if kind.amount else "") for kind in KINDS.values())
    option("--control", metavar="CONTROL", help=f"what it does besides that rule: {controls}")
    option("--lambda", dest="lateral_inhibition", metavar="λ", help="lateral inhibition (hebbian)")
    option("--eta", metavar="η", help="strength of the orthogonality term (hebbian)")
    option("--alpha", required=True, metavar="α", help="learning rate")
    option("--protocol", default="reference", help="text, reference or code, and any +switch=value")
    option("--seed", default=0, help="determines the initial weights and the order of the samples")
    option("--epochs", help="epochs of the i.i.d. experiment (default: 10)")
    option("--hidden", help="hidden neurons (default: the paper's number for the dataset)")
    option("--beta", default=0.01, help="initial weights are Uniform(0, β)")
    option("--split", choices=SPLITS, default="test", help="what accuracy is measured on")
    option("--train-limit", metavar="N", help="train on the first N samples only")
    option("--test-limit", metavar="N", help="measure on the first N samples only")
    sequence = train.add_argument_group("the sequential experiment")
    for name, (meaning, choices) in SEQUENCE.items():
        shown = f"{meaning} (default: {DEFAULTS.items()[name]})"
        sequence.add_argument(_flag(name), choices=choices, help=shown)
    execution = train.add_argument_group("execution")
    execution.add_argument("--engine", choices=CHOICES, default="auto", help="the engine")
    execution.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, …")
    execution.add_argument("--record-weights", action="store_true", help="add weight percentiles")
    add_json(execution)
    add_folder(execution)


def trial_of(options: argparse.Namespace) -> Trial:
    given = {name: getattr(options, name) for name in SEQUENCE}
    given = {name: value for name, value in given.items() if value is not None}
    experiment: Iid | Sequential
    if options.experiment == "iid":
        if given:
            flags = " and ".join(map(_flag, given))
            raise SnapError(f"{flags} can only be used with --experiment sequential")
        experiment = Iid(options.epochs or 10)
    else:
        if options.epochs is not None:
            raise SnapError("--epochs is for --experiment iid: a task's limit is --max-epochs")
        if "tasks" in given:
            given["tasks"] = Sequential.parse_tasks(given["tasks"])
        experiment = Sequential(**given)
    names = ("configuration", "alpha", "lateral_inhibition", "eta", "dataset", "learner")
    more = ("control", "protocol", "hidden", "beta", "seed", "split", "train_limit", "test_limit")
    return Trial(experiment=experiment, **{name: getattr(options, name) for name in names + more})


def _train(options: argparse.Namespace) -> None:
    trial = trial_of(options)
    from snap.data.store import load
    from snap.engines import settle
    from snap.experiments import run
    from snap.notebook.trained import progress_bar

    def warn(why: str) -> None:
        print(f"snap: {why}", file=sys.stderr)

    record = options.record_weights
    engine, device = settle(options.engine, options.device, [trial], warn, record)
    dataset = load(trial.dataset, options.dir)
    with progress_bar(disable=None) as advance:
        (result,) = run([trial], dataset, engine, device, record=record, progress=advance)
    if options.json:
        values = result.to_dict() | ({"metrics": result.metrics} if result.metrics else {})
        values["fingerprint"] = trial.fingerprint(dataset.checksum, result.engine)
        print(json.dumps(values))
    else:
        print(_report(result))


def _report(result: Any) -> str:
    """A result as text."""
    lines = [result.trial.text.replace(",", "  ")]
    if result.matrix is not None:
        names = ["+".join(map(str, task)) for task in result.trial.experiment.tasks]
        labels = ["untrained", *names][: len(result.matrix)]  # fewer if it diverged
        lines.append("accuracy on the classes of each task, after each task:")
        lines.append("           " + "".join(f"{name:>8}" for name in names))
        for row, label in zip(result.matrix, labels, strict=True):
            lines.append(f"{label:>10} " + "".join(f"{value:8.3f}" for value in row))
        ended = [
            f"{n} epoch{'s' if n > 1 else ''}{'' if reached else ' (not reached)'}"
            for n, reached in zip(result.epochs_per_task, result.reached, strict=True)
        ]
        lines.append("tasks took " + ", ".join(ended))
        measured = result.metrics or {}
        lines += [f"{name.replace('_', ' ')}: {value:.4f}" for name, value in measured.items()]
    else:
        lines += [f"epoch {p['epoch']:>3}: {p['accuracy']:.4f}" for p in result.history]
    if result.diverged is not None:
        lines.append(f"diverged: weights stopped being finite at sample {result.diverged}")
    else:
        lines.append(f"accuracy over all classes: {result.accuracy:.4f}")
    rate = result.seconds / max(result.samples, 1) * 1e6
    lines.append(
        f"{result.samples} samples in {result.seconds:.1f} s"
        f" ({rate:.1f} µs each, measuring included; engine {result.engine})"
    )
    return "\n".join(lines)
