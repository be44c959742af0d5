"""Reference hash functions and longest prefix match, to compare functions with.

FNV: Fowler, Noll, Vo. djb2: D. J. Bernstein. sdbm: O. Yigit. One-at-a-time: B. Jenkins (1997).
lookup2, lookup3: B. Jenkins (1996, 2006). MurmurHash2, 3: A. Appleby. xxHash: Y. Collet.
"""

from collections.abc import Callable
from typing import NamedTuple

from slowpath.insights.accelerators.proofs.reference_sums import U32, U64, rotate_left


class Hash(NamedTuple):
    """A known hash function, with its name, result width and usual seed."""

    name: str
    bits: int  # width of hash and seed
    of: Callable[[bytes, int], int]
    start: int | None  # standard seed; None if there is none
    stepwise: bool = False  # true if a hash is the seed for further data


def signed(byte: int) -> int:
    """Convert a byte (0 to 255) to a signed `char`, the default `char` on x86."""
    return byte - 256 if byte > 127 else byte  # noqa: PLR2004 - the sign


def _fnv(bits: int, prime: int, *, xor_first: bool) -> Callable[[bytes, int], int]:
    mask = (1 << bits) - 1

    def of(data: bytes, seed: int) -> int:
        for byte in data:
            mixed = seed ^ byte if xor_first else seed
            seed = mixed * prime & mask
            seed ^= 0 if xor_first else byte
        return seed

    return of


def _multiplied(
    bits: int, factor: int, *, xor: bool = False, sign: bool = False
) -> Callable[[bytes, int], int]:
    mask = (1 << bits) - 1

    def of(data: bytes, seed: int) -> int:
        for byte in data:
            value = signed(byte) if sign else byte
            seed = seed * factor & mask
            seed = (seed ^ value) & mask if xor else (seed + value) & mask
        return seed

    return of


def _one_at_a_time(*, sign: bool = False) -> Callable[[bytes, int], int]:
    def of(data: bytes, seed: int) -> int:
        value = seed & U32
        for byte in data:
            value = (value + (signed(byte) if sign else byte)) & U32
            value = (value + (value << 10)) & U32
            value ^= value >> 6
        value = (value + (value << 3)) & U32
        value ^= value >> 11
        return (value + (value << 15)) & U32

    return of


_FNV = {32: (0x01000193, 0x811C9DC5), 64: (0x100000001B3, 0xCBF29CE484222325)}


def _simple(bits: int) -> list[Hash]:
    prime, basis = _FNV[bits]
    found = [
        Hash(f"FNV-1a-{bits}", bits, _fnv(bits, prime, xor_first=True), basis, stepwise=True),
        Hash(f"FNV-1-{bits}", bits, _fnv(bits, prime, xor_first=False), basis, stepwise=True),
    ]
    for sign in (False, True):
        also = " (signed char)" if sign else ""
        wide = "" if bits == 32 else f"-{bits}"  # noqa: PLR2004 - the usual width
        found += [
            Hash(f"djb2{wide}{also}", bits, _multiplied(bits, 33, sign=sign), 5381, True),
            Hash(
                f"djb2a{wide}{also}", bits, _multiplied(bits, 33, xor=True, sign=sign), 5381, True
            ),
            Hash(f"sdbm{wide}{also}", bits, _multiplied(bits, 65599, sign=sign), 0, True),
        ]
    return found


SIMPLE = (
    *_simple(32),
    *_simple(64),
    Hash("Jenkins one-at-a-time", 32, _one_at_a_time(), 0),
    Hash("Jenkins one-at-a-time (signed char)", 32, _one_at_a_time(sign=True), 0),
)
"""Hash functions that process one byte at a time."""


def _rotate(value: int, by: int) -> int:
    return rotate_left(value, by, U64)


def _round(v: list[int]) -> None:
    v[0] = v[0] + v[1] & U64
    v[1] = _rotate(v[1], 13) ^ v[0]
    v[0] = _rotate(v[0], 32)
    v[2] = v[2] + v[3] & U64
    v[3] = _rotate(v[3], 16) ^ v[2]
    v[0] = v[0] + v[3] & U64
    v[3] = _rotate(v[3], 21) ^ v[0]
    v[2] = v[2] + v[1] & U64
    v[1] = _rotate(v[1], 17) ^ v[2]
    v[2] = _rotate(v[2], 32)


