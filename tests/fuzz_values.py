"""Hostile values and texts, and small changes of valid ones, drawn from a seeded generator."""

from __future__ import annotations

import copy
import datetime
import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

NAMES = (
    "paper\n",
    "x" * 300,
    "../../evil",
    "/proc/none/evil",
    "$(touch owned)",
    "`touch owned`; touch owned #",
    "a\0b",
    "{wildcards.dataset}",
    "ünïcödé λ 漢字 🙂",
    "paper\u202egnp.exe",
    "-rf",
    "--help",
    "@",
    "@missing",
    "",
    " ",
    ".",
    "trials",
    "linear-linear-linear-linear",
    "<script>alert(1)</script>",
    "\t",
    "a=b,c=d",
    "%s%n{0}",
)
NUMBERS = (
    *("0", "-1", "nan", "inf", "-Infinity", "1e999", "1e-999", "0x10", "1_0", "٣", "1.5", "--1"),
    *("9" * 400, "9" * 5000, str(2**63), str(10**23), "1000000000000", "True", "null", "1,2", ";"),
)
VALUES = (
    *(None, True, False, 0, -1, 1, 0.5, 1e-300, 1e300, float("nan"), float("inf"), -float("inf")),
    *(2**53, 2**63, -(2**63), 10**9, 10**23, 10**400, [], {}, [[]], [None], {"a": {}}, [1, 1]),
    *(datetime.date(2024, 2, 29), b"\xff\0", {1, 2}, {None: 1}, {1: 2}, {True: 3}),
    *NAMES,
)
BOMB = "a0: &a0 [1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
# Whole texts that are wrong or strange, as YAML, JSON or CSV.
TEXTS = (
    *(b"", b"\xff\xfe", b"\0" * 100, b"[", b"{", b"]", b"null", b"- a", b"a: b: c", b"a\tb:\n\t- "),
    *(b"[" * 100_000, b"a: " * 5000, ("[" * 39 + "]" * 39).encode(), b"#" * 300_000),
    *(b"a: &a [*a]", b"a: &a {b: *a}", b"&a [*a, *a]", b"a: *b", BOMB.encode(), b"<<: 1", b"? [a]"),
    *(b"a: !!python/object/apply:os.system [id]", b"a: !!int x", b"a: 2024-02-31", b"--- a\n--- b"),
    *(b"a: " + b"9" * 5000, b'{"a": 1, "a": 2}', b'"\\ud800"', b"%YAML 9.9\n---\na: 1", b"a: \x07"),
    *("run: ä".encode("utf-16"), "run: ä".encode("latin-1"), b"\xef\xbb\xbfrun: a", b"a: !!set {}"),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value, as the keys that lead to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in items:
        yield (*at, key)
        if isinstance(below, dict | list):
            yield from places(below, (*at, key))


def nested(rng: random.Random) -> Any:
    """A list or mapping of some depth."""
    value: Any = rng.choice(VALUES)
    for _ in range(rng.choice((1, 2, 5, 38, 60))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def junk(rng: random.Random) -> Any:
    return nested(rng) if rng.random() < 0.1 else copy.deepcopy(rng.choice(VALUES))


def changed(value: Any, rng: random.Random) -> Any:
    """A copy of a mapping or list with one to three changes; sometimes something else."""
    if rng.random() < 0.05 or not isinstance(value, dict | list):
        return junk(rng)
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        known = list(places(value))
        if known:
            change(value, rng.choice(known), rng)
    return value


def change(value: Any, place: tuple[Any, ...], rng: random.Random) -> None:
    *way, key = place
    for step in way:
        value = value[step]
    kind = rng.choice(("replace", "replace", "replace", "remove", "add", "wrap", "near"))
    if kind == "remove":
        del value[key]
    elif kind == "wrap":
        value[key] = [value[key]]
    elif kind == "near":
        value[key] = near(value[key], rng)
    elif kind == "replace":
        value[key] = junk(rng)
    elif isinstance(value, dict):
        value[rng.choice(NAMES)] = junk(rng)
    else:
        value.append(junk(rng) if rng.random() < 0.5 else copy.deepcopy(value[key]))


def near(value: Any, rng: random.Random) -> Any:
    """A value that is almost the same."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return str(value)
    if isinstance(value, str):
        cut = rng.randrange(len(value) + 1)
        return value[:cut] + rng.choice(("\n", "\0", " ", "-", "λ", "=", ",")) + value[cut:]
    return rng.choice((-value, str(value), value + 1, value / 2, value + 0.1, 0 * value))


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A content with one change of its bytes, whatever they mean."""
    at, end = sorted((rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)))
    line = content.splitlines(keepends=True)
    kind = rng.randrange(8)
    if kind == 0:
        return content[:at]
    if kind == 1:
        insert = rng.choice((b"\xff", b"\0", b"\n", b"&a ", b"*a ", b"{", b"]", b'"', b"\t"))
        return content[:at] + insert + content[at:]
    if kind == 2 and line:  # duplicate keys, rows or trials
        return content + b"\n" * (not content.endswith(b"\n")) + rng.choice(line)
    if kind == 3:
        return content[:at] + content[end:]
    if kind == 4 and content:
        place = rng.randrange(len(content))
        flipped = content[place] ^ 1 << rng.randrange(8)
        return content[:place] + bytes([flipped]) + content[place + 1 :]
    if kind == 5:
        return bytes(len(content))
    if kind == 6:
        return content.replace(b"0", rng.choice(NUMBERS).encode(), 1)
    return rng.choice(TEXTS)


def as_yaml(value: Any) -> bytes:
    """A value as YAML, with whatever Python can write."""
    try:
        return yaml.safe_dump(value, allow_unicode=True, sort_keys=False).encode("utf-8")
    except (yaml.YAMLError, UnicodeEncodeError):
        return yaml.dump(str(value)).encode()


def spoil(path: Path, rng: random.Random) -> None:
    """Damage a file, or put something else in its place."""
    kind = rng.randrange(14)
    content = path.read_bytes()
    if kind > 7:
        path.write_bytes(damaged(content, rng))
        return
    path.unlink()
    if kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to("nowhere")
    elif kind == 3:
        path.symlink_to(path.name)
    elif kind == 4:
        path.symlink_to("/dev/zero")
    elif kind == 5:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content)[: len(content) // 2])
    elif kind == 6:
        path.write_bytes(rng.choice(TEXTS))
    elif kind == 7:
        os.mkfifo(path)


def idx_file(rng: random.Random) -> bytes:
    """Something like an idx file, with a wrong start, wrong dimensions, or a wrong size."""
    dimensions = rng.choice((0, 1, 2, 3, 4, 255))
    magic = bytes((0, 0, rng.choice((8, 8, 9, 0)), dimensions))
    sizes = (0, 1, 28, 2000, 2**31, 2**32 - 1)
    head = magic + b"".join(rng.choice(sizes).to_bytes(4, "big") for _ in range(dimensions % 7))
    content = head + bytes(rng.choice((0, 1, 784, 2000)))
    kind = rng.randrange(6)
    if kind == 0:
        return gzip.compress(bytes(80_000_000), 1)  # a bomb
    if kind == 1:
        return gzip.compress(content)[: rng.randrange(30)]
    if kind == 2:
        return gzip.compress(content)
    if kind == 3:
        return b"<html>404</html>"
    return content
