"""Functions of bytes and a seed, independent of their C signature."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from slowpath.insights.accelerators.harness.bench import (
    BoundFunction,
    InitialBytes,
    Memory,
    noise_of,
)
from slowpath.insights.accelerators.harness.signatures import Interpretation
from slowpath.insights.sandbox.native import differing_ranges

_PROBE = 8
"""Number of data elements in a first call."""
_MOST_BYTES = 4096
_CONTENTS = 2
"""Number of other memory contents to try, as one may give the same result by chance."""


class Oracle(Protocol):
    """A function of bytes, and of a seed if it takes one."""

    bits: int
    """Width of the result in bits."""
    unit: int
    """The length of data is a multiple of this number of bytes."""
    fixed: int | None
    """The only length of data in bytes; None: any."""
    most: int
    """Largest length of data in bytes."""
    text: bool
    """True if data must not contain a zero byte."""
    seed_bits: int
    """Width of the seed in bits; 0: no seed."""
    seed_name: str
    shift: int
    """Offset of the data from the start of a page in bytes."""
    words: int
    """Declared size in bytes of an element of data, and alignment of its addresses."""
    result: str
    """Location of the result; empty: it is returned."""

    def value(self, data: bytes, seed: int = 0) -> int:
        """Return the result for data and a seed."""


class ResultLocation(NamedTuple):
    """Location of a result: the return value, or bytes of a memory."""

    bits: int
    memory: Memory | None = None
    offset: int = 0

    def read(self, result: int) -> int:
        """Return the result of the last call, which returned `result`."""
        if self.memory is None:
            return result
        return int.from_bytes(self.memory.read(self.bits // 8, self.offset), "little")


class SeedLocation(NamedTuple):
    """Location of a seed: a numeric parameter, or bytes of a memory."""

    bits: int
    parameter: int | None
    memory: Memory | None = None
    offset: int = 0


class DigestOracle:
    """A function of data in memory."""

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
        """Return the result for data and a seed."""
        length = 8 * len(data) // self._unit_bits
        written = data + b"\0" if self.text else data
        numbers, given = seeded(self._seed, seed)
        result = self._bound.call(written, length, numbers, given, self.shift)
        return self._place.read(result)


def seeded(seed: SeedLocation | None, value: int) -> tuple[dict[int, int], list[InitialBytes]]:
    """Return a seed as numbers to pass, and as initial bytes of a memory."""
    if seed is None:
        return {}, []
    if seed.memory is None:
        return {seed.parameter or 0: value}, []
    return {}, [InitialBytes(seed.memory, seed.offset, value.to_bytes(seed.bits // 8, "little"))]


def seed_name(bound: BoundFunction, seed: SeedLocation) -> str:
    """Return the name of a seed in the source."""
    if seed.memory is None:
        return name_of(bound, seed.parameter or 0)
    return memory_name(bound, seed.memory, seed.offset)


def result_name(bound: BoundFunction, place: ResultLocation) -> str:
    """Return the location of a result in terms of the source; empty if it is returned."""
    return "" if place.memory is None else f"in {memory_name(bound, place.memory, place.offset)}"


def memory_name(bound: BoundFunction, memory: Memory, offset: int) -> str:
    """Return the name of bytes of a memory in the source."""
    if memory.parameter is None:
        named = f"the variable {memory.variable}"
        return named if not offset else f"{named} + {offset}"
    name = name_of(bound, memory.parameter)
    return f"*{name}" if not offset else f"{name} + {offset}"


def digest_oracles(bound: BoundFunction, reading: Interpretation) -> Iterator[DigestOracle]:
    """Yield oracles that fit a function of data; none if data does not matter."""
    extent = _extent(bound, reading)
    if extent is None:
        return
    unit_bits, fixed = extent
    parameters = bound.function.parameters
    seeds = [
        SeedLocation(parameters[at].bits, at) for at in reading.numbers if parameters[at].bits > 1
    ]
    for place in _places(bound, reading, unit_bits, fixed):
        inside = list[SeedLocation | None](seeds)
        if place.memory is not None:
            inside = [SeedLocation(place.bits, None, place.memory, place.offset), *inside]
        for seed in (*inside, None):
            yield DigestOracle(bound, reading, place, seed=seed, unit_bits=unit_bits, fixed=fixed)


def outcomes(bound: BoundFunction, data: bytes, length: int) -> tuple[int, list[bytes]]:
    """Call a function; return its return value, and the content of its memories."""
    result = bound.call(data, length)
    return result, [memory.read() for memory in bound.memories]


def _extent(  # noqa: PLR0911 - one for each way in which data can end
    bound: BoundFunction, reading: Interpretation
) -> tuple[int, int | None] | None:
    """Return the unit of the length in bits, and the only length in bytes or None.

    Return None if data does not matter.
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
        return None  # the result depends on something else too
    if reading.extent in ("text", "end"):
        return (8, None) if outcome(0) != before and outcome(_PROBE - 1) != before else None
    if reading.extent == "fixed":
        matters = [at for at in range(128) if outcome(at) != before]
        if not matters or len(matters) < (matters[-1] + 1) // 2:
            return None
        return 8, matters[-1] + 1
    for size in (8, 4, 2, 1):
        if outcome(_PROBE * size - 1) != before:
            beyond = outcome(_PROBE * size) != before or outcome(_PROBE * size + 1) != before
            if beyond or (size == 1 and outcome(0) == before):
                return None
            return 8 * size, None
    # The length counts bits: 8 of them are the first byte.
    if outcome(0) != before and outcome(None, 2 * _PROBE) != before:
        return 1, None
    return None


