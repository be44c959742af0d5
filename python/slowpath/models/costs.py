"""Computes how well each template (kind of function) fits each segment, and where to cut curves.

Residuals are noise in some segments; in others, they are steps too small for segments of their own.
With one spread for all segments, the worst segment would set the tolerance of all others. So the
spread of a segment is a random variable with a scaled inverse chi-squared prior, as if further
points with the usual spread belonged to the segment. The likelihood is integrated over the spread
(Gelman et al., Bayesian Data Analysis, ch. 3).

Candidate cuts are the extrema of the second derivative (paper, § 2.2) of the original and of the
smoothed curve, each with its neighbours. Further searches try cuts ever closer to found ones.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats, Indices, Mask
from slowpath.models.options import Metric
from slowpath.models.template import Batch, Curve, ParameterFloor, Template, pieces_of

FEWEST = 3
"""Minimum number of points of a segment, unless all its points are in transition between two levels
(`in_transition`).
"""
FEWEST_MET = 5
"""Minimum number of points of a curve for fitting a template with a constant limit."""
_SIMPLE = 2
"""Maximum number of parameters (rank) of a template that needs only one point more than parameters.
A template of a higher rank needs two more, so that its shape is visible.
"""
_FLAT = 1e-9
_STEEP = 8.0
"""Ratio of the change between two points to the median change, above which the points are in
transition between two levels.
"""
_LEAST_STEEP = 0.02


class Restrictions(NamedTuple):
    """Restrictions that fitted functions must obey, and the metric of their errors."""

    metric: Metric | None = None  # compute errors by this metric; None: no errors
    sign: int = 0  # 1: functions only rise, -1: they only fall, 0: both
    non_negative: bool = False
    floor: ParameterFloor | None = None  # minimum absolute value of parameters

    def fitted(self, template: Template, batch: Batch) -> Floats:
        """Fit a template to each piece of a curve; return the fitted values at all points."""
        found = template.fitted(batch) if self.floor is None else self.floor.fitted(template, batch)
        return self.raised(template, found)

    def raised(self, template: Template, values: Floats) -> Floats:
        """Raise the values of a constant function to zero if negative values are forbidden.

        Values of other functions are unchanged. So at least the constant is always allowed.
        """
        constant = template.rank == 1
        return np.maximum(values, 0.0) if self.non_negative and constant else values

    def allows(self, batch: Batch, fitted: Floats) -> Mask:
        """For each piece, return true if its fitted values obey the restrictions at all points."""
        good = np.ones(len(batch.starts), dtype=bool)
        if self.non_negative:
            good &= batch.lowest(fitted) >= 0
        if self.sign:
            rise = np.append(np.diff(fitted), 0.0) * self.sign
            rise[batch.starts + batch.lengths - 1] = 0.0  # step from one piece to the next
            size = np.maximum.reduceat(np.abs(fitted), batch.starts)
            good &= batch.lowest(rise) >= -_FLAT * size
        return good


def enough(template: Template, batch: Batch, points: int) -> Mask:
    """For each piece, return true if it has enough points for fitting the template.

    `points` is the number of points of the whole curve; if it is small, fewer points are enough.
    """
    if template.rank == 1:
        return batch.lengths >= 1
    if template.whole_curve:
        return batch.lengths >= FEWEST_MET
    spare = 1 if template.rank <= _SIMPLE else 2
    least = min(max(FEWEST, template.rank + spare), max(points, template.rank))
    return batch.lengths >= least


def in_transition(curve: Curve) -> Mask:
    """For each point, return true if it lies in a transition between two levels of the curve.

    Such points may form a segment by themselves. A change between two points is a transition, not
    noise, if it is much larger than the median of all changes.
    """
    between = np.zeros(len(curve.x), dtype=bool)
    if len(curve.x) <= 2 * FEWEST or curve.others is not None:
        return between
    rise = np.diff(curve.y) / np.sqrt(curve.scale[1:] * curve.scale[:-1])
    usual = max(float(np.median(np.abs(rise))) * _STEEP, _LEAST_STEEP)
    steep = np.abs(rise) > usual
    between[1:-1] = steep[:-1] & steep[1:] & (np.sign(rise[:-1]) == np.sign(rise[1:]))
    return between


FINEST = 1e-6
"""Smallest relevant relative difference between values; they are not measured or printed more
precisely.
"""
USUAL = 12.0
"""Weight of the usual spread of a curve in the spread of a segment, as a number of points. With a
much larger weight, all segments have the same spread; with a smaller one, segments of few points
seem to be free of noise.
"""
DETAILED = 1.0
"""Weight in place of `USUAL` if only predictions count: each segment then has the spread of its own
points.
"""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution whose median absolute deviation is one."""
_FEWEST = 5
"""Minimum number of points of a curve for estimating the spread from neighbouring points."""


