"""Wraps functions that take one byte or word of a message per call, and functions that fill tables.

The wrappers are oracles, which map bytes and a seed to a number. So the functions can be compared
with reference algorithms.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from slowpath.insights.accelerators.proofs.harness import (
    MOST_PARAMETERS,
    Bench,
    BoundFunction,
    InitialBytes,
    Slot,
    noise_of,
    number_for,
)
from slowpath.insights.accelerators.proofs.oracles import (
    ResultLocation,
    SeedLocation,
    result_locations,
    result_name,
    seed_arguments,
    seed_name,
)
from slowpath.insights.native import WINDOW
from slowpath.insights.source.functions import Function

_MOST_BYTES = 64
"""Maximum length of a message in bytes; each byte takes one call."""
_ENTRIES = 256
_WORD, _LONG = ("integer", 32), ("integer", 64)


class Plain:
    """Base class of oracles, with defaults for the attributes that describe data and result."""

    unit = 1
    text = False
    shift = 0
    words = 1
    most = _MOST_BYTES
    fixed: int | None = None
    seed_bits = 0
    seed_name = ""
    bits = 0
    result = ""


class StepOracle(Plain):
    """An oracle for a function that updates a state, such as a CRC, once per byte or word."""

    def __init__(
        self,
        bound: BoundFunction,
        data: int,
        place: ResultLocation,
        seed: SeedLocation | None,
        unit: int,
    ) -> None:
        self._bound, self._data, self._place, self._seed = bound, data, place, seed
        self.unit, self.bits = unit, place.bits
        self.seed_bits = 0 if seed is None else seed.bits
        self.seed_name = "" if seed is None else seed_name(bound, seed)
        self.result = result_name(bound, place)

    def value(self, data: bytes, seed: int = 0) -> int:
        """Return the state after all of `data`; the function is called per byte or word."""
        pieces = [
            int.from_bytes(data[at : at + self.unit], "little")
            for at in range(0, len(data), self.unit)
        ]
        numbers, given = seed_arguments(self._seed, seed)
        state, mask = seed, (1 << self.seed_bits) - 1
        for count, piece in enumerate(pieces):
            numbers[self._data] = piece
            if self._place.memory is None:
                if self._seed is not None and self._seed.parameter is not None:
                    numbers[self._seed.parameter] = state & mask
                state = self._bound.call(numbers=numbers)
            elif count == 0:
                state = self._place.read(self._bound.call(numbers=numbers, given=given))
            else:
                result = self._bound.again(self._bound.addresses(), numbers)
                state = self._place.read(result)
        return state


class WordOracle(Plain):
    """An oracle for a function whose whole message is one numeric argument."""

    def __init__(self, bound: BoundFunction, data: int, size: int, bits: int) -> None:
        self._bound, self._data = bound, data
        self.fixed = self.unit = size
        self.bits = bits
        self.most = size

    def value(self, data: bytes, seed: int = 0) -> int:  # noqa: ARG002 - no seed
        """Return the function's result for the message `data`; the seed is ignored."""
        return self._bound.call(numbers={self._data: int.from_bytes(data, "little")})


class WordsOracle(Plain):
    """An oracle for a function whose message is split into several numeric arguments."""

    def __init__(
        self, bound: BoundFunction, data: Sequence[int], seed: int | None, bits: int
    ) -> None:
        self._bound, self._data, self._seed = bound, data, seed
        parameters = bound.function.parameters
        self._size = parameters[data[0]].bits // 8
        self.fixed = self.unit = self.most = self._size * len(data)
        self.bits = bits
        self.seed_bits = 0 if seed is None else parameters[seed].bits
        self.seed_name = (
            "" if seed is None else seed_name(bound, SeedLocation(self.seed_bits, seed))
        )

    def value(self, data: bytes, seed: int = 0) -> int:
        """Return the function's result for the message `data` and the seed."""
        numbers = {} if self._seed is None else {self._seed: seed}
        for at, number in enumerate(self._data):
            piece = data[at * self._size : (at + 1) * self._size]
            numbers[number] = int.from_bytes(piece, "little")
        return self._bound.call(numbers=numbers)


class TableOracle(Plain):
    """An oracle that maps a byte to an entry of a 256-entry table, which a function filled.

    Tables of a CRC are recognised in this way.
    """

    fixed: int | None = 1
    most = 1

    def __init__(self, table: bytes, size: int) -> None:
        self._table, self._size = table, size
        self.bits = 8 * size

    def value(self, data: bytes, seed: int = 0) -> int:  # noqa: ARG002 - no seed
        """Return the table entry whose index is the byte in `data`; the seed is ignored."""
        at = data[0] * self._size
        return int.from_bytes(self._table[at : at + self._size], "little")


class Stepping(NamedTuple):
    """The roles of the parameters of a function that processes one byte or word per call."""

    binding: tuple[Slot, ...]
    data: int  # index of the parameter that is data
    numbers: tuple[int, ...]  # indices of the remaining numeric parameters


