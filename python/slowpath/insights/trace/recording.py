"""Adds up the records of an instrumented run to counts of blocks and memory accesses.

The counts are exact, because each run of a block and each access has a record.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.ma
import numpy.typing as npt

from slowpath.insights.source.layouts import Type, locate
from slowpath.insights.trace.instrumentation import BEGINS, CALLS, RETURNS, AccessSite
from slowpath.insights.trace.memory import Area, MemoryKind, MemoryMap

Whole = npt.NDArray[np.int64]

RECORDS = np.dtype([("address", "<u8"), ("number", "<u4"), ("size", "<u4")])
_SORTS: tuple[MemoryKind, ...] = ("packet", "metadata", "local", "constant", "other")
_SIZES = 20
"""Number of bits for the size of an access in a key (see `_part`)."""
_PLACES = 1 << 42
"""Maximum total size of all variables in bytes."""


class StructurePart(NamedTuple):
    """The target of a memory access: a data structure, and the members that are accessed."""

    structure: int
    members: tuple[tuple[str, ...], ...]


class Tally(NamedTuple):
    """The counts of an instrumented run.

    Access sites, basic blocks, calls and data structures are given by their numbers. Targets of
    accesses are given by their indices in `parts`.
    """

    runs: list[int]
    """Number of runs of each block."""
    parts: list[StructurePart]
    touches: list[tuple[int, int, int]]
    """For each site and part that it accessed, the number of accesses."""
    elsewhere: list[tuple[int, MemoryKind, int]]
    """For each site and kind of memory other than state that it accessed, the number of accesses.
    """
    entries: list[tuple[int, int]]
    """For each structure, the numbers of distinct entries that were accessed and that were
    written.
    """
    together: list[tuple[int, list[int], int]]
    """For each block and set of parts, the number of runs that accessed exactly these parts."""
    calls: list[tuple[int, int, int]]
    """For each call and block, the number of the block's runs in this call or in nested calls."""


def tally_of(saved: dict[str, Any]) -> Tally:
    """Rebuild a tally from `saved`, its form as JSON."""
    parts = [
        StructurePart(structure, tuple(map(tuple, members)))
        for structure, members in saved["parts"]
    ]
    return Tally(**{**saved, "parts": parts})


