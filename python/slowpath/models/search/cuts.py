"""Where a curve may be cut, when there are too many points to try all places.

The paper (§ 2.2) takes the extrema of the second derivative, of the curve as it is and smoothed,
each with its neighbours. Found places are then looked at again, ever closer.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from slowpath.models.templates.batch import Curve, Floats

_WORK = 900_000
"""Cuts squared, times points: what a search may take."""
_FEWEST = 12
_EXTREMA = 8
"""So many of them are taken for each smoothing."""
_SMOOTHED = 0, 2, 5
"""How many neighbours on each side are averaged."""
_NEAR = 2
"""So many points beside each of them are taken, too (the paper's j)."""
_AROUND = 2


def all_cuts(curve: Curve) -> list[int]:
    """Every place between two different x, both ends included."""
    return [0, *(int(at) for at in np.flatnonzero(np.diff(curve.x)) + 1), len(curve.x)]


def most_cuts(points: int) -> int:
    """How many cuts can be tried at a time."""
    return max(_FEWEST, int((_WORK / points) ** 0.5))


def spread_out(cuts: Sequence[int], number: int) -> list[int]:
    """So many of the cuts, at even distances, with both ends."""
    places = np.linspace(0, len(cuts) - 1, min(number, len(cuts))).round().astype(int)
    return [cuts[at] for at in np.unique(places)]


def extrema(curve: Curve, cuts: Sequence[int], near: int = _NEAR) -> list[int]:
    """The cuts at which the slope changes most, with so many neighbours, and both ends."""
    inner = np.array(cuts[:-1])
    x, y = curve.x[inner], curve.y[inner]
    found = {0, len(cuts) - 1}
    for width in _SMOOTHED:
        if len(x) <= 2 * (width + 1):
            continue
        bend = np.abs(_second(_relative(x), _smooth(y / curve.scale.mean(), width)))
        higher = (bend[1:-1] >= bend[:-2]) & (bend[1:-1] >= bend[2:])
        peaks = np.flatnonzero(higher) + 1
        top = peaks[np.argsort(-bend[peaks], kind="stable")[:_EXTREMA]]
        found |= {int(at) + step + 1 for at in top for step in range(-near, near + 1)}
    return [cuts[at] for at in sorted(found) if 0 <= at < len(cuts)]


def closer(cuts: Sequence[int], found: Iterable[int], step: int) -> list[int]:
    """Found cuts, places around them at distances of a step, and both ends."""
    last = len(cuts) - 1
    places = {0, last}
    for cut in found:
        at = cuts.index(cut)
        places |= {at + step * away for away in range(-_AROUND, _AROUND + 1)}
    return [cuts[at] for at in sorted(places) if 0 <= at <= last]


def _relative(x: Floats) -> Floats:
    """The place of x: by its logarithm where x spans much, as the measured places then do."""
    return np.log(x) if x[0] > 0 and x[-1] > 50 * x[0] else x


def _smooth(y: Floats, width: int) -> Floats:
    if width == 0:
        return y
    padded = np.pad(y, width, mode="edge")
    return np.convolve(padded, np.ones(2 * width + 1) / (2 * width + 1), mode="valid")


def _second(x: Floats, y: Floats) -> Floats:
    """The second derivative, by finite differences."""
    return np.gradient(np.gradient(y, x), x)
