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
    if column.name not in table.header:
        raise _missing(table, column)
    unit = table.remarks.get(f"unit {column.name}")
    if column.unit and unit is not None and unit != column.unit:
        reason = f"column {column.name}: is in {unit}; profiles have it in {column.unit}"
        raise InputError(table.file, reason)
    values = np.empty(len(table.rows))
    for at in range(len(table.rows)):
        values[at] = table.number(at, column.name)
        _check(table, at, column, float(values[at]))
    return values


def columns_of(table: Table, columns: Sequence[Column]) -> dict[str, Floats]:
    """The same of several columns, by their names."""
    return {column.name: column_of(table, column) for column in columns}


def _missing(table: Table, column: Column) -> InputError:
    unit = f" ({column.meaning}, in {column.unit})" if column.unit else f" ({column.meaning})"
    other = next((name for name in column.other_units if name in table.header), None)
    have = ", ".join(name for name in table.header if name) or "no names"
    reason = f"has no column {column.name!r}{unit}; it has {have}"
    if other is not None:
        reason = f"has a column {other!r} where {column.name!r} is needed, in {column.unit}"
    return InputError(table.file, reason)


def _check(table: Table, at: int, column: Column, value: float) -> None:
    if value < 0:
        raise table.error(at, column.name, f"{value:g} is negative; {column.meaning} cannot be")
    if value == 0 and not column.zero:
        raise table.error(at, column.name, f"is zero; {column.meaning} cannot be")
    if value > column.most:
        unit = f" {column.unit}" if column.unit else ""
        reason = f"{value:g} is more than {column.most:g}{unit}; is it in another unit?"
        raise table.error(at, column.name, reason)
