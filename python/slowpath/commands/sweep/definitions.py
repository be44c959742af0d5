"""What `-D` says: a definition of the source, and all the values that it is to have."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

_NAME = r"[A-Za-z_]\w*"
_RANGE = r"(?P<first>[+-]?\d+)\.\.(?P<last>[+-]?\d+)(:(?P<step>\d+))?"
_MOST = 10_000
"""More programs than anybody waits for."""


class Definition(NamedTuple):
    """A name that the preprocessor replaces, with its values in order."""

    name: str
    values: tuple[str, ...]

    @property
    def numbers(self) -> list[float] | None:
        """The values as numbers; None where one is none."""
        try:
            return [float(value) for value in self.values]
        except ValueError:
            return None


Point = tuple[tuple[str, str], ...]
"""Names with one value each."""


def parse_definition(text: str) -> Definition:
    """Reads `NAME=VALUES`; values are `1..20`, `1..20:2`, or any words, with commas between them.

    Raises:
        ValueError: when it is something else.
    """
    name, equals, values = text.partition("=")
    if not re.fullmatch(_NAME, name, re.ASCII) or not equals:
        raise ValueError(f"{text!r} is not NAME=VALUES; write for example HASHES=1..20")
    found = [value for piece in values.split(",") for value in _values(piece.strip(), name)]
    twice = next((value for value in found if found.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"{name} has the value {twice} twice")
    return Definition(name, tuple(found))


def _values(piece: str, name: str) -> list[str]:
    if not piece:
        raise ValueError(f"{name} has an empty value; write for example {name}=1,2,4")
    match = re.fullmatch(_RANGE, piece, re.ASCII)
    if match is None:
        if ".." in piece:
            raise ValueError(f"{piece!r} is not a range; write FIRST..LAST or FIRST..LAST:STEP")
        return [piece]
    first, last, step = int(match["first"]), int(match["last"]), int(match["step"] or 1)
    if step < 1 or last < first:
        why = "has steps of 0" if step < 1 else "ends before it begins"
        raise ValueError(f"{piece!r} {why}; write FIRST..LAST:STEP, such as 1..20:2")
    if (last - first) // step >= _MOST:
        raise ValueError(f"{piece!r} has more than {_MOST:,} values")
    return [str(number) for number in range(first, last + 1, step)]


def check_definitions(definitions: Sequence[Definition]) -> None:
    """Each name once, and no more programs than there is time for.

    Raises:
        ValueError: when that is not so.
    """
    names = [one.name for one in definitions]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is given twice; write all its values with commas")
    if (count := prod(len(one.values) for one in definitions)) > _MOST:
        raise ValueError(f"these are {count:,} programs; at most {_MOST:,} are analysed")


def points(definitions: Sequence[Definition]) -> Iterator[Point]:
    """All combinations of values; the last definition changes first."""
    names = [one.name for one in definitions]
    for values in product(*(one.values for one in definitions)):
        yield tuple(zip(names, values, strict=True))


def flags(point: Point) -> tuple[str, ...]:
    """What clang is told."""
    return tuple(f"-D{name}={value}" for name, value in point)


def words(point: Point) -> str:
    """The same for people."""
    return ", ".join(f"{name}={value}" for name, value in point)
