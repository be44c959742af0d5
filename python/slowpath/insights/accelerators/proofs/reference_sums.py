"""Reference implementations of checksums and CRCs, to compare functions with."""

from functools import cache
from typing import NamedTuple

U32, U64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
WORD = 0xFFFF
ADLER = 65521


def ones_complement_sum(data: bytes, order: str = "big") -> int:
    """Return the one's complement sum of the 16-bit words of data.

    `order` is the byte order of the words; a zero byte pads data of odd length.
    """
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
    """Return the Adler-32 checksum of data; `start` is the checksum of the preceding data."""
    low, high = start & WORD, start >> 16
    for byte in data:
        low = (low + byte) % ADLER
        high = (high + low) % ADLER
    return high << 16 | low


class Fletcher(NamedTuple):
    """A variant of Fletcher's checksum, defined by word size, modulus and start value."""

    bits: int  # width of a word; the checksum has two words
    modulus: int
    order: str  # byte order of words
    start: int  # initial value of both sums

    def of(self, data: bytes) -> tuple[int, int]:
        """Return the two sums of Fletcher's checksum of `data`, modulo `modulus`.

        Zeros pad the last word.
        """
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


class Crc(NamedTuple):
    """The parameters that define a CRC, such as width and polynomial."""

    width: int
    polynomial: int  # without its highest term; the lowest bit is the term x^0
    initial: int  # initial register, not reflected
    reflected_in: bool  # true if the lowest bit of a byte comes first
    reflected_out: bool  # true if the result has the bits of the register in reverse order
    final: int  # value that is xored with the result
    augmented: bool = True  # true if `width` zero bits follow the message

    def of(self, data: bytes) -> int:
        """Return the CRC of a message, as a function that computes this CRC would."""
        return self.outcome(self.run(self.initial, data))

    def run(self, register: int, data: bytes) -> int:
        """Process `data` from the CRC register `register`, and return the register at the end.

        The bits of both registers are in their usual order, not reflected.
        """
        width, mask = self.width, (1 << self.width) - 1
        if not self.augmented:
            return self._divided(register, data)
        table = _table(width, self.polynomial)
        if width < _BYTE:  # aligned with the upper end of a byte
            shift = _BYTE - width
            register <<= shift
            for byte in data:
                register = table[register ^ (_REVERSED[byte] if self.reflected_in else byte)]
            return register >> shift
        shift = width - _BYTE
        for byte in data:
            index = (register >> shift) ^ (_REVERSED[byte] if self.reflected_in else byte)
            register = ((register << _BYTE) & mask) ^ table[index]
        return register

    def outcome(self, register: int) -> int:
        """Return the CRC for a final `register`: reflected if the CRC requires it, xor `final`."""
        if self.reflected_out:
            register = reverse(register, self.width)
        return register ^ self.final

    def _divided(self, register: int, data: bytes) -> int:
        """Return the CRC register after a message to which the CRC appends no zero bits."""
        top = 1 << (self.width - 1)
        mask = (1 << self.width) - 1
        for byte in data:
            bits = _REVERSED[byte] if self.reflected_in else byte
            for at in range(_BYTE - 1, -1, -1):
                carry = register & top
                register = ((register << 1) & mask) | (bits >> at & 1)
                if carry:
                    register ^= self.polynomial
        return register


_BYTE = 8
_REVERSED = tuple(int(f"{value:08b}"[::-1], 2) for value in range(256))


def reverse(value: int, width: int) -> int:
    """Reverse the lowest `width` bits of a number."""
    return int(f"{value:0{width}b}"[::-1], 2)


def rotate_left(value: int, by: int, mask: int = U32) -> int:
    """Rotate a number left by `by` bits; `mask` has all bits of the number's width set."""
    return (value << by | value >> (mask.bit_length() - by)) & mask


def times_x(value: int, polynomial: int, width: int) -> int:
    """Multiply a polynomial by x, modulo another polynomial of degree `width`."""
    value <<= 1
    return value ^ (polynomial | 1 << width) if value >> width else value


@cache
def _table(width: int, polynomial: int) -> tuple[int, ...]:
    wide = max(width, _BYTE)
    aligned = polynomial << (wide - width)
    found = []
    for byte in range(256):
        register = byte << (wide - _BYTE)
        for _ in range(_BYTE):
            register = times_x(register, aligned, wide)
        found.append(register)
    return tuple(found)


_NAMES = {
    (8, 0x07): "CRC-8",
    (8, 0x31): "CRC-8 (Maxim)",
    (8, 0x1D): "CRC-8 (SAE J1850)",
    (8, 0x2F): "CRC-8 (AUTOSAR)",
    (8, 0x9B): "CRC-8 (CDMA2000)",
    (8, 0xD5): "CRC-8 (DVB-S2)",
    (8, 0x39): "CRC-8 (DARC)",
    (16, 0x8005): "CRC-16 (IBM)",
    (16, 0x1021): "CRC-16 (CCITT)",
    (16, 0x3D65): "CRC-16 (DNP)",
    (16, 0x8BB7): "CRC-16 (T10-DIF)",
    (24, 0x864CFB): "CRC-24 (OpenPGP)",
    (24, 0x00065B): "CRC-24 (Bluetooth)",
    (32, 0x04C11DB7): "CRC-32 (IEEE 802.3)",
    (32, 0x1EDC6F41): "CRC-32C (Castagnoli)",
    (32, 0x741B8CD7): "CRC-32K (Koopman)",
    (32, 0x814141AB): "CRC-32Q",
    (64, 0x42F0E1EBA9EA3693): "CRC-64 (ECMA-182)",
    (64, 0x000000000000001B): "CRC-64 (ISO)",
    (64, 0xAD93D23594C935A9): "CRC-64 (Jones)",
}


def name_of(width: int, polynomial: int) -> str:
    """Return the usual name of the CRC with this width and polynomial, such as CRC-32."""
    return _NAMES.get((width, polynomial), f"CRC-{width}")
