"""The block cipher AES (FIPS 197), and its key schedule."""

from functools import cache

Block = bytes
_ROUNDS = {16: 10, 24: 12, 32: 14}
KEY_SIZES = tuple(_ROUNDS)
SIZE = 16


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
    """The substitution of bytes, and its inverse."""
    forward = bytearray(256)
    for value in range(256):
        inverse = next((one for one in range(256) if _times(value, one) == 1), 0)
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
    """All round keys, as bytes in the order of the specification."""
    box, _ = _boxes()
    words = [key[at : at + 4] for at in range(0, len(key), 4)]
    length, constant = len(words), 1
    for at in range(length, 4 * (_ROUNDS[len(key)] + 1)):
        word = words[-1]
        if at % length == 0:
            word = bytes(box[byte] for byte in word[1:] + word[:1])
            word = bytes((word[0] ^ constant, *word[1:]))
            constant = _double(constant)
        elif length > 6 and at % length == 4:  # noqa: PLR2004 - of 256 bits
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
        for column in range(0, SIZE, 4)
        for row in range(4)
    )


def _added(block: bytes, keys: bytes, turn: int) -> bytes:
    part = keys[SIZE * turn : SIZE * turn + SIZE]
    return bytes(one ^ two for one, two in zip(block, part, strict=True))


_ROWS = tuple((at + 4 * (at % 4)) % SIZE for at in range(SIZE))
_ROWS_BACK = tuple((at - 4 * (at % 4)) % SIZE for at in range(SIZE))


def encrypt(block: bytes, key: bytes) -> bytes:
    """A block of 16 bytes, encrypted."""
    box, _ = _boxes()
    keys, rounds = schedule(key), _ROUNDS[len(key)]
    block = _added(block, keys, 0)
    for turn in range(1, rounds + 1):
        block = bytes(box[block[at]] for at in _ROWS)
        if turn < rounds:
            block = _mixed(block, (2, 3, 1, 1))
        block = _added(block, keys, turn)
    return block


def decrypt(block: bytes, key: bytes) -> bytes:
    """A block of 16 bytes, decrypted."""
    _, box = _boxes()
    keys, rounds = schedule(key), _ROUNDS[len(key)]
    for turn in range(rounds, 0, -1):
        block = _added(block, keys, turn)
        if turn < rounds:
            block = _mixed(block, (14, 11, 13, 9))
        block = bytes(box[block[at]] for at in _ROWS_BACK)
    return _added(block, keys, 0)