class Recorder:
    """Adds up the records of an instrumented run, in batches."""

    def __init__(
        self,
        memory: MemoryMap,
        sites: Sequence[AccessSite],
        blocks: int,
        firsts: Sequence[int] = (),
    ) -> None:
        """Prepare to count the accesses of `sites` and the runs of `blocks` basic blocks.

        `memory` has the known memory areas. `firsts` are the first blocks of functions that the
        source itself never calls. When such a block runs, all calls recorded so far have ended.
        """
        self._memory = memory
        self._nested = _Nested(blocks, firsts)
        self._starts = np.zeros(0, np.uint64)
        self._ends = np.zeros(0, np.uint64)
        # The bytes of all variables have consecutive numbers, their places. Each other kind of
        # memory has a single place.
        self._state = np.zeros(0, bool)
        self._offsets = np.zeros(0, np.int64)
        self._line, self._next = list[tuple[int, int, Type | None]](), len(_SORTS)
        self.extend([(one, None) for one in memory.areas])
        self._blocks_of = np.array([one.block for one in sites], np.int64)
        self._writes = np.array([one.kind == "write" for one in sites], np.int64)
        self._runs = np.zeros(blocks, np.int64)
        self._kinds = dict[StructurePart, int]()
        self._parts = list[StructurePart]()
        self._known = dict[int, int]()
        self._touches = Counter[tuple[int, int]]()
        self._elsewhere = Counter[tuple[int, MemoryKind]]()
        self._together = Counter[tuple[int, int]]()
        self._sets = dict[int, frozenset[int]]()
        self._read: list[set[tuple[int, ...]]] = [set() for _ in memory.structures]
        self._written: list[set[tuple[int, ...]]] = [set() for _ in memory.structures]
        self._marks = np.zeros(0, np.uint64)

    def extend(self, areas: Sequence[tuple[Area, Type | None]]) -> None:
        """Add memory areas, so that accesses to them are counted by data structure.

        Each comes with the type of its content. If the type is None, the area has the type of its
        data structure.
        """
        offsets = list[int]()
        for area, kind in areas:
            if area.structure < 0:
                offsets.append(_SORTS.index(area.sort))
                continue
            offsets.append(self._next)
            own = self._memory.structures[area.structure].type if kind is None else kind
            self._line.append((self._next, area.structure, own))
            self._next += area.size
        if self._next >= _PLACES:
            raise MemoryError("the variables have too many bytes to count accesses to each byte")
        starts = np.array([one.start for one, _ in areas], np.uint64)
        ends = starts + np.array([one.size for one, _ in areas], np.uint64)
        state = np.array([one.structure >= 0 for one, _ in areas], bool)
        order = np.argsort(np.r_[self._starts, starts], kind="stable")
        self._starts = np.r_[self._starts, starts][order]
        self._ends = np.r_[self._ends, ends][order]
        self._state = np.r_[self._state, state][order]
        self._offsets = np.r_[self._offsets, np.array(offsets, np.int64)][order]

    def take(self, records: npt.NDArray[np.void]) -> None:
        """Add a batch of records to the counts.

        If a block began in an earlier batch, its accesses in this batch count as a separate run.
        """
        numbers = records["number"].astype(np.int64)
        begins = numbers >= BEGINS
        blocks = numbers[begins] - BEGINS
        self._runs += np.bincount(blocks, minlength=len(self._runs))
        self._nested.take(numbers)
        accesses = numbers < CALLS
        sites = numbers[accesses]
        if not len(sites):
            return
        places = self._places(records["address"][accesses])
        away = places < len(_SORTS)
        for key, count in zip(*_counted(sites[away] * len(_SORTS) + places[away]), strict=True):
            site, sort = divmod(int(key), len(_SORTS))
            self._elsewhere[site, _SORTS[sort]] += int(count)
        here = ~away
        sites = sites[here]
        keys = places[here] << _SIZES | records["size"][accesses][here].astype(np.int64)
        unique, back = np.unique(keys << 1 | self._writes[sites], return_inverse=True)
        parts = np.array([self._part(int(key)) for key in unique], np.int64)[back]
        width = len(self._parts) or 1
        for key, count in zip(*_counted(sites * width + parts), strict=True):
            site, part = divmod(int(key), width)
            self._touches[site, part] += int(count)
        order = np.flatnonzero(accesses)[here]
        self._group(np.flatnonzero(begins), blocks, order, self._blocks_of[sites], parts)

    def tally(self) -> Tally:
        """Return the counts of all records so far."""
        return Tally(
            self._runs.tolist(),
            self._parts,
            [(site, part, count) for (site, part), count in sorted(self._touches.items())],
            [(site, sort, count) for (site, sort), count in sorted(self._elsewhere.items())],
            [
                (len(read | written), len(written))
                for read, written in zip(self._read, self._written, strict=True)
            ],
            sorted(
                (block, sorted(self._sets[mark]), count)
                for (block, mark), count in self._together.items()
            ),
            self._nested.inside(),
        )

    def _places(self, addresses: npt.NDArray[np.uint64]) -> Whole:
        """Map each address to the number of a place in memory.

        Each byte of a variable is a place. All other memory of one kind, such as packets, is a
        single place.
        """
        if not len(self._starts):
            return np.full(len(addresses), _SORTS.index("other"), np.int64)
        area = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        inside = (area >= 0) & (addresses < self._ends[area])
        offset = (addresses - self._starts[area]).astype(np.int64)
        places = self._offsets[area] + np.where(self._state[area], offset, 0)
        return np.where(inside, places, _SORTS.index("other"))

    def _part(self, key: int) -> int:
        """Return the index in `_parts` of the structure and members that an access covers.

        `key` encodes the place in memory (see `_places`), the size of the access, and whether it
        writes.
        """
        found = self._known.get(key)
        if found is not None:
            return found
        place, size = key >> 1 + _SIZES, key >> 1 & (1 << _SIZES) - 1
        area = bisect_right(self._line, place, key=itemgetter(0)) - 1
        first, structure, kind = self._line[area]
        spots = [] if kind is None else locate(kind, place - first, size)
        entries = self._written if key & 1 else self._read
        entries[structure] |= {(area, *spot.entry) for spot in spots if spot.entry}
        members = tuple(dict.fromkeys(spot.path for spot in spots)) or ((),)
        part = StructurePart(structure, members)
        number = self._kinds.setdefault(part, len(self._parts))
        if number == len(self._parts):
            self._parts.append(part)
            self._marks = np.append(self._marks, np.uint64(_mixed(number + 1)))
        self._known[key] = number
        return number

    def _group(
        self, begins: Whole, blocks: Whole, order: Whole, owners: Whole, parts: Whole
    ) -> None:
        """Count the sets of structure parts that single runs of a basic block accessed together.

        An access belongs to the run of its block that began last. `begins` and `order` are the
        indices of the records of block starts and of accesses; `blocks` and `owners` are the blocks
        of both.
        """
        if not len(parts):
            return
        span = int(max(begins[-1] if len(begins) else 0, order[-1])) + 2
        starts = np.sort(blocks * span + begins + 1)
        run = np.searchsorted(starts, owners * span + order + 1, side="right")
        run = run * len(self._runs) + owners
        width = len(self._parts)
        pairs = np.unique(run * width + parts)  # each part once per run
        runs, members = np.divmod(pairs, width)
        firsts = np.flatnonzero(np.r_[True, runs[1:] != runs[:-1]])
        # A set is identified by the sum of pseudo-random numbers of its parts.
        marks = np.add.reduceat(self._marks[members], firsts)
        ends = np.r_[firsts[1:], len(members)]
        for mark, first in zip(*np.unique(marks, return_index=True), strict=True):
            if int(mark) not in self._sets:
                inside = members[firsts[first] : ends[first]]
                self._sets[int(mark)] = frozenset(map(int, inside))
        ran = runs[firsts] % len(self._runs)
        self._together.update(zip(ran.tolist(), marks.tolist(), strict=True))


