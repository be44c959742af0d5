"""How much lower than predicted everything is counted on, after what was measured of some mixes.

Intervals of models are of rows that were held out, which are nearer to each other than mixes of
functions are to them; and plans use mixes of which too much is said. Where functions keep less in
measured mixes than intervals promise, more often than they should, all predictions for mixes with
as many functions are lowered until they do not (split conformal prediction, the rows being those
that were measured since; Papadopoulos et al. 2002). Nothing is raised.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lowered(sizes: Sequence[int], off: Floats, sure: float) -> Mapping[int, float]:
    """By how many functions a mix has, what is taken from logarithms of what they keep.

    `off` are logarithms of what was measured as a share of what was counted on, for mixes with so
    many functions.
    """
    found = {}
    for size in sorted(set(sizes)):
        those = np.sort(off[np.array(sizes) == size])
        rank = max(int((len(those) + 1) * (1 - sure)), 1)
        found[size] = max(0.0, -float(those[rank - 1]))
    return found
