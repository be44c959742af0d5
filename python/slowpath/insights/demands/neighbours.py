"""Functions that others may stand beside: typical ones by what holds them back, and a user's own.

Typical are, of all chains of published elements with the largest parameters that were measured,
and of a packet by itself, those that keep one resource busiest while they run alone.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from slowpath.insights.colocation.groups import CORES
from slowpath.insights.demands.draws import Draws, used
from slowpath.insights.demands.prices import EMEM, IMEM, LINE, chain
from slowpath.insights.functions import vocabulary
from slowpath.insights.functions.functions import Array, Functions, functions_of
from slowpath.insights.network.closed import solve
from slowpath.insights.network.parameters import amounts, demands
from slowpath.insights.network.work import works

KINDS = ("computation", "IMEM", "EMEM", "line")


class Neighbour(NamedTuple):
    """A function beside which another one may stand."""

    name: str
    about: str
    typical: bool
    draws: Draws  # of one function


def typical(parameters: Array, draws: int) -> list[Neighbour]:
    """One function for each of KINDS."""
    rows = _chains()
    needed = demands(parameters, amounts(works(functions_of(rows))))
    cores = np.full(needed.waiting.shape, float(CORES))
    every = of_columns(parameters, functions_of(rows), 1)
    state = used(every, float(CORES), solve(needed, cores).T)
    busy = {"computation": state.cores[0]}
    busy |= {
        name: state.resources[0, :, at]
        for name, at in zip(KINDS[1:], (IMEM, EMEM, LINE), strict=True)
    }
    found = []
    for name in KINDS:
        # Not one that keeps others busy as well.
        ahead = busy[name] - np.sum([busy[other] for other in KINDS if other != name], axis=0)
        best = rows[int(ahead.argmax())]
        described = (
            f"{_elements(best)}: {name} {100 * float(busy[name][int(ahead.argmax())]):.0f} % busy"
        )
        found.append(
            Neighbour(
                _CALLED[name], described, True, of_columns(parameters, functions_of([best]), draws)
            )
        )
    return found


_CALLED = {
    "computation": "a function bound by computation",
    "IMEM": "a function bound by IMEM",
    "EMEM": "a function bound by EMEM",
    "line": "a function bound by the line",
}


def of_columns(parameters: Array, functions: Functions, draws: int) -> Draws:
    """What functions need that are described by columns: the same in each draw."""
    needed = demands(parameters, amounts(works(functions)))
    return Draws(
        np.zeros(draws, np.intp),
        np.repeat(needed.waiting.T, draws, 0),
        np.repeat(needed.computing.T, draws, 0),
        np.repeat(needed.shared[:, 0][None], draws, 0),
        needed.queueing[None],
    )


def _chains() -> list[dict[str, int]]:
    """All chains with the largest parameters, each with all plain computation or none."""
    most = {name: largest for name, (_, largest) in vocabulary.USUAL.items()}
    found = []
    for there in product((0, 1), repeat=len(vocabulary.ELEMENTS)):
        flags = dict(zip(vocabulary.ELEMENTS, there, strict=True))
        for computing in (0, 1):
            blocks = dict.fromkeys(vocabulary.COMPUTE, computing)
            found.append(chain(**most, **flags, **blocks))
    return found


def _elements(row: dict[str, int]) -> str:
    names = [
        name for name in (*vocabulary.ELEMENTS, *vocabulary.COMPUTE) if row[vocabulary.flag(name)]
    ]
    return ", ".join(names) or "no element"
