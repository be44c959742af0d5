"""Hash functions with keys: SipHash (Aumasson, Bernstein 2012), Toeplitz (receive-side scaling)."""

from slowpath.insights.accelerators.references.hashes import U64


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & U64


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
    """SipHash with 64 bits; 16 bytes of key; so many rounds for each word, and at the end."""
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
    """The hash of receive-side scaling, 32 bits; the key is 4 bytes longer than the data."""
    bits = 8 * len(key)
    whole, result = int.from_bytes(key), 0
    for at, byte in enumerate(data):
        for bit in range(8):
            if byte >> (7 - bit) & 1:
                result ^= whole >> (bits - 32 - 8 * at - bit) & 0xFFFFFFFF
    return result
