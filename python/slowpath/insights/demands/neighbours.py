"""Chooses functions that run next to the assessed function: typical ones, and those of the user.

There is one typical function for each resource, such as a memory. Candidates are all chains of
published elements with the largest measured parameters, and the chain without elements. The typical
function is the chain that uses its resource much and other resources little: the difference of the
two utilisations is largest.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.functions import (
    COMPUTE,
    ELEMENTS,
    USUAL,
    Array,
    Functions,
    flag,
    functions_of,
)
from slowpath.insights.cores.groups import GROUP_CORES
from slowpath.insights.cores.network import amounts, demands, works
from slowpath.insights.demands.draws import PLACES, Draws, one_of, repeated, throughput, used
from slowpath.insights.demands.prices import chain
from slowpath.insights.output import percent

_CALLED = {"line": "the line"}
"""Names of resources in sentences, where they differ from the usual names."""


class Neighbour(NamedTuple):
    """A function with which the assessed function may share the SmartNIC."""

    name: str
    about: str
    typical: bool
    draws: Draws  # demands of this function alone


def typical(parameters: Array, draws: int) -> list[Neighbour]:
    """Return a typical function for each resource in PLACES: one that this resource limits.

    `draws` is the number of times that its demands, which are not random, are repeated.
    """
    rows = _chains()
    every = of_columns(parameters, functions_of(rows))
    (busy,) = used(every, float(GROUP_CORES), throughput(every, (GROUP_CORES,))[..., 0])
    found = []
    for place, name in enumerate(PLACES):
        # Prefer a chain that uses other resources little.
        best = int((busy[:, place] - np.delete(busy, place, -1).sum(-1)).argmax())
        about = f"{_elements(rows[best])}: {name} {percent(busy[best, place], 0)} busy"
        called = f"a function bound by {_CALLED.get(name, name)}"
        found.append(Neighbour(called, about, True, repeated(one_of(every, best), draws)))
    return found


def of_columns(parameters: Array, functions: Functions) -> Draws:
    """Return the demands of functions that are made of published elements, as a single draw.

    The demands are not random.
    """
    needed = demands(parameters, amounts(works(functions)))
    return Draws(
        np.zeros(1, np.intp),
        needed.waiting.T,
        needed.computing.T,
        needed.shared[:, 0][None],
        needed.queueing[None],
    )


def _chains() -> list[dict[str, int]]:
    """Return all chains of published elements, each with and without its compute blocks.

    Parameters, such as hash table slots, have the largest measured values.
    """
    parameters = {name: largest for name, (_, largest) in USUAL.items()}
    found = []
    for present in product((0, 1), repeat=len(ELEMENTS)):
        flags = dict(zip(ELEMENTS, present, strict=True))
        for computing in (0, 1):
            blocks = dict.fromkeys(COMPUTE, computing)
            found.append(chain(**parameters, **flags, **blocks))
    return found


def _elements(row: dict[str, int]) -> str:
    names = [name for name in (*ELEMENTS, *COMPUTE) if row[flag(name)]]
    return ", ".join(names) or "no element"
