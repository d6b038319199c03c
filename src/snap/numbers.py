"""One text per number, so that 0.5, .5 and 5e-1 are the same in paths, hashes and logs."""

from __future__ import annotations

import math
from decimal import Decimal

from snap.errors import SnapError, shown

# JSON keeps whole numbers exactly up to here wherever it is read, also in the report's page.
LARGEST = 2**53 - 1


def number_text(value: float) -> str:
    """The shortest text that reads back as exactly `value`: 16, 0.003, 1e-7."""
    value = float(value)
    if not math.isfinite(value):
        raise SnapError(f"{value} has no canonical text: only finite numbers do")
    decimal = Decimal(repr(value)).normalize()
    if decimal == 0:
        return "0"
    if -5 <= decimal.adjusted() < 16:
        return format(decimal, "f")
    return format(decimal, "e").replace("e+", "e")


def parse_number(text: str | float, name: str) -> float:
    """Parse a finite number; error messages call it `name`."""
    try:
        value = float(text)
    except (TypeError, ValueError, OverflowError):
        raise SnapError(f"{name} must be a number, got {shown(text)}") from None
    if not math.isfinite(value):
        raise SnapError(f"{name} must be a finite number, got {shown(text)}")
    return value


def parse_whole(text: str | float, name: str, least: int) -> int:
    """Parse a whole number that is at least `least`."""
    try:
        value = int(text)
        exact = not isinstance(text, float) or value == text
    except (TypeError, ValueError, OverflowError):
        value = int(number := parse_number(text, name))
        exact = value == number
    if not exact or value < least:
        raise SnapError(f"{name} must be a whole number of at least {least}, got {shown(text)}")
    if value > LARGEST:
        raise SnapError(f"{name} must be at most {LARGEST}, got {shown(text)}")
    return value
