"""Wraps functions of a program as oracles, which map bytes and a seed to a number.

An oracle hides the C signature of its function, so that all functions are compared with reference
algorithms in the same way. This module also generates the inputs for the comparison.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from slowpath.insights.accelerators.proofs.harness import (
    BoundFunction,
    InitialBytes,
    Interpretation,
    Memory,
    Noise,
    noise_of,
)
from slowpath.insights.native import differing_ranges

_PROBE = 8
"""Length of the data in a first call, in elements."""
_MOST_BYTES = 4096
_CONTENTS = 2
"""Number of further memory contents to try, because results may be equal by chance."""


class Oracle(Protocol):
    """A function of the program, wrapped so that it maps bytes and a seed to a number.

    The reference algorithms, such as checksums, have the same interface. `seed_bits` is 0 if the
    function has no seed.
    """

    bits: int
    """Width of the result in bits."""
    unit: int
    """The length of the data in bytes must be a multiple of this number."""
    fixed: int | None
    """The only length of data in bytes that the function accepts; None if it accepts several
    lengths.
    """
    most: int
    """Maximum length of data in bytes."""
    text: bool
    """True if data must not contain a zero byte."""
    seed_bits: int
    """Width of the seed in bits; 0 without a seed."""
    seed_name: str
    shift: int
    """Offset of the data from the start of a page in bytes."""
    words: int
    """Declared size in bytes of an element of data; it is also the alignment of the data."""
    result: str
    """Describes where the function stores its result; empty if it returns the result."""

    def value(self, data: bytes, seed: int = 0) -> int:
        """Return the function's result for `data` and `seed`."""


