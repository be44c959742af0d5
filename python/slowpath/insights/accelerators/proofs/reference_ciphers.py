"""Reference ciphers to compare functions with: AES, DES, TEA, ChaCha, Salsa20 and RC4."""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Literal

from slowpath.insights.accelerators.proofs.reference_sums import U32, rotate_left

_ROUNDS = {16: 10, 24: 12, 32: 14}
AES_KEY_SIZES = tuple(_ROUNDS)
AES_SIZE = 16


def _double(value: int) -> int:
    return (value << 1 ^ (0x11B if value & 0x80 else 0)) & 0xFF


def _times(one: int, other: int) -> int:
    result = 0
    while other:
        if other & 1:
            result ^= one
        one, other = _double(one), other >> 1
    return result


@cache
def _boxes() -> tuple[bytes, bytes]:
    """Return the substitution box (S-box) of AES and its inverse."""
    # Every number except 0 is a power of 3, and the inverse of 3 ** n is 3 ** (255 - n).
    powers = list(accumulate(range(254), lambda one, _: one ^ _double(one), initial=1))
    inverses = dict(zip(powers, [1, *powers[:0:-1]], strict=True))
    forward = bytearray(256)
    for value in range(256):
        inverse = inverses.get(value, 0)
        result = 0x63
        for by in range(5):
            result ^= (inverse << by | inverse >> (8 - by)) & 0xFF
        forward[value] = result
    backward = bytearray(256)
    for value, substituted in enumerate(forward):
        backward[substituted] = value
    return bytes(forward), bytes(backward)


@cache
def schedule(key: bytes) -> bytes:
    """Expand an AES key; return all round keys, joined, with the specification's byte order."""
    box, _ = _boxes()
    words = [key[at : at + 4] for at in range(0, len(key), 4)]
    length, constant = len(words), 1
    for at in range(length, 4 * (_ROUNDS[len(key)] + 1)):
        word = words[-1]
        if at % length == 0:
            word = bytes(box[byte] for byte in word[1:] + word[:1])
            word = bytes((word[0] ^ constant, *word[1:]))
            constant = _double(constant)
        elif length > 6 and at % length == 4:  # noqa: PLR2004 - a key of 256 bits
            word = bytes(box[byte] for byte in word)
        words.append(bytes(one ^ two for one, two in zip(words[at - length], word, strict=True)))
    return b"".join(words)


@cache
def _products(factor: int) -> bytes:
    return bytes(_times(value, factor) for value in range(256))


def _mixed(block: bytes, factors: tuple[int, int, int, int]) -> bytes:
    tables = [_products(factor) for factor in factors]
    return bytes(
        tables[0][block[column + row]]
        ^ tables[1][block[column + (row + 1) % 4]]
        ^ tables[2][block[column + (row + 2) % 4]]
        ^ tables[3][block[column + (row + 3) % 4]]
        for column in range(0, AES_SIZE, 4)
        for row in range(4)
    )


def _added(block: bytes, keys: bytes, turn: int) -> bytes:
    part = keys[AES_SIZE * turn : AES_SIZE * turn + AES_SIZE]
    return bytes(one ^ two for one, two in zip(block, part, strict=True))


_ROWS = tuple((at + 4 * (at % 4)) % AES_SIZE for at in range(AES_SIZE))
_ROWS_BACK = tuple((at - 4 * (at % 4)) % AES_SIZE for at in range(AES_SIZE))


def aes_encrypt(block: bytes, key: bytes) -> bytes:
    """Encrypt a block of 16 bytes with AES; the key has 16, 24 or 32 bytes."""
    box, _ = _boxes()
    keys, rounds = schedule(key), _ROUNDS[len(key)]
    block = _added(block, keys, 0)
    for turn in range(1, rounds + 1):
        block = bytes(box[block[at]] for at in _ROWS)
        if turn < rounds:
            block = _mixed(block, (2, 3, 1, 1))
        block = _added(block, keys, turn)
    return block


def aes_decrypt(block: bytes, key: bytes) -> bytes:
    """Decrypt a block of 16 bytes with AES; the key has 16, 24 or 32 bytes."""
    _, box = _boxes()
    keys, rounds = schedule(key), _ROUNDS[len(key)]
    for turn in range(rounds, 0, -1):
        block = _added(block, keys, turn)
        if turn < rounds:
            block = _mixed(block, (14, 11, 13, 9))
        block = bytes(box[block[at]] for at in _ROWS_BACK)
    return _added(block, keys, 0)


