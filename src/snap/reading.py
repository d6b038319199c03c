"""Read what people write: text, YAML and JSON. Whatever it is, it gives a value or one sentence.

A file must be a regular file of UTF-8 text, and not too large. A value may not be nested too
deeply, contain itself, or grow out of bounds by its aliases. No mapping may have a key twice: YAML
and JSON would silently keep the last.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from snap.errors import SnapError, printable

MOST_BYTES = 250_000  # of a file that people write
MOST_VALUES = 100_000  # in a file, with every alias replaced by what it stands for
DEEPEST = 40  # levels of lists and mappings
# All that PyYAML raises for text that it cannot make sense of, besides its own errors: for a date
# without such a day, a number with more digits than Python converts, a tag that does not fit.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file."""
    shown = printable(str(path), 200)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            raise SnapError(f"{shown} cannot be read: it is not a file")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise SnapError(f"{shown} cannot be read: {error.strerror or error}") from None
    if len(content) > most:
        raise SnapError(f"{shown} cannot be read: it is larger than {most // 1000} kB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SnapError(f"{shown} cannot be read: line {line} is not UTF-8 text") from None


def read_yaml(path: Path) -> Any:
    """The content of a YAML file; None if it is empty."""
    return parse_yaml(read_text(path), printable(str(path), 200))


def read_mapping(path: Path) -> dict[str, Any]:
    """The content of a YAML file that is a mapping of keys to values, or empty."""
    content = read_yaml(path) or {}
    if not isinstance(content, dict):
        raise SnapError(f"{printable(str(path), 200)} must be a mapping of keys to values")
    return content


def parse_yaml(text: str, name: str) -> Any:
    """The value of a YAML text; error messages call it `name`."""
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _Check(loader, name).count(node, ())
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except SnapError:
        raise
    except RecursionError:
        raise _too_deep(name) from None
    except (yaml.YAMLError, *UNREADABLE) as error:
        raise SnapError(f"{name} cannot be read: {_reason(error)}") from None


class _Check:
    """Looks at the nodes of a YAML text before values are made of them."""

    def __init__(self, loader: Any, name: str) -> None:
        self.loader, self.name = loader, name
        self.known: dict[int, int] = {}  # the number of values in a node that was looked at

    def count(self, node: Any, above: tuple[int, ...]) -> int:
        """The number of values in a node; raise an error for what this module excludes."""
        if id(node) in above:
            line = node.start_mark.line + 1
            raise SnapError(
                f"{self.name} cannot be read: what begins in line {line} contains itself"
            )
        if len(above) >= DEEPEST:
            raise _too_deep(self.name)
        if id(node) not in self.known:
            parts = [] if isinstance(node.value, str) else node.value
            if node.id == "mapping":
                self.refuse_repeated(parts)
                parts = [part for pair in parts for part in pair]
            number = 1 + sum(self.count(part, (*above, id(node))) for part in parts)
            if number > MOST_VALUES:
                raise SnapError(
                    f"{self.name} cannot be read: it has more than {MOST_VALUES:,} values"
                )
            self.known[id(node)] = number
        return self.known[id(node)]

    def refuse_repeated(self, pairs: list[tuple[Any, Any]]) -> None:
        lines: dict[Any, int] = {}
        for key, _ in pairs:
            if key.id != "scalar":
                continue
            line = key.start_mark.line + 1
            merges = key.tag == "tag:yaml.org,2002:merge"
            value = "<<" if merges else self.loader.construct_object(key)
            if value in lines:
                raise SnapError(
                    f"{self.name} has the key {printable(key.value)} twice, in lines {lines[value]}"
                    f" and {line}: keep one of them"
                )
            lines[value] = line


def parse_json(text: str, name: str) -> Any:
    """The value of a JSON text; error messages call it `name`."""
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_mapping)
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        raise SnapError(f"{name} must be JSON, got {printable(text)!r}: {_reason(error)}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {printable(repeated)} is there twice")
    return mapping


def _reason(error: Exception) -> str:
    return printable(" ".join(str(error).split()), 300)


def _too_deep(name: str) -> SnapError:
    return SnapError(f"{name} cannot be read: it has more than {DEEPEST} levels of nesting")
