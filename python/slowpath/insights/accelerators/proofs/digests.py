"""Recognises functions that compute the digests MD5, SHA-1, SHA-2, SHA-3 or BLAKE2.

Compression functions are compared with slowpath's own MD5, SHA-1 and SHA-2. Functions that hash
whole messages are compared with `hashlib`.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, product
from typing import Any, Literal, NamedTuple

from slowpath.insights.accelerators.proofs.harness import (
    CONTEXT,
    DATA,
    OUT,
    Bench,
    BoundFunction,
    Interpretation,
    Noise,
    SharedMemoryRun,
    filled,
    kinds,
    noise_of,
)
from slowpath.insights.accelerators.proofs.oracles import finding, outcomes, some_data
from slowpath.insights.accelerators.proofs.reference_sums import U32, U64, rotate_left
from slowpath.insights.native import differing_ranges
from slowpath.insights.trials import Attempt

Order = Literal["little", "big"]


class Digest(NamedTuple):
    """A digest algorithm such as SHA-1, with its compression function and initial state.

    The compression function updates the state with one block of the message.
    """

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
    """Return the MD5 state (four words) after processing one block of 16 words."""
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
    """Return the SHA-1 state (five words) after processing one block of 16 words."""
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
    """Return the `power`-th root of `number`, rounded down to an integer."""
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


# --- proofs ---------------------------------------------------------------------------------------

_SIZES = (*range(70), 111, 112, 119, 120, 127, 128, 129, 200, 255, 256, 1000)
_BLOCKS = 48
"""Number of random blocks for the comparison of a compression function."""
_OFFSETS = 256
_FIRST = 40


def prove_whole(bound: BoundFunction, reading: Interpretation) -> dict[str, Any] | None:
    """Return a description of the digest (such as SHA-1) that a function writes to memory.

    `bound` calls the function; `reading` says which parameters are data and length. Return None if
    the function computes no known digest.
    """
    if reading.extent not in ("length", "end", "text") or not bound.memories:
        return None
    noise = noise_of(17)
    text = reading.extent == "text"
    terminator = b"\0" if text else b""
    first = some_data(noise, _FIRST, text=text)
    _, texts = outcomes(bound, first + terminator, _FIRST)
    for name, digest_of in WHOLE.items():
        digest = digest_of(first)
        places = [(at, text.find(digest)) for at, text in enumerate(texts) if digest in text]
        for number, offset in places:
            sizes = []
            for size in _SIZES:
                data = some_data(noise, size, text=text)
                _, after = outcomes(bound, data + terminator, size)
                if after[number][offset : offset + len(digest)] != digest_of(data):
                    break
                sizes.append(size)
            if len(sizes) == len(_SIZES):
                return finding("hash", name, {}, len(sizes), sizes)
    return None


def block_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise the compression function of a digest in the function `name`.

    State and block are in memory; each attempt passes pointers to them in another order.
    """
    pattern = kinds(bench, name)
    if pattern.count("p") not in (1, 2, 3) or len(pattern) > 4:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    for order, number in product(permutations(range(pattern.count("p"))), (1, 0, 64)):
        numbers = [number] * pattern.count("i")
        arguments = filled(pattern, [stage.address(at) for at in order], numbers)
        if number == 1 or "i" in pattern:
            yield partial(_block, stage, name, arguments)


def _block(stage: SharedMemoryRun, name: str, arguments: Sequence[int]) -> dict[str, Any] | None:
    noise = noise_of(19)
    texts = [noise.randbytes(1024) for _ in range(3)]
    stage.start(dict(enumerate(texts)), zero=())
    stage.call(name, arguments)
    for state, before in enumerate(texts):
        after = stage.read(state, len(before))
        pieces = [one for one in differing_ranges(before, after) if one[1] >= 12]  # noqa: PLR2004 - a state
        for offset, _ in pieces[:2]:
            for found in _operands(texts, state, offset, after):
                count = _confirmed(stage, name, arguments, found, noise)
                if count:
                    digest, *_ = found
                    parameters = {"state": "in memory", "block": f"{16 * digest.word} bytes"}
                    return finding(
                        "hash", f"{digest.name} block", parameters, count, [16 * digest.word]
                    )
    return None


Operands = tuple[Digest, int, int, int, int, str]
"""Digest, region and offset of its state, region and offset of the block, and byte order of words.
"""


def _operands(texts: Sequence[bytes], state: int, changed: int, after: bytes) -> Iterator[Operands]:
    for digest in DIGESTS:
        size = digest.words * digest.word
        start = changed // digest.word * digest.word
        for at in (start, start - digest.word):
            if at < 0 or not _all_differ(texts[state], after, digest, at):
                continue
            for order in dict.fromkeys((digest.order, "little")):
                for region, text in enumerate(texts):
                    offsets = range(0, _OFFSETS, 4) if region == state else (0,)
                    for offset in offsets:
                        if (
                            _compressed(digest, texts[state], at, text, offset, order)
                            == after[at : at + size]
                        ):
                            yield digest, state, at, region, offset, order


