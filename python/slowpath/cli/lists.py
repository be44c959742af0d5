"""Lists in sentences."""

from collections.abc import Sequence


def first_few(names: Sequence[str], most: int) -> str:
    """The first of them, and whether there are more."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