def siphash(data: bytes, key: bytes, each: int = 2, last: int = 4) -> int:
    """Return the 64-bit SipHash of data, for a key of 16 bytes.

    There are `each` rounds per word, and `last` rounds at the end.
    """
    one, two = (int.from_bytes(key[at : at + 8], "little") for at in (0, 8))
    v = [
        one ^ 0x736F6D6570736575,
        two ^ 0x646F72616E646F6D,
        one ^ 0x6C7967656E657261,
        two ^ 0x7465646279746573,
    ]
    whole = len(data) // 8 * 8
    final = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, whole, 8)]
    for word in (*words, final):
        v[3] ^= word
        for _ in range(each):
            _round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(last):
        _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def toeplitz(data: bytes, key: bytes) -> int:
    """Return the 32-bit Toeplitz hash of data, as receive-side scaling computes it.

    The key needs 4 bytes more than the data.
    """
    bits = 8 * len(key)
    whole, result = int.from_bytes(key), 0
    for at, byte in enumerate(data):
        for bit in range(8):
            if byte >> (7 - bit) & 1:
                result ^= whole >> (bits - 32 - 8 * at - bit) & 0xFFFFFFFF
    return result


def _words(data: bytes, at: int, count: int) -> list[int]:
    return [int.from_bytes(data[at + 4 * k : at + 4 * k + 4], "little") for k in range(count)]


_GOLDEN = 0x9E3779B9
_BLOCK = 12


def _mix2(a: int, b: int, c: int) -> tuple[int, int, int]:
    for one, two, three in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = (a - b - c & U32) ^ c >> one
        b = (b - c - a & U32) ^ (a << two & U32)
        c = (c - a - b & U32) ^ b >> three
    return a, b, c


def lookup2(data: bytes, seed: int) -> int:
    """Return the 32-bit result of the function `hash` in lookup2.c."""
    a = b = _GOLDEN
    c, at = seed & U32, 0
    while len(data) - at >= _BLOCK:
        x, y, z = _words(data, at, 3)
        a, b, c = _mix2(a + x & U32, b + y & U32, c + z & U32)
        at += _BLOCK
    rest = data[at:]
    x, y = _words(rest, 0, 2)
    z = int.from_bytes(rest[8:], "little") << 8
    return _mix2(a + x & U32, b + y & U32, c + len(data) + z & U32)[2]


def _mix3(a: int, b: int, c: int) -> tuple[int, int, int]:
    for by in (4, 6, 8, 16, 19, 4):
        a = (a - c & U32) ^ rotate_left(c, by)
        c = c + b & U32
        a, b, c = b, c, a
    return a, b, c


def _final3(a: int, b: int, c: int) -> tuple[int, int, int]:
    for by in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotate_left(b, by)) & U32
        a, b, c = b, c, a
    return c, a, b


def lookup3(data: bytes, seed: int) -> int:
    """Return the 32-bit result of the function `hashlittle` in lookup3.c."""
    a = b = c = 0xDEADBEEF + len(data) + seed & U32
    at = 0
    while len(data) - at > _BLOCK:
        x, y, z = _words(data, at, 3)
        a, b, c = _mix3(a + x & U32, b + y & U32, c + z & U32)
        at += _BLOCK
    if at == len(data):
        return c
    x, y, z = _words(data, at, 3)
    return _final3(a + x & U32, b + y & U32, c + z & U32)[2]


def murmur2(data: bytes, seed: int) -> int:
    """Return the 32-bit MurmurHash2 of data."""
    factor = 0x5BD1E995
    value, at = (seed ^ len(data)) & U32, 0
    while len(data) - at >= 4:  # noqa: PLR2004 - a word
        (word,) = _words(data, at, 1)
        word = word * factor & U32
        word = (word ^ word >> 24) * factor & U32
        value = (value * factor & U32) ^ word
        at += 4
    if at < len(data):
        value = (value ^ int.from_bytes(data[at:], "little")) * factor & U32
    value = (value ^ value >> 13) * factor & U32
    return value ^ value >> 15


def murmur64a(data: bytes, seed: int) -> int:
    """Return the 64-bit MurmurHash64A of data."""
    factor = 0xC6A4A7935BD1E995
    value = (seed ^ len(data) * factor) & U64
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * factor & U64
        word = (word ^ word >> 47) * factor & U64
        value = (value ^ word) * factor & U64
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * factor & U64
    value = (value ^ value >> 47) * factor & U64
    return value ^ value >> 47


def mixed3(value: int) -> int:
    """Apply the last mixing step of the 32-bit MurmurHash3 to its state `value`."""
    value = (value ^ value >> 16) * 0x85EBCA6B & U32
    value = (value ^ value >> 13) * 0xC2B2AE35 & U32
    return value ^ value >> 16


