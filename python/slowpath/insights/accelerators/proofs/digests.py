"""Recognises functions that compute the digests MD5, SHA-1, SHA-2, SHA-3 or BLAKE2."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import permutations, product
from typing import Any

from slowpath.insights.accelerators.harness.bench import (
    CONTEXT,
    DATA,
    OUT,
    Bench,
    BoundFunction,
    Noise,
    SharedMemoryRun,
    filled,
    kinds,
    noise_of,
)
from slowpath.insights.accelerators.harness.oracles import outcomes
from slowpath.insights.accelerators.harness.signatures import Interpretation
from slowpath.insights.accelerators.proofs.inputs import finding, some_data
from slowpath.insights.accelerators.references.digests import DIGESTS, WHOLE, Digest
from slowpath.insights.sandbox.native import differing_ranges
from slowpath.insights.sandbox.trials import Attempt

_SIZES = (*range(70), 111, 112, 119, 120, 127, 128, 129, 200, 255, 256, 1000)
_BLOCKS = 48
"""Number of random blocks for the comparison of a compression function."""
_OFFSETS = 256
_FIRST = 40


def prove_whole(bound: BoundFunction, reading: Interpretation) -> dict[str, Any] | None:
    """Return a description of the digest (such as SHA-1) that a function writes to memory.

    `reading` says how the function takes its data. Return None if the function computes no known
    digest.
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
    """Yield attempts to recognise the compression function of a digest.

    State and block are in memory.
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
    """Return true if each word of a digest's state differs, as nearly always after a block.

    This is much faster to check than the state is to compute.
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
    """Return the number of compared blocks if function and digest agree on all of them, else 0."""
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
    """Yield attempts to recognise a digest in three functions that begin, continue and end it."""
    stage = SharedMemoryRun(bench, [begin, more, end])
    patterns = [kinds(bench, one) for one in (begin, more, end)]
    if not all(patterns[1:]) or (not patterns[0] and bench.functions[begin].parameters):
        return
    for arguments in _stream_arguments(stage, patterns):
        yield partial(_stream, stage, (begin, more, end), patterns, arguments)


Pointers = list[tuple[int, ...]]
StreamArguments = tuple[tuple[int, ...], int, tuple[int, ...]]
"""Arguments of the three functions of a digest.

They are pointers for the second function, a number for the first and the last, and pointers for
the last.
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
