"""The one exception for what a person can put right."""


class SnapError(ValueError):
    """Bad input. The message is one sentence: what was wrong, where, and what would be right."""
