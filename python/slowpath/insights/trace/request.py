"""Settings of a run: function, delivery of packets, limits of time and memory."""

from typing import NamedTuple

from slowpath.core.engine.errors import MapsFile

PACKETS = 100_000
BLOCK_LIMIT = 1_000_000
MAX_CONFIG_BYTES = 4095
"""Largest configuration in bytes, as for any `String` (`most` of click/string.hh)."""


class RunSettings(NamedTuple):
    """The function, and the delivery of packets to it."""

    entry: str | None = None
    """Name in the source (`NAT::push`); None selects the method of the source's only element that
    takes packets, else the only function that no other function calls."""
    config: str = ""
    """Configuration of the element: the text in parentheses of a Click configuration."""
    packets: int = PACKETS
    """Limit on the number of packets, from the start of the trace."""
    strip: int = 0
    """Bytes to remove from the front of each packet, as earlier elements would."""
    fuel: int = BLOCK_LIMIT
    """Limit on the number of blocks for one packet."""
    maps: MapsFile | None = None
    """Content of maps of an XDP program at the start, in the format of `docs/maps.md`."""

    setup: tuple[str, ...] = ()
    """Functions of the source to call before the first packet, with zeros as arguments."""


class RunLimits(NamedTuple):
    """Limits of time and memory."""

    seconds: float | None = None
    memory: int | None = None
    """Bytes."""