def deviance(
    loss: Floats, points: Indices, rank: int, usual: float, known: float = USUAL
) -> Floats:
    """Return twice the negative log-likelihood of segments, without terms equal for all cuts.

    `loss` is the sum of squared residuals of each segment, `points` its number of points, and
    `rank` its number of parameters. The prior of a segment's spread is worth `known` points whose
    spread is `usual`.
    """
    prior = known * usual**2
    # Compute the logarithm of the ratio of gamma functions once for each number of points.
    numbers, which = np.unique(np.maximum(points - rank, 0), return_inverse=True)
    ratios = [math.lgamma((n + known) / 2) - math.lgamma(known / 2) for n in numbers.tolist()]
    fit = (numbers[which] + known) * np.log(loss + prior) - known * math.log(prior)
    return np.asarray(fit - 2 * np.array(ratios)[which])


def usual_spread(curve: Curve) -> float | None:
    """Return the usual relative distance of a curve's points from lines through their neighbours.

    It follows from the median distance, so single steps have no effect. The result is None for few
    points or several x columns.
    """
    x, y = curve.x, curve.y
    if len(x) < _FEWEST or curve.others is not None:
        return None
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    distance = np.abs(y[:-2] + (y[2:] - y[:-2]) * share - y[1:-1]) / curve.scale[1:-1]
    deviation = distance / np.sqrt(1 + share**2 + (1 - share) ** 2)
    return max(_NORMAL * float(np.median(deviation)), FINEST)


_EQUAL = 1e-9
"""Relative difference of losses below which two templates count as equally good; the first is then
preferred.
"""
_MANY = 2_000_000
"""Maximum number of points in all pieces that are fitted at once, to limit the memory."""


_INSIDE = 2
"""Maximum number of cuts from an earlier search that a segment may contain, because some are near
its ends.
"""
_NO_RESTRICTIONS = Restrictions()


class Piece(NamedTuple):
    """A segment of a curve (points `begin` to `end` - 1) with its template."""

    begin: int
    end: int
    template: int  # index in the list of candidate templates


