"""CSV files of measurements: columns by name; an error says which line, which column, and why."""

import csv
import math
from collections.abc import Sequence
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_text

_SEPARATORS = ",;\t"


class Table(NamedTuple):
    """Columns of numbers, all of the same length."""

    file: str
    columns: dict[str, list[float]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def read_table(file: str, names: Sequence[str]) -> Table:
    """The columns of these names; empty lines and lines that begin with `#` are left out.

    Raises:
        InputError: when a column or a number is missing.
    """
    lines = read_text(file).removeprefix("\ufeff").splitlines()
    kept = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
    if not kept:
        raise InputError(file, "is empty; the first line has to name the columns")
    head = kept[0][1]
    separator = max(_SEPARATORS, key=head.count)
    header = [name.strip() for name in next(csv.reader([head], delimiter=separator))]
    places = {name: _place(file, header, name) for name in names}
    columns: dict[str, list[float]] = {name: [] for name in names}
    for number, line in kept[1:]:
        cells = next(csv.reader([line], delimiter=separator))
        for name, place in places.items():
            columns[name].append(_number(file, number, name, cells, place))
    return Table(file, columns)


def _place(file: str, header: Sequence[str], name: str) -> int:
    if name not in header:
        have = ", ".join(one for one in header if one) or "no names"
        raise InputError(file, f"has no column {name!r}; its first line has {have}")
    if header.count(name) > 1:
        raise InputError(file, f"has {header.count(name)} columns {name!r}; rename all but one")
    return header.index(name)


def _number(file: str, line: int, name: str, cells: Sequence[str], place: int) -> float:
    where = f"line {line}, column {name}"
    if place >= len(cells) or not cells[place].strip():
        raise InputError(file, f"{where}: there is no value; fill it in or remove the line")
    text = cells[place].strip()
    try:
        value = float(text)
    except ValueError:
        why = f"{text[:40]!r} is not a number; correct it or remove the line"
        raise InputError(file, f"{where}: {why}") from None
    if not math.isfinite(value):
        why = f"{text[:40]!r} is not a finite number; remove the line"
        raise InputError(file, f"{where}: {why}")
    return value
