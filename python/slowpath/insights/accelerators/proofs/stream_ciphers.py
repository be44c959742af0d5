"""Recognises functions that compute the stream ciphers ChaCha, Salsa20 or RC4.

A function is called with random memory content as its key or state. If its output equals that of a
known cipher, both are compared on further inputs.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import permutations, product
from typing import Any

from slowpath.insights.accelerators.proofs import reference_ciphers
from slowpath.insights.accelerators.proofs.harness import (
    CONTEXT,
    DATA,
    KEY,
    NONCE,
    OUT,
    Bench,
    Noise,
    SharedMemoryRun,
    filled,
    kinds,
    noise_of,
)
from slowpath.insights.accelerators.proofs.oracles import finding
from slowpath.insights.trials import Attempt

_BLOCK, _BEHIND = 64, 64
_OFFSETS = range(0, 80, 4)
_ROUNDS = (20, 12, 8)
_TRIALS = 16
_MESSAGE = 130
_NUMBERS = (0, 1, 20, 10, 64, 12, 8)
Label = tuple[str, int, bool, int]
"""Cipher, number of rounds, whether the input is added at the end, and offset of the input."""
_CORES: dict[str, Callable[..., bytes]] = {
    "ChaCha": reference_ciphers.chacha_core,
    "Salsa20": reference_ciphers.salsa_core,
}


@cache
def _texts() -> tuple[bytes, ...]:
    noise = noise_of(41)
    return tuple(_some_text(noise) for _ in range(3))


def _some_text(noise: Noise) -> bytes:
    """Return random memory content for a function that may compute a stream cipher.

    It starts with a cipher state, followed by words with the number 20, which may serve as a number
    of rounds, and a random message.
    """
    return noise.randbytes(_BEHIND) + b"\x14\0\0\0" * _BEHIND + noise.randbytes(_MESSAGE)


@cache
def _known() -> dict[bytes, tuple[int, Label]]:
    """Return a map that identifies a cipher by its output.

    Its values are the index of the input text, and the cipher with its variant.
    """
    return {
        _core(label, text): (at, label)
        for at, text in enumerate(_texts())
        for label in product(_CORES, _ROUNDS, (True, False), _OFFSETS)
    }


def prepare() -> None:
    """Compute the outputs of all known ciphers, and cache them.

    Call this once before the processes that call functions are forked, so that they share the
    cache.
    """
    _known()
    for key in (5, 16, 32):
        _rc4_known(key)
    _direct_known()


def _core(label: Label, text: bytes) -> bytes:
    name, rounds, add, offset = label
    return _CORES[name](text[offset : offset + _BLOCK], rounds, add=add)


def core_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise a function that computes one block of key stream.

    The function may also combine the block with a message. Each attempt passes other arguments.
    """
    pattern = kinds(bench, name)
    pointers = pattern.count("p")
    if pointers not in (1, 2, 3) or len(pattern) > 5:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    numbers = pattern.count("i")
    tried = [(_MESSAGE,) * numbers, *((one,) * numbers for one in _NUMBERS)] if numbers else [()]
    if pointers == 3:  # noqa: PLR2004 - a state, a message, and an output
        tried = tried[:1]
    for order, values in product(permutations(range(pointers)), tried):
        arguments = filled(pattern, [stage.address(at) for at in order], values)
        yield partial(_core_found, stage, name, arguments)


