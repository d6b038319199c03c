"""The exception for errors that the user can fix."""


class SnapError(ValueError):
    """Bad input. The message is one sentence: what is wrong, where, and what would be right."""


def shown(value: object) -> str:
    """A value in one short line."""
    try:
        return printable(repr(value))
    except ValueError:  # a whole number of more digits than Python writes
        return "a number with thousands of digits"


def printable(text: str, most: int = 60) -> str:
    """A text in one line: unprintable characters are escaped, and long texts are cut."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
