"""Parameters that are no smaller than what measurements can tell (paper, Eq. 2).

A parameter below the limit gets its size, and keeps its sign. What a template gains by parameters
that are close to zero is then lost, and a simpler one is better.

The paper compares numbers, in whatever units the data have. Here, parameters are compared in units
in which the largest x and the middle of all y are one: a polynomial's are then what they add at its
end, as a share of y, and the limit is the same for the same data in other units.
"""

from typing import NamedTuple

import numpy as np

from slowpath.models.templates.batch import Batch, Floats
from slowpath.models.templates.template import Template


class Cap(NamedTuple):
    """How small parameters may be."""

    least: float
    x: float  # the units in which it is told
    y: float

    def parameters(self, template: Template, found: Floats) -> Floats:
        """Found parameters, no smaller than the limit; zero stays zero, as its sign has it."""
        told = template.scaled(found, 1 / self.x, 1 / self.y)
        small = np.abs(told) < self.least
        told = np.where(small, np.sign(told) * self.least, told)
        return np.where(small.any(axis=0), template.scaled(told, self.x, self.y), found)

    def fitted(self, template: Template, batch: Batch) -> Floats:
        """The values of a template that is fitted to each piece, with such parameters."""
        found = self.parameters(template, template.each(batch))
        origin = batch.spread(batch.first) if template.origin_at_start else 0.0
        return template.value(np.repeat(found, batch.lengths, axis=1), batch.x - origin)
