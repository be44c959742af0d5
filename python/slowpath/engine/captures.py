"""Packets of capture files (pcap, pcapng)."""

from collections.abc import Iterator
from typing import NamedTuple

from slowpath import _core
from slowpath.cli.errors import InputError

_AT_ONCE = 256


class Captured(NamedTuple):
    """A packet: an Ethernet frame without its check sequence."""

    bytes: bytes
    """What was captured of it."""
    length: int
    """Bytes that it had on the wire, at least those that were captured."""
    nanoseconds: int | None
    """When that was, since the beginning of 1970; None where the file does not say it."""


def captured(file: str) -> Iterator[Captured]:
    """The packets of a file, one after the other.

    Raises:
        InputError: when it is no capture, or damaged; what came before was there.
    """
    try:
        capture = _core.Capture(file)
        while packets := capture.packets(_AT_ONCE):
            for packet in packets:
                yield Captured(*packet)
    except _core.Error as problem:
        raise InputError(file, str(problem)) from None
