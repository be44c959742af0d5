"""Programmes solved by HiGHS, through scipy."""

import ctypes
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.placement.programme import Programme, Row, matrix

Floats = NDArray[np.float64]

_LARGEST = 1e6
"""The largest coefficient of an objective: HiGHS stops at a gap of 1e-6, whatever the unit."""
_TIMES = 1e4  # the same in rows of times, whose variable has no coefficient but -1
_OPTIMAL, _INFEASIBLE = 0, 2  # scipy's status codes


class Solved(NamedTuple):
    """What HiGHS says of a programme."""

    x: Floats | None
    """Of its variables; None where it found none in time."""
    bound: float
    """Nothing has less."""
    proven: bool
    """Whether `x` has no more."""


def least_cost(
    problem: Programme, cuts: Sequence[Row], until: float, within: float | None = None
) -> Solved | None:
    """The solution with the least cost, of those that take no longer than `within`; None: none."""
    scale = max((abs(one) for one in problem.cost.values()), default=0.0) / _LARGEST or 1.0
    c = np.zeros(len(problem.most))
    for at, one in problem.cost.items():
        c[at] = one / scale
    timed = [] if within is None else _timed(problem, within)
    return _solved(problem, c, [*problem.rows, *cuts, *timed], until, scale)


def _timed(problem: Programme, most: float) -> list[Row]:
    """No time is longer than this."""
    found = []
    for terms, fixed in zip(problem.times, problem.fixed, strict=False):
        scale = _TIMES / (most or max(terms.values(), default=1.0))
        scaled = {at: one * scale for at, one in terms.items()}
        found.append(Row(scaled, -np.inf, (most - fixed) * scale))
    return [row for row in found if row.terms]


def least_time(problem: Programme, cuts: Sequence[Row], until: float) -> Solved | None:
    """The solution by which a packet takes the least time; None where there is no solution."""
    largest = max((one for terms in problem.times for one in terms.values()), default=0.0)
    scale = (max(largest, *problem.fixed) or 1.0) / _TIMES
    at = len(problem.most)
    rows = [
        Row({**{of: one / scale for of, one in terms.items()}, at: -1.0}, -np.inf, -fixed / scale)
        for terms, fixed in zip(problem.times, problem.fixed, strict=False)
    ]
    rows.append(Row({at: 1.0}, problem.fixed[-1] / scale, np.inf))
    c = np.zeros(at + 1)
    c[at] = 1.0
    return _solved(problem, c, [*problem.rows, *cuts, *rows], until, scale)


def _solved(
    problem: Programme, c: Floats, rows: Sequence[Row], until: float, scale: float
) -> Solved | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    whole = np.zeros(len(c))
    whole[list(problem.whole)] = 1
    most = np.append(problem.most, [np.inf] * (len(c) - len(problem.most)))
    # The solver would take out what can only be 0 itself, and then searches longer.
    used = np.flatnonzero(most > 0)
    options: dict[str, float] = {"mip_rel_gap": 0.0}
    if math.isfinite(until):
        options["time_limit"] = max(until - time.monotonic(), 0.0)
    limits = [row.least for row in rows], [row.most for row in rows]
    with _quiet():
        found = milp(
            c[used],
            integrality=whole[used],
            bounds=Bounds(0.0, most[used]),
            constraints=LinearConstraint(matrix(rows, len(c))[:, used], *limits),
            options=options,
        )
    if found.status == _INFEASIBLE:
        return None
    bound = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound) * scale
    x = None
    if found.x is not None:
        x = np.zeros(len(c))
        x[used] = found.x
    return Solved(x, max(bound, 0.0), found.status == _OPTIMAL)


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing on standard output, where HiGHS 1.12 prints a line when it repairs a solution."""
    try:
        kept = os.dup(1)
    except OSError:  # closed
        yield
        return
    flush = ctypes.CDLL(None).fflush
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        flush(None)
        os.dup2(nowhere, 1)
        yield
    finally:
        flush(None)
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)