class _Nested:
    """Counts runs of basic blocks by the nested calls during which they ran.

    The open calls, from the outermost to the innermost, are called a chain.
    """

    def __init__(self, blocks: int, firsts: Sequence[int]) -> None:
        self._blocks = max(blocks, 1)
        self._firsts = np.array(sorted(firsts), np.int64)
        self._chains: list[tuple[int, ...]] = [()]
        self._numbers: dict[tuple[int, ...], int] = {(): 0}
        self._now = 0
        self._counts = Counter[int]()

    def take(self, numbers: Whole) -> None:
        """Count the runs of basic blocks in a batch of records, by the calls that are open.

        Each of `numbers` is the number of a record.
        """
        begins = numbers >= BEGINS
        changes = (numbers >= CALLS) & ~begins
        if self._now or changes.any():
            changes |= begins & np.isin(numbers - BEGINS, self._firsts)
        places = np.flatnonzero(changes)
        if not len(places) and not self._now:
            return
        around = [self._now]
        for number in numbers[places].tolist():
            self._now = self._after(number)
            around.append(self._now)
        lengths = np.diff(np.r_[0, places, len(numbers)])
        chains = np.repeat(np.array(around, np.int64), lengths)[begins]
        keys = chains * self._blocks + numbers[begins] - BEGINS
        for key, count in zip(*_counted(keys[chains > 0]), strict=True):
            self._counts[int(key)] += int(count)

    def _after(self, number: int) -> int:
        """Return the number of the chain of nested calls that are open after a record.

        `number` is that of the record: a call, a return, or the first block of a function that the
        source never calls.
        """
        if number >= BEGINS:
            return 0
        chain = self._chains[self._now]
        if number >= RETURNS:
            # A packet that ended within a call left no record of the return.
            number -= RETURNS
            chain = chain[: len(chain) - 1 - chain[::-1].index(number)] if number in chain else ()
        else:
            chain = (*chain, number - CALLS)
        known = self._numbers.setdefault(chain, len(self._chains))
        if known == len(self._chains):
            self._chains.append(chain)
        return known

    def inside(self) -> list[tuple[int, int, int]]:
        """Return the runs of basic blocks during calls, as (call, block, runs).

        Only blocks that ran during a recorded call are listed.
        """
        found = Counter[tuple[int, int]]()
        for key, count in self._counts.items():
            chain, block = divmod(key, self._blocks)
            for call in set(self._chains[chain]):
                found[call, block] += count
        return [(call, block, count) for (call, block), count in sorted(found.items())]


def _mixed(number: int) -> int:
    """Return 64 pseudo-random bits for a number (SplitMix64: Steele, Lea and Flood, 2014)."""
    mask = (1 << 64) - 1
    x = number * 0x9E3779B97F4A7C15 & mask
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return x ^ x >> 31


def _counted(keys: Whole) -> tuple[Whole, Whole]:
    unique, counts = np.unique(keys, return_counts=True)
    return unique, counts
