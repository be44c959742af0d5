"""Longest prefix match, the plain way: all prefixes are looked at."""

from typing import NamedTuple

BITS = 32


class Route(NamedTuple):
    """A prefix of IPv4, and where it leads."""

    prefix: int
    length: int
    hop: int

    @property
    def mask(self) -> int:
        """The bits that count."""
        return ((1 << self.length) - 1) << (BITS - self.length)


def lookup(routes: list[Route], address: int) -> Route | None:
    """The longest prefix of an address; of two with one prefix, the later one."""
    best: Route | None = None
    for route in routes:
        matches = address & route.mask == route.prefix & route.mask
        if matches and (best is None or route.length >= best.length):
            best = route
    return best