def _all_differ(before: bytes, after: bytes, digest: Digest, at: int) -> bool:
    """Return true if a call changed each word of the digest's state, as digests nearly always do.

    `before` and `after` are the content of memory around the call; the state begins at offset `at`.
    This check is much faster than computing the expected state.
    """
    word = digest.word
    return all(
        before[k : k + word] != after[k : k + word]
        for k in range(at, at + digest.words * word, word)
    )


def _compressed(  # noqa: PLR0913, PLR0917 - state and block, each with an offset
    digest: Digest, state: bytes, at: int, block: bytes, offset: int, order: str
) -> bytes:
    word = digest.word
    before = [
        int.from_bytes(state[at + word * k : at + word * (k + 1)], "little")
        for k in range(digest.words)
    ]
    words = [
        int.from_bytes(
            block[offset + word * k : offset + word * (k + 1)],
            "big" if order == "big" else "little",
        )
        for k in range(16)
    ]
    return b"".join(one.to_bytes(word, "little") for one in digest.compress(before, words))


def _confirmed(
    stage: SharedMemoryRun, name: str, arguments: Sequence[int], operands: Operands, noise: Noise
) -> int:
    """Compare a function with a digest's compression function on `_BLOCKS` random blocks.

    Return the number of blocks if both agree on all of them, else 0. `operands` has the digest, and
    the locations of its state and block in memory.
    """
    digest, state, at, region, offset, order = operands
    size = digest.words * digest.word
    for _ in range(_BLOCKS):
        texts = [noise.randbytes(1024) for _ in range(3)]
        stage.start(dict(enumerate(texts)), zero=())
        stage.call(name, arguments)
        expected = _compressed(digest, texts[state], at, texts[region], offset, order)
        if stage.read(state, size, at) != expected:
            return 0
    return _BLOCKS


def stream_attempts(bench: Bench, begin: str, more: str, end: str) -> Iterator[Attempt]:
    """Yield attempts to recognise a digest in three functions that begin, continue and end it.

    Each attempt calls the functions with other pointers and numbers as arguments.
    """
    stage = SharedMemoryRun(bench, [begin, more, end])
    patterns = [kinds(bench, one) for one in (begin, more, end)]
    if not all(patterns[1:]) or (not patterns[0] and bench.functions[begin].parameters):
        return
    for arguments in _stream_arguments(stage, patterns):
        yield partial(_stream, stage, (begin, more, end), patterns, arguments)


Pointers = list[tuple[int, ...]]
StreamArguments = tuple[tuple[int, ...], int, tuple[int, ...]]
"""Arguments of the three functions that begin, continue and end a digest.

The tuple has the pointers for the second function, the value of all numeric arguments of the first
and third function, and the pointers for the third function.
"""


def _stream_arguments(stage: SharedMemoryRun, patterns: Sequence[str]) -> Iterator[StreamArguments]:
    context, data, out = (stage.address(one) for one in (CONTEXT, DATA, OUT))
    first = patterns[0]
    seconds: dict[str, Pointers] = {"p": [(data,)], "pp": [(context, data), (data, context)]}
    lasts: dict[str, Pointers] = {
        "": [()],
        "p": [(context,), (out,)],
        "pp": [(context, out), (out, context)],
    }
    second = seconds.get(patterns[1].replace("i", ""), [])
    last = lasts.get(patterns[2].replace("i", ""), [])
    values = (0, 256, 160, 1, 64, 32, 20) if "i" in first else (0,)
    yield from product(second, values, last)


def _stream(
    stage: SharedMemoryRun,
    names: Sequence[str],
    patterns: Sequence[str],
    arguments: StreamArguments,
) -> dict[str, Any] | None:
    second, value, last = arguments
    noise = noise_of(23)

    def digest(data: bytes, cut: int) -> bytes:
        stage.start({}, zero=(CONTEXT, OUT))
        count = patterns[0].count("i")
        stage.call(names[0], filled(patterns[0], [stage.address(CONTEXT)], [value] * count))
        for part in (data[:cut], data[cut:]):
            stage.regions[DATA].write(part)
            numbers = [len(part)] * patterns[1].count("i")
            stage.call(names[1], filled(patterns[1], second, numbers))
        numbers = [value] * patterns[2].count("i")
        stage.call(names[2], filled(patterns[2], last, numbers))
        return stage.read(OUT, 128) + stage.read(CONTEXT, 512)

    first = noise.randbytes(_FIRST)
    text = digest(first, 0)
    for name, digest_of in WHOLE.items():
        offset = text.find(digest_of(first))
        if offset < 0:
            continue
        for size in _SIZES:
            data = noise.randbytes(size)
            expected = digest_of(data)
            if digest(data, noise.randrange(size + 1))[offset : offset + len(expected)] != expected:
                return None
        return finding("hash", name, {}, len(_SIZES), list(_SIZES))
    return None
