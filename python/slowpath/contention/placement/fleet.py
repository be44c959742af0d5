"""Data classes for placing network functions on a fleet of NICs: functions, arrivals and mixes.

A mix is a multiset of functions that run together on one NIC.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.mixes import Kind
from slowpath.core import codes
from slowpath.core.arrays import Floats, Indices
from slowpath.core.errors import InputError


class Function(NamedTuple):
    """A network function with its traffic, its cores and the throughput promised to it."""

    name: str
    kind: Kind
    cores: int  # number of dedicated cores
    sla: tuple[float, ...]  # promised shares of solo throughput; each arrival has one of them
    solo: float | None  # measured solo throughput; None: predicted


class Fleet(NamedTuple):
    """A number of identical NICs, and the functions that can be placed on them."""

    file: str
    device: str | None
    cores: int  # cores of each NIC
    most: int | None  # number of NICs; None: unlimited
    functions: tuple[Function, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions, in the order of their indices."""
        return tuple(one.name for one in self.functions)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of dedicated cores of each function."""
        return tuple(one.cores for one in self.functions)


class Arrivals(NamedTuple):
    """Functions to place, in order of arrival, each with the promised share of solo throughput."""

    function: Indices  # indices of the functions in the fleet
    sla: Floats  # promised share of solo throughput of each arrival
    rows: tuple[str, ...]  # names of the arrivals


def drawn(fleet: Fleet, length: int, seed: tuple[int, int]) -> Arrivals:
    """Draw `length` random arrivals.

    All functions, and all promises of a function, are equally likely.
    """
    draw = np.random.default_rng(seed)
    function = draw.integers(len(fleet.functions), size=length)
    sla = np.array([draw.choice(fleet.functions[at].sla) for at in function])
    return Arrivals(function, sla, tuple(str(at) for at in range(1, length + 1)))


Mix = tuple[int, ...]


class GroundTruth(NamedTuple):
    """True throughput of each function in each mix and alone, from measurements or a simulation."""

    file: str
    known: Mapping[Mix, Mapping[int, float]]  # throughput by mix and function

    def kept(self, mix: Mix) -> dict[int, float] | None:
        """Return the share of its solo throughput that each function keeps in a mix.

        Return None if the mix is unknown.
        """
        values = self.known.get(mix)
        if values is None:
            return None
        return {at: value / self.known[at,][at] for at, value in values.items()}


def counts_of(mixes: Sequence[Mix], functions: int) -> Floats:
    """Return the number of instances of each function in each mix, `[mix, function]`.

    `functions` is the number of functions.
    """
    counts = np.zeros((len(mixes), functions))
    for at, mix in enumerate(mixes):
        np.add.at(counts[at], list(mix), 1.0)
    return counts


MOST_MIXES = 200_000


def possible_mixes(fleet: Fleet, counts: Indices | None = None) -> list[Mix]:
    """Return all mixes of functions that need at most the cores of one NIC.

    `counts` has the maximum number of instances of each function; None: only the cores limit it.

    Raises:
        InputError: if there are too many mixes.
    """
    found = list[Mix]()
    most = np.full(len(fleet.functions), fleet.cores) if counts is None else counts.copy()
    for mix in _mixes(fleet.sizes, most, 0, fleet.cores):
        if mix:
            found.append(mix)
        if len(found) > MOST_MIXES:
            reason = f"more than {MOST_MIXES:,} mixes of functions fit on a NIC"
            raise InputError(
                codes.TOO_MANY_MIXES, fleet.file, f"{reason}; use fewer functions or cores"
            )
    return found


def _mixes(sizes: Sequence[int], counts: Indices, first: int, free: int) -> Iterator[Mix]:
    yield ()
    for at in range(first, len(sizes)):
        if sizes[at] > free or not counts[at]:
            continue
        counts[at] -= 1
        for rest in _mixes(sizes, counts, at, free - sizes[at]):
            yield (at, *rest)
        counts[at] += 1
