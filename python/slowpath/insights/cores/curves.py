"""Reads measured throughput by number of cores from CSV, and finds the knee of such a curve.

The knee is the number of cores beyond which more cores add little throughput.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from slowpath.insights.cores.queueing import Array
from slowpath.insights.rows import Row, read_csv

CORES = (24, 30, 36, 42, 48, 54, 60)
"""Numbers of cores at which throughput curves were measured."""
_STEP = 6
_FULL = 0.72
_EACH = 0.12
_UNIT = 5.4


def knees(throughput: Array) -> NDArray[np.int64]:
    """Return the knee of each throughput curve: the number of cores that is worth using.

    The last dimension of `throughput` has one value for each of the core counts in CORES (24 to 60,
    in steps of six). The result has the shape of the other dimensions.

    Gains from one core count to the next are measured in units of the throughput at 24 cores
    divided by 5.4. The knee is in the first step of six cores whose gain is below 0.72 units; each
    0.12 units of its gain add one core. Without such a step, the knee is 60 cores.
    """
    gains = np.diff(throughput, axis=-1) / (throughput[..., :1] / _UNIT)
    small = gains < _FULL
    first = small.argmax(-1)
    gain = np.take_along_axis(gains, first[..., None], -1)[..., 0]
    # The smallest k in 0 to 5 with gain < 0.12 (k + 1).
    limits = _EACH * np.arange(1, _STEP + 1)
    part = (gain[..., None] >= limits).sum(-1)
    before = np.array(CORES)[first]
    return np.where(small.any(-1), before + np.minimum(part, _STEP - 1), CORES[-1])


class Advice(NamedTuple):
    """Advised numbers of cores for several functions, each with a confidence interval."""

    cores: NDArray[np.int64]  # shape (functions,)
    low: NDArray[np.int64]
    high: NDArray[np.int64]


def scattered(spread: Array, draws: int) -> Array:
    """Draw random errors of predicted throughput curves, as log(measured / predicted).

    The result has the shape (draws, 7), with a column for each of the seven core counts in CORES.

    Args:
        spread: covariance of log(measured / predicted) at CORES, shape (7, 7).
        draws: number of random curves.
    """
    normal = np.random.default_rng(0).standard_normal((draws, len(CORES)))
    values, vectors = np.linalg.eigh(spread)
    return np.asarray(normal @ (vectors * np.sqrt(np.maximum(values, 0))).T)


def median_interval(found: NDArray[np.int64], confidence: float) -> Advice:
    """Return the advised number of cores for each function, from knees of random curves.

    It is the median of the knees, with a confidence interval.

    Args:
        found: knees as numbers of cores, shape (draws, functions).
        confidence: probability that the interval contains a knee, between 0 and 1.
    """
    tail = (1 - confidence) / 2
    at = (0.5, tail, 1 - tail)
    return Advice(*np.quantile(found, at, axis=0, method="closest_observation").astype(np.int64))


_DRAWS = 500
_BLOCK = 256
"""Number of functions that are processed at a time, to limit the use of memory."""


def advise(throughput: Array, spread: Array, confidence: float) -> Advice:
    """Return the advised number of cores for each function, with a confidence interval.

    A small change of the throughput can move the knee of a curve by several cores. So the knee is
    determined for many random curves, which differ from the prediction as much as measured curves
    do. The advised number is their median knee.

    Args:
        throughput: predicted throughput at CORES, shape (functions, 7).
        spread: covariance of log(measured / predicted) at CORES, shape (7, 7).
        confidence: probability that the interval contains the measured knee, between 0 and 1.
    """
    half = scattered(spread, _DRAWS // 2)
    factors = np.exp(np.concatenate([half, -half]))[:, None, :]
    parts = [
        median_interval(knees(throughput[first : first + _BLOCK] * factors), confidence)
        for first in range(0, len(throughput), _BLOCK)
    ]
    return Advice(*(np.concatenate(one) for one in zip(*parts, strict=True)))


_NAME, _CORES, _THROUGHPUT, _LATENCY = "function", "cores", "throughput_pps", "latency_cycles"
_MEASURED = (_THROUGHPUT, _LATENCY, "elapsed_s")
_FEWEST = 50
"""Minimum number of functions for a model."""
_MOST_CORES = 1000


class Curves(NamedTuple):
    """Measured functions, with throughput and latency at each number of cores in CORES."""

    names: tuple[str, ...]
    functions: Functions
    throughput: Array  # packets/s, shape (functions, 7)
    latency: Array  # cycles, shape (functions, 7)


class Query(NamedTuple):
    """The functions and numbers of cores that a user asks predictions for."""

    file: str
    names: tuple[str, ...]  # distinct names of functions
    functions: Functions
    unusual: tuple[tuple[str, ...], ...]  # columns outside the measured range, by function
    rows: tuple[tuple[int, int], ...]  # (index of the function, cores), in the order of the file


def read_curves(file: str) -> Curves:
    """Read measured throughput and latency by number of cores from a CSV file.

    Raises:
        InputError: if the file is not a valid table, or has too few functions for training.
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
    """Read from a CSV file the functions and numbers of cores to make predictions for.

    Raises:
        InputError: if the file is not a valid table.
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
    """Return each function in a table by name: its first row, and its description by column.

    Rows of the same function must have equal descriptions; otherwise, raise an `InputError`.
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
