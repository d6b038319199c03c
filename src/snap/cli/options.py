"""Options shared by several commands."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--dir", type=Path, metavar="DIR", help="the data folder (default: $SNAP_DATA, or data/)"
    )


def add_results(command: argparse.ArgumentParser) -> None:
    command.add_argument("--results", type=Path, default=Path("results"), help="the results folder")


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print as JSON")
