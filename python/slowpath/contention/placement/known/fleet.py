"""A fleet: its NICs, the functions that it runs, and what arrives."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.mixes import Kind

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
