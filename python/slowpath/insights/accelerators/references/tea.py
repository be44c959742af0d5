"""The block ciphers TEA (Wheeler, Needham 1994) and XTEA (1997)."""

from typing import Literal

U32 = 0xFFFFFFFF
SIZE, KEY_SIZES = 8, (16,)
_DELTA, _ROUNDS = 0x9E3779B9, 32
Order = Literal["little", "big"]


def _words(data: bytes, order: Order) -> list[int]:
    return [int.from_bytes(data[at : at + 4], order) for at in range(0, len(data), 4)]


def _bytes(words: tuple[int, int], order: Order) -> bytes:
    return b"".join(word.to_bytes(4, order) for word in words)


def _tea(word: int, total: int, one: int, two: int) -> int:
    return ((word << 4) + one ^ word + total ^ (word >> 5) + two) & U32


def tea_encrypt(block: bytes, key: bytes, order: Order = "little") -> bytes:
    """A block of 8 bytes, encrypted with TEA."""
    v, k, total = _words(block, order), _words(key, order), 0
    for _ in range(_ROUNDS):
        total = total + _DELTA & U32
        v[0] = v[0] + _tea(v[1], total, k[0], k[1]) & U32
        v[1] = v[1] + _tea(v[0], total, k[2], k[3]) & U32
    return _bytes((v[0], v[1]), order)


def tea_decrypt(block: bytes, key: bytes, order: Order = "little") -> bytes:
    """A block of 8 bytes, decrypted with TEA."""
    v, k, total = _words(block, order), _words(key, order), _DELTA * _ROUNDS & U32
    for _ in range(_ROUNDS):
        v[1] = v[1] - _tea(v[0], total, k[2], k[3]) & U32
        v[0] = v[0] - _tea(v[1], total, k[0], k[1]) & U32
        total = total - _DELTA & U32
    return _bytes((v[0], v[1]), order)


def _xtea(word: int, total: int, part: int) -> int:
    return (((word << 4 ^ word >> 5) + word) & U32) ^ (total + part & U32)


def xtea_encrypt(block: bytes, key: bytes, order: Order = "little", rounds: int = _ROUNDS) -> bytes:
    """A block of 8 bytes, encrypted with XTEA."""
    v, k, total = _words(block, order), _words(key, order), 0
    for _ in range(rounds):
        v[0] = v[0] + _xtea(v[1], total, k[total & 3]) & U32
        total = total + _DELTA & U32
        v[1] = v[1] + _xtea(v[0], total, k[total >> 11 & 3]) & U32
    return _bytes((v[0], v[1]), order)


def xtea_decrypt(block: bytes, key: bytes, order: Order = "little", rounds: int = _ROUNDS) -> bytes:
    """A block of 8 bytes, decrypted with XTEA."""
    v, k, total = _words(block, order), _words(key, order), _DELTA * rounds & U32
    for _ in range(rounds):
        v[1] = v[1] - _xtea(v[0], total, k[total >> 11 & 3]) & U32
        total = total - _DELTA & U32
        v[0] = v[0] - _xtea(v[1], total, k[total & 3]) & U32
    return _bytes((v[0], v[1]), order)
