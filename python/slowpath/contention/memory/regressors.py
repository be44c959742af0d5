"""Regressors that learn from tens to hundreds of rows: Gaussian processes, and boosted trees.

The kernel of a Gaussian process is a constant times a Matern kernel with a length for each feature,
plus noise (Rasmussen and Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
sections 2.2, 4.2 and 5.4.1). Features and targets are scaled to a mean of 0 and a standard
deviation of 1. Kernel parameters maximise the likelihood of the rows. Our own regression replaces
that of scikit-learn: its import takes longer than a prediction, and on so few rows its checks of
arguments take longer than the search.

Boosted trees have depth two, and are trained for many subsets of the same rows at once (Friedman,
"Stochastic Gradient Boosting", Computational Statistics & Data Analysis 2002). Splits at quantiles
and penalised leaves are as in Chen and Guestrin, "XGBoost" (KDD 2016), sections 2 and 3. A
candidate split is a row of a matrix of zeros and ones. Products with this matrix are the sums of
all splits of all subsets, so the folds of a cross-validation cost little more than one training.
scikit-learn spends most of its time on the calls for each tree.

With `slowing` features, a larger value never yields a larger prediction: each split on such a
feature orders its two sides, and the values below a side stay on their side of the middle.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, overload

import numpy as np

from slowpath.core.arrays import Floats, Indices, Mask

Roughness = float
"""Smoothness parameter nu of the Matern kernel: a process with `ROUGH` has no derivative, with
`SMOOTH` one.
"""
ROUGH, SMOOTH = 0.5, 1.5

_CONSTANT, _LENGTH, _NOISE = (1.0, 1e-2, 1e2), (1.0, 0.1, 100.0), (0.05, 1e-3, 1.0)
"""Start value, smallest value and largest value of each kernel parameter in the search."""
_PRECISION = 1e-5
"""The search for kernel parameters ends if a step improves the likelihood by a smaller share. Ten
times the precision costs twice the steps, and changes no error by 0.01 points.
"""
_SEARCHED = 128
"""Maximum number of training rows for the search for kernel parameters; predictions use all rows.
The time of the search grows with the cube of this number.
"""
_JITTER = 1e-10
"""Small number added to the diagonal of the kernel matrix, against rounding errors."""


class Scale(NamedTuple):
    """Mean and standard deviation of each column of a matrix.

    For a constant column, the deviation is set to 1.
    """

    mean: Floats
    deviation: Floats

    def __call__(self, values: Floats) -> Floats:
        """Return the values minus the mean, divided by the standard deviation, column by column."""
        return np.asarray((values - self.mean) / self.deviation)


def scale_of(values: Floats) -> Scale:
    """Return the mean and the standard deviation of each column of a matrix."""
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    rounding = 10 * np.finfo(float).eps * np.abs(mean)
    return Scale(mean, np.where(deviation <= rounding, 1.0, deviation))


class GaussianProcess:
    """A Gaussian process regressor.

    `fit` searches for the kernel parameters, unless `known` has them. The search starts at the
    parameters `begin`, if they are for the same number of features.
    """

    def __init__(
        self, roughness: Roughness, known: Floats | None = None, begin: Floats | None = None
    ) -> None:
        self._roughness = roughness
        self._known, self._begin = known, begin

    @property
    def theta(self) -> Floats:
        """Logarithms of the kernel parameters: constant, a length for each feature, noise."""
        return self._theta

    def fit(self, x: Floats, y: Floats, /) -> "GaussianProcess":
        """Train on rows of features `x` with the targets `y`.

        Raises:
            ValueError: if the number of known parameters does not fit the features.
        """
        from scipy.linalg.lapack import dpotrs

        self._x_scale, self._y_scale = scale_of(x), scale_of(y)
        self._x, scaled = self._x_scale(x), self._y_scale(y)
        count = x.shape[1] + 2
        if self._known is not None and self._known.shape != (count,):
            raise ValueError(f"{len(self._known)} kernel parameters for {count}")
        likelihood = Likelihood(self._x, scaled, self._roughness)
        if self._known is None:
            searched = likelihood
            if len(scaled) > _SEARCHED:
                some = _some_rows(len(scaled))
                searched = Likelihood(self._x[some], scaled[some], self._roughness)
            self._theta = self._search(searched, self._begin)
        else:
            self._theta = self._known
        kernel = likelihood.kernel(self._theta)
        self._lower = np.linalg.cholesky(kernel)
        self._weights = dpotrs(self._lower, scaled, lower=1)[0]
        return self

    @overload
    def predict(self, x: Floats, /) -> Floats: ...
    @overload
    def predict(self, x: Floats, /, *, return_std: Literal[True]) -> tuple[Floats, Floats]: ...
    def predict(self, x: Floats, /, *, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the predicted means for rows of features `x`.

        If `return_std` is true, also return the predicted standard deviations.
        """
        from scipy.linalg.lapack import dtrtrs

        constant, lengths, noise = _parameters(self._theta)
        new, trained = self._x_scale(x) / lengths, self._x / lengths
        squares = ((new[:, None, :] - trained[None]) ** 2).sum(axis=2)
        across = constant * _matern(np.sqrt(squares), self._roughness)
        mean, deviation = self._y_scale
        middle = np.asarray(across @ self._weights * deviation + mean)
        if not return_std:
            return middle
        explained, _ = dtrtrs(self._lower, across.T, lower=1)
        variance = constant + noise - (explained**2).sum(axis=0)
        return middle, np.asarray(np.sqrt(np.maximum(variance, 0.0)) * deviation)

    @staticmethod
    def _search(likelihood: "Likelihood", begin: Floats | None) -> Floats:
        from scipy.optimize import minimize

        limits = [_CONSTANT, *[_LENGTH] * likelihood.features, _NOISE]
        if begin is None or len(begin) != len(limits):
            begin = np.log([one[0] for one in limits])
        bounds = [(math.log(least), math.log(most)) for _, least, most in limits]
        found = minimize(
            likelihood.loss,
            begin,
            method="L-BFGS-B",
            jac=True,
            bounds=bounds,
            options={"ftol": _PRECISION},
        )
        return np.asarray(found.x)


