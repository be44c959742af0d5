"""The logarithm of x, and what is linear in 1/x: two shapes without a parameter inside.

Where x is the size of a table, and c of it fit into a cache, c/x of the look-ups in random order
hit: their mean time is linear in 1/x. What is paid once for x bytes is so, too, byte by byte.
"""

import numpy as np

from slowpath.models.templates.batch import Batch, Floats
from slowpath.models.templates.separable import Linear


class _OfPositive(Linear):
    rank: int = 2
    parameters: tuple[str, ...] = ("a", "b")
    origin_at_start = False
    simple = True

    def in_units(self, batch: Batch, found: Floats) -> Floats:  # noqa: ARG002 - they are
        """As they are, without c."""
        return found[:2]


class Logarithm(_OfPositive):
    """a + b ln(x), for x > 0."""

    name = "logarithm"

    def basis(self, batch: Batch, c: Floats) -> Floats:  # noqa: ARG002 - there is no c
        """The logarithm."""
        return np.log(np.where(batch.x > 0, batch.x, np.nan))

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Not a number for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] * np.log(np.where(x > 0, x, np.nan)))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """By a and b."""
        return np.column_stack([np.ones_like(x), np.log(np.where(x > 0, x, np.nan))])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        level, slope = parameters
        return np.array([level - slope * np.log(x), slope]) * y

    def formula(self) -> str:
        """As it is."""
        return "a + b*ln(x)"


class Hyperbola(_OfPositive):
    """a + b/x, for x > 0."""

    name = "hyperbola"

    def basis(self, batch: Batch, c: Floats) -> Floats:  # noqa: ARG002 - there is no c
        """The inverse."""
        return 1 / np.where(batch.x > 0, batch.x, np.nan)

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Not a number for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] / np.where(x > 0, x, np.nan))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """By a and b."""
        return np.column_stack([np.ones_like(x), 1 / np.where(x > 0, x, np.nan)])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        return np.asarray((parameters.T * np.array([y, x * y])).T)

    def formula(self) -> str:
        """As it is."""
        return "a + b/x"
