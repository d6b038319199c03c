"""The one exception for what a person can put right."""


class SnapError(ValueError):
    """Bad input. The message is one sentence: what was wrong, where, and what would be right."""


def printable(text: str, most: int = 60) -> str:
    """Somebody's text in one line: what cannot be printed is spelled out, what is long is cut."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
