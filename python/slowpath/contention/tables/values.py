"""Columns of numbers from tables, checked: each value is one that the column can have."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.cli.errors import InputError
from slowpath.contention.tables.cells import Table
from slowpath.contention.tables.columns import Column

Floats = NDArray[np.float64]


def column_of(table: Table, column: Column) -> Floats:
    """The values of a column, one for each row, in the unit of the column.

    Raises:
        InputError: when the column is missing or in another unit, or has a value that none can be.
    """
    _check(table, column)
    return np.array([_number(table, at, column) for at in range(len(table.rows))], dtype=float)


def optional_column(table: Table, column: Column) -> Floats:
    """The same of a column with empty cells, which are not numbers."""
    _check(table, column)
    found = np.full(len(table.rows), np.nan)
    for at, row in enumerate(table.rows):
        cell = row.get(column.name)
        if cell is not None and str(cell).strip():
            found[at] = _number(table, at, column)
    return found


def _check(table: Table, column: Column) -> None:
    """Finds out whether the column is there, in its unit."""
    if column.name not in table.header:
        raise missing(table, column)
    unit = table.remarks.get(f"unit {column.name}")
    if column.unit and unit is not None and unit != column.unit:
        reason = f"is in {unit[:40]}; profiles have it in {column.unit}"
        raise table.remark_error(f"unit {column.name}", reason)


def _number(table: Table, at: int, column: Column) -> float:
    value = table.number(at, column.name)
    why = wrong(column, value)
    if why is not None:
        raise table.error(at, column.name, why)
    return value


def columns_of(table: Table, columns: Sequence[Column]) -> dict[str, Floats]:
    """The same of several columns, by their names."""
    return {column.name: column_of(table, column) for column in columns}


def has(table: Table, column: Column) -> bool:
    """Whether a table has a column that it can be without.

    Raises:
        InputError: when it has it in another unit, or written otherwise.
    """
    if column.name in table.header:
        return True
    if _meant(table, column) is not None:
        raise missing(table, column)
    return False


def missing(table: Table, column: Column) -> InputError:
    """What to say where a column is missing: what it is, and what the table has instead."""
    unit = f" ({column.meaning}, in {column.unit})" if column.unit else f" ({column.meaning})"
    meant = _meant(table, column)
    if meant is not None:
        inside = f", in {column.unit}" if column.unit else ""
        reason = f"has a column {meant!r} where {column.name!r} is needed{inside}"
        return InputError(table.file, reason)
    have = ", ".join(name for name in table.header if name) or "no names"
    return InputError(table.file, f"has no column {column.name!r}{unit}; it has {have}")


def _meant(table: Table, column: Column) -> str | None:
    """A column of the table that is the same in another unit, or written otherwise."""
    for name in table.header:
        plain = name.lower().replace(" ", "_").replace("-", "_")
        if plain in (column.name, *column.other_units):
            return name
    return None


def wrong(column: Column, value: float) -> str | None:
    """Why a number cannot be in a column; None where it can."""
    if value < 0:
        return f"{value:g} is negative; {column.meaning} cannot be"
    if value == 0:
        return None if column.zero else f"is zero; {column.meaning} cannot be"
    unit = f" {column.unit}" if column.unit not in ("", "1") else ""
    if value > column.most:
        return f"{value:g} is more than {column.most:g}{unit}; is it in another unit?"
    if value < column.least:
        return f"{value:g} is less than {column.least:g}{unit}; is it in another unit?"
    return None
