"""From a curve to segments with functions: search, selection, outliers; no intervals yet."""

from typing import NamedTuple

import numpy as np

from slowpath.models import outliers
from slowpath.models.metrics import metric_named
from slowpath.models.options import Options
from slowpath.models.parts import Part, fitted_at_points, part_of, sensible
from slowpath.models.points import Series
from slowpath.models.search.costs import Costs, Piece
from slowpath.models.search.dynamic import dynamic
from slowpath.models.search.exhaustive import exhaustive
from slowpath.models.search.frontier import Found
from slowpath.models.selection import criterion, margins
from slowpath.models.templates.catalogue import TEMPLATES

_ROUNDS = 3
"""How often outliers are looked for."""


class Derived(NamedTuple):
    """Segments with functions, and the curve with outliers weighed."""

    parts: tuple[Part, ...]
    series: Series
    outliers: int


def derive(series: Series, options: Options) -> Derived:
    """The model of a curve."""
    counts = outliers.alone(series)
    now = series._replace(scale=series.scale / counts)
    parts = _segments(now, options)
    for _ in range(_ROUNDS):
        again = outliers.of_model(fitted_at_points(parts, series), series)
        if np.array_equal(again < 1, counts < 1):
            break
        counts = again
        now = series._replace(scale=series.scale / counts)
        parts = _segments(now, options)
    return Derived(parts, now, int((counts < 1).sum()))


def _segments(series: Series, options: Options) -> tuple[Part, ...]:
    """The best segments whose functions make sense between the points."""
    by_margins = options.select == "margins"
    costs = Costs(
        series.curve,
        range(len(series.x) + 1),
        TEMPLATES,
        metric_named(options.metric) if by_margins else None,
    )
    while True:
        found = _select(costs, options)
        parts = tuple(_part(series, piece) for piece in found.pieces)
        strange = [part.piece for part in parts if not sensible(part, series)]
        if not strange:
            return parts
        for piece in strange:
            costs.forbid(piece)


def _select(costs: Costs, options: Options) -> Found:
    most = options.segments or options.most_segments
    if options.select == "margins":
        limits = margins.Margins(options.margin, options.least_margin)
        return margins.best(costs, limits, most, options.segments)
    frontier = (exhaustive if options.search == "exhaustive" else dynamic)(costs, most)
    return criterion.best(frontier, costs.cuts[-1], options.segments)


def _part(series: Series, piece: Piece) -> Part:
    return part_of(series, piece, TEMPLATES[piece.template])
