"""For so few points that no criterion can weigh functions: an F test.

A function of more parameters is taken where chance would make it so much better only once in
twenty times. A line through exact points is, and so is one through four noisy ones that rise
clearly.
"""

import numpy as np
from numpy.typing import NDArray

from slowpath.models.search.costs import Costs, Piece
from slowpath.models.search.frontier import Found
from slowpath.models.templates.batch import Floats

FEW = 4
"""With more points, the criterion decides."""
_BY_CHANCE = 0.05


def best(costs: Costs) -> Found:
    """One segment, with the function of the lowest rank that no other is clearly better than."""
    from scipy.special import fdtrc

    points = costs.cuts[-1]
    losses = costs.whole()
    ranks = np.array([template.rank for template in costs.templates])
    chosen = _least(losses, ranks == ranks[np.isfinite(losses)].min())
    for rank in costs.ranks:
        more, left = rank - ranks[chosen], points - rank
        if more <= 0 or left <= 0:
            continue
        other = _least(losses, ranks == rank)
        if not np.isfinite(losses[other]):
            continue
        ratio = (losses[chosen] / losses[other] - 1) / more * left
        if fdtrc(more, left, max(float(ratio), 0.0)) < _BY_CHANCE:
            chosen = other
    return Found(float(losses[chosen]), (Piece(0, points, chosen),))


def _least(losses: Floats, among: NDArray[np.bool_]) -> int:
    return int(np.where(among, losses, np.inf).argmin())
