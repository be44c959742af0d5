"""The exponential: a shape with one parameter inside."""

from collections.abc import Sequence

import numpy as np

from slowpath.models.templates.batch import Batch, Floats
from slowpath.models.templates.separable import Separable

_SLOWEST, _FASTEST = 0.4, 300.0
"""Exponents over a whole piece: less is nearly a line. More than one from a point to the next is
a step, wherever between them that is."""
_STEPS = 12


class Exponential(Separable):
    """a + b exp(c x), where x counts from the start of the segment."""

    name = "exponential"
    rank: int = 3
    parameters: tuple[str, ...] = ("a", "b", "c")
    origin_at_start = True
    simple = False

    def grids(self, batch: Batch) -> Sequence[Sequence[Floats]]:
        """Falling or rising: as fast as the points at the one or other end can tell at all."""
        ends = batch.starts + batch.lengths - 1
        two = batch.lengths > 1
        head = batch.t[np.minimum(batch.starts + 1, ends)]
        tail = 1 - batch.t[np.maximum(ends - 1, batch.starts)]
        shares = np.arange(_STEPS) / (_STEPS - 1)
        rows = []
        for sign, gap in ((-1, head), (1, tail)):
            fastest = np.clip(1 / np.where(two & (gap > 0), gap, 1.0), 2 * _SLOWEST, _FASTEST)
            row = [sign * _SLOWEST * (fastest / _SLOWEST) ** share for share in shares]
            rows.append(row if sign > 0 else row[::-1])
        return rows

    def basis(self, batch: Batch, c: Floats) -> Floats:
        """It is 1 where it is largest."""
        every = batch.spread(c)
        return np.exp(every * batch.t - np.maximum(every, 0))

    def change(self, batch: Batch, basis: Floats) -> Floats:
        """But for a factor that b makes up for."""
        return batch.t * basis

    def in_units(self, batch: Batch, found: Floats) -> Floats:
        """So that it is b at the start."""
        level, slope, c = found
        return np.array([level, slope * np.exp(-np.maximum(c, 0.0)), c / batch.width])

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Infinite far away."""
        with np.errstate(over="ignore"):
            return np.asarray(parameters[0] + parameters[1] * np.exp(parameters[2] * x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """By a, b and c."""
        with np.errstate(over="ignore"):
            power = np.exp(parameters[2] * x)
        return np.column_stack([np.ones_like(x), power, parameters[1] * x * power])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        return np.asarray((parameters.T * np.array([y, y, 1 / x])).T)

    def formula(self) -> str:
        """As it is."""
        return "a + b*exp(c*x)"