class ResultLocation(NamedTuple):
    """Location of a function's result: its return value, or bytes of memory that it writes."""

    bits: int
    memory: Memory | None = None
    offset: int = 0

    def read(self, result: int) -> int:
        """Return the function's result as a number, after a call that returned `result`."""
        if self.memory is None:
            return result
        return int.from_bytes(self.memory.read(self.bits // 8, self.offset), "little")


class SeedLocation(NamedTuple):
    """Location of a function's seed: a numeric parameter, or bytes of memory."""

    bits: int
    parameter: int | None
    memory: Memory | None = None
    offset: int = 0


class DigestOracle:
    """An oracle for a function that takes a pointer to its data."""

    def __init__(  # noqa: PLR0913 - facts about one function
        self,
        bound: BoundFunction,
        reading: Interpretation,
        place: ResultLocation,
        *,
        seed: SeedLocation | None,
        unit_bits: int,
        fixed: int | None,
    ) -> None:
        self._bound, self._place, self._seed = bound, place, seed
        self.bits = place.bits
        self._unit_bits = unit_bits
        self.unit = max(1, unit_bits // 8)
        self.fixed = fixed
        self.text = reading.extent == "text"
        self.seed_bits = 0 if seed is None else seed.bits
        self.seed_name = "" if seed is None else seed_name(bound, seed)
        self.shift = 0
        self.words = max(1, _pointee(bound, reading.data))
        self.result = result_name(bound, place)
        self.most = fixed or _longest(bound, unit_bits)

    def value(self, data: bytes, seed: int = 0) -> int:
        """Return the function's result for `data` and `seed`."""
        length = 8 * len(data) // self._unit_bits
        written = data + b"\0" if self.text else data
        numbers, given = seed_arguments(self._seed, seed)
        result = self._bound.call(written, length, numbers, given, self.shift)
        return self._place.read(result)


def seed_arguments(
    seed: SeedLocation | None, value: int
) -> tuple[dict[int, int], list[InitialBytes]]:
    """Convert a seed to arguments of a function.

    `seed` is the location of the seed, and `value` its value. Return numeric arguments by parameter
    index, and bytes to write to memory before the call; one of the two is empty.
    """
    if seed is None:
        return {}, []
    if seed.memory is None:
        return {seed.parameter or 0: value}, []
    return {}, [InitialBytes(seed.memory, seed.offset, value.to_bytes(seed.bits // 8, "little"))]


def seed_name(bound: BoundFunction, seed: SeedLocation) -> str:
    """Return the name of the seed in the source code, for a report."""
    if seed.memory is None:
        return name_of(bound, seed.parameter or 0)
    return memory_name(bound, seed.memory, seed.offset)


def result_name(bound: BoundFunction, place: ResultLocation) -> str:
    """Describe the location of a function's result by names in the source code.

    Return an empty text for the return value.
    """
    return "" if place.memory is None else f"in {memory_name(bound, place.memory, place.offset)}"


def memory_name(bound: BoundFunction, memory: Memory, offset: int) -> str:
    """Return a C expression for the byte at `offset` in `memory`, such as `state + 8`.

    It uses the names of parameters and variables in the source code.
    """
    if memory.parameter is None:
        named = f"the variable {memory.variable}"
        return named if not offset else f"{named} + {offset}"
    name = name_of(bound, memory.parameter)
    return f"*{name}" if not offset else f"{name} + {offset}"


def digest_oracles(bound: BoundFunction, reading: Interpretation) -> Iterator[DigestOracle]:
    """Yield oracles for a function that takes a pointer to its data.

    `reading` assigns roles to the parameters. Each oracle assumes another location of result and
    seed. Nothing is yielded if no result depends on the data.
    """
    extent = _extent(bound, reading)
    if extent is None:
        return
    unit_bits, fixed = extent
    parameters = bound.function.parameters
    seeds = [
        SeedLocation(parameters[at].bits, at) for at in reading.numbers if parameters[at].bits > 1
    ]
    for place in _result_locations(bound, reading, unit_bits, fixed):
        inside = list[SeedLocation | None](seeds)
        if place.memory is not None:
            inside = [SeedLocation(place.bits, None, place.memory, place.offset), *inside]
        for seed in (*inside, None):
            yield DigestOracle(bound, reading, place, seed=seed, unit_bits=unit_bits, fixed=fixed)


def outcomes(bound: BoundFunction, data: bytes, length: int) -> tuple[int, list[bytes]]:
    """Call a function with `data` and `length`; return its return value and what it wrote.

    The second part is the content of each memory that the function may write.
    """
    result = bound.call(data, length)
    return result, [memory.read() for memory in bound.memories]


def _extent(  # noqa: PLR0911 - one for each way in which data can end
    bound: BoundFunction, reading: Interpretation
) -> tuple[int, int | None] | None:
    """Find out by calls how a function counts the length of its data.

    Return the bits that one unit of the length argument stands for, such as 8 if it counts bytes.
    Also return the length in bytes if the function always reads the same amount of data, else None.

    Return None instead of the pair if the result does not depend on the data.
    """
    noise = noise_of(7)
    data = bytearray(noise.randrange(1, 256) for _ in range(256))
    text = reading.extent == "text"

    def outcome(flipped: int | None, length: int = _PROBE) -> tuple[int, list[bytes]]:
        given = bytearray(data)
        if flipped is not None:
            given[flipped] ^= 0x55 if given[flipped] != 0x55 else 0x33  # noqa: PLR2004
        if text:
            given = given[:_PROBE] + b"\0"
        if reading.extent == "end":
            given = given[:_PROBE]
        return outcomes(bound, bytes(given), length)

    before = outcome(None)
    if outcome(None) != before:
        return None  # equal calls give different results
    if reading.extent in ("text", "end"):
        return (8, None) if outcome(0) != before and outcome(_PROBE - 1) != before else None
    if reading.extent == "fixed":
        matters = [at for at in range(128) if outcome(at) != before]
        if not matters or len(matters) < (matters[-1] + 1) // 2:
            return None
        return 8, matters[-1] + 1
    for size in (8, 4, 2, 1):
        if outcome(_PROBE * size - 1) != before:
            reads_beyond = outcome(_PROBE * size) != before or outcome(_PROBE * size + 1) != before
            if reads_beyond or (size == 1 and outcome(0) == before):
                return None
            return 8 * size, None
    # The length counts bits: a length of 8 includes only the first byte.
    if outcome(0) != before and outcome(None, 2 * _PROBE) != before:
        return 1, None
    return None


def _result_locations(
    bound: BoundFunction, reading: Interpretation, unit_bits: int, fixed: int | None
) -> Iterator[ResultLocation]:
    """Yield the locations, in memory or the return value, of results that depend on the data.

    `unit_bits` are the bits for which one unit of the length argument stands. `fixed` is the length
    in bytes if the function always reads the same amount of data.
    """
    noise = noise_of(11)
    size = fixed or max(1, _PROBE * unit_bits // 8)
    length = 8 * size // unit_bits
    padding = b"" if reading.extent == "end" else bytes(8)
    texts = [bytes(noise.randrange(1, 256) for _ in range(size)) + padding for _ in range(4)]
    return result_locations(bound, [partial(bound.call, text, length, None) for text in texts])


def result_locations(
    bound: BoundFunction, calls: Sequence[Callable[[Sequence[InitialBytes]], int]]
) -> Iterator[ResultLocation]:
    """Yield the locations in which a function may store its result.

    These are locations whose content differs between `calls`, which pass different data. The return
    value comes first, because callers regard it as the result. But memory comes first if the return
    value depends on the previous content of written memory. Such memory holds the state of a
    computation that each call continues.
    """
    seen = list[tuple[int, list[bytes]]]()
    for call in calls:
        result = call(())
        seen.append((result, [memory.read() for memory in bound.memories]))
    written = [
        (memory, offset, width)
        for number, memory in enumerate(bound.memories)
        for offset, width in varying([one[1][number] for one in seen])
    ]
    in_memory = [place for one in written for place in integer_locations(*one)]
    if bound.function.result in ("void", "pointer") or len({one[0] for one in seen}) == 1:
        yield from in_memory
        return
    returned = ResultLocation(int(bound.function.result[1:]))
    noise = noise_of(17)
    others = [
        [InitialBytes(memory, offset, noise.randbytes(width)) for memory, offset, width in written]
        for _ in range(_CONTENTS if written else 0)
    ]
    continued = any(calls[0](given) != seen[0][0] for given in others)
    yield from (*in_memory, returned) if continued else (returned, *in_memory)


def varying(texts: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the ranges (offset, size) in which any of `texts` differs from the first one."""
    joined = bytearray(len(texts[0]))
    for one in texts[1:]:
        for offset, size in differing_ranges(texts[0], one):
            joined[offset : offset + size] = b"\1" * size
    return differing_ranges(bytes(len(joined)), bytes(joined))


def integer_locations(memory: Memory, offset: int, width: int) -> Iterator[ResultLocation]:
    """Yield the aligned integers in `memory` that may contain a result.

    The result changed the `width` bytes from `offset`.
    """
    for size in (1, 2, 4, 8):
        start = offset // size * size
        if start + size >= offset + width and (size == 1 or width > size // 2):
            yield ResultLocation(8 * size, memory, start)
            return
    if width <= 16:  # noqa: PLR2004 - two numbers side by side
        for size in (4, 8):
            for at in range(offset // size * size, offset + width, size):
                yield ResultLocation(8 * size, memory, at)


def _longest(bound: BoundFunction, unit_bits: int) -> int:
    for at, slot in enumerate(bound.binding):
        if slot.role == "length":
            bits = bound.function.parameters[at].bits
            return min(_MOST_BYTES, ((1 << (bits - 1)) - 1) * unit_bits // 8)
    return _MOST_BYTES


def name_of(bound: BoundFunction, at: int) -> str:
    """Return the name of parameter number `at` in the source code, or `argument N` without one."""
    described = bound.function.parameters[at].described
    return described.name if described and described.name else f"argument {at + 1}"


def _pointee(bound: BoundFunction, at: int) -> int:
    described = bound.function.parameters[at].described
    return described.size if described and described.size in (1, 2, 4, 8) else 1


class WholeWordOracle:
    """An oracle that accepts only data of whole 16-bit words.

    Use it for functions that treat an odd last byte in an unusual way.
    """

    fixed: int | None = None
    unit = 2

    def __init__(self, oracle: Oracle) -> None:
        """Restrict `oracle`, which accepts data of any length, to whole 16-bit words."""
        self._oracle = oracle
        self.bits, self.most, self.text = oracle.bits, oracle.most, oracle.text
        self.seed_bits, self.seed_name = oracle.seed_bits, oracle.seed_name
        self.words, self.result = oracle.words, oracle.result
        self.shift = 0

    def value(self, data: bytes, seed: int = 0) -> int:
        """Return the function's result for `data` and `seed`."""
        self._oracle.shift = self.shift
        return self._oracle.value(data, seed)


# --- inputs ---------------------------------------------------------------------------------------

_SEED = 4116
_SHORT, _MIDDLE = 40, 300
_LONG = (511, 512, 1000, 1024, 2047, 4096)
_FIXED = 256
"""Number of inputs for a function whose data has one fixed length."""
_SHORT_REPETITIONS = 3


class Sample(NamedTuple):
    """An input for a function: data, seed, and offset of the data in bytes from a page start."""

    data: bytes
    seed: int
    shift: int


def samples(oracle: Oracle, *, seeds: bool = True) -> Iterator[Sample]:
    """Yield random inputs for a function, short inputs first.

    With `seeds`, each input has a random seed, otherwise 0.
    """
    noise = noise_of(_SEED)
    sizes = [oracle.fixed] * _FIXED if oracle.fixed is not None else _sizes(oracle, noise)
    for size in sizes:
        seed = noise.getrandbits(oracle.seed_bits) if seeds and oracle.seed_bits else 0
        step = oracle.words
        shift = noise.randrange(8) * step if noise.randrange(2) else 0
        yield Sample(some_data(noise, size, text=oracle.text), seed, shift)


def evaluate(oracle: Oracle, sample: Sample) -> int:
    """Call a function with an input, and return its result."""
    oracle.shift = sample.shift
    return oracle.value(sample.data, sample.seed)


def finding(
    kind: str, name: str, parameters: dict[str, str], count: int, lengths: Collection[int]
) -> dict[str, Any]:
    """Return the JSON description of an algorithm that a function was proved to compute.

    `kind` is the kind of accelerator, and `name` the algorithm. The function and a reference gave
    equal results for `count` inputs with these `lengths` in bytes.
    """
    return {
        "kind": kind,
        "algorithm": name,
        "parameters": parameters,
        "inputs": count,
        "lengths": [min(lengths), max(lengths)],
    }


def some_data(noise: Noise, size: int, *, text: bool) -> bytes:
    """Return `size` random bytes to pass to a function.

    Sometimes all bits are 0, or all are 1, so that sums overflow. With `text`, no byte is zero,
    because a zero byte ends a text.
    """
    kind = noise.randrange(16)
    if kind == 0 and not text:
        return bytes(size)
    if kind == 1:
        return b"\xff" * size
    data = noise.randbytes(size)
    return data.replace(b"\0", b"\x80") if text else data


def swap_words(text: bytes, size: int = 4) -> bytes:
    """Reverse the order of the bytes in each word of `text`; a word has `size` bytes."""
    if size == 1:
        return text
    return b"".join(text[at : at + size][::-1] for at in range(0, len(text), size))


def _sizes(oracle: Oracle, noise: Noise) -> list[int]:
    unit = oracle.unit
    short = [size * unit for size in range(1, _SHORT)] * _SHORT_REPETITIONS
    middle = sorted(noise.randrange(_SHORT, _MIDDLE) * unit for _ in range(100))
    long = [size // unit * unit for size in _LONG]
    return [size for size in (*short, *middle, *long) if size <= oracle.most]
