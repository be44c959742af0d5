"""Checksums that are sums: RFC 1071, Adler-32 (RFC 1950), Fletcher's (1982)."""

from typing import NamedTuple

WORD = 0xFFFF
ADLER = 65521


def ones_complement_sum(data: bytes, order: str = "big") -> int:
    """The sum of 16-bit words, a last byte padded, carries added again; between 0 and 65535."""
    if len(data) % 2:
        data += b"\0"
    total = sum(
        int.from_bytes(data[at : at + 2], "big" if order == "big" else "little")
        for at in range(0, len(data), 2)
    )
    while total > WORD:
        total = (total & WORD) + (total >> 16)
    return total


def adler32(data: bytes, start: int = 1) -> int:
    """Adler-32, continued from an earlier one."""
    low, high = start & WORD, start >> 16
    for byte in data:
        low = (low + byte) % ADLER
        high = (high + low) % ADLER
    return high << 16 | low


class Fletcher(NamedTuple):
    """A checksum of Fletcher's."""

    bits: int  # of a word; the checksum has twice as many
    modulus: int
    order: str  # of bytes in a word
    start: int  # of both sums

    def of(self, data: bytes) -> tuple[int, int]:
        """Both sums over whole words, reduced; a last word is padded with zeros."""
        size = self.bits // 8
        data += bytes(-len(data) % size)
        low = high = self.start
        for at in range(0, len(data), size):
            word = int.from_bytes(data[at : at + size], "big" if self.order == "big" else "little")
            low = (low + word) % self.modulus
            high = (high + low) % self.modulus
        return low, high


FLETCHERS = tuple(
    Fletcher(bits, modulus, order, start)
    for bits in (8, 16, 32)
    for modulus in ((1 << bits) - 1, 1 << bits)
    for order in (("little", "big") if bits > 8 else ("little",))  # noqa: PLR2004 - a byte
    for start in (0, (1 << bits) - 1, 1)
)
