"""Reads measurements of functions alone and in pairs, and scores the pairs.

Functions come in groups of four, and every two functions of a group form a pair. A score compares
the throughput or latency of a pair's functions with that of the same functions alone.
"""

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
from slowpath.insights.cores.queueing import Array
from slowpath.insights.rows import Row, read_json_lines

FUNCTIONS = 4
PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""Indices of the functions of each pair in a group of four; lists of pairs have this order."""
GROUP_CORES = 30
"""Number of cores on which each function runs, alone and in pairs."""
_FEWEST = 20
"""Minimum number of groups for a model."""
_SOLO, _MEASURED = "solo", ("throughput_pps", "latency_cycles")
_EXTRA = "elapsed_s"
_KNOWN = ("group", "functions", "pairs")


class Alone(NamedTuple):
    """Measurements of functions that ran alone on the SmartNIC, on GROUP_CORES cores."""

    throughput: Array  # packets/s, shape (groups, 4)
    latency: Array  # cycles, shape (groups, 4)


class Groups(NamedTuple):
    """Groups of four functions, of which every two may share the SmartNIC.

    The functions of a group are consecutive in `functions`.
    """

    file: str
    names: tuple[str, ...]
    functions: Functions  # 4 for each group
    unusual: tuple[tuple[str, ...], ...]  # columns outside the measured range, by function
    alone: Alone  # NaN for functions without measurements

    @property
    def size(self) -> int:
        """Number of groups; each has four functions."""
        return len(self.names)


class Paired(NamedTuple):
    """Measurements of functions that ran in pairs on the SmartNIC, in the order of PAIRS."""

    throughput: Array  # packets/s, shape (groups, 6, 2)
    latency: Array  # cycles, shape (groups, 6, 2)


def read_groups(file: str) -> Groups:
    """Read groups of four functions from a JSON-lines file.

    Measurements of functions alone are read if the file has them.

    Raises:
        InputError: if the file cannot be used.
    """
    return groups_of(file, read_json_lines(file))


def read_measured(file: str) -> tuple[Groups, Paired]:
    """Read groups of four functions, with their measurements alone and in pairs.

    The file has one group of functions as JSON on each line.

    Raises:
        InputError: if the file cannot be used, or a measurement is missing.
    """
    rows = read_json_lines(file)
    found = groups_of(file, rows)
    missing = np.isnan(found.alone.throughput).any(1)
    for at in np.flatnonzero(missing):
        raise InputError(
            codes.INVALID_ROW,
            file,
            f"{rows[at].place}: the functions lack the key {_SOLO}, which training needs",
        )
    pairs = np.array([_pairs(file, row) for row in rows])
    if len(rows) < _FEWEST:
        raise InputError(
            codes.TOO_FEW_ROWS,
            file,
            f"the file has {len(rows)} groups; a model needs at least {_FEWEST}",
        )
    return found, Paired(pairs[..., 0], pairs[..., 1])


def groups_of(file: str, rows: Sequence[Row]) -> Groups:
    """Convert lines of a JSON-lines file to groups of four functions.

    Raises:
        InputError: if a row is not a group.
    """
    names, described, alone = list[str](), list[dict[str, int]](), list[list[Sequence[float]]]()
    seen = dict[str, str]()
    for row in rows:
        names.append(_name(file, row))
        if names[-1] in seen:
            reason = f"the group {names[-1]} is already in {seen[names[-1]]}; rename one of the two"
            raise InputError(codes.INVALID_ROW, file, f"{row.place}: {reason}")
        seen[names[-1]] = row.place
        functions, measured = _members(file, row)
        described += functions
        alone.append(measured)
    table = np.array(alone)
    return Groups(
        file,
        tuple(names),
        functions_of(described),
        tuple(tuple(unusual(one)) for one in described),
        Alone(table[..., 0], table[..., 1]),
    )


def _name(file: str, row: Row) -> str:
    for key in row.values:
        if key not in _KNOWN:
            reason = (
                f"the object has an unknown key {key[:40]!r}; the known keys are "
                f"{', '.join(_KNOWN)}"
            )
            raise InputError(codes.INVALID_ROW, file, f"{row.place}: {reason}")
    value = row.values.get("group")
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise InputError(
            codes.INVALID_ROW, file, f"{row.place}, group: the value is neither a number nor a name"
        )
    return str(value).strip()


def _members(file: str, row: Row) -> tuple[list[dict[str, int]], list[Sequence[float]]]:
    members = row.values.get("functions")
    if not isinstance(members, list):
        raise InputError(
            codes.INVALID_ROW,
            file,
            f"{row.place}, functions: the value is not a list of {FUNCTIONS} functions",
        )
    if len(members) != FUNCTIONS:
        reason = f"the list has {len(members)} functions; a group has {FUNCTIONS}"
        raise InputError(codes.INVALID_ROW, file, f"{row.place}, functions: {reason}")
    functions, measured = list[dict[str, int]](), list[Sequence[float]]()
    for at, member in enumerate(members, 1):
        place = f"{row.place}, function {at}"
        if not isinstance(member, dict):
            raise InputError(
                codes.INVALID_ROW,
                file,
                f"{place}: the value is not an object with flags and parameters",
            )
        check_columns(file, f"{place}: ", member, (_SOLO,))
        functions.append(read_function(file, place, member))
        measured.append(_alone(file, place, member.get(_SOLO)))
    known = [not np.isnan(one[0]) for one in measured]
    if any(known) and not all(known):
        missing = known.index(False) + 1
        reason = (
            f"the function lacks the key {_SOLO}, unlike other functions of its group; "
            "measure all of them or none"
        )
        raise InputError(codes.INVALID_ROW, file, f"{row.place}, function {missing}: {reason}")
    return functions, measured


def _alone(file: str, place: str, solo: object) -> Sequence[float]:
    if solo is None:
        return (np.nan, np.nan)
    if not isinstance(solo, dict):
        raise InputError(
            codes.INVALID_ROW,
            file,
            f"{place}, {_SOLO}: the value is not an object with {' and '.join(_MEASURED)}",
        )
    return [_value(file, f"{place}, {_SOLO}", solo, name) for name in _MEASURED]


def _value(file: str, place: str, found: Mapping[str, object], name: str) -> float:
    for key in found:
        if key not in (*_MEASURED, _EXTRA, "members"):
            raise InputError(
                codes.INVALID_ROW, file, f"{place}: the object has an unknown key {key[:40]!r}"
            )
    if name not in found:
        raise InputError(codes.INVALID_ROW, file, f"{place}: lacks {name}")
    return positive(file, place, name, found[name])


def _pairs(file: str, row: Row) -> list[list[list[float]]]:
    """Read the measured throughput and latency of each pair of functions in a group.

    The indices of the result are pair, function of the pair, and quantity; the shape is (6, 2, 2).
    """
    pairs = row.values.get("pairs")
    if not isinstance(pairs, list) or len(pairs) != len(PAIRS):
        raise InputError(
            codes.INVALID_ROW,
            file,
            f"{row.place}, pairs: the value is not a list of {len(PAIRS)} measured pairs",
        )
    found = list[list[list[float]]]()
    for at, (pair, members) in enumerate(zip(pairs, PAIRS, strict=True), 1):
        place = f"{row.place}, pair {at}"
        if not isinstance(pair, dict):
            raise InputError(codes.INVALID_ROW, file, f"{place}: the value is not an object")
        expected = [member + 1 for member in members]
        if pair.get("members") != expected:
            raise InputError(
                codes.INVALID_ROW, file, f"{place}, members: the values are not {expected}"
            )
        found.append([_pair(file, place, pair, one) for one in (0, 1)])
    return found


def _pair(file: str, place: str, pair: Mapping[str, object], member: int) -> list[float]:
    found = list[float]()
    for name in _MEASURED:
        values = pair.get(name)
        if not isinstance(values, list) or len(values) != len(PAIRS[0]):
            raise InputError(
                codes.INVALID_ROW, file, f"{place}, {name}: the value is not a list of two numbers"
            )
        found.append(positive(file, place, name, values[member]))
    return found


# --- scores ---------------------------------------------------------------------------------------

FIRST = np.array([first for first, _ in PAIRS])
SECOND = np.array([second for _, second in PAIRS])


class Scores(NamedTuple):
    """Four scores of each pair of functions, two for throughput and two for latency.

    The shape of each is (groups, 6); `totals` explains them.
    """

    throughput_total: Array
    throughput_average: Array
    latency_total: Array
    latency_average: Array


NAMES = Scores._fields


def totals(alone: Array, pairs: Array) -> tuple[Array, Array]:
    """Return the two scores of each pair for one quantity: throughput or latency.

    High throughput scores and low latency scores are good. The first score is the sum of the values
    of both functions in the pair, divided by the sum of their solo values. The second score is the
    sum over both functions of (value in the pair) / (solo value).

    Args:
        alone: solo values, shape (groups, 4).
        pairs: values in pairs, shape (groups, 6, 2).
    """
    first, second = alone[:, FIRST], alone[:, SECOND]
    total = pairs.sum(-1) / (first + second)
    return total, pairs[..., 0] / first + pairs[..., 1] / second


def scores(
    alone_throughput: Array, alone_latency: Array, throughput: Array, latency: Array
) -> Scores:
    """Return all four scores of each pair, from the values of functions alone and in pairs.

    `totals` explains the shapes of the arguments.
    """
    return Scores(*totals(alone_throughput, throughput), *totals(alone_latency, latency))
