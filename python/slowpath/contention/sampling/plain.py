"""Full and random profiling, which the paper compares adaptive profiling with (7.6)."""

from itertools import product

import numpy as np

from slowpath.contention.sampling.budget import Budget, QuotaError
from slowpath.contention.sampling.space import Measure, Sample, Space, point

_MISSES = 1000


def full(space: Space, measure: Measure, steps: int) -> list[Sample]:
    """Every level of contention under a grid of all attributes, `steps` values of each."""
    shares = [at / (steps - 1) if steps > 1 else 0.5 for at in range(steps)]
    axes = [dict.fromkeys(one.inside(share) for share in shares) for one in space.attributes]
    names = [one.name for one in space.attributes]
    count = len(space.levels)
    for axis in axes:
        count *= len(axis)
    budget = Budget(measure, count)
    for level in range(len(space.levels)):
        for values in product(*axes):
            budget.throughput(point(level, dict(zip(names, values, strict=True))))
    return budget.samples()


def random(space: Space, measure: Measure, quota: int, seed: int = 0) -> list[Sample]:
    """Points at random, until the quota is used up."""
    budget = Budget(measure, quota)
    spend(space, budget, np.random.default_rng(seed))
    return budget.samples()


def spend(space: Space, budget: Budget, draw: np.random.Generator) -> None:
    """Uses up a quota for points at random, as far as there are so many different ones."""
    misses = 0
    while misses < _MISSES:
        one = space.drawn(draw)
        misses = misses + 1 if budget.known(one) else 0
        try:
            budget.throughput(one)
        except QuotaError:
            return
