"""What every possible segment costs with every template: the table that all searches work on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.models.search.evidence import FINEST, USUAL, surprise, usual_spread
from slowpath.models.search.rules import FEWEST, Rules, enough, on_the_way
from slowpath.models.templates.batch import Batch, Curve, Floats, Indices, pieces_of
from slowpath.models.templates.template import Template

_EQUAL = 1e-9
"""Of losses that differ by less, that of the template that comes first counts."""
_MANY = 2_000_000
"""Points of all pieces together that are worked on at a time; it keeps the memory small."""


_INSIDE = 2
"""Cuts of an earlier search that a piece may have inside, such as those near its ends."""
_NO_RULES = Rules()


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
        rules: Rules = _NO_RULES,
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
        between = np.append(0, np.cumsum(on_the_way(curve)))
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
            loss[number, at, to] = surprise(least, points, rank, usual, self.known)
            which[number, at, to] = those[best]
        return loss, which