class Costs:
    """Losses of all templates on all segments between two candidate cuts of a curve.

    `cuts` are indices of points, ascending from 0 to the number of points.
    """

    def __init__(
        self,
        curve: Curve,
        cuts: Sequence[int],
        templates: Sequence[Template],
        rules: Restrictions = _NO_RESTRICTIONS,
        found: Sequence[int] = (),
    ) -> None:
        """Fit all templates to all segments between candidate cuts.

        Args:
            curve: the points.
            cuts: possible ends of pieces.
            templates: candidate functions.
            rules: restrictions of the functions.
            found: cuts of an earlier search; pieces with more than `_INSIDE` of them are omitted.
        """
        self.cuts, self.templates = list(cuts), templates
        self._rules, self._points = rules, len(curve.x)
        between = np.append(0, np.cumsum(in_transition(curve)))
        least = min(FEWEST, len(curve.x))
        rank = np.searchsorted(np.sort(found), self.cuts)
        full = (0, len(self.cuts) - 1)
        self.pairs = [
            (at, to)
            for at, begin in enumerate(self.cuts)
            for to, end in enumerate(self.cuts)
            if (
                end - begin >= least
                or (end > begin and between[end] - between[begin] == end - begin)
            )
            and (rank[to] - rank[at] <= _INSIDE or (at, to) == full)
        ]
        self._place = {pair: number for number, pair in enumerate(self.pairs)}
        rows = [self._losses_and_errors(curve, part) for part in self._parts()]
        self.losses: Floats = np.concatenate([loss for loss, _ in rows], axis=1)
        self.errors: Floats = np.concatenate([error for _, error in rows], axis=1)
        self.usual = usual_spread(curve)
        """Usual spread of the curve's points; None: it is estimated from segments."""
        self.known = USUAL
        """Weight of the usual spread in the spread of a segment, as a number of points."""
        self.ranks = sorted({template.rank for template in templates})

    def _parts(self) -> list[list[tuple[int, int]]]:
        """Divide all segments (pairs of cuts) into batches of at most `_MANY` points."""
        parts: list[list[tuple[int, int]]] = [[]]
        points = 0
        for at, to in self.pairs:
            size = self.cuts[to] - self.cuts[at]
            if points + size > _MANY and parts[-1]:
                parts.append([])
                points = 0
            parts[-1].append((self.cuts[at], self.cuts[to]))
            points += size
        return parts

    def _losses_and_errors(
        self, curve: Curve, pieces: Sequence[tuple[int, int]]
    ) -> tuple[Floats, Floats]:
        """Return the losses of all templates on all pieces, and their errors by the metric, if any.

        Rows are templates, columns are pieces.
        """
        batch, metric = pieces_of(curve, pieces), self._rules.metric
        floor = batch.lengths * FINEST**2
        losses, errors = [], []
        for order, template in enumerate(self.templates):
            with np.errstate(all="ignore"):
                fitted = self._fitted(template, batch)
                loss = np.maximum(batch.losses(fitted), floor) * (1 + order * _EQUAL)
                allowed = enough(template, batch, self._points) & np.isfinite(loss)
                allowed &= self._rules.allows(batch, fitted)
                losses.append(np.where(allowed, loss, np.inf))
                if metric is not None:
                    mean = batch.sums(metric.each(batch.y, fitted)) / batch.lengths
                    each = np.array([metric.whole(one) for one in np.where(allowed, mean, 0.0)])
                    errors.append(np.where(allowed, each, np.inf))
        return np.array(losses), np.array(errors) if errors else np.zeros((0, len(pieces)))

    def _fitted(self, template: Template, batch: Batch) -> Floats:
        """Fit a template to each piece, and return the fitted values at the points.

        Some templates fit only the whole curve. On shorter pieces, their values are NaN.
        """
        if not template.whole_curve:
            return self._rules.fitted(template, batch)
        values = np.full(len(batch.x), np.nan)
        for start in batch.starts[batch.lengths == self._points]:
            inside = slice(start, start + self._points)
            curve = Curve(batch.x[inside], batch.y[inside], batch.scale[inside])
            values[inside] = self._rules.fitted(template, pieces_of(curve, [(0, self._points)]))
        return values

    def forbid(self, piece: Piece) -> None:
        """Exclude the template of a piece from this segment: set its loss to infinity."""
        pair = self._pair(piece)
        self.losses[piece.template, self._place[pair]] = np.inf
        if len(self.errors):
            self.errors[piece.template, self._place[pair]] = np.inf

    def whole(self) -> Floats:
        """Return the losses of all templates, each fitted to the whole curve."""
        return self.losses[:, self._place[0, len(self.cuts) - 1]]

    def spread(self, pieces: Sequence[Piece] | None = None) -> float:
        """Return the root mean square of the residuals of all `pieces`.

        By default, the whole curve is one piece with the best template.
        """
        if pieces is None:
            loss = float(self.whole().min())
        else:
            places = [self._place[self._pair(piece)] for piece in pieces]
            templates = [piece.template for piece in pieces]
            loss = float(self.losses[templates, places].sum())
        return max((loss / self._points) ** 0.5, FINEST) if np.isfinite(loss) else 1.0

    def _pair(self, piece: Piece) -> tuple[int, int]:
        return self.cuts.index(piece.begin), self.cuts.index(piece.end)

    def cheapest(self) -> tuple[Floats, Indices]:
        """Return the least deviance of each segment, and the template that achieves it.

        The axes of both arrays are the number of parameters (index in `ranks`), and the segment's
        first and last cut.
        """
        size = len(self.cuts)
        usual = self.spread() if self.usual is None else self.usual
        loss = np.full((len(self.ranks), size, size), np.inf)
        which = np.zeros(loss.shape, dtype=np.intp)
        at, to = (np.array(side) for side in zip(*self.pairs, strict=True))
        points = np.array(self.cuts)[to] - np.array(self.cuts)[at]
        for number, rank in enumerate(self.ranks):
            same_rank = np.array([n for n, one in enumerate(self.templates) if one.rank == rank])
            best = self.losses[same_rank].argmin(axis=0)
            least = self.losses[same_rank[best], np.arange(len(self.pairs))]
            loss[number, at, to] = deviance(least, points, rank, usual, self.known)
            which[number, at, to] = same_rank[best]
        return loss, which