DES_SIZE = 8

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
    *(41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48),
    *(44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32),
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
def _des_boxes() -> list[list[int]]:
    return [[int(digit, 16) for digit in text.replace(" ", "")] for text in _BOXES]


def _round(right: Sequence[int], key: Sequence[int]) -> list[int]:
    mixed = [right[at] ^ bit for at, bit in zip(_EXPANSION, key, strict=True)]
    out = list[int]()
    for number, box in enumerate(_des_boxes()):
        six = mixed[6 * number : 6 * number + 6]
        row, column = six[0] << 1 | six[5], six[1] << 3 | six[2] << 2 | six[3] << 1 | six[4]
        value = box[16 * row + column]
        out += [value >> (3 - at) & 1 for at in range(4)]
    return [out[at - 1] for at in _SPREAD]


def _des(block: bytes, key: bytes, *, decrypt: bool) -> bytes:
    bits = _bits(block)
    bits = [bits[at] for at in _START]
    left, right = bits[:32], bits[32:]
    keys = _keys(key)
    for one in reversed(keys) if decrypt else keys:
        mixed = _round(right, one)
        left, right = right, [a ^ b for a, b in zip(left, mixed, strict=True)]
    joined, result = right + left, [0] * 64
    for to, at in enumerate(_START):
        result[at] = joined[to]
    return _bytes(result)


def des_encrypt(block: bytes, key: bytes) -> bytes:
    """Encrypt a block of 8 bytes with DES; a key of 16 or 24 bytes means triple DES."""
    if len(key) == DES_SIZE:
        return _des(block, key, decrypt=False)
    first, second, third = key[:8], key[8:16], key[16:] or key[:8]
    block = _des(_des(block, first, decrypt=False), second, decrypt=True)
    return _des(block, third, decrypt=False)


def des_decrypt(block: bytes, key: bytes) -> bytes:
    """Decrypt a block of 8 bytes with DES; a key of 16 or 24 bytes means triple DES."""
    if len(key) == DES_SIZE:
        return _des(block, key, decrypt=True)
    first, second, third = key[:8], key[8:16], key[16:] or key[:8]
    block = _des(_des(block, third, decrypt=True), second, decrypt=False)
    return _des(block, first, decrypt=True)


TEA_SIZE = 8
_DELTA, _TEA_ROUNDS = 0x9E3779B9, 32
Order = Literal["little", "big"]


def _words(data: bytes, order: Order = "little") -> list[int]:
    return [int.from_bytes(data[at : at + 4], order) for at in range(0, len(data), 4)]


def _joined(words: Sequence[int], order: Order = "little") -> bytes:
    return b"".join(word.to_bytes(4, order) for word in words)


def _tea(word: int, total: int, one: int, two: int) -> int:
    return ((word << 4) + one ^ word + total ^ (word >> 5) + two) & U32


def tea_encrypt(block: bytes, key: bytes, order: Order = "little") -> bytes:
    """Encrypt a block of 8 bytes with TEA; `order` is the byte order of the 32-bit words."""
    v, k, total = _words(block, order), _words(key, order), 0
    for _ in range(_TEA_ROUNDS):
        total = total + _DELTA & U32
        v[0] = v[0] + _tea(v[1], total, k[0], k[1]) & U32
        v[1] = v[1] + _tea(v[0], total, k[2], k[3]) & U32
    return _joined(v, order)


def tea_decrypt(block: bytes, key: bytes, order: Order = "little") -> bytes:
    """Decrypt a block of 8 bytes with TEA; `order` is the byte order of the 32-bit words."""
    v, k, total = _words(block, order), _words(key, order), _DELTA * _TEA_ROUNDS & U32
    for _ in range(_TEA_ROUNDS):
        v[1] = v[1] - _tea(v[0], total, k[2], k[3]) & U32
        v[0] = v[0] - _tea(v[1], total, k[0], k[1]) & U32
        total = total - _DELTA & U32
    return _joined(v, order)


def _xtea(word: int, total: int, part: int) -> int:
    return (((word << 4 ^ word >> 5) + word) & U32) ^ (total + part & U32)


