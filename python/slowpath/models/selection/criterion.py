"""By an information criterion: what a model gets wrong, against what it takes to write it down.

The criterion is Schwarz's (BIC) for an unknown variance, n ln(loss / n) + k ln n, with McQuarrie's
correction for few points (1999; Regression and Time Series Model Selection, ch. 2), which keeps
k far below n. A place where the curve is cut is a parameter that is found by trying all of them,
and counts for more than one (Zhang and Siegmund 2007).
"""

import math

from slowpath.models.search.frontier import Found, Frontier

WEIGHT = 0.85
"""So much of Schwarz's term is charged. All of it finds known models in nearly all of the synthetic
cases, and is too frugal for real curves, which no template fits exactly; half of it sees segments
in noise. `bench/fit_recovery.py` and `bench/fit_curves.py` show both sides."""
CUT = 2.0
"""So many parameters a cut counts for."""


def score(found: Found, segments: int, ranks: int, points: int) -> float:
    """The criterion; the least one is best."""
    size = ranks + CUT * (segments - 1)
    left = points - size - 2
    if left <= 0:
        return math.inf
    fit = points * math.log(found.loss / points)
    return fit + WEIGHT * size * math.log(points) * points / left


def best(frontier: Frontier, points: int, segments: int | None) -> Found:
    """The model with the least criterion, of those with so many segments.

    Where there are none, of those with the number that is closest to it; where there are too few
    points for the criterion, the one of the lowest rank.
    """
    counts = {number for number, _ in frontier}
    only = None if segments is None else min(counts, key=lambda number: abs(number - segments))
    sizes = [size for size in frontier if only is None or size[0] == only]

    def order(size: tuple[int, int]) -> tuple[float, int]:
        segments, ranks = size
        return score(frontier[size], segments, ranks, points), sum(size)

    return frontier[min(sizes, key=order)]
