"""Readers of single values of a specification that have limits: each says what is allowed."""

from slowpath.described.marked import Marked
from slowpath.described.values import text, whole, word
from slowpath.experiments.specification.components import Number, Parameter


def number(found: Marked, limits: Number) -> int:
    """A whole number; `1e6` and `100_000` are such, too.

    Raises:
        InputError: when it is none, or beyond its limits.
    """
    said = text(found)
    value = whole(said)
    if value is None:
        allowed = f"from {limits.least:,} to {limits.most:,}"
        found.place.refuse(f"{said!r} is no whole number {allowed}")
    if not limits.least <= value <= limits.most:
        found.place.refuse(f"{said} is not between {limits.least:,} and {limits.most:,}")
    if value % limits.step:
        found.place.refuse(f"{said} is no multiple of {limits.step}")
    return value


def setting(found: Marked, parameter: Parameter) -> int | str:
    """The value of a parameter.

    Raises:
        InputError: when it is none of those that are allowed.
    """
    if isinstance(parameter, Number):
        return number(found, parameter)
    return word(found, parameter.words)
