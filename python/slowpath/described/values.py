"""Readers of single values: each says exactly what is allowed."""

import math
import re
from collections.abc import Iterable, Sequence

from slowpath.described.marked import Marked

Table = dict[str, Marked]


def table(found: Marked, needed: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """A table with these keys and no others.

    Raises:
        InputError: when one is missing, or is not known.
    """
    if not isinstance(found.value, dict):
        found.place.refuse(f"is no table; it has the keys {_listed((*needed, *optional))}")
    known = (*needed, *optional)
    for key, inner in found.value.items():
        if key not in known:
            inner.place.refuse(f"is not known here; there are {_listed(known)}")
    missing = [key for key in needed if key not in found.value]
    if missing:
        found.place.refuse(f"lacks {_listed(missing)}")
    return found.value


def words_of(found: Marked) -> Table:
    """A table with any keys.

    Raises:
        InputError: when it is none.
    """
    if not isinstance(found.value, dict):
        found.place.refuse("is no table of names and their values")
    return found.value


def items(found: Marked) -> list[Marked]:
    """A list.

    Raises:
        InputError: when it is none.
    """
    if not isinstance(found.value, list):
        found.place.refuse("is no list; write [one, another]")
    return found.value


def text(found: Marked) -> str:
    """Any text.

    Raises:
        InputError: when it is a list or table, or empty.
    """
    if not isinstance(found.value, str) or not found.value.strip():
        found.place.refuse("is no text")
    return found.value.strip()


def name(found: Marked) -> str:
    """A name that can be that of a directory.

    Raises:
        InputError: when it is none.
    """
    word = text(found)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", word):
        found.place.refuse(f"{word!r} is no name; use small letters, digits and hyphens, up to 64")
    return word


def word(found: Marked, allowed: Iterable[str]) -> str:
    """One of some words.

    Raises:
        InputError: when it is none of them.
    """
    said, known = text(found), tuple(allowed)
    if said not in known:
        found.place.refuse(f"{said!r} is none of {_listed(known)}")
    return said


def whole(said: str) -> int | None:
    """The whole number that a text is, or None."""
    if not re.fullmatch(r"[0-9][0-9_]*(\.[0-9]+)?([eE][+]?[0-9]{1,2})?", said):
        return None
    value = float(said.replace("_", ""))
    return int(value) if value.is_integer() else None


def decimal(found: Marked, least: float, most: float = math.inf) -> float:
    """A number, not necessarily a whole one.

    Raises:
        InputError: when it is none, or beyond its limits.
    """
    said = text(found)
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    if math.isinf(value) or not least <= value <= most:
        limits = f"from {least:g} up" if math.isinf(most) else f"from {least:g} to {most:g}"
        found.place.refuse(f"{said[:40]!r} is no number {limits}")
    return value


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
