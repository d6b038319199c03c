"""Values as text on the page."""

from __future__ import annotations

import base64
import gzip
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup


def show(value: Any) -> str:
    """A value from JSON as text; a dash for a missing one."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return minus(f"{value + 0.0:.4g}")  # + 0.0 turns -0 into 0
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {show(item)}" for key, item in value.items()) or "–"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(show(item) for item in value) or "–"
    return str(value)


def minus(text: str) -> str:
    """The text with true minus signs before its numbers."""
    return re.sub(r"(?<![\w.])-(?=\.?\d)", "−", str(text))


def unbroken(text: str) -> str:
    """The text without line breaks between a number and its percent sign."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def decimals(value: float, digits: int = 3) -> str:
    return minus(f"{value:z.{digits}f}")


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def memory(size: int | None) -> str:
    return show(None) if size is None else f"{size / 2**30:.1f} GiB"


def breakable(text: str) -> Markup:
    """Allow line breaks inside words like FashionMNIST."""
    return Markup("<wbr>").join(re.split(r"(?<=[a-z])(?=[A-Z])", str(text)))


def slug(text: str) -> str:
    """Turn text into a part of an HTML id."""
    return re.sub(r"[^\w-]+", "-", str(text)).strip("-").lower()


def download(text: str) -> str:
    """A URL that contains the text, compressed, so that a saved page keeps it."""
    packed = gzip.compress(text.encode(), mtime=0)
    return f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence: a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
