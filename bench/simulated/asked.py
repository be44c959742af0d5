"""Lists the mixes of functions whose predicted and simulated throughputs are compared."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nic_profiles import function
from simulated.functions import FUNCTIONS, TRAFFIC
from simulated.kept import Kept

SIZES = (2, 3, 4)
"""Sizes of mixes: one function and one to three others (paper, 7.2)."""


class Mix(NamedTuple):
    """Functions that run together on one NIC, all under the same traffic profile."""

    traffic: int
    names: tuple[str, ...]


def mixes(names: Sequence[str] = FUNCTIONS, count: int | None = None, seed: int = 100) -> list[Mix]:
    """Return all mixes under all traffic profiles, or `count` random mixes for each profile."""
    sets = [one for size in SIZES for one in itertools.combinations(names, size)]
    found = []
    for at in range(len(TRAFFIC)):
        order = np.random.default_rng(seed + at).permutation(len(sets))
        found += [Mix(at, sets[one]) for one in order[:count]]
    return found


def measured(kept: Kept, wanted: Sequence[Mix], seed: int = 1) -> list[list[float]]:
    """Simulate each mix with a seed of its own; return the throughput of each function in it."""
    runs = [[function(name, TRAFFIC[at]) for name in names] for at, names in wanted]
    return kept.throughputs("mixes", runs, kept.settings._replace(seed=seed))