def _places(
    bound: BoundFunction, reading: Interpretation, unit_bits: int, fixed: int | None
) -> Iterator[ResultLocation]:
    """Yield locations of a result that depends on the data."""
    noise = noise_of(11)
    size = fixed or max(1, _PROBE * unit_bits // 8)
    length = 8 * size // unit_bits
    behind = b"" if reading.extent == "end" else bytes(8)
    texts = [bytes(noise.randrange(1, 256) for _ in range(size)) + behind for _ in range(4)]
    return places(bound, [partial(bound.call, text, length, None) for text in texts])


def places(
    bound: BoundFunction, calls: Sequence[Callable[[Sequence[InitialBytes]], int]]
) -> Iterator[ResultLocation]:
    """Yield locations of a result that differs between calls with different data.

    The return value comes first, because callers regard it as the result. But memory comes first if
    the return value depends on earlier content of written memory. Such memory is a register that a
    call continues, and the return value has no initial value of its own.
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
    inside = [place for one in written for place in fields(*one)]
    if bound.function.result in ("void", "pointer") or len({one[0] for one in seen}) == 1:
        yield from inside
        return
    returned = ResultLocation(int(bound.function.result[1:]))
    noise = noise_of(17)
    others = [
        [InitialBytes(memory, offset, noise.randbytes(width)) for memory, offset, width in written]
        for _ in range(_CONTENTS if written else 0)
    ]
    continued = any(calls[0](given) != seen[0][0] for given in others)
    yield from (*inside, returned) if continued else (returned, *inside)


def varying(texts: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the ranges in which some text differs from the first one."""
    joined = bytearray(len(texts[0]))
    for one in texts[1:]:
        for offset, size in differing_ranges(texts[0], one):
            joined[offset : offset + size] = b"\1" * size
    return differing_ranges(bytes(len(joined)), bytes(joined))


def fields(memory: Memory, offset: int, width: int) -> Iterator[ResultLocation]:
    """Yield the numbers that a range of memory may hold."""
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
    """Return the name of a parameter in the source."""
    described = bound.function.parameters[at].described
    return described.name if described and described.name else f"argument {at + 1}"


def _pointee(bound: BoundFunction, at: int) -> int:
    described = bound.function.parameters[at].described
    return described.size if described and described.size in (1, 2, 4, 8) else 1


class WholeWordOracle:
    """An oracle whose data has whole 16-bit words only."""

    fixed: int | None = None
    unit = 2

    def __init__(self, oracle: Oracle) -> None:
        """Wrap an oracle that takes data of any length."""
        self._oracle = oracle
        self.bits, self.most, self.text = oracle.bits, oracle.most, oracle.text
        self.seed_bits, self.seed_name = oracle.seed_bits, oracle.seed_name
        self.words, self.result = oracle.words, oracle.result
        self.shift = 0

    def value(self, data: bytes, seed: int = 0) -> int:
        """Return the result for data and a seed."""
        self._oracle.shift = self.shift
        return self._oracle.value(data, seed)
