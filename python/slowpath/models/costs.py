"""Costs of every segment with every permitted template, and candidate cuts of long curves.

What no function explains is noise in one segment, and in another one steps that are too small for
a segment of their own. With one spread for all, the worst segment would decide how much the others
may be off. So the spread of a segment is a random number: it is as if some further points had told
it, whose spread is the usual one (a scaled inverse chi-squared distribution), and the likelihood is
integrated over it (Gelman et al., Bayesian Data Analysis, ch. 3).

The paper (§ 2.2) takes the extrema of the second derivative, of the curve as it is and smoothed,
each with its neighbours. Found places are then looked at again, ever closer.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.models.metrics import Metric
from slowpath.models.templates.template import (
    Batch,
    Curve,
    Floats,
    Indices,
    ParameterFloor,
    Template,
    pieces_of,
)

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


class Restrictions(NamedTuple):
    """Which functions are allowed, and how they are judged."""

    metric: Metric | None = None  # errors by it are wanted, too
    sign: int = 0  # 1: may only rise, -1: only fall
    non_negative: bool = False
    cap: ParameterFloor | None = None  # parameters are no smaller

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


def in_transition(curve: Curve) -> NDArray[np.bool_]:
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


def deviance(
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
    """Return the spread of points around the lines through their neighbours.

    It follows from the median deviation, which ignores single steps. The result is None for few
    points or several columns.
    """
    x, y = curve.x, curve.y
    if len(x) < _FEWEST or curve.others is not None:
        return None
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    apart = np.abs(y[:-2] + (y[2:] - y[:-2]) * share - y[1:-1]) / curve.scale[1:-1]
    alone = apart / np.sqrt(1 + share**2 + (1 - share) ** 2)
    return max(_NORMAL * float(np.median(alone)), FINEST)


_EQUAL = 1e-9
"""Of losses that differ by less, that of the template that comes first counts."""
_MANY = 2_000_000
"""Points of all pieces together that are worked on at a time; it keeps the memory small."""


_INSIDE = 2
"""Cuts of an earlier search that a piece may have inside, such as those near its ends."""
_NO_RULES = Restrictions()


class Piece(NamedTuple):
    """A segment with its template: points from `begin` to before `end`."""

    begin: int
    end: int
    template: int  # its place among those that were tried


class Costs:
    """For all pairs of places where a curve may be cut, and all templates, the loss between.

    `cuts` are numbers of points, ascending, from 0 to how many there are.
    """

    def __init__(
        self,
        curve: Curve,
        cuts: Sequence[int],
        templates: Sequence[Template],
        rules: Restrictions = _NO_RULES,
        found: Sequence[int] = (),
    ) -> None:
        """Fits all templates to all pieces.

        Args:
            curve: the points.
            cuts: where pieces may begin and end.
            templates: functions to choose from.
            rules: which of these are allowed.
            found: cuts of an earlier search; pieces with more than `_INSIDE` of them are left out.
        """
        self.cuts, self.templates = list(cuts), templates
        self._rules, self._points = rules, len(curve.x)
        between = np.append(0, np.cumsum(in_transition(curve)))
        least = min(FEWEST, len(curve.x))
        rank = np.searchsorted(np.sort(found), self.cuts)
        whole = (0, len(self.cuts) - 1)
        self.pairs = [
            (at, to)
            for at, begin in enumerate(self.cuts)
            for to, end in enumerate(self.cuts)
            if (
                end - begin >= least
                or (end > begin and between[end] - between[begin] == end - begin)
            )
            and (rank[to] - rank[at] <= _INSIDE or (at, to) == whole)
        ]
        self._place = {pair: number for number, pair in enumerate(self.pairs)}
        rows = [self._of(curve, part) for part in self._parts()]
        self.losses: Floats = np.concatenate([loss for loss, _ in rows], axis=1)
        self.errors: Floats = np.concatenate([error for _, error in rows], axis=1)
        self.usual = usual_spread(curve)
        """The usual spread; None: it is to be told from segments."""
        self.known = USUAL
        """How many points have told it."""
        self.ranks = sorted({template.rank for template in templates})

    def _parts(self) -> list[list[tuple[int, int]]]:
        """The pairs in portions."""
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

    def _of(self, curve: Curve, pieces: Sequence[tuple[int, int]]) -> tuple[Floats, Floats]:
        """Losses, and errors by the metric if there is one; by template and piece."""
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
        """Values of a template at the points of each piece; not numbers where it has no place."""
        if not template.whole:
            return self._rules.fitted(template, batch)
        values = np.full(len(batch.x), np.nan)
        for start in batch.starts[batch.lengths == self._points]:
            inside = slice(start, start + self._points)
            curve = Curve(batch.x[inside], batch.y[inside], batch.scale[inside])
            values[inside] = self._rules.fitted(template, pieces_of(curve, [(0, self._points)]))
        return values

    def forbid(self, piece: Piece) -> None:
        """Takes a template out of the choice for a segment."""
        pair = self._pair(piece)
        self.losses[piece.template, self._place[pair]] = np.inf
        if len(self.errors):
            self.errors[piece.template, self._place[pair]] = np.inf

    def whole(self) -> Floats:
        """The loss of each template over the whole curve."""
        return self.losses[:, self._place[0, len(self.cuts) - 1]]

    def spread(self, pieces: Sequence[Piece] | None = None) -> float:
        """Root of the mean square of residuals of segments; of the best single one by default."""
        if pieces is None:
            whole = float(self.whole().min())
        else:
            places = [self._place[self._pair(piece)] for piece in pieces]
            templates = [piece.template for piece in pieces]
            whole = float(self.losses[templates, places].sum())
        return max((whole / self._points) ** 0.5, FINEST) if np.isfinite(whole) else 1.0

    def _pair(self, piece: Piece) -> tuple[int, int]:
        return self.cuts.index(piece.begin), self.cuts.index(piece.end)

    def cheapest(self) -> tuple[Floats, Indices]:
        """For each rank, by the numbers of two cuts: the least surprise, and of which template."""
        size = len(self.cuts)
        usual = self.spread() if self.usual is None else self.usual
        loss = np.full((len(self.ranks), size, size), np.inf)
        which = np.zeros(loss.shape, dtype=np.intp)
        at, to = (np.array(side) for side in zip(*self.pairs, strict=True))
        points = np.array(self.cuts)[to] - np.array(self.cuts)[at]
        for number, rank in enumerate(self.ranks):
            those = np.array([n for n, one in enumerate(self.templates) if one.rank == rank])
            best = self.losses[those].argmin(axis=0)
            least = self.losses[those[best], np.arange(len(self.pairs))]
            loss[number, at, to] = deviance(least, points, rank, usual, self.known)
            which[number, at, to] = those[best]
        return loss, which


_WORK = 900_000
"""Cuts squared, times points: what a search may take."""
_CUTS_FEWEST = 12
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
    return max(_CUTS_FEWEST, int((_WORK / points) ** 0.5))


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
