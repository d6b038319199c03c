"""The contents of claims.yaml as frozen dataclasses; its errors name the claim and the key."""

from __future__ import annotations

import dataclasses
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snap.errors import SnapError
from snap.growth import FOCUSES, GROWTHS
from snap.learners import LEARNERS
from snap.numbers import number_text, parse_number
from snap.protocol import SWITCHES
from snap.reading import read_yaml
from snap.report import catalog, paper_places, paper_tables
from snap.report.quantities import QUANTITIES
from snap.trial import Configuration

SHOWN = [kind.name for kind in catalog.KINDS] + paper_tables.names([])
NEEDS = ("any", "full")
DETAILS = ("alpha", *SWITCHES)  # what can differ between the readings
TAKES = ("best", "lowest", "spread")
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "at least": operator.ge,
    "above": operator.gt,
    "at most": operator.le,
    "below": operator.lt,
}
UPWARD = ("at least", "above")
SHORT = 42  # characters of a claim's short name, which is a row of the page's grid
# For readers: what the comments of claims.yaml say about how the claims and margins came about.
CHOSEN = (
    "The margins were chosen on principle and were not tuned to results. The claims and tests were"
    " written before the full run; three changes were made after a reduced run. A test that was"
    " worded when the results were known is marked and does not count."
)


@dataclass(frozen=True)
class Comparison:
    """A comparison and its margin, such as "at least 0.02"."""

    words: str
    margin: float

    def holds(self, value: float) -> bool:
        return COMPARISONS[self.words](value, self.margin)

    @property
    def claims_difference(self) -> bool:
        """Whether it requires a number to exceed another, not merely to be no lower."""
        return self.words in UPWARD and self.margin >= 0

    @property
    def text(self) -> str:
        return f"{self.words} {number_text(self.margin)}"

    def implies(self, other: Comparison) -> bool:
        """Whether every value that meets this comparison also meets the other."""
        if (self.words in UPWARD) != (other.words in UPWARD):
            return False
        return other.holds(self.margin) or self == other


@dataclass(frozen=True)
class Group:
    """A quantity of some configurations of a learner, and which of their numbers to take."""

    quantity: str
    learner: str
    configurations: tuple[str, ...]
    take: str = "best"


@dataclass(frozen=True)
class Ask:
    """The number to test: that of a group, minus that of a second group if there is one."""

    what: str
    of: Group
    minus: Group | None = None


@dataclass(frozen=True)
class Test:
    """A number, the condition for reproduced, and the condition, if any, for partly."""

    __test__ = False  # pytest must not collect it

    ask: Ask
    reproduced: Comparison
    partly: Comparison | None = None
    instead: Ask | None = None  # the number that `partly` applies to, if it is another one
    afterwards: bool = False  # worded when the results were known; it does not count

    @property
    def wanted(self) -> str:
        if self.partly is None:
            return self.reproduced.text
        other = f"{self.instead.what} " if self.instead else ""
        return f"{self.reproduced.text}; partly: {other}{self.partly.text}"

    @property
    def limits(self) -> dict[str, tuple[str, float]]:
        """The comparison and margin of each condition on the number itself."""
        limits = {"reproduced": self.reproduced}
        if self.partly is not None and self.instead is None:
            limits["partly"] = self.partly
        return {name: (limit.words, limit.margin) for name, limit in limits.items()}


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    id: str
    short: str
    claim: str
    where: str  # with labels of the paper's figures and tables
    figure: str
    tests: tuple[Test, ...]
    needs: str = "any"
    details: tuple[str, ...] = ()  # the differences between the readings that decide it


class ClaimError(Exception):
    """An error that names the key; `load` adds the claim."""


def load(path: Path) -> list[Claim]:
    """Return the claims of a file."""
    entries = read_yaml(path)
    if not isinstance(entries, list):
        raise SnapError(f"{path} must hold a list of claims")
    claims: list[Claim] = []
    for number, entry in enumerate(entries, start=1):
        name = entry.get("id", number) if isinstance(entry, Mapping) else number
        try:
            claims.append(_claim(entry))
            if [claim.id for claim in claims].count(claims[-1].id) > 1:
                raise ClaimError("key id: another claim has the same id")
        except ClaimError as fault:
            raise SnapError(f"{path.name}: claim {name}: {fault}") from None
    return claims


def _claim(entry: Any) -> Claim:
    _keys(
        entry,
        "",
        required=("id", "short", "claim", "where", "figure", "tests"),
        optional=("needs", "details"),
    )
    for key in ("id", "short", "claim", "where"):
        if not isinstance(entry[key], str) or not entry[key].strip():
            raise ClaimError(f"key {key} must be text, got {entry[key]!r}")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"]):
        raise ClaimError(
            "key id must be lowercase letters, digits and hyphens, and start with a letter"
        )
    short = entry["short"].strip()
    if "\n" in short or len(short) > SHORT:
        raise ClaimError(f"key short must be one line of at most {SHORT} characters, got {short!r}")
    unknown = [n for n in paper_places.labels(entry["where"]) if n not in paper_places.PLACES]
    if unknown:
        raise ClaimError(f"key where names {unknown[0]}, which is no figure or table of the paper")
    if not isinstance(entry["tests"], list) or not entry["tests"]:
        raise ClaimError("key tests must be a list of at least one test")
    return Claim(
        id=entry["id"],
        short=short,
        claim=" ".join(entry["claim"].split()),
        where=" ".join(entry["where"].split()),
        figure=_choice(entry["figure"], "figure", SHOWN),
        tests=tuple(_test(test, f"tests.{n}") for n, test in enumerate(entry["tests"], start=1)),
        needs=_choice(entry.get("needs", "any"), "needs", NEEDS),
        details=_choices(entry.get("details", []), "details", DETAILS),
    )


