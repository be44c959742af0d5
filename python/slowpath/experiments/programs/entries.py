"""What tables of experiments hold, and which of it packets look for; the same on every test bed."""

from typing import NamedTuple

from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.specification.points import Settings

SPREAD = 2654435761
"""What numbers of prefixes are multiplied by, so that these are spread. It is odd, so all differ,
and close to 2^32 over the golden ratio."""
_WORD = 4  # bytes that prefixes differ in


class PrefixShape(NamedTuple):
    """Where in an address its prefix has what makes it differ from others."""

    front: int  # bytes before it, which all addresses have in common
    bits: int  # of the 4 bytes there that belong to the prefix, at least 25 unless it is shorter


def prefix_shape(bits: int) -> PrefixShape:
    """That of prefixes of so many bits: at the end of those that are longer than 4 bytes."""
    front = max(-(-(bits - 8 * _WORD) // 8), 0)
    return PrefixShape(front, bits - 8 * front)


def address_of(number: int, bits: int, others: bytes) -> bytes:
    """The address that belongs to a prefix; its first bit is zero.

    `others` are its other bytes, but for the 4 that differ from prefix to prefix.
    """
    front, own = prefix_shape(bits)
    spread = (number * SPREAD) & 0xFFFFFFFF
    word = ((spread << (33 - own) & 0xFFFFFFFF) >> 1).to_bytes(_WORD, "big")
    address = others[:front] + word + others[front:]
    return bytes([address[0] & 0x7F]) + address[1:]


def prefix_of(number: int, bits: int, others: bytes) -> bytes:
    """A prefix as an address that is zero behind it; there are 2^(own bits - 1) different ones."""
    address = int.from_bytes(address_of(number, bits, others), "big")
    size = _WORD + len(others)
    behind = 8 * size - bits
    return (address >> behind << behind).to_bytes(size, "big")


def drawn_values(experiment: Experiment, settings: Settings) -> int:
    """How many different values the bytes have that vary; 1 where none do."""
    vary = experiment["traffic"]["vary"]
    if not vary:
        return 1
    values = vary[0]["values"]
    return int(settings[values]) if isinstance(values, str) else values