def _some_rows(count: int) -> Indices:
    """Return indices of the training rows for the search for kernel parameters.

    These are all `count` rows, or a random part of them if there are many.
    """
    return np.sort(np.random.default_rng(0).permutation(count)[:_SEARCHED])


class Likelihood:
    """The likelihood of the training rows under a Gaussian process with given kernel parameters."""

    def __init__(self, x: Floats, y: Floats, roughness: Roughness) -> None:
        rows, self.features = x.shape
        self._y, self._roughness = y, roughness
        columns = np.ascontiguousarray(x.T)
        squares = columns[:, :, None] - columns[:, None, :]
        squares *= squares
        self._squares = squares.reshape(self.features, rows * rows)

    def kernel(self, theta: Floats) -> Floats:
        """Return the kernel matrix of the training rows, with noise added to its diagonal."""
        constant, lengths, noise = _parameters(theta)
        kernel = constant * _matern(self._distance(lengths), self._roughness)
        return _with_noise(kernel, noise)

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return the negative logarithm of the likelihood, and its gradient by `theta`.

        `theta` has the logarithms of the kernel parameters.
        """
        from scipy.linalg.lapack import dpotrf, dpotri

        constant, lengths, noise = _parameters(theta)
        distance = self._distance(lengths)
        shape, by_length = _matern_and_slope(distance, self._roughness)
        shape *= constant
        # The matrices are symmetric; their transposes are in the order of LAPACK, and not copied.
        lower, failed = dpotrf(_with_noise(shape.copy(), noise).T, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("kernel matrix is not positive definite")
        constants = np.log(np.diag(lower)).sum() + len(self._y) / 2 * math.log(2 * math.pi)
        inverse, _ = dpotri(lower, lower=1, overwrite_c=1)  # zeros above its diagonal
        diagonal = np.diag(inverse).copy()
        weights = inverse @ self._y + self._y @ inverse - diagonal * self._y
        # Below, sums over the whole inverse are twice those over its lower half, whose diagonal is
        # counted twice. By length, the diagonal is zero.
        slope = np.multiply(2, inverse.T, out=inverse.T)
        slope -= np.outer(weights, weights)
        gradient = np.empty(len(theta))
        trace = diagonal.sum()
        gradient[0] = (np.vdot(slope, shape) - constant * trace) / 2
        by_length *= slope
        gradient[1:-1] = self._squares @ by_length.ravel() * (constant / 2) / lengths**2
        gradient[-1] = noise * (trace - weights @ weights) / 2
        return float(self._y @ weights / 2 + constants), gradient

    def _distance(self, lengths: Floats) -> Floats:
        rows = len(self._y)
        squares = lengths**-2 @ self._squares
        return np.sqrt(squares, out=squares).reshape(rows, rows)


def _with_noise(kernel: Floats, noise: float) -> Floats:
    """Add `noise` to the diagonal of a kernel matrix, in place, and return the matrix."""
    kernel.ravel()[:: len(kernel) + 1] += noise + _JITTER
    return kernel


def _parameters(theta: Floats) -> tuple[float, Floats, float]:
    found = np.exp(theta)
    return float(found[0]), found[1:-1], float(found[-1])


def _matern(distance: Floats, roughness: Roughness) -> Floats:
    if roughness == ROUGH:
        return np.asarray(np.exp(-distance))
    scaled = math.sqrt(3) * distance
    return np.asarray((1 + scaled) * np.exp(-scaled))


def _matern_and_slope(distance: Floats, roughness: Roughness) -> tuple[Floats, Floats]:
    """Return the Matern kernel, and a factor for its derivatives by the logarithms of lengths.

    The derivative by the logarithm of a feature's length is this factor times the squared
    difference of the scaled feature. For equal rows this difference is 0, so any factor is right.
    """
    if roughness == ROUGH:
        kernel = np.exp(-distance)
        return kernel, kernel / np.where(distance > 0, distance, 1.0)
    scaled = math.sqrt(3) * distance
    falling = np.exp(-scaled)
    scaled += 1
    scaled *= falling
    falling *= 3
    return scaled, falling


_BINS = 32
_SAME = 1e-9
"""Splits whose gains differ from the best gain by at most this share count as equal; the first of
them is chosen.
"""


class Settings(NamedTuple):
    """Parameters of the training of boosted trees."""

    rounds: int
    rate: float  # share of each tree's values that is added to the prediction
    subsample: float  # share of the rows that each tree sees
    least: int  # minimum number of rows in a leaf
    penalty: float  # squared values of leaves are penalised by this factor


class Splits(NamedTuple):
    """Candidate splits: a row is on the lower side if its column `feature` is at most `limit`.

    The last split has all rows on its lower side, for tree nodes that stay whole.
    """

    feature: Indices
    limit: Floats
    slowing: Mask

    def lower(self, x: Floats) -> Floats:
        """Return a matrix `[split, row]`: 1 if the split puts the row on its lower side, else 0."""
        return np.asarray((x[:, self.feature] <= self.limit).T, dtype=float)


def splits_of(x: Floats, slowing: Sequence[bool]) -> Splits:
    """Return candidate splits: limits halfway between the distinct values of each feature.

    If a feature has many distinct values, the limits are between quantiles. `slowing` is true for
    features that never make the prediction larger.
    """
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
    """The best split of each tree node, and the predictions for the two sides of the split."""

    split: Indices
    lower: Floats
    upper: Floats


class BoostedTrees:
    """Gradient-boosted trees of depth two."""

    def __init__(self, settings: Settings, slowing: Sequence[bool]) -> None:
        """Create untrained trees.

        `slowing` is true for features that never make the prediction larger.
        """
        self._settings, self._slowing = settings, slowing

    def fit(self, x: Floats, y: Floats, /) -> "BoostedTrees":
        """Train on rows of features `x` with the targets `y`."""
        return self._take(self._grown(x, y, np.ones((1, len(y)), dtype=bool)), 0)

    def fit_parts(self, x: Floats, y: Floats, parts: Mask) -> "list[BoostedTrees]":
        """Train copies of these trees on several subsets of the rows at once.

        `parts` is a mask with the axes `[subset, row]`. The result has one copy for each subset.
        """
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
    """Trees that grow at the same time, one ensemble for each training subset.

    Matrices have the axes `[row, subset]`.
    """

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
        """Grow one more tree for each training subset."""
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
        """Return the best split of each tree node.

        `left` has what each row of a node still lacks in its prediction; it is 0 for other rows.
        `rows` is 1 for the rows of a node, else 0.
        """
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
