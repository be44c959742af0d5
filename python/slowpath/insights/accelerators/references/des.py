"""The block ciphers DES and triple DES (FIPS 46-3)."""

from collections.abc import Sequence
from functools import cache

SIZE = 8
KEY_SIZES = (8, 16, 24)

_START = tuple(
    at + 8 * turn for at in (57, 59, 61, 63, 56, 58, 60, 62) for turn in range(0, -8, -1)
)
_EXPANSION = tuple((at - 1) % 32 for row in range(0, 32, 4) for at in range(row, row + 6))
_SPREAD = (
    *(16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10),
    *(2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25),
)
_KEY_FIRST = (
    *(57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3),
    *(60, 52, 44, 36, 63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37),
    *(29, 21, 13, 5, 28, 20, 12, 4),
)
_KEY_SECOND = (
    *(14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2),
    *(
        41,
        52,
        31,
        37,
        47,
        55,
        30,
        40,
        51,
        45,
        33,
        48,
        44,
        49,
        39,
        56,
        34,
        53,
        46,
        42,
        50,
        36,
        29,
        32,
    ),
)
_ROTATIONS = (1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1)
_BOXES = (
    "e4d12fb83a6c59070f74e2d1a6cb9538 41e8d62bfc973a50fc8249175b3ea06d",
    "f18e6b34972dc05a3d47f28ec01a69b5 0e7ba4d158c6932fd8a13f42b67c05e9",
    "a09e63f51dc7b428d709346a285ecbf1 d6498f30b12c5ae71ad069874fe3b52c",
    "7de3069a1285bc4fd8b56f03472c1ae9 a690cb7df13e52843f06a1d8945bc72e",
    "2c417ab6853fd0e9eb2c47d150fa3986 421bad78f9c5630eb8c71e2d6f09a453",
    "c1af92680d34e75baf427c9561de0b38 9ef528c3704a1db6432c95fabe17608d",
    "4b2ef08d3c975a61d0b7491ae35c2f86 14bdc37eaf680592 6bd814a7950fe23c",
    "d2846fb1a93e50c71fd8a374c56b0e92 7b419ce206adf358 21e74a8dfc90356b",
)


def _bits(data: bytes) -> list[int]:
    return [byte >> (7 - at) & 1 for byte in data for at in range(8)]


def _bytes(bits: Sequence[int]) -> bytes:
    return bytes(int("".join(map(str, bits[at : at + 8])), 2) for at in range(0, len(bits), 8))


@cache
def _keys(key: bytes) -> list[list[int]]:
    bits = _bits(key)
    left, right = ([bits[at - 1] for at in part] for part in (_KEY_FIRST[:28], _KEY_FIRST[28:]))
    found = []
    for by in _ROTATIONS:
        left, right = left[by:] + left[:by], right[by:] + right[:by]
        both = left + right
        found.append([both[at - 1] for at in _KEY_SECOND])
    return found


@cache
def _boxes() -> list[list[int]]:
    return [[int(digit, 16) for digit in text.replace(" ", "")] for text in _BOXES]


def _round(right: Sequence[int], key: Sequence[int]) -> list[int]:
    mixed = [right[at] ^ bit for at, bit in zip(_EXPANSION, key, strict=True)]
    out = list[int]()
    for number, box in enumerate(_boxes()):
        six = mixed[6 * number : 6 * number + 6]
        row, column = six[0] << 1 | six[5], six[1] << 3 | six[2] << 2 | six[3] << 1 | six[4]
        value = box[16 * row + column]
        out += [value >> (3 - at) & 1 for at in range(4)]
    return [out[at - 1] for at in _SPREAD]


def _once(block: bytes, key: bytes, *, back: bool) -> bytes:
    bits = _bits(block)
    bits = [bits[at] for at in _START]
    left, right = bits[:32], bits[32:]
    keys = _keys(key)
    for one in reversed(keys) if back else keys:
        mixed = _round(right, one)
        left, right = right, [a ^ b for a, b in zip(left, mixed, strict=True)]
    joined, result = right + left, [0] * 64
    for to, at in enumerate(_START):
        result[at] = joined[to]
    return _bytes(result)


def encrypt(block: bytes, key: bytes) -> bytes:
    """A block of 8 bytes, encrypted; a key of 16 or 24 bytes: triple DES."""
    if len(key) == SIZE:
        return _once(block, key, back=False)
    first, second, third = key[:8], key[8:16], key[16:] or key[:8]
    block = _once(_once(block, first, back=False), second, back=True)
    return _once(block, third, back=False)


def decrypt(block: bytes, key: bytes) -> bytes:
    """A block of 8 bytes, decrypted."""
    if len(key) == SIZE:
        return _once(block, key, back=True)
    first, second, third = key[:8], key[8:16], key[16:] or key[:8]
    block = _once(_once(block, third, back=True), second, back=False)
    return _once(block, first, back=True)
