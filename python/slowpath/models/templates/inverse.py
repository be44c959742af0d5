"""The inverse of another template: one divided by it.

Fitted to 1/y, such that relative differences are worth what they are; the fit is the best one up to
terms of second order in them, and the start of the final one.
"""

import numpy as np

from slowpath.models.templates.batch import Batch, Floats
from slowpath.models.templates.template import Template


class Inverse:
    """1 / (another template), where that is positive."""

    exact = False
    simple = False

    def __init__(self, other: Template) -> None:
        self.other = other
        self.name = f"inverse-{other.name}"
        self.rank = other.rank
        self.parameters = other.parameters
        self.origin_at_start = other.origin_at_start
        self.whole = other.whole

    def fitted(self, batch: Batch) -> Floats:
        """Not finite where the divisor is not positive."""
        return _inverse(self.other.fitted(batch.inverted()))

    def each(self, batch: Batch) -> Floats:
        """As the protocol has it."""
        return self.other.each(batch.inverted())

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """As above."""
        return _inverse(self.other.value(parameters, x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Those of the other one, by the chain rule."""
        value = self.value(parameters, x)
        return -(value**2)[:, None] * self.other.slopes(parameters, x)

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        return self.other.scaled(parameters, x, 1 / y)

    def formula(self) -> str:
        """With the other one in brackets."""
        return f"1 / ({self.other.formula()})"


def _inverse(values: Floats) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(values > 0, 1 / np.where(values > 0, values, 1.0), np.nan)
