"""Reads measurements by number of cores from CSV, and the functions to predict."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.cores.functions import (
    Functions,
    check_columns,
    functions_of,
    positive,
    read_function,
    unusual,
)
from slowpath.insights.cores.knee import CORES
from slowpath.insights.cores.queueing import Array
from slowpath.insights.rows import Row, read_csv

_NAME, _CORES, _THROUGHPUT, _LATENCY = "function", "cores", "throughput_pps", "latency_cycles"
_MEASURED = (_THROUGHPUT, _LATENCY, "elapsed_s")
_FEWEST = 50
"""Minimum number of functions for a model."""
_MOST_CORES = 1000


class Curves(NamedTuple):
    """Functions with measured throughput and latency at each number of cores in CORES."""

    names: tuple[str, ...]
    functions: Functions
    throughput: Array  # packets/s, shape (functions, 7)
    latency: Array  # cycles, shape (functions, 7)


class Query(NamedTuple):
    """The functions and numbers of cores for which predictions are requested."""

    file: str
    names: tuple[str, ...]  # distinct names of functions
    functions: Functions
    unusual: tuple[tuple[str, ...], ...]  # columns outside the measured range, by function
    rows: tuple[tuple[int, int], ...]  # (index of the function, cores), in the order of the file


def read_curves(file: str) -> Curves:
    """Read measured throughput and latency by number of cores from a CSV file.

    Raises:
        InputError: if the file cannot be used.
    """
    header, rows = read_csv(file)
    _check(file, header, (*_MEASURED[:2],))
    named = _functions(file, rows)
    measured = dict[tuple[str, int], tuple[float, float]]()
    for row in rows:
        name, cores = _name(file, row), _cores(file, row)
        if cores not in CORES:
            reason = f"{cores} is not one of {', '.join(map(str, CORES))}"
            raise InputError(codes.INVALID_CELL, file, f"{row.place}, column {_CORES}: {reason}")
        if (name, cores) in measured:
            raise InputError(
                codes.DUPLICATE_ROW_OR_COLUMN,
                file,
                f"{row.place}: the function {name} already has a row with "
                f"{cores} cores; remove one of the two",
            )
        measured[name, cores] = (
            positive(file, row.place, _THROUGHPUT, row.values[_THROUGHPUT]),
            positive(file, row.place, _LATENCY, row.values[_LATENCY]),
        )
    for name, (row, _) in named.items():
        if missing := [cores for cores in CORES if (name, cores) not in measured]:
            reason = f"the function {name} lacks rows with {', '.join(map(str, missing))} cores"
            raise InputError(codes.TOO_FEW_ROWS, file, f"{row.place}: {reason}")
    if len(named) < _FEWEST:
        raise InputError(
            codes.TOO_FEW_ROWS,
            file,
            f"the table has {len(named)} functions; a model needs at least {_FEWEST}",
        )
    table = np.array([[measured[name, cores] for cores in CORES] for name in named])
    functions = functions_of([values for _, values in named.values()])
    return Curves(tuple(named), functions, table[..., 0], table[..., 1])


def read_query(file: str) -> Query:
    """Read the functions and numbers of cores to predict from a CSV file.

    Raises:
        InputError: if the file cannot be used.
    """
    header, rows = read_csv(file)
    _check(file, header, ())
    named = _functions(file, rows)
    indices = {name: at for at, name in enumerate(named)}
    query = [(indices[_name(file, row)], _cores(file, row)) for row in rows]
    described = [values for _, values in named.values()]
    return Query(
        file,
        tuple(named),
        functions_of(described),
        tuple(tuple(unusual(one)) for one in described),
        tuple(query),
    )


def _check(file: str, header: Sequence[str], measured: Sequence[str]) -> None:
    if missing := [name for name in (_NAME, _CORES, *measured) if name not in header]:
        raise InputError(
            codes.MISSING_COLUMN, file, f"the table lacks the columns {', '.join(missing)}"
        )
    check_columns(file, "", header, (_NAME, _CORES, *_MEASURED))


def _functions(file: str, rows: Sequence[Row]) -> dict[str, tuple[Row, dict[str, int]]]:
    """Return the first row and the description of each function in a table.

    Rows of the same function must have equal descriptions.
    """
    found = dict[str, tuple[Row, dict[str, int]]]()
    for row in rows:
        name = _name(file, row)
        values = read_function(file, row.place, row.values)
        first, known = found.setdefault(name, (row, values))
        if known != values:
            other = _different(known, values)
            reason = f"the function {name} differs from its description in {first.place}"
            raise InputError(codes.INVALID_ROW, file, f"{row.place}, column {other}: {reason}")
    return found


def _different(one: Mapping[str, int], other: Mapping[str, int]) -> str:
    return next(name for name, value in one.items() if other[name] != value)


def _name(file: str, row: Row) -> str:
    name = str(row.values[_NAME]).strip()
    if not name:
        raise InputError(
            codes.INVALID_CELL, file, f"{row.place}, column {_NAME}: the cell is empty"
        )
    return name


def _cores(file: str, row: Row) -> int:
    cores = positive(file, row.place, _CORES, row.values[_CORES])
    if cores != int(cores) or cores > _MOST_CORES:
        reason = f"{cores:g} is not a whole number from 1 to {_MOST_CORES}"
        raise InputError(codes.INVALID_CELL, file, f"{row.place}, column {_CORES}: {reason}")
    return int(cores)
