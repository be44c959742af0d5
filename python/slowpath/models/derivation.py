"""Divides a measured curve into segments, and selects a function for each of them.

A search finds the best division for each number of segments, and a rule selects one of these
models.

The searches return the best segments for each number of segments and each sum of ranks; the rank of
a segment is the number of its function's parameters. Any criterion that weighs the loss against
these two numbers has its optimum among the results.

`dynamic` uses dynamic programming: the best m segments up to a point are the best m - 1 up to an
earlier point, and one more (Bellman 1961), here for each sum of ranks. `exhaustive` has the same
result; for each further segment it takes n times as long.

The criterion is Schwarz's (BIC): the deviance of the points (see `costs.deviance`) plus k ln n. A
cut is a parameter that is found by trying all positions, and counts for more than one (Zhang and
Siegmund 2007). `bench/fit_recovery.py` and `bench/fit_curves.py` compare other weights. A stricter
rule recovers known models equally well, and a laxer one sees segments in noise. The laxer rule
would suit real curves, which no template fits exactly.

For very few points, an F test decides: it selects a function of more parameters if chance would
improve the fit as much only once in twenty times. Exact points select a line, and so do four noisy
points that rise clearly.

The rule `margins` is from the paper. Its Eq. 3 compares two models, but "about as good" is not
transitive: the selection among many models depends on their order. Here, all models are compared
with the model of the least error, so the order has no effect. The paper's rank of several segments
is a mean (Eq. 4), so further segments cost nothing.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

import numpy as np

from slowpath.core.arrays import Floats, Indices, Mask
from slowpath.models.catalogue import TEMPLATES, WHOLE
from slowpath.models.costs import (
    DETAILED,
    Costs,
    Piece,
    Restrictions,
    all_cuts,
    closer,
    extrema,
    most_cuts,
    spread_out,
)
from slowpath.models.options import METRICS, Options
from slowpath.models.parts import FittedSegment, fitted_at_points, part_of, sensible, stays_near
from slowpath.models.points import Series, weights_by_model, weights_by_neighbours
from slowpath.models.polynomial import templates_over
from slowpath.models.template import ParameterFloor


class Segmentation(NamedTuple):
    """A division of a curve into segments, with its loss."""

    loss: float  # deviance of the points, or their error for the rule `margins`
    pieces: tuple[Piece, ...]


Frontier: TypeAlias = dict[tuple[int, int], Segmentation]
"""Best divisions into segments, by the number of segments and the sum of their ranks."""


def dynamic(costs: Costs, most: int) -> Frontier:
    """Return the best division for each number of segments up to `most` and each sum of ranks.

    A rank is the number of parameters of a segment's function.
    """
    loss, which = costs.cheapest()
    size, top = len(costs.cuts), max(costs.ranks)
    best: Floats = np.full((most * top + 1, size), np.inf)  # by sum of ranks and last cut
    best[0, 0] = 0.0
    steps: list[tuple[Indices, Indices]] = []
    frontier: Frontier = {}
    for number in range(1, most + 1):
        now = np.full_like(best, np.inf)
        previous_cut = np.zeros(best.shape, dtype=np.intp)
        last_rank = np.zeros(best.shape, dtype=np.intp)
        for place, rank in enumerate(costs.ranks):
            sums = range((number - 1) * costs.ranks[0], (number - 1) * top + 1)
            window = best[sums.start : sums.stop]
            total = window[:, :, None] + loss[place][None]
            cut = total.argmin(axis=1)
            least = np.take_along_axis(total, cut[:, None, :], axis=1)[:, 0]
            target = slice(sums.start + rank, sums.stop + rank)
            better = least < now[target]
            now[target] = np.where(better, least, now[target])
            previous_cut[target] = np.where(better, cut, previous_cut[target])
            last_rank[target] = np.where(better, place, last_rank[target])
        steps.append((previous_cut, last_rank))
        best = now
        for ranks in np.flatnonzero(np.isfinite(best[:, size - 1])):
            pieces = _trace_by_rank(costs, which, steps, int(ranks))
            frontier[number, int(ranks)] = Segmentation(float(best[ranks, size - 1]), pieces)
    return frontier


def _trace_by_rank(
    costs: Costs, which: Indices, steps: list[tuple[Indices, Indices]], ranks: int
) -> tuple[Piece, ...]:
    """Return the best division of the whole curve with a sum of ranks of `ranks`.

    `steps` has the choices of the dynamic program, `which` the best template of each segment and
    rank.
    """
    pieces, end = [], len(costs.cuts) - 1
    for previous_cut, last_rank in reversed(steps):
        begin, place = int(previous_cut[ranks, end]), int(last_rank[ranks, end])
        template = int(which[place, begin, end])
        pieces.append(Piece(costs.cuts[begin], costs.cuts[end], template))
        end, ranks = begin, ranks - costs.ranks[place]
    return tuple(reversed(pieces))


MOST = 3
"""Maximum number of segments that an exhaustive search tries."""


def exhaustive(costs: Costs, most: int) -> Frontier:
    """Return the best division for each number of segments and each sum of ranks.

    The number of segments is at most `most` and at most `MOST`. A rank is the number of parameters
    of a segment's function.
    """
    loss, which = costs.cheapest()
    last = len(costs.cuts) - 1
    frontier: Frontier = {}
    for number in range(1, min(most, MOST) + 1):
        bounds = _bounds(last, number)
        if not len(bounds):
            continue
        for places in product(range(len(costs.ranks)), repeat=number):
            total = sum(
                loss[place][bounds[:, at], bounds[:, at + 1]] for at, place in enumerate(places)
            )
            least = int(np.argmin(total))
            found = float(np.asarray(total)[least])
            ranks = sum(costs.ranks[place] for place in places)
            known = frontier.get((number, ranks))
            if np.isfinite(found) and (known is None or found < known.loss):
                pieces = tuple(_pieces(costs, which, bounds[least], places))
                frontier[number, ranks] = Segmentation(found, pieces)
    return frontier


def _bounds(last: int, number: int) -> Indices:
    """Return all divisions into `number` segments: rows with the indices of cuts and both ends.

    `last` is the index of the last cut.
    """
    inner = list(combinations(range(1, last), number - 1))
    return np.array([(0, *between, last) for between in inner], dtype=np.intp)


def _pieces(
    costs: Costs, which: Indices, bounds: Indices, places: tuple[int, ...]
) -> Iterator[Piece]:
    for at, place in enumerate(places):
        begin, end = int(bounds[at]), int(bounds[at + 1])
        yield Piece(costs.cuts[begin], costs.cuts[end], int(which[place, begin, end]))


CUT = 2.0
"""Weight of a cut between two segments in the criterion, as a number of parameters."""
PREDICTIONS = 0.5
"""Weight of a parameter in the criterion if only predictions count, for any number of points."""


def score(found: Segmentation, segments: int, ranks: int, points: int, price: float) -> float:
    """Return the information criterion of a division, which is lowest for the best one.

    A parameter costs `price`. The value is infinite if too few points remain to estimate the
    spread.
    """
    size = ranks + CUT * (segments - 1)
    return found.loss + size * price if size + 2 < points else math.inf


def best_by_criterion(
    frontier: Frontier, points: int, segments: int | None, price: float | None = None
) -> Segmentation:
    """Return the division with the least information criterion.

    It has `segments` segments, or the closest number that exists; None permits any number. If there
    are too few points for the criterion, it is the division of the lowest rank. `price` replaces
    the cost of a parameter, which is the logarithm of the number of points.
    """
    price = math.log(points) if price is None else price
    counts = {number for number, _ in frontier}
    only = None if segments is None else min(counts, key=lambda number: abs(number - segments))
    sizes = [size for size in frontier if only is None or size[0] == only]

    def order(size: tuple[int, int]) -> tuple[float, int]:
        segments, ranks = size
        return score(frontier[size], segments, ranks, points, price), sum(size)

    return frontier[min(sizes, key=order)]


FEW = 4
"""Maximum number of points at which an F test selects the function; with more points, the criterion
decides.
"""
_BY_CHANCE = 0.05


def best_by_f_test(costs: Costs) -> Segmentation:
    """Return the function with the fewest parameters that no other function clearly improves on.

    It covers the whole curve. An F test decides if an improvement is clear.
    """
    from scipy.special import fdtrc

    points = costs.cuts[-1]
    losses = costs.whole()
    ranks = np.array([template.rank for template in costs.templates])
    chosen = _least(losses, ranks == ranks[np.isfinite(losses)].min())
    for rank in costs.ranks:
        added, left = rank - ranks[chosen], points - rank
        if added <= 0 or left <= 0:
            continue
        other = _least(losses, ranks == rank)
        if not np.isfinite(losses[other]):
            continue
        ratio = (losses[chosen] / losses[other] - 1) / added * left
        if fdtrc(added, left, max(float(ratio), 0.0)) < _BY_CHANCE:
            chosen = other
    return Segmentation(float(losses[chosen]), (Piece(0, points, chosen),))


def _least(losses: Floats, among: Mask) -> int:
    return int(np.where(among, losses, np.inf).argmin())


class Margins(NamedTuple):
    """Margins above the least error within which a simpler model is preferred.

    The larger one counts.
    """

    relative: float
    least: float

    def above(self, error: float) -> float:
        """Return the largest error that counts as about as good as `error`."""
        return error + max(error * self.relative, self.least)


def best_by_margins(
    costs: Costs, margins: Margins, most: int, segments: int | None
) -> Segmentation:
    """Select a division by the rule `margins` of the paper.

    It has `segments` segments, or up to `most` if that is None.
    """
    error, chosen = _templates(costs, margins)
    found = _combined(costs, error, chosen, most)
    counts = {number for number, _ in found}
    only = None if segments is None else min(counts, key=lambda number: abs(number - segments))
    left = {size: one for size, one in found.items() if only is None or size[0] == only}
    limit = margins.above(min(one.loss for one in left.values()))
    good = [size for size in left if left[size].loss <= limit]
    return left[min(good, key=lambda size: (size[1], left[size].loss, size[0]))]


def _templates(costs: Costs, margins: Margins) -> tuple[Floats, Indices]:
    """Return the error and the index of the selected template for each segment."""
    ranks = np.array([template.rank for template in costs.templates])
    least = costs.errors.min(axis=0)
    limit = least + np.maximum(least * margins.relative, margins.least)
    good = costs.errors <= limit
    with np.errstate(invalid="ignore"):  # for some segments, no template is allowed
        order = np.where(good, ranks[:, None] + costs.errors / (1 + 2 * limit), np.inf)
    chosen = order.argmin(axis=0)
    return costs.errors[chosen, np.arange(len(costs.pairs))], chosen


def _combined(
    costs: Costs, error: Floats, chosen: Indices, most: int
) -> dict[tuple[int, int], Segmentation]:
    """Return the divisions with the least error, by number of segments and sum of ranks.

    `error` and `chosen` have the error and the template of each segment. Ranks are summed over
    points, as for Eq. 4 of the paper.
    """
    size, points = len(costs.cuts), costs.cuts[-1]
    ranks = [template.rank for template in costs.templates]
    top = max(ranks) * points + 1
    best: Floats = np.full((size, top), np.inf)
    best[0, 0] = 0.0
    steps: list[Indices] = []
    found = {}
    for number in range(1, most + 1):
        now, last_pair = np.full_like(best, np.inf), np.full(best.shape, -1)
        for pair, (at, to) in enumerate(costs.pairs):
            length = costs.cuts[to] - costs.cuts[at]
            shift = length * ranks[chosen[pair]]
            total = best[at, : top - shift] + error[pair] * length / points
            better = total < now[to, shift:]
            now[to, shift:][better] = total[better]
            last_pair[to, shift:][better] = pair
        steps.append(last_pair)
        best = now
        for rank in np.flatnonzero(np.isfinite(best[size - 1])):
            pieces = _trace(costs, chosen, steps, int(rank))
            found[number, int(rank)] = Segmentation(float(best[size - 1, rank]), pieces)
    return found


def _trace(costs: Costs, chosen: Indices, steps: list[Indices], rank: int) -> tuple[Piece, ...]:
    pieces, to = [], len(costs.cuts) - 1
    for last_pair in reversed(steps):
        pair = int(last_pair[to, rank])
        at = costs.pairs[pair][0]
        begin, end = costs.cuts[at], costs.cuts[to]
        pieces.append(Piece(begin, end, int(chosen[pair])))
        to, rank = at, rank - (end - begin) * costs.templates[chosen[pair]].rank
    return tuple(reversed(pieces))


_SIGNS = {"increasing": 1, "decreasing": -1}
_MORE = 2
"""Number of segments by which a finer search may exceed the result of a rougher one."""
_ROUNDS = 3
"""Maximum number of iterations, both for finding outliers and for the usual spread of points."""


class Derived(NamedTuple):
    """The segments that were derived for a curve, and the curve with lower weights of outliers."""

    parts: tuple[FittedSegment, ...]
    series: Series
    outliers: int  # number of points


StepCallback = Callable[[], None]
"""Function that is called between the steps of a derivation, each of which takes less than a
second.
"""


def _nothing() -> None:
    """Do nothing; this is the default callback between steps of a derivation."""


def derive(series: Series, options: Options, between: StepCallback = _nothing) -> Derived:
    """Divide a curve into segments with fitted functions.

    `between` is called between steps, which each take less than a second.
    """
    weights = weights_by_neighbours(series)
    now = series._replace(scale=series.scale / weights)
    parts = _segments(now, options, between)
    for _ in range(_ROUNDS):
        lengths = [part.piece.end - part.piece.begin for part in parts]
        new = weights_by_model(fitted_at_points(parts, series), series, lengths)
        if np.array_equal(new < 1, weights < 1):
            break
        weights = new
        now = series._replace(scale=series.scale / weights)
        parts = _segments(now, options, between)
    return Derived(parts, now, int((weights < 1).sum()))


def _segments(series: Series, options: Options, between: StepCallback) -> tuple[FittedSegment, ...]:
    """Return the best segments of a curve.

    With many points, the search is first rough, then fine.
    """
    between()
    cuts = all_cuts(series.curve)
    most = most_cuts(len(series.x))
    if options.search == "extrema":
        return _best(series, extrema(series.curve, cuts), options)
    if len(cuts) <= most:
        return _best(series, cuts, options)
    step = len(cuts) // (most // 2)
    tried = {*spread_out(cuts, most // 2), *extrema(series.curve, cuts, near=0)}
    found: list[int] = []
    while True:
        parts = _best(series, sorted(tried), options, found)
        if step == 1:
            return parts
        between()
        step = max(1, step // 3)
        found = [part.piece.begin for part in parts]
        tried = set(closer(cuts, found, step))


def _best(
    series: Series, cuts: Sequence[int], options: Options, found: Sequence[int] = ()
) -> tuple[FittedSegment, ...]:
    """Return the best segments of a curve that start and end at the given candidate cuts.

    The fitted functions must be plausible between points. `found` are the cuts that a rougher
    search selected.
    """
    rules = Restrictions(
        METRICS[options.metric] if options.select == "margins" else None,
        0 if options.monotone is None else _SIGNS[options.monotone],
        options.non_negative,
        _floor(series, options.least_parameter),
    )
    others = series.others
    # The paper has no functions with a limit.
    limited = options.select != "margins" and len(found) <= 1
    curves = (*TEMPLATES, *WHOLE) if limited else TEMPLATES
    templates = curves if others is None else templates_over(1 + others.shape[1])
    costs = Costs(series.curve, cuts, templates, rules, found)
    if options.detailed:
        costs.known = DETAILED
    if found:
        options = options._replace(most_segments=min(options.most_segments, len(found) + _MORE))
    # Functions whose parameters cost ln n each are trustworthy between points, too.
    trusted = options.select != "margins" and not options.detailed and len(series.x) > FEW
    while True:
        pieces = _select(costs, options).pieces
        parts = tuple(part_of(series, one, templates[one.template], rules) for one in pieces)
        implausible = [
            part.piece
            for part in parts
            if not (sensible(part, series, rules) and (trusted or stays_near(part, series)))
        ]
        if not implausible:
            return parts
        for piece in implausible:
            costs.forbid(piece)


def _floor(series: Series, least: float) -> ParameterFloor | None:
    """Return the minimum absolute value of parameters, and the units of x and y it refers to.

    In these units, the largest x and the median of y are one. The result is None if there is no
    minimum.
    """
    if least == 0:
        return None
    median = float(np.median(series.level)) or 1.0
    return ParameterFloor(least, float(np.abs(series.x).max()), median)


def _select(costs: Costs, options: Options) -> Segmentation:
    """Select the segments of a curve by the rule that the options name.

    If the usual spread of points is not known from their neighbours, it is estimated from the
    selected segments, and the selection is repeated.
    """
    most = options.segments or options.most_segments
    if options.select == "margins":
        limits = Margins(options.margin, options.least_margin)
        return best_by_margins(costs, limits, most, options.segments)
    if costs.cuts[-1] <= FEW:
        return best_by_f_test(costs)
    each = PREDICTIONS if options.detailed else None
    search = exhaustive if options.search == "exhaustive" else dynamic
    known = costs.usual is not None
    found = best_by_criterion(search(costs, most), costs.cuts[-1], options.segments, each)
    for _ in range(0 if known else _ROUNDS):
        before = found.pieces
        costs.usual = costs.spread(before)
        segmentations = search(costs, most)
        found = best_by_criterion(segmentations, costs.cuts[-1], options.segments, each)
        if found.pieces == before:
            break
    return found