def murmur3(data: bytes, seed: int) -> int:
    """Return the 32-bit MurmurHash3 of data, in the variant for x86."""

    def scrambled(word: int) -> int:
        return rotate_left(word * 0xCC9E2D51 & U32, 15) * 0x1B873593 & U32

    value, whole = seed & U32, len(data) // 4 * 4
    for at in range(0, whole, 4):
        (word,) = _words(data, at, 1)
        value = (rotate_left(value ^ scrambled(word), 13) * 5 + 0xE6546B64) & U32
    value ^= scrambled(int.from_bytes(data[whole:], "little"))
    return mixed3(value ^ len(data))


_P32 = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
_P64 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


def xxh32(data: bytes, seed: int) -> int:
    """Return the 32-bit xxHash (XXH32) of data."""
    one, two, three, four, five = _P32
    at = 0
    if len(data) >= 16:  # noqa: PLR2004 - a stripe
        lanes = [seed + one + two & U32, seed + two & U32, seed & U32, seed - one & U32]
        while len(data) - at >= 16:  # noqa: PLR2004
            for lane, word in enumerate(_words(data, at, 4)):
                lanes[lane] = rotate_left((lanes[lane] + word * two) & U32, 13) * one & U32
            at += 16
        value = sum(rotate_left(lanes[k], by) for k, by in enumerate((1, 7, 12, 18))) & U32
    else:
        value = seed + five & U32
    value = value + len(data) & U32
    while len(data) - at >= 4:  # noqa: PLR2004
        (word,) = _words(data, at, 1)
        value = rotate_left((value + word * three) & U32, 17) * four & U32
        at += 4
    for byte in data[at:]:
        value = rotate_left((value + byte * five) & U32, 11) * one & U32
    value = (value ^ value >> 15) * two & U32
    value = (value ^ value >> 13) * three & U32
    return value ^ value >> 16


def xxh64(data: bytes, seed: int) -> int:
    """Return the 64-bit xxHash (XXH64) of data."""
    one, two, three, four, five = _P64

    def word_at(at: int) -> int:
        return int.from_bytes(data[at : at + 8], "little")

    def round_of(lane: int, word: int) -> int:
        return rotate_left((lane + word * two) & U64, 31, U64) * one & U64

    at = 0
    if len(data) >= 32:  # noqa: PLR2004 - a stripe
        lanes = [seed + one + two & U64, seed + two & U64, seed & U64, seed - one & U64]
        while len(data) - at >= 32:  # noqa: PLR2004
            lanes = [round_of(lane, word_at(at + 8 * k)) for k, lane in enumerate(lanes)]
            at += 32
        value = sum(rotate_left(lanes[k], by, U64) for k, by in enumerate((1, 7, 12, 18))) & U64
        for lane in lanes:
            value = ((value ^ round_of(0, lane)) * one + four) & U64
    else:
        value = seed + five & U64
    value = value + len(data) & U64
    while len(data) - at >= 8:  # noqa: PLR2004
        value = (rotate_left(value ^ round_of(0, word_at(at)), 27, U64) * one + four) & U64
        at += 8
    if len(data) - at >= 4:  # noqa: PLR2004
        word = int.from_bytes(data[at : at + 4], "little")
        value = (rotate_left(value ^ word * one & U64, 23, U64) * two + three) & U64
        at += 4
    for byte in data[at:]:
        value = rotate_left(value ^ byte * five & U64, 11, U64) * one & U64
    value = (value ^ value >> 33) * two & U64
    value = (value ^ value >> 29) * three & U64
    return value ^ value >> 32


MIXERS = (
    Hash("MurmurHash3 (x86, 32 bits)", 32, murmur3, None),
    Hash("MurmurHash2", 32, murmur2, None),
    Hash("MurmurHash64A", 64, murmur64a, None),
    Hash("xxHash32", 32, xxh32, None),
    Hash("xxHash64", 64, xxh64, None),
    Hash("Jenkins lookup3", 32, lookup3, None),
    Hash("Jenkins lookup2", 32, lookup2, None),
)
"""Hash functions that process words; they have no standard seed."""


BITS = 32


class Route(NamedTuple):
    """A route: an IPv4 prefix and its next hop."""

    prefix: int
    length: int
    hop: int

    @property
    def mask(self) -> int:
        """Network mask of the prefix."""
        return ((1 << self.length) - 1) << (BITS - self.length)


def lookup(routes: list[Route], address: int) -> Route | None:
    """Return the route to an IPv4 address by longest prefix match; None without a match.

    Of several routes with the same prefix, the last one counts.
    """
    best: Route | None = None
    for route in routes:
        matches = address & route.mask == route.prefix & route.mask
        if matches and (best is None or route.length >= best.length):
            best = route
    return best
