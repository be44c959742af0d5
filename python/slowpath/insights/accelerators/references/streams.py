"""Stream ciphers: ChaCha (D. J. Bernstein, RFC 8439), Salsa20, RC4 (as published in 1994)."""

U32 = 0xFFFFFFFF
CONSTANTS = b"expand 32-byte k"


def _words(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def _bytes(words: list[int]) -> bytes:
    return b"".join((word & U32).to_bytes(4, "little") for word in words)


def _left(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & U32


def _chacha_quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for first, second in ((16, 12), (8, 7)):
        x[a] = x[a] + x[b] & U32
        x[d] = _left(x[d] ^ x[a], first)
        x[c] = x[c] + x[d] & U32
        x[b] = _left(x[b] ^ x[c], second)


def _salsa_quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for to, one, two, by in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
        x[to] ^= _left((x[one] + x[two]) & U32, by)


_CHACHA = (
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)
_SALSA = (
    *((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)),
    *((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)),
)


def chacha_core(state: bytes, rounds: int = 20, *, add: bool = True) -> bytes:
    """64 bytes from 64 bytes; without the last addition it is HChaCha's permutation."""
    return _core(state, rounds, _CHACHA, add=add, chacha=True)


def salsa_core(state: bytes, rounds: int = 20, *, add: bool = True) -> bytes:
    """The same of Salsa20."""
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
    return _bytes(x)


def chacha_quarter(words: tuple[int, int, int, int]) -> tuple[int, ...]:
    """One quarter round."""
    x = list(words)
    _chacha_quarter(x, 0, 1, 2, 3)
    return tuple(x)


def chacha20(key: bytes, nonce: bytes, counter: int, size: int) -> bytes:
    """Key stream; a nonce of 12 bytes leaves 4 to the counter, one of 8 bytes 8."""
    stream = b""
    for block in range((size + 63) // 64):
        number = (counter + block).to_bytes(16 - len(nonce), "little", signed=False)
        stream += chacha_core(CONSTANTS + key + number + nonce)
    return stream[:size]


def salsa20(key: bytes, nonce: bytes, size: int, counter: int = 0) -> bytes:
    """Key stream; a key of 32 bytes, a nonce of 8."""
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
    """Key stream."""
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