def _core_found(
    stage: SharedMemoryRun, name: str, arguments: Sequence[int]
) -> dict[str, Any] | None:
    def outcome(texts: Sequence[bytes]) -> list[bytes]:
        stage.start(dict(enumerate(texts)), zero=())
        stage.call(name, arguments)
        return [stage.read(at, 256) for at in range(len(texts))]

    texts = _texts()
    after = outcome(texts)
    for out, text in enumerate(after):
        places = [(start, None) for start in _OFFSETS] + [(0, at) for at in range(len(texts))]
        for start, message in places:
            block = text[start : start + _BLOCK]
            if message is not None:  # the output may be an encrypted message
                block = _xored(block, texts[message])
            known = _known().get(block)
            if known is None:
                continue
            source, label = known
            noise = noise_of(43)
            for _ in range(_TRIALS):
                others = [_some_text(noise) for _ in range(3)]
                output = outcome(others)[out][start : start + _BLOCK]
                if message is not None:
                    output = _xored(output, others[message])
                if output != _core(label, others[source]):
                    return None
            cipher, rounds, add, _ = label
            parameters = {"rounds": str(rounds)}
            if not add:
                parameters["input added at last"] = "no"
            algorithm = f"{cipher}{rounds}" if cipher == "ChaCha" else f"Salsa20/{rounds}"
            return _finding(f"{algorithm} block", parameters, _BLOCK)
    return None


