"""Gradient-boosted trees of depth two, trained for many subsets of the same rows at once.

Sources: Friedman, "Stochastic Gradient Boosting" (Computational Statistics & Data Analysis 2002);
splits at quantiles and penalised leaves as in Chen and Guestrin, "XGBoost" (KDD 2016), sections 2
and 3. Here, a candidate split is a row of a matrix of zeros and ones. Products with this matrix are
the sums of all splits of all subsets, so the folds of a cross-validation cost little more than one
training. scikit-learn spends most of its time on the calls for each tree.

With `slowing` features, a larger value never yields a larger prediction: each split on such a
feature orders its two sides, and the values below a side stay on their side of the middle.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats, Indices, Mask

_BINS = 32
_SAME = 1e-9
"""Gains within this share of the best one are equal; the first of them is chosen."""


class Settings(NamedTuple):
    """Settings of boosted trees."""

    rounds: int
    rate: float  # share of each tree's values that is added to the prediction
    subsample: float  # share of the rows that each tree sees
    least: int  # minimum number of rows in a leaf
    penalty: float  # squared values of leaves are penalised by this factor


class Splits(NamedTuple):
    """Candidate splits: rows with at most `limit` in column `feature` are on the lower side.

    The last split has all rows on its lower side, for nodes that stay whole.
    """

    feature: Indices
    limit: Floats
    slowing: Mask

    def lower(self, x: Floats) -> Floats:
        """Return a matrix `[split, row]`, 1 on the lower side and 0 on the upper one."""
        return np.asarray((x[:, self.feature] <= self.limit).T, dtype=float)


def splits_of(x: Floats, slowing: Sequence[bool]) -> Splits:
    """Return splits halfway between distinct values, or between quantiles if there are many."""
    features, limits = list[int](), list[float]()
    for feature, values in enumerate(x.T):
        distinct = np.unique(values)
        if len(distinct) > _BINS:
            distinct = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1), method="lower"))
        limits += ((distinct[1:] + distinct[:-1]) / 2).tolist()
        features += [feature] * (len(distinct) - 1)
    falls = [bool(slowing[feature]) for feature in features]
    return Splits(
        np.array([*features, 0], dtype=np.intp),
        np.array([*limits, np.inf]),
        np.array([*falls, False]),
    )


class _Best(NamedTuple):
    """The best split of each node, with the values of its two sides."""

    split: Indices
    lower: Floats
    upper: Floats


class BoostedTrees:
    """Gradient-boosted trees of depth two."""

    def __init__(self, settings: Settings, slowing: Sequence[bool]) -> None:
        """Create trees; `slowing` is true for features that never make the prediction larger."""
        self._settings, self._slowing = settings, slowing

    def fit(self, x: Floats, y: Floats, /) -> "BoostedTrees":
        """Train on rows of features `x` with the targets `y`."""
        return self._take(self._grown(x, y, np.ones((1, len(y)), dtype=bool)), 0)

    def fit_parts(self, x: Floats, y: Floats, parts: Mask) -> "list[BoostedTrees]":
        """Train copies on subsets of the rows at once; `parts` is a mask `[subset, row]`."""
        grown = self._grown(x, y, parts)
        copies = [BoostedTrees(self._settings, self._slowing) for _ in parts]
        return [one._take(grown, at) for at, one in enumerate(copies)]

    def _grown(self, x: Floats, y: Floats, parts: Mask) -> "_Growing":
        growing = _Growing(self._settings, splits_of(x, self._slowing), x, y, parts)
        for _ in range(self._settings.rounds):
            growing.grow()
        return growing

    def _take(self, grown: "_Growing", part: int) -> "BoostedTrees":
        self._splits, self._start = grown.splits, float(grown.start[part])
        self._chosen = np.array(grown.chosen)[:, :, part]
        self._values = np.array(grown.values)[:, :, part]
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""
        lower = self._splits.lower(x) > 0
        root, below, above = (lower[self._chosen[:, level]] for level in range(3))
        one, two, three, four = (self._values[:, leaf, None] for leaf in range(4))
        values = np.where(root, np.where(below, one, two), np.where(above, three, four))
        return np.asarray(values.sum(axis=0) + self._start)


class _Growing:
    """Trees of all subsets while they grow; matrices have the axes `[row, subset]`."""

    def __init__(
        self, settings: Settings, splits: Splits, x: Floats, y: Floats, parts: Mask
    ) -> None:
        self._settings, self.splits = settings, splits
        self._lower = splits.lower(x)
        self._falls = splits.slowing[:, None]
        self._known = parts.T.astype(float)
        self._drawn = np.random.default_rng(0)
        self.start = (y @ self._known) / self._known.sum(axis=0)
        self._left = y[:, None] - self.start  # what is left to predict
        self.chosen = list[list[Indices]]()  # by tree: splits of the root and its two sides
        self.values = list[list[Floats]]()  # by tree: of its four leaves

    def grow(self) -> None:
        """Add a tree to each subset."""
        count = self._known.shape[1]
        drawn = self._drawn.random(len(self._known)) < self._settings.subsample
        rows = self._known * drawn[:, None]
        left = self._left * rows
        root = self._best(left, rows)
        lower = self._lower[root.split].T
        sides = self._best(
            np.hstack([left * lower, left * (1 - lower)]),
            np.hstack([rows * lower, rows * (1 - lower)]),
        )
        values = [
            sides.lower[:count],
            sides.upper[:count],
            sides.lower[count:],
            sides.upper[count:],
        ]
        ordered = self.splits.slowing[root.split]
        if ordered.any():
            middle = np.where(ordered, (root.lower + root.upper) / 2, np.nan)
            values = [np.fmax(one, middle) for one in values[:2]] + [
                np.fmin(one, middle) for one in values[2:]
            ]
        values = [one * self._settings.rate for one in values]
        below, above = (
            self._lower[sides.split[part]].T for part in (slice(count), slice(count, None))
        )
        one, two, three, four = values
        self._left -= lower * (two + below * (one - two)) + (1 - lower) * (
            four + above * (three - four)
        )
        self.chosen.append([root.split, sides.split[:count], sides.split[count:]])
        self.values.append(values)

    def _best(self, left: Floats, rows: Floats) -> _Best:
        """Return the best split of each node; `rows` is 1 for the rows of a node, else 0."""
        least, penalty = self._settings.least, self._settings.penalty
        sums, counts = left.sum(axis=0), rows.sum(axis=0)
        lower, below = np.split(self._lower @ np.hstack([left, rows]), 2, axis=1)
        upper, above = sums - lower, counts - below
        lower_values, upper_values = (
            one / np.maximum(number + penalty, 1.0)
            for one, number in ((lower, below), (upper, above))
        )
        gains = lower_values * lower + upper_values * upper
        refused = (below < least) | (above < least)
        refused |= self._falls & (lower_values < upper_values)
        gains[refused] = -1.0
        gains[-1] = sums**2 / np.maximum(counts + penalty, 1.0)  # the node stays whole
        split = np.argmax(gains >= gains.max(axis=0) * (1 - _SAME), axis=0)
        nodes = np.arange(len(split))
        return _Best(split, lower_values[split, nodes], upper_values[split, nodes])
