"""Derivation of segments with functions from a curve."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.models import outliers, selection
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
from slowpath.models.parts import FittedSegment, fitted_at_points, part_of, sensible, stays_near
from slowpath.models.points import Series
from slowpath.models.polynomial import templates_over
from slowpath.models.selection import Segmentation, dynamic, exhaustive
from slowpath.models.template import ParameterFloor

_SIGNS = {"increasing": 1, "decreasing": -1}
_MORE = 2
"""Number of segments that a search may add to those of a rougher search."""
_ROUNDS = 3
"""Maximum number of iterations for outliers, and for the usual spread."""


class Derived(NamedTuple):
    """Segments with functions, and the curve with reduced weights of outliers."""

    parts: tuple[FittedSegment, ...]
    series: Series
    outliers: int


StepCallback = Callable[[], None]
"""Callback between steps; each step takes less than a second."""


def _away() -> None:
    """Do nothing between steps."""


def derive(series: Series, options: Options, look: StepCallback = _away) -> Derived:
    """Derive the model of a curve; call `look` between steps."""
    counts = outliers.weights_by_neighbours(series)
    now = series._replace(scale=series.scale / counts)
    parts = _segments(now, options, look)
    for _ in range(_ROUNDS):
        lengths = [part.piece.end - part.piece.begin for part in parts]
        again = outliers.weights_by_model(fitted_at_points(parts, series), series, lengths)
        if np.array_equal(again < 1, counts < 1):
            break
        counts = again
        now = series._replace(scale=series.scale / counts)
        parts = _segments(now, options, look)
    return Derived(parts, now, int((counts < 1).sum()))


def _segments(series: Series, options: Options, look: StepCallback) -> tuple[FittedSegment, ...]:
    """Return the best segments; with many points, search roughly first, then ever more finely."""
    look()
    cuts = all_cuts(series.curve)
    some = most_cuts(len(series.x))
    if options.search == "extrema":
        return _best(series, extrema(series.curve, cuts), options)
    if len(cuts) <= some:
        return _best(series, cuts, options)
    step = len(cuts) // (some // 2)
    tried = {*spread_out(cuts, some // 2), *extrema(series.curve, cuts, near=0)}
    found: list[int] = []
    while True:
        parts = _best(series, sorted(tried), options, found)
        if step == 1:
            return parts
        look()
        step = max(1, step // 3)
        found = [part.piece.begin for part in parts]
        tried = set(closer(cuts, found, step))


def _best(
    series: Series, cuts: Sequence[int], options: Options, found: Sequence[int] = ()
) -> tuple[FittedSegment, ...]:
    """Return the best segments with these cuts whose functions are plausible between points.

    `found` are the cuts of a rougher search.
    """
    rules = Restrictions(
        METRICS[options.metric] if options.select == "margins" else None,
        0 if options.monotone is None else _SIGNS[options.monotone],
        options.non_negative,
        _cap(series, options.least_parameter),
    )
    others = series.others
    limited = (
        options.select != "margins" and len(found) <= 1
    )  # the paper has no functions with a limit
    curves = (*TEMPLATES, *WHOLE) if limited else TEMPLATES
    templates = curves if others is None else templates_over(1 + others.shape[1])
    costs = Costs(series.curve, cuts, templates, rules, found)
    if options.detailed:
        costs.known = DETAILED
    if found:
        options = options._replace(most_segments=min(options.most_segments, len(found) + _MORE))
    # Functions whose parameters cost ln n each are trustworthy between points, too.
    weighed = options.select != "margins" and not options.detailed and len(series.x) > selection.FEW
    while True:
        pieces = _select(costs, options).pieces
        parts = tuple(part_of(series, one, templates[one.template], rules) for one in pieces)
        strange = [
            part.piece
            for part in parts
            if not (sensible(part, series, rules) and (weighed or stays_near(part, series)))
        ]
        if not strange:
            return parts
        for piece in strange:
            costs.forbid(piece)


def _cap(series: Series, least: float) -> ParameterFloor | None:
    """Return the least size of parameters, in units in which the data are close to one."""
    if least == 0:
        return None
    return ParameterFloor(
        least, float(np.abs(series.x).max()), float(np.median(series.level)) or 1.0
    )


def _select(costs: Costs, options: Options) -> Segmentation:
    """Select segments by the chosen rule.

    If neighbours do not determine the usual spread, iterate: estimate it from the found segments.
    """
    most = options.segments or options.most_segments
    if options.select == "margins":
        limits = selection.Margins(options.margin, options.least_margin)
        return selection.best_by_margins(costs, limits, most, options.segments)
    if costs.cuts[-1] <= selection.FEW:
        return selection.best_by_f_test(costs)
    each = selection.PREDICTIONS if options.detailed else None
    search = exhaustive if options.search == "exhaustive" else dynamic
    told = costs.usual is not None
    found = selection.best_by_criterion(search(costs, most), costs.cuts[-1], options.segments, each)
    for _ in range(0 if told else _ROUNDS):
        before = found.pieces
        costs.usual = costs.spread(before)
        found = selection.best_by_criterion(
            search(costs, most), costs.cuts[-1], options.segments, each
        )
        if found.pieces == before:
            break
    return found
