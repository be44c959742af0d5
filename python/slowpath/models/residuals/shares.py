"""What is to be added to functions at each point, as a share of them.

Noise and structure that is finer than the points' distance look alike, unless it is known how sure
each point is. Where it is, what is more than noise belongs to the curve. Where it is not, this says
what is likeliest, and points that are left out have to tell whether that helps.
"""

import math

import numpy as np

from slowpath.models.residuals.walk import Noise, expected, most_likely
from slowpath.models.templates.batch import Floats

FEWEST = 10
"""Points without which a walk is not told from noise."""
_LEAST, _MOST = -0.5, 1.0
"""A curve is no less than half of its function, and no more than twice as much."""
_ROUNDING = 1e-9
"""Relative differences that are none."""


def shares(y: Floats, fitted: Floats, noise: Noise) -> Floats | None:
    """What is expected of the residuals at each point of a curve, as shares of the functions.

    None where there is nothing to expect, and where functions and values are not of one sign.
    """
    if len(y) < FEWEST or (np.sign(y) != np.sign(fitted[0])).any() or (fitted * y <= 0).any():
        return None
    residuals = np.clip(y / fitted - 1, _LEAST, _MOST)
    if np.abs(residuals).max() < _ROUNDING:
        return None
    walk = most_likely(residuals, noise)
    # As much as any other parameter has to gain.
    if walk.step == 0 or (noise.known and walk.evidence <= math.log(len(y))):
        return None
    found = expected(residuals, walk)
    return found if np.isfinite(found).all() else None
