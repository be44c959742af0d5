"""A fleet: its NICs, functions, arrivals, feasible mixes and measured throughput."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.mixes import Kind
from slowpath.core.errors import InputError

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class Function(NamedTuple):
    """A function that the fleet runs, under its traffic."""

    name: str
    kind: Kind
    cores: int  # that it takes for itself
    sla: tuple[float, ...]  # shares of its throughput alone that it is promised; drawn from them
    solo: float | None  # throughput alone where it was measured; None: predicted


class Fleet(NamedTuple):
    """NICs, all alike, and functions."""

    file: str
    device: str | None
    cores: int  # of each NIC
    most: int | None  # how many NICs there are; None: as many as needed
    functions: tuple[Function, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the functions, in the order in which others refer to them."""
        return tuple(one.name for one in self.functions)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cores that each function takes."""
        return tuple(one.cores for one in self.functions)


class Arrivals(NamedTuple):
    """Functions in the order in which they arrive."""

    function: Places  # by their places in the fleet
    sla: Floats  # share of throughput alone that each is promised
    rows: tuple[str, ...]  # their names


def drawn(fleet: Fleet, length: int, seed: tuple[int, int]) -> Arrivals:
    """A random sequence: each function, and each of its promises, is as likely as any other."""
    draw = np.random.default_rng(seed)
    function = draw.integers(len(fleet.functions), size=length)
    sla = np.array([draw.choice(fleet.functions[at].sla) for at in function])
    return Arrivals(function, sla, tuple(str(at) for at in range(1, length + 1)))


Mix = tuple[int, ...]


class Truth(NamedTuple):
    """What functions do in mixes, and by themselves (mixes of one)."""

    file: str
    known: Mapping[Mix, Mapping[int, float]]  # by mix and function, throughput

    def kept(self, mix: Mix) -> dict[int, float] | None:
        """What each function of a mix keeps of its throughput alone; None if it is not known."""
        values = self.known.get(mix)
        if values is None:
            return None
        return {at: value / self.known[at,][at] for at, value in values.items()}


def counts_of(mixes: Sequence[Mix], functions: int) -> Floats:
    """How many of each function there are, `[mix, function]`."""
    counts = np.zeros((len(mixes), functions))
    for at, mix in enumerate(mixes):
        np.add.at(counts[at], list(mix), 1.0)
    return counts


MOST_MIXES = 200_000


def possible_mixes(fleet: Fleet, counts: Places | None = None) -> list[Mix]:
    """All that so many of each function can make together on a NIC, as far as cores go.

    Raises:
        InputError: when there are too many to look at.
    """
    found = list[Mix]()
    most = np.full(len(fleet.functions), fleet.cores) if counts is None else counts.copy()
    for mix in _mixes(fleet.sizes, most, 0, fleet.cores):
        if mix:
            found.append(mix)
        if len(found) > MOST_MIXES:
            reason = f"more than {MOST_MIXES:,} mixes of functions fit on a NIC"
            raise InputError(fleet.file, f"{reason}; this is for smaller fleets")
    return found


def _mixes(sizes: Sequence[int], counts: Places, first: int, free: int) -> Iterator[Mix]:
    yield ()
    for at in range(first, len(sizes)):
        if sizes[at] > free or not counts[at]:
            continue
        counts[at] -= 1
        for rest in _mixes(sizes, counts, at, free - sizes[at]):
            yield (at, *rest)
        counts[at] += 1