def _xored(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


@cache
def _direct_known() -> tuple[bytes, bytes, dict[bytes, tuple[str, int, int]]]:
    """Return a key, a nonce, and a map that identifies a cipher by its key stream for them.

    The values of the map are the cipher, the nonce size in bytes, and the first counter.
    """
    noise = noise_of(47)
    key, nonce = noise.randbytes(32), noise.randbytes(16)
    found = {}
    for counter in (0, 1):
        for size in (8, 12):
            stream = reference_ciphers.chacha20(key, nonce[:size], counter, _BLOCK)
            found[stream] = ("ChaCha20", size, counter)
    found[reference_ciphers.salsa20(key, nonce[:8], _BLOCK)] = ("Salsa20", 8, 0)
    return key, nonce, found


def cipher_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise a stream cipher in a function of key, nonce and message.

    Each attempt passes the arguments in another order.
    """
    pattern = kinds(bench, name)
    pointers = pattern.count("p")
    if pointers not in (3, 4) or len(pattern) > 7 or pattern.count("i") == 0:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    regions = (DATA, OUT, KEY, NONCE) if pointers == 4 else (DATA, KEY, NONCE)  # noqa: PLR2004
    for order, values in product(permutations(regions), _message_lengths(pattern.count("i"))):
        arguments = filled(pattern, [stage.address(at) for at in order], values)
        yield partial(_enciphered, stage, name, arguments, OUT if OUT in order else DATA)


def _enciphered(
    stage: SharedMemoryRun, name: str, arguments: Sequence[int], out: int
) -> dict[str, Any] | None:
    key, nonce, known = _direct_known()

    def run(data: bytes, key: bytes, nonce: bytes) -> bytes:
        stage.start({DATA: data, KEY: key, NONCE: nonce}, zero=(CONTEXT, OUT))
        stage.call(name, arguments)
        return _xored(stage.read(out, len(data)), data)

    entry = known.get(run(_texts()[0][-_MESSAGE:], key, nonce)[:_BLOCK])
    if entry is None:
        return None
    cipher, size, counter = entry
    noise = noise_of(53)
    for _ in range(_TRIALS):
        some, other = noise.randbytes(32), noise.randbytes(16)
        expected = (
            reference_ciphers.chacha20(some, other[:size], counter, _MESSAGE)
            if cipher == "ChaCha20"
            else reference_ciphers.salsa20(some, other[:size], _MESSAGE, counter)
        )
        if run(noise.randbytes(_MESSAGE), some, other) != expected:
            return None
    parameters = {"nonce": f"{8 * size} bits", "counter": f"from {counter}"}
    return _finding(cipher, parameters, _MESSAGE)


def _message_lengths(count: int) -> Iterator[tuple[int, ...]]:
    for at in range(count):
        for other in (0, 1):
            yield tuple(_MESSAGE if one == at else other for one in range(count))


@cache
def _rc4_known(size: int) -> tuple[bytes, bytes]:
    key = noise_of(59).randbytes(32)
    return key, reference_ciphers.rc4(key[:size], _MESSAGE)


def rc4_attempts(bench: Bench, begin: str, work: str) -> Iterator[Attempt]:
    """Yield attempts to recognise RC4 in a pair of functions.

    The function `begin` sets up a key, and `work` computes the key stream. Both can be the same
    function.
    """
    patterns = kinds(bench, begin), kinds(bench, work)
    if patterns[0].count("p") not in (1, 2, 3) or max(map(len, patterns)) > 5:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [begin, work])
    for start, arguments, out in _rc4_arguments(stage, patterns, alone=begin == work):

        def outcome(
            key: bytes,
            data: bytes,
            start: Sequence[int] = start,
            arguments: Sequence[int] | None = arguments,
            out: int = out,
        ) -> bytes:
            stage.start({KEY: key, DATA: data}, zero=(CONTEXT, OUT))
            stage.call(begin, start)
            if arguments is not None:
                stage.call(work, arguments)
            return stage.read(out, len(data))

        for size in (16, 5):
            if size in start:
                yield partial(_rc4, outcome, size)


def _rc4(outcome: Callable[[bytes, bytes], bytes], size: int) -> dict[str, Any] | None:
    """Return a description of RC4 if the function `outcome` computes it, else None.

    `outcome` maps key and message to the encrypted message, or to the key stream. Keys have `size`
    bytes.
    """
    key, expected = _rc4_known(size)
    if outcome(key, bytes(_MESSAGE)) != expected:
        return None
    noise = noise_of(61)
    some = [(noise.randbytes(32), noise.randbytes(_MESSAGE)) for _ in range(_TRIALS)]
    expected_streams = [reference_ciphers.rc4(one[:size], _MESSAGE) for one, _ in some]
    outputs = [outcome(one, text) for one, text in some]
    parameters = {"key": "any length"}
    if outputs == expected_streams:
        parameters["outcome"] = "key stream"
    elif [
        _xored(one, text) for one, (_, text) in zip(outputs, some, strict=True)
    ] != expected_streams:
        return None
    return _finding("RC4", parameters, _MESSAGE)


def _rc4_arguments(
    stage: SharedMemoryRun, patterns: tuple[str, str], *, alone: bool
) -> Iterator[tuple[list[int], list[int] | None, int]]:
    context, data, out, key = (stage.address(one) for one in (CONTEXT, DATA, OUT, KEY))
    numbers = patterns[0].count("i")
    if alone and numbers in (2, 3):  # key size, message size, and perhaps a skipped size
        in_place = patterns[0].count("p") == 2  # noqa: PLR2004 - no output pointer
        pointers: Sequence[int] = (data, key) if in_place else (data, out, key)
        for order, size in product(permutations(pointers), (16, 5)):
            for values in permutations((size, _MESSAGE, 0)[:numbers]):
                yield filled(patterns[0], order, values), None, DATA if in_place else OUT
        return
    if alone or numbers not in (1, 2) or patterns[1].count("i") not in (1, 2):
        return
    firsts: list[tuple[int, ...]] = [(context, key), (key, context)]
    if patterns[0].count("p") == 1:
        firsts = [(key,)]
    seconds: dict[int, list[tuple[tuple[int, ...], int]]] = {
        1: [((data,), DATA)],
        2: [((context, data), DATA), ((data, context), DATA), ((data, out), OUT)],
        3: [(one, OUT) for one in permutations((context, data, out))],
    }
    for first, (second, place) in product(firsts, seconds.get(patterns[1].count("p"), [])):
        work = filled(patterns[1], second, [_MESSAGE] * patterns[1].count("i"))
        for values in ((16,),) if numbers == 1 else ((16, 0), (0, 16), (16, 16)):
            yield filled(patterns[0], first, values), work, place


def _finding(name: str, parameters: dict[str, str], length: int) -> dict[str, Any]:
    return finding("cipher", name, parameters, _TRIALS, [length])
