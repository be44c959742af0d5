"""Recognises functions that compute known hash functions, such as MurmurHash or SipHash.

The results of a function are compared with those of reference implementations.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import permutations, product
from typing import Any

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
from slowpath.insights.accelerators.proofs.oracles import (
    Oracle,
    Sample,
    evaluate,
    finding,
    samples,
    swap_words,
)
from slowpath.insights.accelerators.proofs.reference_hashes import (
    MIXERS,
    SIMPLE,
    Hash,
    siphash,
    toeplitz,
)
from slowpath.insights.trials import Attempt

_MIN_LENGTH = 4
"""Minimum length in bytes if all messages have one length: on short messages, hashes may coincide.
"""
_COMMON_SEEDS = (
    0,
    1,
    0x9747B28C,
    0xDEADBEEF,
    0x12345678,
    0xBC9F1D34,
    42,
    31,
    17,
    0xEE6B27EB,
    97,
    0x1234,
)
"""Seeds that programs commonly use."""


def prove_hash(oracle: Oracle, constants: Iterable[int]) -> dict[str, Any] | None:
    """Return a description of the known hash that a function computes; None if it computes none.

    `oracle` calls the function. `constants` are numbers in its code, which may be seeds.
    """
    if oracle.fixed is not None and oracle.fixed < _MIN_LENGTH:
        return None
    inputs = list(samples(oracle))
    longer = [one for one in inputs if len(one.data) > 2]  # noqa: PLR2004 - short data is ambiguous
    few = longer[:: max(1, len(longer) // 4)][:4] or inputs[:4]
    if not few:
        return None
    seeds = tuple(dict.fromkeys((*_COMMON_SEEDS, *constants)))
    values = [evaluate(oracle, one._replace(seed=0)) for one in few]
    for one in (*SIMPLE, *MIXERS):
        if one.bits > oracle.bits:
            continue
        found = _seeded(oracle, one, few, inputs)
        if found is None:
            found = _constant(oracle, one, few, values, inputs, seeds)
        if found is not None:
            return found
    return None


def _seeded(
    oracle: Oracle, reference: Hash, few: list[Sample], inputs: list[Sample]
) -> dict[str, Any] | None:
    """Test whether a function computes the hash `reference` with its seed as an argument.

    Return a description of the hash, or None if the results differ. The inputs `few` are tried
    first, then all `inputs`.
    """
    if oracle.seed_bits < reference.bits:
        return None
    mask = (1 << reference.bits) - 1

    def expected(sample: Sample) -> int:
        return reference.of(sample.data, sample.seed & mask)

    return _compared(oracle, reference, few, inputs, expected, oracle.seed_name)


def _constant(  # noqa: PLR0913, PLR0917 - values computed before
    oracle: Oracle,
    reference: Hash,
    few: list[Sample],
    values: list[int],
    inputs: list[Sample],
    seeds: tuple[int, ...],
) -> dict[str, Any] | None:
    """Test whether a function computes the hash `reference` with a constant seed.

    Return a description of the hash, or None if the results differ. `values` are the function's
    results for the inputs `few`; `inputs` are all inputs, and `seeds` the constants to try. If the
    function has a seed argument, 0 is passed.
    """
    starts = (reference.start, *seeds) if reference.start is not None else seeds
    if reference.stepwise and oracle.fixed is None:
        starts = (*starts, oracle.value(b""))  # the hash of empty data is the seed
    for seed in starts:
        seed &= (1 << reference.bits) - 1  # noqa: PLW2901
        if reference.of(few[0].data, seed) != values[0]:
            continue

        def expected(sample: Sample, seed: int = seed) -> int:
            return reference.of(sample.data, seed)

        found = _compared(oracle, reference, few, inputs, expected, hex(seed))
        if found is not None:
            return found
    return None


def _compared(  # noqa: PLR0913, PLR0917 - both sides of a comparison
    oracle: Oracle,
    reference: Hash,
    few: list[Sample],
    inputs: list[Sample],
    expected: Callable[[Sample], int],
    seed: str,
) -> dict[str, Any] | None:
    constant = seed != oracle.seed_name

    def agrees(sample: Sample) -> bool:
        unseeded = sample._replace(seed=0) if constant else sample
        return evaluate(oracle, unseeded) == expected(sample)

    if not all(map(agrees, few)):
        return None
    checked = list[Sample]()
    for sample in inputs:
        if not agrees(sample):
            break
        checked.append(sample)
    if len(checked) < min(len(inputs), 120):
        return None
    lengths = [len(sample.data) for sample in checked]
    parameters = {"bits": str(reference.bits), "seed": seed}
    return finding("hash", reference.name, parameters, len(checked), lengths)


_KEY_BYTES = 128
_SIZES = (*range(4, 41, 4), 8, 9, 15, 16, 31)
_TOEPLITZ_SIZES = (4, 8, 12, 16, 32, 36)
"""Sizes in bytes of data for receive-side scaling: whole words."""
_LENGTH = 12
Call = Callable[[bytes, bytes], int]


def keyed_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise a hash with a key, such as SipHash, in the function `name`.

    The function takes data, length and key; each attempt assumes another order of these arguments.
    """
    pattern = kinds(bench, name)
    result = bench.functions[name].result
    if not 1 <= pattern.count("p") <= 3 or len(pattern) > 6:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    for call, bits in _calls(stage, name, pattern, result):
        yield partial(_siphash, call, bits)
        yield partial(_toeplitz, call, bits)


