"""Builds models of network functions for tests, trained on made-up instead of real measurements."""

import numpy as np

from contention_tables import columns, profile
from slowpath.contention.columns import AcceleratorProfile, Origin, OwnContention
from slowpath.contention.memory.recipes import RECIPES
from slowpath.contention.mixes import Kind
from slowpath.contention.model import FunctionModel, Pattern, Profiles, choose, learn

FLOWS, SIZE, MTBR = 10_000.0, 1500.0, 400.0


def model(
    seed: int,
    base: float | None = None,
    *,
    pattern: Pattern = "pipeline",
    queues: int = 1,
    accesses: float = 1e8,
) -> FunctionModel:
    """Return the contention model of a function, trained on made-up measurements.

    With `base`, the function uses an accelerator; a request takes `base * (1 + 0.003 * match
    ratio)`.
    """
    memory = profile(24, seed)
    memory = memory._replace(origin=memory.origin._replace(mtbr=MTBR))
    requests = None
    if base is not None:
        times = base * (1 + 0.003 * np.array([0.0, 1000.0]))
        requests = AcceleratorProfile(Origin(("regex",)), ("a", "b"), np.array([0.0, 1e3]), times)
    own = columns(1, seed + 50)
    own |= {"l2crd": np.array([accesses]), "l2cwr": np.array([accesses / 2])}
    own |= {"wss_mb": np.array([4.0 + seed % 3])}
    contention = OwnContention(Origin(("own",)), ("o",), own)
    choice = choose(memory, RECIPES["ridge-pressure"])
    return learn(Profiles(memory, requests, contention), choice, pattern, queues)


def kind(of: FunctionModel, name: str = "nf.json", mtbr: float | None = MTBR) -> Kind:
    """Return a function with default traffic, in the form in which it joins mixes on a NIC."""
    return Kind(name, of, FLOWS, SIZE, mtbr if of.request_time is not None else None)
