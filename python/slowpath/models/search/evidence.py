"""How well functions explain points, when each segment has a spread of its own.

What no function explains is noise in one segment, and in another one steps that are too small for
a segment of their own. With one spread for all, the worst segment would decide how much the others
may be off. So the spread of a segment is a random number: it is as if some further points had told
it, whose spread is the usual one (a scaled inverse chi-squared distribution), and the likelihood is
integrated over it (Gelman et al., Bayesian Data Analysis, ch. 3).
"""

import math

import numpy as np

from slowpath.models.templates.batch import Curve, Floats, Indices

FINEST = 1e-6
"""Relative differences below are none: what is measured or printed is no more precise."""
USUAL = 12.0
"""So many points tell the usual spread. With many more, all segments have the same; with few, those
of few points seem to be without noise."""
DETAILED = 1.0
"""The same where only predictions count: each segment has the spread that its points have."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution, in median absolute deviations."""
_FEWEST = 5
"""Points without which neighbours do not tell the spread."""


def surprise(
    loss: Floats, points: Indices, rank: int, usual: float, known: float = USUAL
) -> Floats:
    """Twice the negative logarithm of the likelihood, but for what is the same for all cuts.

    `loss` is a sum of squared residuals, `points` how many they are, `usual` their usual spread. As
    many points as there are parameters say nothing of the spread. The usual one is as if `known`
    points had told it.
    """
    prior = known * usual**2
    # The logarithm of the ratio of gamma functions, for each number of points once.
    numbers, which = np.unique(np.maximum(points - rank, 0), return_inverse=True)
    ratios = [math.lgamma((n + known) / 2) - math.lgamma(known / 2) for n in numbers.tolist()]
    fit = (numbers[which] + known) * np.log(loss + prior) - known * math.log(prior)
    return np.asarray(fit - 2 * np.array(ratios)[which])


def usual_spread(curve: Curve) -> float | None:
    """How far points are off where their neighbours lead, in the median; steps do not count.

    None where neighbours do not tell that.
    """
    x, y = curve.x, curve.y
    if len(x) < _FEWEST or curve.others is not None:
        return None
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    apart = np.abs(y[:-2] + (y[2:] - y[:-2]) * share - y[1:-1]) / curve.scale[1:-1]
    alone = apart / np.sqrt(1 + share**2 + (1 - share) ** 2)
    return max(_NORMAL * float(np.median(alone)), FINEST)
