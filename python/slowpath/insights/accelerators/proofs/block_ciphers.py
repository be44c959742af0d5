"""Recognises functions that compute the block ciphers AES, DES, triple DES, TEA or XTEA.

A function is called with one key and block, and its output is searched among the outputs of all
known ciphers. The matching cipher is then compared with the function on many keys and blocks.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import permutations, product
from typing import Any, NamedTuple

from slowpath.insights.accelerators.proofs.harness import (
    CONTEXT,
    DATA,
    KEY,
    OUT,
    Bench,
    SharedMemoryRun,
    filled,
    kinds,
    noise_of,
)
from slowpath.insights.accelerators.proofs.oracles import finding, swap_words
from slowpath.insights.accelerators.proofs.reference_ciphers import (
    AES_KEY_SIZES,
    AES_SIZE,
    DES_SIZE,
    TEA_SIZE,
    aes_decrypt,
    aes_encrypt,
    des_decrypt,
    des_encrypt,
    schedule,
    tea_decrypt,
    tea_encrypt,
    xtea_decrypt,
    xtea_encrypt,
)
from slowpath.insights.trials import Attempt

_TRIALS = 24
_NUMBER_VALUES = (0, 1, 16, 128, 32, 256, 10, 14, 8, 24, 192, 12, 4, 64)
"""Values to try for one numeric argument: sizes of keys and blocks, rounds, directions."""
_FEW_VALUES = (0, 1, 16, 8, 128, 32)
_DIRECTIONS = (0, 1, ord("e"), ord("d"), 2)
"""Values of an argument that says whether to encrypt or to decrypt."""
_KEY_BYTES = 32
_STARTS = 6
"""Maximum number of argument lists for a key set-up that later attempts use."""


class Cipher(NamedTuple):
    """A block cipher with a fixed key size, direction and byte order of words.

    The direction is encryption or decryption.
    """

    name: str
    size: int
    key: int
    apply: Callable[[bytes, bytes], bytes]
    parameters: tuple[tuple[str, str], ...]


@cache
def known_ciphers() -> tuple[Cipher, ...]:
    """Return all combinations of a known cipher, key size, direction and byte order.

    Functions of the program are compared with each of them.
    """
    found = list[Cipher]()
    plain = (
        *(("AES", AES_SIZE, key, aes_encrypt, aes_decrypt) for key in AES_KEY_SIZES),
        ("DES", DES_SIZE, 8, des_encrypt, des_decrypt),
        *(("Triple DES", DES_SIZE, key, des_encrypt, des_decrypt) for key in (24, 16)),
        ("TEA", TEA_SIZE, 16, tea_encrypt, tea_decrypt),
        ("XTEA", TEA_SIZE, 16, xtea_encrypt, xtea_decrypt),
    )
    for name, size, key, encrypt, decrypt in plain:
        for direction, apply in (("encrypt", encrypt), ("decrypt", decrypt)):
            for swapped in (False, True):
                found.append(_cipher(name, size, key, direction, apply, swapped=swapped))
    return tuple(found)


def _cipher(  # noqa: PLR0913 - properties of a cipher
    name: str,
    size: int,
    key: int,
    direction: str,
    apply: Callable[[bytes, bytes], bytes],
    *,
    swapped: bool,
) -> Cipher:
    def swapping(block: bytes, text: bytes) -> bytes:
        return swap_words(apply(swap_words(block), swap_words(text)))

    parameters = [("key", f"{8 * key} bits"), ("direction", direction)]
    little = swapped != (name in ("TEA", "XTEA"))
    if swapped or name in ("TEA", "XTEA"):
        parameters.append(("words", "little endian" if little else "big endian"))
    shown = f"{name}-{8 * key}" if name == "AES" else name
    return Cipher(shown, size, key, swapping if swapped else apply, tuple(parameters))


class Case(NamedTuple):
    """A key and a data block, with which functions and known ciphers are compared."""

    key: bytes
    block: bytes


@cache
def _known() -> tuple[Case, dict[bytes, Cipher]]:
    """Return a random key and block, and a map from each cipher's output for them to the cipher.

    The map identifies the cipher that a function may compute from a single output.
    """
    noise = noise_of(29)
    case = Case(noise.randbytes(_KEY_BYTES), noise.randbytes(AES_SIZE))
    return case, {
        one.apply(case.block[: one.size], case.key[: one.key]): one for one in known_ciphers()
    }


def prepare() -> None:
    """Compute the outputs of all known ciphers, and cache them.

    Call this once before the processes that call functions are forked, so that they share the
    cache.
    """
    _known()
    schedule(bytes(16))


def direct_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise a cipher in a function that takes pointers to key and block.

    Each attempt assumes another meaning of the function's arguments.
    """
    pattern = kinds(bench, name)
    if pattern.count("p") not in (2, 3) or len(pattern) > 6:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    for order, numbers in product(_orders(pattern), _numbers(pattern.count("i"))):

        def run(case: Case, order: Sequence[int] = order, numbers: Sequence[int] = numbers) -> None:
            stage.start({KEY: case.key, DATA: case.block}, zero=(CONTEXT, OUT))
            stage.call(name, filled(pattern, [stage.address(at) for at in order], numbers))

        yield partial(_identified, stage, run)