_WORK = 900_000
"""Limit on the work of a search: the squared number of cuts, times the number of points."""
_CUTS_FEWEST = 12
_EXTREMA = 8
"""Maximum number of extrema of the second derivative that become cuts, from each smoothed curve."""
_SMOOTHED = 0, 2, 5
"""Numbers of neighbours on each side over which smoothed curves average; 0 stands for the original
curve.
"""
_NEAR = 2
"""Number of points on each side of an extremum that become candidate cuts, too (j in the paper)."""
_AROUND = 2  # number of new cuts on each side of a found cut


def all_cuts(curve: Curve) -> list[int]:
    """Return the indices at which a curve can be cut: where x changes, and at both ends."""
    return [0, *(int(at) for at in np.flatnonzero(np.diff(curve.x)) + 1), len(curve.x)]


def most_cuts(points: int) -> int:
    """Return the maximum number of candidate cuts in one search of a curve of `points` points."""
    return max(_CUTS_FEWEST, int((_WORK / points) ** 0.5))


def spread_out(cuts: Sequence[int], number: int) -> list[int]:
    """Return `number` of the candidate cuts, evenly spaced, with both ends of the curve."""
    places = np.linspace(0, len(cuts) - 1, min(number, len(cuts))).round().astype(int)
    return [cuts[at] for at in np.unique(places)]


def extrema(curve: Curve, cuts: Sequence[int], near: int = _NEAR) -> list[int]:
    """Return the cuts where the curve's slope changes most, `near` neighbours, and both ends."""
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
    """Return the cuts `found`, both ends, and cuts around `found` at multiples of `step`."""
    last = len(cuts) - 1
    places = {0, last}
    for cut in found:
        at = cuts.index(cut)
        places |= {at + step * away for away in range(-_AROUND, _AROUND + 1)}
    return [cuts[at] for at in sorted(places) if 0 <= at <= last]


def _relative(x: Floats) -> Floats:
    """Return x, or its logarithm if x has a wide range: distances are then more even."""
    return np.log(x) if x[0] > 0 and x[-1] > 50 * x[0] else x


def _smooth(y: Floats, width: int) -> Floats:
    if width == 0:
        return y
    padded = np.pad(y, width, mode="edge")
    return np.convolve(padded, np.ones(2 * width + 1) / (2 * width + 1), mode="valid")


def _second(x: Floats, y: Floats) -> Floats:
    return np.gradient(np.gradient(y, x), x)