def _calls(
    stage: SharedMemoryRun, name: str, pattern: str, result: str
) -> Iterator[tuple[Call, int]]:
    """Yield ways to call a function that computes a hash with a key.

    Each comes with the width of the result in bits. `pattern` has a letter for each parameter: p
    (pointer) or i (integer). `result` is the type of the return value.
    """
    regions: dict[int, list[tuple[int, ...]]] = {
        1: [(DATA,)],
        2: [(DATA, KEY), (DATA, OUT)],
        3: [(DATA, KEY, OUT)],
    }
    count = pattern.count("i")
    for used in regions[pattern.count("p")]:
        for order in permutations(used):
            for places in _number_meanings(count, keyed=KEY in used):
                yield _call(stage, name, pattern, order, places), 64
                if result.startswith("i") and OUT not in used:
                    yield _call(stage, name, pattern, order, places, returned=True), int(result[1:])


Numbers = tuple[str, ...]
"""Meaning of each numeric argument: `length`, `words`, a constant, or half of the key (`low`,
`high`).
"""


def _number_meanings(count: int, *, keyed: bool) -> Iterator[Numbers]:
    if keyed:
        for places in product(("length", "words", "8", "2", "4"), repeat=count):
            if "length" in places or "words" in places:
                yield places
    elif count >= 2:  # noqa: PLR2004 - both halves of a key
        words = ["low", "high", *["length"] * (count > 2)]  # noqa: PLR2004
        yield from dict.fromkeys(permutations(words)) if count == len(words) else ()


def _call(  # noqa: PLR0913 - a way to call
    stage: SharedMemoryRun,
    name: str,
    pattern: str,
    order: Sequence[int],
    places: Numbers,
    *,
    returned: bool = False,
) -> Call:
    def call(data: bytes, key: bytes) -> int:
        meanings = {
            "length": len(data),
            "words": len(data) // 4,
            "low": int.from_bytes(key[:8], "little"),
            "high": int.from_bytes(key[8:16], "little"),
        }
        stage.start({DATA: data, KEY: key}, zero=(CONTEXT, OUT))
        numbers = [meanings[one] if one in meanings else int(one) for one in places]
        result = stage.call(name, filled(pattern, [stage.address(at) for at in order], numbers))
        return result if returned else int.from_bytes(stage.read(OUT, 8), "little")

    return call


def _siphash(call: Call, bits: int) -> dict[str, Any] | None:
    if bits < 64:  # noqa: PLR2004 - width of SipHash
        return None
    noise = noise_of(67)
    for each, last in ((2, 4), (1, 3)):

        def agrees(size: int, each: int = each, last: int = last) -> bool:
            data, key = noise.randbytes(size), noise.randbytes(_KEY_BYTES)
            return call(data, key) == siphash(data, key, each, last)

        if all(agrees(size) for size in (_LENGTH, *_SIZES * 4)):
            parameters = {"key": "128 bits", "bits": "64"}
            return finding(
                "hash", f"SipHash-{each}-{last}", parameters, len(_SIZES) * 4, list(_SIZES)
            )
    return None


def _toeplitz(call: Call, bits: int) -> dict[str, Any] | None:
    if bits < 32:  # noqa: PLR2004 - width of Toeplitz
        return None
    noise = noise_of(71)
    for swap_data, swap_key in product((False, True), repeat=2):

        def agrees(size: int, swap_data: bool = swap_data, swap_key: bool = swap_key) -> bool:
            data, key = noise.randbytes(size), noise.randbytes(_KEY_BYTES)
            expected = toeplitz(
                swap_words(data) if swap_data else data, swap_words(key) if swap_key else key
            )
            return call(data, key) & 0xFFFFFFFF == expected

        if all(agrees(size) for size in (_LENGTH, *_TOEPLITZ_SIZES * 8)):
            parameters = {"words": "host order" if swap_data else "network order"}
            if swap_key:
                parameters["key words"] = "host order"
            return finding(
                "hash", "Toeplitz", parameters, len(_TOEPLITZ_SIZES) * 8, list(_TOEPLITZ_SIZES)
            )
    return None