def _test(entry: Any, key: str) -> Test:
    required = ("what", "quantity", "of", "reproduced")
    _keys(entry, key, required, optional=("minus", "partly", "afterwards"))
    test = _conditions(entry, key)
    if not isinstance(entry.get("afterwards", False), bool):
        raise ClaimError(f"key {key}.afterwards must be true or false")
    return dataclasses.replace(test, afterwards=entry.get("afterwards", False))


def _conditions(entry: Mapping[str, Any], key: str) -> Test:
    ask, reproduced = _ask(entry, key), _comparison(entry["reproduced"], f"{key}.reproduced")
    partly = entry.get("partly")
    if isinstance(partly, Mapping):
        at = f"{key}.partly"
        _keys(partly, at, required=("what", "quantity", "of", "is"), optional=("minus",))
        return Test(ask, reproduced, _comparison(partly["is"], f"{at}.is"), _ask(partly, at))
    if partly is None:
        return Test(ask, reproduced)
    wider = _comparison(partly, f"{key}.partly")
    if not reproduced.implies(wider):
        raise ClaimError(f"key {key}.partly must be wider than reproduced ({reproduced.text})")
    return Test(ask, reproduced, wider)


def _ask(entry: Mapping[str, Any], key: str) -> Ask:
    what = entry["what"]
    if not isinstance(what, str) or not what.strip():
        raise ClaimError(f"key {key}.what must be text, got {what!r}")
    quantity = _choice(entry["quantity"], f"{key}.quantity", QUANTITIES)
    of = _group(entry["of"], f"{key}.of", quantity)
    minus = _group(entry["minus"], f"{key}.minus", quantity) if "minus" in entry else None
    return Ask(" ".join(what.split()), of, minus)


def _group(entry: Any, key: str, quantity: str) -> Group:
    parts = ("hidden", "output", "focus")
    optional = ("configuration", *parts, "take", "quantity")
    _keys(entry, key, required=("learner",), optional=optional)
    learner = _choice(entry["learner"], f"{key}.learner", LEARNERS)
    allowed = {
        part: _choices(entry[part], f"{key}.{part}", FOCUSES if part == "focus" else GROWTHS)
        for part in parts
        if part in entry
    }
    if "configuration" in entry:
        if allowed:
            raise ClaimError(
                f"key {key}: give configuration, or hidden, output and focus, not both"
            )
        names = _named(entry["configuration"], f"{key}.configuration")
    else:
        known = map(Configuration.parse, LEARNERS[learner].paper_configurations)
        names = tuple(
            configuration.name
            for configuration in known
            if all(getattr(configuration, part) in values for part, values in allowed.items())
        )
        if not names:
            raise ClaimError(f"key {key}: the paper has no such configuration of {learner}")
    return Group(
        quantity=_choice(entry.get("quantity", quantity), f"{key}.quantity", QUANTITIES),
        learner=learner,
        configurations=names,
        take=_choice(entry.get("take", "best"), f"{key}.take", TAKES),
    )


def _named(value: Any, key: str) -> tuple[str, ...]:
    try:
        return tuple(Configuration.parse(name).name for name in _list(value))
    except SnapError as error:
        raise ClaimError(f"key {key}: {error}") from None


def _comparison(text: Any, key: str) -> Comparison:
    for words in COMPARISONS:
        if str(text).startswith(f"{words} "):
            try:
                return Comparison(words, parse_number(str(text).removeprefix(words), "the margin"))
            except SnapError as error:
                raise ClaimError(f"key {key}: {error}") from None
    choices = ", ".join(COMPARISONS)
    raise ClaimError(f"key {key} must be one of {choices}, followed by a number, got {text!r}")


def _keys(entry: Any, key: str, required: Iterable[str], optional: Iterable[str]) -> None:
    """Check that a mapping has all required keys and no unknown ones."""
    if not isinstance(entry, Mapping):
        raise ClaimError(f"key {key} must be a mapping" if key else "it must be a mapping")
    at = f"{key}." if key else ""
    for name in required:
        if name not in entry:
            raise ClaimError(f"key {at}{name} is missing")
    known = [*required, *optional]
    for name in entry:
        if name not in known:
            raise ClaimError(f"key {at}{name} is unknown: choose from {', '.join(known)}")


def _choice(value: Any, key: str, choices: Iterable[str]) -> str:
    if value not in list(choices):
        raise ClaimError(f"key {key} must be one of {', '.join(choices)}, got {value!r}")
    return str(value)


def _choices(value: Any, key: str, choices: Iterable[str]) -> tuple[str, ...]:
    return tuple(_choice(item, key, choices) for item in _list(value))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
