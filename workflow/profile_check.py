"""Check a Snakemake profile before Snakemake reads it: its errors are long and name no remedy."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from snap.errors import SnapError, printable

OPTION = "--workflow-profile"
FOLDER = Path("workflow/profiles")


def given(options: Sequence[str]) -> str | None:
    """The profile that is named on the command line."""
    for option, following in itertools.zip_longest(options, options[1:], fillvalue=""):
        if option == OPTION:
            return following
        if option.startswith(f"{OPTION}="):
            return option.partition("=")[2]
    return None


def check(options: Sequence[str]) -> None:
    """Raise a SnapError of one sentence if the profile cannot be used."""
    name = given(options)
    if name is None or name == "none":
        return
    file = Path(name) / "config.yaml"
    if not file.is_file():
        there = sorted(f"profiles/{path.parent.name}" for path in FOLDER.glob("*/config.yaml"))
        raise SnapError(
            f"there is no profile {printable(name)} ({printable(str(file), 200)} is missing):"
            f" choose from {', '.join(there)}"
        )
    known = _known_options()
    for key in _content(file):
        if str(key).replace("_", "-") not in known:
            close = difflib.get_close_matches(str(key), known, 1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise SnapError(f"{file}: Snakemake has no option {printable(str(key))}{hint}")


def _content(file: Path) -> dict[str, Any]:
    import yte

    try:
        with file.open(encoding="utf-8") as stream:
            content = yte.process_yaml(stream, require_use_yte=True)
    except SnapError:
        raise
    except Exception as error:  # any error that its Python can raise
        cause = error
        while cause.__cause__ is not None or cause.__context__ is not None:
            cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
            if isinstance(cause, SnapError):
                raise SnapError(str(cause)) from None
        kind = "" if isinstance(error, yaml.YAMLError) else f"{type(error).__name__}: "
        raise SnapError(f"{file} cannot be read: {kind}{' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise SnapError(f"{file} must be a mapping of Snakemake's options to values")
    return content


def _known_options() -> list[str]:
    from snakemake.cli import get_argument_parser

    actions = get_argument_parser()._actions
    return [name.lstrip("-") for action in actions for name in action.option_strings]
