"""Reference implementations of MD5, SHA-1 and SHA-2, and all digests of `hashlib`."""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from slowpath.insights.accelerators.references.sums import U32, U64, rotate_left

Order = Literal["little", "big"]


class Digest(NamedTuple):
    """A digest, described by its compression function, which updates a state with a block."""

    name: str
    compress: Callable[[Sequence[int], Sequence[int]], list[int]]  # state, 16 words of a block
    word: int  # size of a word in bytes
    order: Order  # byte order of words in a block
    words: int  # number of words of the state
    initial: tuple[int, ...]


def _right(value: int, by: int, bits: int) -> int:
    return (value >> by | value << (bits - by)) & ((1 << bits) - 1)


_MD5_SINES = tuple(int(abs(math.sin(at + 1)) * 2**32) for at in range(64))
_MD5_SHIFTS = ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))


def md5(state: Sequence[int], block: Sequence[int]) -> list[int]:
    """Return the MD5 state after one block."""
    a, b, c, d = state
    for at in range(64):
        turn = at // 16
        mixed, word = (
            (b & c | ~b & d, at),
            (d & b | ~d & c, 5 * at + 1),
            (b ^ c ^ d, 3 * at + 5),
            (c ^ (b | ~d & U32), 7 * at),
        )[turn]
        total = (a + mixed + _MD5_SINES[at] + block[word % 16]) & U32
        a, b, c, d = d, (b + rotate_left(total, _MD5_SHIFTS[turn][at % 4])) & U32, b, c
    return [(one + other) & U32 for one, other in zip(state, (a, b, c, d), strict=True)]


def sha1(state: Sequence[int], block: Sequence[int]) -> list[int]:
    """Return the SHA-1 state after one block."""
    words = list(block)
    for at in range(16, 80):
        words.append(
            rotate_left(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 1)
        )
    a, b, c, d, e = state
    for at, word in enumerate(words):
        mixed, constant = (
            (b & c | ~b & d, 0x5A827999),
            (b ^ c ^ d, 0x6ED9EBA1),
            (b & c | b & d | c & d, 0x8F1BBCDC),
            (b ^ c ^ d, 0xCA62C1D6),
        )[at // 20]
        a, b, c, d, e = (
            (rotate_left(a, 5) + mixed + e + constant + word) & U32,
            a,
            rotate_left(b, 30),
            c,
            d,
        )
    return [(one + other) & U32 for one, other in zip(state, (a, b, c, d, e), strict=True)]


def _primes(count: int) -> list[int]:
    found = list[int]()
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


def _root(number: int, power: int) -> int:
    """Return the integer part of the root of `number` with degree `power`."""
    low, high = 0, 1 << (number.bit_length() // power + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**power <= number else (low, middle - 1)
    return low


_CONSTANTS = {
    bits: tuple(_root(prime << 3 * bits, 3) & ((1 << bits) - 1) for prime in _primes(rounds))
    for bits, rounds in ((32, 64), (64, 80))
}
_ROTATIONS = {
    32: ((7, 18, 3), (17, 19, 10), (6, 11, 25), (2, 13, 22)),
    64: ((1, 8, 7), (19, 61, 6), (14, 18, 41), (28, 34, 39)),
}


def _sha2(bits: int) -> Callable[[Sequence[int], Sequence[int]], list[int]]:
    mask = (1 << bits) - 1
    small0, small1, big1, big0 = _ROTATIONS[bits]

    def mixed(value: int, by: tuple[int, ...], *, shifted: bool) -> int:
        last = value >> by[2] if shifted else _right(value, by[2], bits)
        return _right(value, by[0], bits) ^ _right(value, by[1], bits) ^ last

    def compress(state: Sequence[int], block: Sequence[int]) -> list[int]:
        words = list(block)
        for at in range(16, len(_CONSTANTS[bits])):
            one = mixed(words[at - 15], small0, shifted=True)
            two = mixed(words[at - 2], small1, shifted=True)
            words.append((words[at - 16] + one + words[at - 7] + two) & mask)
        a, b, c, d, e, f, g, h = state
        for constant, word in zip(_CONSTANTS[bits], words, strict=True):
            first = h + mixed(e, big1, shifted=False) + (e & f ^ ~e & g) + constant + word
            second = mixed(a, big0, shifted=False) + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, h = (first + second) & mask, a, b, c, (d + first) & mask, e, f, g
        after = (a, b, c, d, e, f, g, h)
        return [(one + other) & mask for one, other in zip(state, after, strict=True)]

    return compress


_SHA256 = tuple(_root(prime << 64, 2) & U32 for prime in _primes(8))
_SHA512 = tuple(_root(prime << 128, 2) & U64 for prime in _primes(8))
_MD5 = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)

DIGESTS = (
    Digest("MD5", md5, 4, "little", 4, _MD5),
    Digest("SHA-1", sha1, 4, "big", 5, (*_MD5, 0xC3D2E1F0)),
    Digest("SHA-256", _sha2(32), 4, "big", 8, _SHA256),
    Digest("SHA-512", _sha2(64), 8, "big", 8, _SHA512),
)

WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
    "SHA-1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "SHA-224": lambda data: hashlib.sha224(data).digest(),
    "SHA-256": lambda data: hashlib.sha256(data).digest(),
    "SHA-384": lambda data: hashlib.sha384(data).digest(),
    "SHA-512": lambda data: hashlib.sha512(data).digest(),
    "SHA3-224": lambda data: hashlib.sha3_224(data).digest(),
    "SHA3-256": lambda data: hashlib.sha3_256(data).digest(),
    "SHA3-384": lambda data: hashlib.sha3_384(data).digest(),
    "SHA3-512": lambda data: hashlib.sha3_512(data).digest(),
    "BLAKE2b": lambda data: hashlib.blake2b(data).digest(),
    "BLAKE2b-256": lambda data: hashlib.blake2b(data, digest_size=32).digest(),
    "BLAKE2s": lambda data: hashlib.blake2s(data).digest(),
}
"""Functions from messages to digests, by name."""
