"""What functions a segment may have at all."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.models.metrics.metric import Metric
from slowpath.models.templates.batch import Batch, Curve, Floats
from slowpath.models.templates.cap import Cap
from slowpath.models.templates.template import Template

FEWEST = 3
"""Points of a segment, but for those on the way between two others."""
FEWEST_MET = 5
"""Points of a curve that runs into a limit."""
_SIMPLE = 2
"""Up to this rank one more point than parameters is enough, else two: a shape has to be seen."""
_FLAT = 1e-9
_STEEP = 8.0
"""What changes from point to point by so many times as much as usual is on the way."""
_LEAST_STEEP = 0.02


class Rules(NamedTuple):
    """Which functions are allowed, and how they are judged."""

    metric: Metric | None = None  # errors by it are wanted, too
    sign: int = 0  # 1: may only rise, -1: only fall
    non_negative: bool = False
    cap: Cap | None = None  # parameters are no smaller

    def fitted(self, template: Template, batch: Batch) -> Floats:
        """The values of a template that is fitted to each piece."""
        found = template.fitted(batch) if self.cap is None else self.cap.fitted(template, batch)
        return self.raised(template, found)

    def raised(self, template: Template, values: Floats) -> Floats:
        """A constant, or its values, where it may not be negative: there has to be a function."""
        constant = template.rank == 1
        return np.maximum(values, 0.0) if self.non_negative and constant else values

    def allows(self, batch: Batch, fitted: Floats) -> NDArray[np.bool_]:
        """Which pieces have values at the points that are allowed."""
        good = np.ones(len(batch.starts), dtype=bool)
        if self.non_negative:
            good &= batch.lowest(fitted) >= 0
        if self.sign:
            rise = np.append(np.diff(fitted), 0.0) * self.sign
            rise[batch.starts + batch.lengths - 1] = 0.0  # from one piece to the next
            size = np.maximum.reduceat(np.abs(fitted), batch.starts)
            good &= batch.lowest(rise) >= -_FLAT * size
        return good


def enough(template: Template, batch: Batch, points: int) -> NDArray[np.bool_]:
    """Which pieces have points enough for a template."""
    if template.rank == 1:
        return batch.lengths >= 1
    if template.whole:
        return batch.lengths >= FEWEST_MET
    spare = 1 if template.rank <= _SIMPLE else 2
    least = min(max(FEWEST, template.rank + spare), max(points, template.rank))
    return batch.lengths >= least


def on_the_way(curve: Curve) -> NDArray[np.bool_]:
    """Which points are neither of what is before them nor of what is behind, but between.

    They may be a segment by themselves. Whether a change from one point to the next is one that
    noise makes is told by the median of all such changes.
    """
    between = np.zeros(len(curve.x), dtype=bool)
    if len(curve.x) <= 2 * FEWEST or curve.others is not None:
        return between
    rise = np.diff(curve.y) / np.sqrt(curve.scale[1:] * curve.scale[:-1])
    usual = max(float(np.median(np.abs(rise))) * _STEEP, _LEAST_STEEP)
    steep = np.abs(rise) > usual
    between[1:-1] = steep[:-1] & steep[1:] & (np.sign(rise[:-1]) == np.sign(rise[1:]))
    return between
