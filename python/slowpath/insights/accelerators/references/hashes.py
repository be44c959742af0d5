"""Hash functions over bytes that are no cryptography, from their authors' descriptions.

FNV: Fowler, Noll, Vo. djb2: D. J. Bernstein. sdbm: O. Yigit. One-at-a-time: B. Jenkins (1997).
"""

from collections.abc import Callable
from typing import NamedTuple

U32, U64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


class Hash(NamedTuple):
    """A hash function."""

    name: str
    bits: int
    of: Callable[[bytes, int], int]  # data and seed
    start: int | None  # the seed that is its own; None: any
    stepwise: bool = False  # a hash is the seed for what follows
    unit: int = 1  # it takes multiples of so many bytes


def signed(byte: int) -> int:
    """A byte as a `char` is on most machines."""
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
        wide = "" if bits == 32 else f"-{bits}"  # noqa: PLR2004 - the usual one
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
"""Those that take one byte at a time."""
