"""The command `slowpath insights counts`: runs a function over a trace, and counts its work.

The counts are exact: runs of basic blocks, and memory accesses. This module has the settings of a
run.
"""

from typing import NamedTuple

from slowpath.core.engine import MapsFile

PACKETS = 100_000
BLOCK_LIMIT = 1_000_000
_RECEIVE_FUEL = 1 << 26
MAX_CONFIG_BYTES = 4095
"""Largest configuration in bytes: the longest `String` of the headers (click/string.hh)."""


class RunSettings(NamedTuple):
    """Settings of a run: the function to run, and the way in which it gets packets."""

    entry: str | None = None
    """Name in the source (`NAT::push`). None selects the packet method of the only element, else
    the only function that no other function calls."""
    config: str = ""
    """Configuration of the element: the text in parentheses of a Click configuration."""
    packets: int = PACKETS
    """Maximum number of packets to run, from the start of the trace."""
    strip: int = 0
    """Bytes to remove from the front of each packet, as earlier elements would."""
    fuel: int = BLOCK_LIMIT
    """Maximum number of blocks that may run for one packet."""
    maps: MapsFile | None = None
    """Initial content of an XDP program's maps, in the format of `docs/reference/maps.md`."""
    setup: tuple[str, ...] = ()
    """Functions of the source to call before the first packet, with zeros as arguments."""

    @property
    def receive_fuel(self) -> int:
        """Maximum number of basic blocks that run until a receive loop requests a packet."""
        return max(_RECEIVE_FUEL, self.fuel)


class RunLimits(NamedTuple):
    """Limits of a run in seconds and in bytes of memory; None means no limit."""

    seconds: float | None = None
    memory: int | None = None