def steppings(function: Function) -> list[Stepping]:
    """Return possible roles for the parameters of a function that takes a byte or word per call."""
    parameters = function.parameters
    numbers = [at for at, one in enumerate(parameters) if one.kind == "integer"]
    if len(parameters) > MOST_PARAMETERS or not numbers or len(numbers) > 4:  # noqa: PLR2004
        return []
    binding = tuple(
        Slot("number") if one.kind == "integer" else Slot("memory" if one.writes else "key")
        for one in parameters
    )
    found = [Stepping(binding, at, tuple(one for one in numbers if one != at)) for at in numbers]
    # Data is likely the narrowest parameter; of equal ones, the last.
    return sorted(found, key=lambda one: (parameters[one.data].bits, -one.data))


def step_oracles(bench: Bench, name: str, stepping: Stepping) -> Iterator[StepOracle | WordOracle]:
    """Yield oracles for a function that takes one byte or word of a message per call.

    They differ in the assumed locations of seed and result, and in the size of the data per call.
    `stepping` has the roles of the parameters.
    """
    bound = BoundFunction(bench, name, stepping.binding)
    parameters = bound.function.parameters
    wide = parameters[stepping.data].bits // 8
    for place in _result_locations(bound, stepping):
        seeds = [SeedLocation(parameters[at].bits, at) for at in stepping.numbers]
        if place.memory is not None:
            seeds = [SeedLocation(place.bits, None, place.memory, place.offset)]
        for seed in seeds:
            for unit in dict.fromkeys((1, wide)):
                if unit:
                    yield StepOracle(bound, stepping.data, place, seed, unit)
        if place.memory is None:
            for size in dict.fromkeys((1, wide)):
                if size:
                    yield WordOracle(bound, stepping.data, size, place.bits)


def _result_locations(bound: BoundFunction, stepping: Stepping) -> Iterator[ResultLocation]:
    noise = noise_of(13)
    bits = bound.function.parameters[stepping.data].bits
    pieces = [{stepping.data: noise.getrandbits(min(8, bits))} for _ in range(5)]
    return result_locations(bound, [partial(bound.call, b"", 0, numbers) for numbers in pieces])


def words_oracles(bench: Bench, name: str) -> Iterator[WordsOracle]:
    """Yield oracles for a function that takes a message as several numeric arguments.

    In some of the oracles, the first or last argument is a seed.
    """
    function = bench.functions[name]
    every = tuple(range(len(function.parameters)))
    wide = {(one.kind, one.bits) for one in function.parameters}
    if not 2 <= len(every) <= MOST_PARAMETERS or wide not in ({_WORD}, {_LONG}):  # noqa: PLR2004
        return
    if not function.result.startswith("i"):
        return
    bound = BoundFunction(bench, name, tuple(Slot("number") for _ in every))
    for data, seed in ((every[:-1], every[-1]), (every, None), (every[1:], every[0])):
        yield WordsOracle(bound, data, seed, int(function.result[1:]))


def table_oracles(bench: Bench, name: str) -> Iterator[TableOracle]:
    """Run a function that fills tables, and yield an oracle for each table of 256 numbers.

    The tables are in an argument's memory or in variables.

    Another function may already have filled a variable, so the variable holds random bytes in the
    first run. Some functions fill a table only once. So in the second run, variables have the
    content that they had before any function ran.
    """
    function = bench.functions[name]
    kinds = [one.kind for one in function.parameters]
    if kinds.count("pointer") > 1 or len(kinds) > 2:  # noqa: PLR2004 - a table and a number
        return
    noise = noise_of(29).randbytes(WINDOW)
    for value in (0, 1) if "integer" in kinds else (0,):
        binding = tuple(
            Slot("memory") if one.kind == "pointer" else Slot("number", number_for(one, value))
            for one in function.parameters
        )
        bound, fresh = (BoundFunction(bench, name, binding, fresh=one) for one in (False, True))
        for memory in bound.memories:
            before = noise[: memory.size]
            bound.call(given=[InitialBytes(memory, 0, before)])
            yield from _tables(before, memory.read())
        for memory in fresh.memories:
            if memory.parameter is None:
                before = bench.fresh[memory.address][: memory.size]
                fresh.call()
                yield from _tables(before, memory.read())


def _tables(before: bytes, after: bytes) -> Iterator[TableOracle]:
    """Yield oracles for a table of 256 numbers in `after`, one for each possible entry size.

    `before` is the content of the same memory before a function ran. Most entries must differ from
    it.
    """
    for size in (4, 2, 1, 8):
        entries = _entries(after, size)
        kept = sum(one == other for one, other in zip(entries, _entries(before, size), strict=True))
        complete = len(after) >= _ENTRIES * size
        if complete and len(set(entries)) > _ENTRIES // 2 and kept < _ENTRIES // 2:
            yield TableOracle(after[: _ENTRIES * size], size)


def _entries(text: bytes, size: int) -> Sequence[bytes]:
    return [text[at : at + size] for at in range(0, _ENTRIES * size, size)]
