"""Fits the parameters of the queueing network to measured throughput.

The objective is the sum of squared relative errors and of squared parameters in typical units. The
second part keeps parameters small that the measurements do not determine. Times are not negative.

The method is Levenberg-Marquardt with projection on the bounds: Moré, The Levenberg-Marquardt
Algorithm, 1978; Kanzow et al., 2004.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.network import (
    COUNT,
    RESOURCES,
    SHARED,
    TIMES,
    Amounts,
    sensitivity,
    throughput,
)
from slowpath.insights.cores.queueing import Array

_RIDGE = 1e-3
_RIDGE_QUEUES = 1e-2
_QUEUES = np.log([one.queueing for one in SHARED]).T
"""Lower and upper bounds of the logarithm of the queue length factor c, by shared resource."""
_STARTS = 2
_ROUNDS = 100
_ENOUGH = 1e-4
"""Minimum share by which a useful round of the fit reduces the objective."""
_IDLE = 4
"""Number of consecutive rounds without a useful gain after which the fit ends."""
_DAMPED = 1e8
_SMALLEST = 0.1
_TINY = 1e-12


class Measured(NamedTuple):
    """Measured throughputs in several settings, all with the same number of functions (classes)."""

    work: Amounts
    cores: Array  # shape (settings, classes)
    throughput: Array  # packets/ns, shape (settings, classes)


class _Fitted(NamedTuple):
    value: float  # value of the objective
    parameters: Array


class _Point(NamedTuple):
    value: float
    near: list[Array]
    slope: Array
    square: Array


def fit(sets: Sequence[Measured], seed: int) -> Array:
    """Fit the parameters of the queueing network to measured throughputs.

    Args:
        sets: measured settings; each entry has another number of classes.
        seed: seed of the start points. Several are tried, because some fits end in a bad optimum
            that leaves a resource unused.
    """
    random = np.random.default_rng(seed)
    found = [_fitted(sets, _start(random)) for _ in range(_STARTS)]
    return min(found, key=lambda one: one.value).parameters


def _fitted(sets: Sequence[Measured], start: Array) -> _Fitted:
    """Fit the parameters of the network from one start point."""
    unit = _units(sets[0].work)
    low, high = np.zeros(COUNT), np.full(COUNT, np.inf)
    low[TIMES:], high[TIMES:] = _QUEUES
    ridge = np.full(COUNT, _RIDGE**2)
    ridge[TIMES:] = _RIDGE_QUEUES**2
    at = start
    current = _point(sets, at, unit, ridge)
    damping, idle = 1e-2, 0
    for _ in range(_ROUNDS):
        free = np.flatnonzero(
            ~(
                ((at <= low + _TINY) & (current.slope > 0))
                | ((at >= high - _TINY) & (current.slope < 0))
            )
        )
        scale = np.diag(current.square)[free]
        square = current.square[np.ix_(free, free)]
        while damping < _DAMPED:
            step = np.zeros(COUNT)
            step[free] = -np.linalg.solve(
                square + np.diag(damping * scale + _TINY), current.slope[free]
            )
            candidate = np.clip(at + step, low, high)
            value, near = _value(sets, candidate, unit, ridge, current.near)
            if np.isfinite(value) and value < current.value:
                break
            damping *= 4
        else:
            break
        idle = idle + 1 if (current.value - value) < _ENOUGH * current.value else 0
        at, damping = candidate, max(damping / 5, 1e-7)
        current = _point(sets, at, unit, ridge, near)
        if idle == _IDLE:
            break
    return _Fitted(current.value, np.asarray(at * unit))


def _units(work: Amounts) -> Array:
    """Return a typical value of each parameter of the network."""
    found = []
    for resource, amount in zip(RESOURCES, work, strict=True):
        flat = np.abs(amount).reshape(-1, amount.shape[-1])
        found.append(resource.scale / np.maximum(flat.mean(0) + flat.std(0), _SMALLEST))
    return np.concatenate([*found, np.ones(COUNT - TIMES)])


def _start(random: np.random.Generator) -> Array:
    times = [
        random.uniform(0.3, 1.0, len(one.work)) * 0.5 / np.sqrt(len(one.work)) for one in RESOURCES
    ]
    return np.concatenate([*times, _QUEUES.mean(0)])


def _value(
    sets: Sequence[Measured], at: Array, unit: Array, ridge: Array, near: Sequence[Array]
) -> tuple[float, list[Array]]:
    total, found = float((ridge * at * at).sum()), list[Array]()
    for one, close in zip(sets, near, strict=True):
        found.append(throughput(at * unit, one.work, one.cores, close))
        total += float((np.log(found[-1] / one.throughput) ** 2).sum())
    return total, found


def _point(
    sets: Sequence[Measured],
    at: Array,
    unit: Array,
    ridge: Array,
    near: Sequence[Array] | None = None,
) -> _Point:
    total, found = float((ridge * at * at).sum()), list[Array]()
    slope, square = ridge * at, np.diag(ridge)
    for place, one in enumerate(sets):
        close = None if near is None else near[place]
        here = sensitivity(at * unit, one.work, one.cores, close)
        found.append(here.throughput)
        errors = np.log(here.throughput / one.throughput).ravel()
        slopes = here.slopes.reshape(-1, COUNT) * unit
        total += float((errors**2).sum())
        slope = slope + slopes.T @ errors
        square = square + slopes.T @ slopes
    return _Point(total, found, slope, square)
