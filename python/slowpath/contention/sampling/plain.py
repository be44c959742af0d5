"""Full and random profiling, which the paper compares adaptive profiling with (7.6)."""

import math
from itertools import product

import numpy as np

from slowpath.contention.sampling.asking import Plan
from slowpath.contention.sampling.budget import Budget, QuotaError
from slowpath.contention.sampling.space import Space, point

_MISSES = 1000


def full(space: Space, steps: int) -> Plan:
    """Every level of contention under a grid of all attributes, `steps` values of each."""
    shares = [at / (steps - 1) if steps > 1 else 0.5 for at in range(steps)]
    axes = [dict.fromkeys(one.inside(share) for share in shares) for one in space.attributes]
    names = [one.name for one in space.attributes]
    count = len(space.levels)
    for axis in axes:
        count *= len(axis)
    budget = Budget(count)
    for level in range(len(space.levels)):
        for values in product(*axes):
            yield from budget.throughput(point(level, dict(zip(names, values, strict=True))))


def random(space: Space, quota: int, seed: int = 0) -> Plan:
    """Points at random, until the quota is used up."""
    yield from spend(space, Budget(quota), np.random.default_rng(seed))


def spend(space: Space, budget: Budget, draw: np.random.Generator, until: float = math.inf) -> Plan:
    """Uses up a quota for points at random, as far as there are so many different ones.

    Args:
        space: what can be measured.
        budget: with the quota.
        draw: which points.
        until: it ends, too, when so many measurements were made in all.
    """
    misses = 0
    while misses < _MISSES and budget.spent < until:
        one = space.drawn(draw)
        misses = misses + 1 if budget.known(one) else 0
        try:
            yield from budget.throughput(one)
        except QuotaError:
            return