def number_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise a cipher in a function whose key and block are 64-bit numbers.

    Each attempt assumes another meaning of the function's arguments.
    """
    function = bench.functions[name]
    wide = [at for at, one in enumerate(function.parameters) if one.bits == 64]  # noqa: PLR2004
    others = [at for at, one in enumerate(function.parameters) if 1 < one.bits < 64]  # noqa: PLR2004
    pattern = kinds(bench, name)
    if function.result != "i64" or len(wide) != 2 or "p" in pattern or len(others) > 1:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    for (block, key), value in product(permutations(wide), _DIRECTIONS if others else (0,)):

        def run(case: Case, block: int = block, key: int = key, value: int = value) -> None:
            arguments = [value] * len(pattern)
            arguments[block] = int.from_bytes(case.block[:8])
            arguments[key] = int.from_bytes(case.key[:8])
            stage.start({}, zero=(CONTEXT, OUT))
            stage.regions[OUT].write(stage.call(name, arguments).to_bytes(8))

        yield partial(_identified, stage, run)


def _orders(pattern: str) -> Iterator[tuple[int, ...]]:
    sets: dict[int, list[tuple[int, ...]]] = {
        2: [(DATA, KEY)],
        3: [(DATA, OUT, KEY), (DATA, CONTEXT, KEY)],
    }
    for one in sets[pattern.count("p")][:1]:
        yield from permutations(one)


def _numbers(count: int) -> Iterator[tuple[int, ...]]:
    if count == 0:
        yield ()
    elif count == 1:
        yield from ((one,) for one in _NUMBER_VALUES)
    else:
        yield from product(_FEW_VALUES, repeat=count)


def start_attempts(bench: Bench, begin: str) -> Iterator[Attempt]:
    """Yield attempts to call the function `begin`, which may set up a key.

    A successful attempt returns the arguments of the call.
    """
    return _keyed(bench, begin, _started)


def _keyed(
    bench: Bench,
    name: str,
    tried: Callable[[SharedMemoryRun, str, list[int]], dict[str, Any] | None],
) -> Iterator[Attempt]:
    """Yield one attempt for each list of arguments with which the function `name` may take a key.

    An attempt calls `tried` with the shared memory, the function's name and the arguments.
    """
    pattern = kinds(bench, name)
    if pattern.count("p") not in (1, 2) or len(pattern) > 4:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    for start in _start_arguments(stage, pattern):
        yield partial(tried, stage, name, start)


def _started(stage: SharedMemoryRun, begin: str, start: list[int]) -> dict[str, Any] | None:
    """Call the function `begin` with two different keys, to test whether it sets up a key.

    `start` are its arguments. Return them with a checksum of the memory that the first call wrote.
    Return None if both keys have the same effect.
    """
    images = []
    for key in (_known()[0].key, bytes(_KEY_BYTES)):
        stage.start({KEY: key}, zero=(CONTEXT, OUT))
        stage.call(begin, start)
        images.append(zlib.crc32(stage.read(CONTEXT, 1024) + stage.variables()))
    return None if images[0] == images[1] else {"start": start, "image": images[0]}


def distinct(found: Iterable[dict[str, Any]]) -> list[list[int]]:
    """Return the argument lists of successful key set-ups, without equivalent ones.

    Of several lists that leave the same content in memory, only one is returned. `found` are the
    results of `_started`.
    """
    by_image = dict[int, list[int]]()
    for one in found:
        by_image.setdefault(one["image"], one["start"])
    return list(by_image.values())[:_STARTS]


def pair_attempts(
    bench: Bench, begin: str, work: str, starts: Sequence[Sequence[int]]
) -> Iterator[Attempt]:
    """Yield attempts to recognise a cipher in a pair of functions.

    The function `begin` sets up a key, and the function `work` uses it on a block. `starts` are
    possible arguments of `begin`.
    """
    pattern = kinds(bench, work)
    if pattern.count("p") not in (1, 2, 3) or len(pattern) > 5:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [begin, work])
    for start, arguments in product(starts, _work_arguments(stage, pattern)):

        def run(
            case: Case,
            start: Sequence[int] = start,
            arguments: Sequence[int] = arguments,
            zero: Sequence[int] = (CONTEXT, OUT),
        ) -> None:
            stage.start({KEY: case.key, DATA: case.block}, zero=zero)
            stage.call(begin, start)
            stage.call(work, arguments)

        # The result must not depend on memory that the key set-up does not write.
        yield partial(_identified, stage, run, partial(run, zero=(OUT,)))


def _start_arguments(stage: SharedMemoryRun, pattern: str) -> Iterator[list[int]]:
    context, key = stage.address(CONTEXT), stage.address(KEY)
    orders = [(context, key), (key, context)] if pattern.count("p") > 1 else [(key,)]
    for order, numbers in product(orders, _numbers(pattern.count("i"))):
        yield filled(pattern, order, numbers)


def _work_arguments(stage: SharedMemoryRun, pattern: str) -> Iterator[list[int]]:
    context, data, out = (stage.address(one) for one in (CONTEXT, DATA, OUT))
    orders: dict[int, list[tuple[int, ...]]] = {
        1: [(data,)],
        2: [(context, data), (data, context), (data, out), (out, data)],
        3: list(permutations((context, data, out))),
    }
    for order, numbers in product(orders[pattern.count("p")], _numbers(pattern.count("i"))):
        yield filled(pattern, order, numbers)


def _identified(
    stage: SharedMemoryRun, run: Callable[[Case], None], again: Callable[[Case], None] | None = None
) -> dict[str, Any] | None:
    """Return a description of the known cipher that `run` computes; None if it computes none.

    `run` calls a function of the program with a key and a block, and leaves its output in the
    memory of `stage`. If `again` is given, it must compute the same cipher. Use it for a second
    call without a new key set-up.
    """
    case, known = _known()
    run(case)
    for region in (OUT, DATA):
        text = stage.read(region, AES_SIZE)
        for size in (AES_SIZE, DES_SIZE):
            cipher = known.get(text[:size])
            if cipher is None or cipher.size != size:
                continue
            runs = (run,) if again is None else (run, again)
            if all(_agrees(stage, one, cipher, region) for one in runs):
                parameters = dict(cipher.parameters)
                return finding("cipher", cipher.name, parameters, _TRIALS, [cipher.size])
    return None


def _agrees(
    stage: SharedMemoryRun, run: Callable[[Case], None], cipher: Cipher, region: int
) -> bool:
    noise = noise_of(31)
    for _ in range(_TRIALS):
        case = Case(noise.randbytes(_KEY_BYTES), noise.randbytes(AES_SIZE))
        run(case)
        expected = cipher.apply(case.block[: cipher.size], case.key[: cipher.key])
        if stage.read(region, cipher.size) != expected:
            return False
    return True


def schedule_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise a function that expands an AES key to round keys in memory."""
    return _keyed(bench, name, _scheduled)


def _scheduled(stage: SharedMemoryRun, name: str, start: Sequence[int]) -> dict[str, Any] | None:
    case, _ = _known()

    def memory(key: bytes) -> bytes:
        stage.start({KEY: key}, zero=(CONTEXT, OUT))
        stage.call(name, start)
        return stage.read(CONTEXT, 1024) + stage.read(KEY, 512)

    text = memory(case.key)
    noise = noise_of(37)
    for size, swapped in product(AES_KEY_SIZES, (False, True)):

        def expected(key: bytes, size: int = size, swapped: bool = swapped) -> bytes:
            keys = schedule(key[:size])
            return swap_words(keys) if swapped else keys

        position = text.find(expected(case.key))
        if position < 0:
            continue
        keys = [noise.randbytes(_KEY_BYTES) for _ in range(_TRIALS)]
        if all(memory(key)[position:].startswith(expected(key)) for key in keys):
            order = "little endian" if swapped else "as bytes"
            parameters = {"key": f"{8 * size} bits", "words": order}
            name = f"AES-{8 * size} key schedule"
            return finding("cipher", name, parameters, _TRIALS, [size])
    return None