def xtea_encrypt(
    block: bytes, key: bytes, order: Order = "little", rounds: int = _TEA_ROUNDS
) -> bytes:
    """Encrypt a block of 8 bytes with XTEA; `order` is the byte order of the 32-bit words."""
    v, k, total = _words(block, order), _words(key, order), 0
    for _ in range(rounds):
        v[0] = v[0] + _xtea(v[1], total, k[total & 3]) & U32
        total = total + _DELTA & U32
        v[1] = v[1] + _xtea(v[0], total, k[total >> 11 & 3]) & U32
    return _joined(v, order)


def xtea_decrypt(
    block: bytes, key: bytes, order: Order = "little", rounds: int = _TEA_ROUNDS
) -> bytes:
    """Decrypt a block of 8 bytes with XTEA; `order` is the byte order of the 32-bit words."""
    v, k, total = _words(block, order), _words(key, order), _DELTA * rounds & U32
    for _ in range(rounds):
        v[1] = v[1] - _xtea(v[0], total, k[total >> 11 & 3]) & U32
        total = total - _DELTA & U32
        v[0] = v[0] - _xtea(v[1], total, k[total & 3]) & U32
    return _joined(v, order)


CONSTANTS = b"expand 32-byte k"


def _chacha_quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for first, second in ((16, 12), (8, 7)):
        x[a] = x[a] + x[b] & U32
        x[d] = rotate_left(x[d] ^ x[a], first)
        x[c] = x[c] + x[d] & U32
        x[b] = rotate_left(x[b] ^ x[c], second)


def _salsa_quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for to, one, two, by in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
        x[to] ^= rotate_left((x[one] + x[two]) & U32, by)


_CHACHA = (
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)
_SALSA = (
    *((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)),
    *((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)),
)


def chacha_core(state: bytes, rounds: int = 20, *, add: bool = True) -> bytes:
    """Return the 64 bytes of ChaCha key stream for a state of 64 bytes.

    With `add`, the input state is added to the permuted state, as ChaCha does. HChaCha does not.
    """
    return _core(state, rounds, _CHACHA, add=add, chacha=True)


def salsa_core(state: bytes, rounds: int = 20, *, add: bool = True) -> bytes:
    """Return the 64 bytes of Salsa20 key stream for a state of 64 bytes.

    With `add`, the input state is added to the permuted state, as Salsa20 does. HSalsa20 does not.
    """
    return _core(state, rounds, _SALSA, add=add, chacha=False)


def _core(
    state: bytes, rounds: int, order: tuple[tuple[int, ...], ...], *, add: bool, chacha: bool
) -> bytes:
    before = _words(state)
    x = list(before)
    quarter = _chacha_quarter if chacha else _salsa_quarter
    for _ in range(rounds // 2):
        for a, b, c, d in order:
            quarter(x, a, b, c, d)
    if add:
        x = [one + two & U32 for one, two in zip(x, before, strict=True)]
    return _joined(x)


def chacha20(key: bytes, nonce: bytes, counter: int, size: int) -> bytes:
    """Return `size` bytes of ChaCha20 key stream; nonce and counter together have 16 bytes."""
    stream = b""
    for block in range((size + 63) // 64):
        number = (counter + block).to_bytes(16 - len(nonce), "little")
        stream += chacha_core(CONSTANTS + key + number + nonce)
    return stream[:size]


def salsa20(key: bytes, nonce: bytes, size: int, counter: int = 0) -> bytes:
    """Return `size` bytes of Salsa20 key stream, for a key of 32 bytes and a nonce of 8 bytes."""
    stream = b""
    for block in range((size + 63) // 64):
        state = (
            CONSTANTS[:4]
            + key[:16]
            + CONSTANTS[4:8]
            + nonce
            + (counter + block).to_bytes(8, "little")
            + CONSTANTS[8:12]
            + key[16:]
            + CONSTANTS[12:]
        )
        stream += salsa_core(state)
    return stream[:size]


def rc4(key: bytes, size: int) -> bytes:
    """Return `size` bytes of RC4 key stream."""
    box, j = list(range(256)), 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    i = j = 0
    stream = bytearray()
    for _ in range(size):
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        stream.append(box[(box[i] + box[j]) % 256])
    return bytes(stream)
