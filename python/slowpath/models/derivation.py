"""Derives the segments of a model, each with a fitted function, from a measured curve."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.models import selection
from slowpath.models.catalogue import TEMPLATES, WHOLE
from slowpath.models.costs import (
    DETAILED,
    Costs,
    Restrictions,
    all_cuts,
    closer,
    extrema,
    most_cuts,
    spread_out,
)
from slowpath.models.metrics import METRICS
from slowpath.models.options import Options
from slowpath.models.outliers import weights_by_model, weights_by_neighbours
from slowpath.models.parts import FittedSegment, fitted_at_points, part_of, sensible, stays_near
from slowpath.models.points import Series
from slowpath.models.polynomial import templates_over
from slowpath.models.selection import Segmentation, dynamic, exhaustive
from slowpath.models.template import ParameterFloor

_SIGNS = {"increasing": 1, "decreasing": -1}
_MORE = 2
"""Number of segments that a finer search may add to the result of a rougher one."""
_ROUNDS = 3
"""Maximum number of iterations, both for outliers and for the usual spread of points."""


class Derived(NamedTuple):
    """The derived segments of a curve, and the curve after outliers have lost weight."""

    parts: tuple[FittedSegment, ...]
    series: Series
    outliers: int  # number of points


StepCallback = Callable[[], None]
"""Function that is called between steps of a derivation, each of which takes less than a second."""


def _nothing() -> None:
    """Do nothing: the default for callbacks that run between steps of a derivation."""


def derive(series: Series, options: Options, between: StepCallback = _nothing) -> Derived:
    """Derive the segments of a curve; `between` is called between steps."""
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
    """Return the best segments; with many points, search roughly first, then more finely."""
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
    """Return the best segments of a curve whose ends are among these candidate cuts.

    The fitted functions must be plausible between points.

    `found` are the cuts of a rougher search.
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
    trusted = options.select != "margins" and not options.detailed and len(series.x) > selection.FEW
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
    """Return the minimum size of parameters, with the units of x and y that it is stated in.

    In these units, the largest x and the median of y are one. None if there is no minimum.
    """
    if least == 0:
        return None
    median = float(np.median(series.level)) or 1.0
    return ParameterFloor(least, float(np.abs(series.x).max()), median)


def _select(costs: Costs, options: Options) -> Segmentation:
    """Select the segments of a curve by the rule that the options choose.

    If the usual spread of points is not known from their neighbours, it is estimated from the
    selected segments, and the selection is repeated.
    """
    most = options.segments or options.most_segments
    if options.select == "margins":
        limits = selection.Margins(options.margin, options.least_margin)
        return selection.best_by_margins(costs, limits, most, options.segments)
    if costs.cuts[-1] <= selection.FEW:
        return selection.best_by_f_test(costs)
    each = selection.PREDICTIONS if options.detailed else None
    search = exhaustive if options.search == "exhaustive" else dynamic
    known = costs.usual is not None
    found = selection.best_by_criterion(search(costs, most), costs.cuts[-1], options.segments, each)
    for _ in range(0 if known else _ROUNDS):
        before = found.pieces
        costs.usual = costs.spread(before)
        segmentations = search(costs, most)
        found = selection.best_by_criterion(segmentations, costs.cuts[-1], options.segments, each)
        if found.pieces == before:
            break
    return found
