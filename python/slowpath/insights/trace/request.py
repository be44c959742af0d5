"""The request of a run: function, arrival of packets, limits of time and memory."""

from typing import NamedTuple

from slowpath.core.engine.errors import MapsFile

PACKETS = 100_000
FUEL = 1_000_000
LONGEST = 4095
"""Bytes of a configuration, as of any `String` (`most` of click/string.hh)."""


class Setting(NamedTuple):
    """The function, and how packets arrive at it."""

    entry: str | None = None
    """As the source calls it (`NAT::push`); None: what the source's only element takes packets
    with, else the only function that no other calls."""
    config: str = ""
    """Configuration of the element, as it would stand in parentheses."""
    packets: int = PACKETS
    """The first packets of the trace; no more run."""
    strip: int = 0
    """Bytes that are taken off in front of the function, as by elements before it."""
    fuel: int = FUEL
    """Blocks that may run for one packet."""
    maps: MapsFile | None = None
    """Content of maps of an XDP program at the start, in the format of `docs/maps.md`."""

    setup: tuple[str, ...] = ()
    """Functions of the source that run before the first packet, with zeros for arguments."""


class Allowance(NamedTuple):
    """Limits of time and memory."""

    seconds: float | None = None
    memory: int | None = None
    """Bytes."""
