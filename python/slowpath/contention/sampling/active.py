"""Active learning: where a Gaussian process is least sure, the next point is measured.

Not of the paper. The process is over logarithms of throughput, by the attributes and what is known
of the levels of contention; its standard deviation is that of relative errors, which is what the
errors of predictions are counted in. Candidates are drawn anew for each point, so that noise alone
does not keep it at one place (MacKay, "Information-based objective functions for active data
selection", Neural Computation 1992).
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.sampling.asking import Plan
from slowpath.contention.sampling.budget import Budget, QuotaError
from slowpath.contention.sampling.plain import spend
from slowpath.contention.sampling.space import NO_CONTENTION, Point, Space, point

Floats = NDArray[np.float64]


class Settings(NamedTuple):
    """How the next point is looked for."""

    first: int = 8  # points at random, to begin with
    candidates: int = 256  # of which the least sure one is taken
    refit: int = 8  # after so many points, the shape of the process is fitted anew


def active(space: Space, quota: int, settings: Settings | None = None, seed: int = 0) -> Plan:
    """Points of which least is known, until the quota is used up.

    Args:
        space: what can be measured.
        quota: how many points; throughput at each is above zero.
        settings: how the next point is looked for.
        seed: other draws.
    """
    settings = settings or Settings()
    budget = Budget(quota)
    draw = np.random.default_rng(seed)
    process = None
    try:
        yield from budget.throughput(point(NO_CONTENTION, space.default()))
        yield from spend(space, budget, draw, settings.first)
        while budget.left:
            samples = budget.samples()
            x = seen(space, [one.point for one in samples])
            y = np.log([one.throughput for one in samples])
            process = _learnt(process, x, y, anew=budget.spent % settings.refit == 0)
            those = _candidates(space, budget, draw, settings.candidates)
            if not those:
                break
            _, spread = process.predict(seen(space, those), return_std=True)
            yield from budget.throughput(those[int(np.argmax(spread))])
    except QuotaError:
        pass


def seen(space: Space, points: Sequence[Point]) -> Floats:
    """What the process sees: attributes and levels, each between 0 and 1."""
    shares = [[one.share(at.values()[one.name]) for one in space.attributes] for at in points]
    levels = space.levels
    low, high = levels.min(axis=0), levels.max(axis=0)
    scaled = (levels - low) / np.where(high > low, high - low, 1.0)
    return np.column_stack([np.array(shares), scaled[[one.level for one in points]]])


def _candidates(space: Space, budget: Budget, draw: np.random.Generator, count: int) -> list[Point]:
    drawn = dict.fromkeys(space.drawn(draw) for _ in range(count))
    return [one for one in drawn if not budget.known(one)]


def _learnt(before: Any, x: Floats, y: Floats, *, anew: bool) -> Any:  # noqa: ANN401 - of scikit-learn
    """A process for all points so far; its shape is that of before, or fitted."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    if before is None or anew:
        shape = Matern(np.full(x.shape[1], 0.5), (0.05, 20.0), nu=1.5)
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * shape + WhiteKernel(1e-2, (1e-5, 1.0))
        process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    else:
        process = GaussianProcessRegressor(before.kernel_, optimizer=None, normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which bound of the kernel was reached
        return process.fit(x, y)
