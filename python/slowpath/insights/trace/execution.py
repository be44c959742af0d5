"""Compiles an instrumented function, and runs it on packets in a confined process."""

import ctypes
import mmap
import re
import struct
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from slowpath.core import codes
from slowpath.core.engine.objects import Captured
from slowpath.core.errors import InputError, StoppedError
from slowpath.insights.native import SIZE, CompiledModule, Region, is_allowed
from slowpath.insights.source.calls import find_entry
from slowpath.insights.source.entry import Entry, with_pointer_targets
from slowpath.insights.source.metadata import Line
from slowpath.insights.source.modules import variables_of
from slowpath.insights.source.sources import ELEMENT, SUPPORT, is_ours
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trace import MAX_CONFIG_BYTES, RunSettings
from slowpath.insights.trace.buffers import Buffers, ParameterMemory
from slowpath.insights.trace.failure import (
    CONFIGURATION,
    CONSTRUCTORS,
    FILLING,
    READYING,
    SECONDS,
    SETUP,
    FailureReport,
    LastState,
    uninitialised_notes,
)
from slowpath.insights.trace.instrumentation import RECORD, Addresses, instrument
from slowpath.insights.trace.memory import Allocations, Area, Heap, MemoryMap, memory_map
from slowpath.insights.trace.packets import (
    NONE,
    LoadedEntry,
    Packet,
    PacketCallbacks,
    PacketFate,
    Receiving,
    framework_delivery,
    of_xdp,
    one_by_one,
    raw,
    waiting,
    waiting_note,
)
from slowpath.insights.trace.recording import RECORDS, Recorder, Tally, tally_of
from slowpath.insights.trace.xdp_map_contents import (
    NOTHING,
    Filling,
    InitialContent,
    contents_of,
    inner_tables,
)
from slowpath.insights.trace.xdp_maps import CONTEXT, PACKETS, Arena, Store, tables_of
from slowpath.insights.trace.xdp_maps import DESCRIPTOR_BYTES as DESCRIBED
from slowpath.insights.trace.xdp_sources import unfilled_maps
from slowpath.insights.trials import Series

_THREADS = re.compile(r"^@(\S+) = [^\n]*?\bthread_local\b", re.MULTILINE)
_SETUP_FUEL = 1 << 31
"""Maximum number of blocks that run before the first packet, in constructors and set-up code."""
_REPORT_SHARE = 0.25
"""Share of the time that is kept for the report after the last packet."""
_ROOM = 1 << 20
"""Capacity of the record buffer; before a packet, it is emptied if it is more than half full."""
_HEAD = 64
_STACK = 4 << 20
_MAX_PACKET = 16384 - 128
"""Largest packet in bytes that fits into a buffer of the headers."""
_DEEPEST = 64
_SUPPORT = (*SUPPORT, "_GLOBAL__sub_I", "__cxx_global_var_init")
_PORTS = 64
"""Number of outputs that the headers count."""
_KEYS = ("killed", "made", "refused", "evicted", "unmade")


class Outcome(NamedTuple):
    """The counts of a run, and the fate of its packets."""

    tally: Tally
    counts: dict[str, int]
    """Numbers of packets: killed, created, and not created for lack of a buffer. Numbers of table
    entries: refused and evicted.
    """
    outputs: dict[int, int]
    """Number of packets by output."""
    results: dict[int, int]
    """Number of packets by return value."""
    packets: int
    """Packets that ran: all, unless the time was over or the function returned early."""
    returned: bool
    """True if a function with its own receive loop returned before the trace ended."""
    kept: int
    """Packets that were neither sent, killed nor returned."""
    waiting: int
    """Packets that structures of the function still refer to at the end."""
    notes: list[str]
    """Notes on initial and missing content of maps, on parameters and on buffers."""
    allocated: dict[int, int]
    """Largest number of bytes allocated at the same time, by number of the structure."""


class Recording(NamedTuple):
    """A run that records accesses, after the set-up of its function."""

    turns: PacketCallbacks
    """Called before the first packet, and before each packet."""
    finish: Callable[[PacketFate], dict[str, Any]]
    """Ends the run, and returns its counts as a message."""


class Execution:
    """An instrumented module that is compiled into this process and ready to run."""

    def __init__(
        self,
        unit: CompiledUnit,
        entry: Entry,
        start: InitialContent = NOTHING,
        room: int = _ROOM,
    ) -> None:
        """Instrument and compile a copy of the module in `unit`.

        `entry` is the function that gets the packets, and `start` the initial content of BPF maps.

        `room` is the capacity of the buffer for records.

        Raises:
            InputError: when a variable is thread-local, or parameters or maps cannot be set up.
        """
        self._file, self._functions, self._entry = unit.file, unit.functions, entry
        file, functions, text, layouts = unit.file, unit.functions, unit.text, unit.layouts
        if found := _THREADS.search(text):
            reason = f"the variable {found[1]} is thread-local, which the card does not support"
            raise InputError(codes.SOURCE_NOT_SUPPORTED, file, f"{reason}; declare it static")
        self._metadata, self._room = unit.metadata, room
        self._shared = mmap.mmap(-1, _HEAD + room * RECORD)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._shared))
        self._drain: Callable[[], None] = self._discard
        self._called = ctypes.CFUNCTYPE(None)(self._drain_records)
        self._seek = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64)(self._seek_buffers)
        drain = ctypes.cast(self._called, ctypes.c_void_p).value or 0
        at = Addresses(
            begin + _HEAD, room, begin, begin + 8, begin + 16, begin + 20, begin + 40, drain
        )
        allocations = Allocations(unit)
        self.instrumented = instrument(
            text, functions, allocations, self._is_support, is_allowed, at
        )
        self._heap = Heap(self.instrumented.allocations, at.site)
        try:
            instrumented = llvm.parse_assembly(self.instrumented.text)
            instrumented.verify()
        except RuntimeError as problem:
            lines = str(problem).splitlines()
            raise InputError(
                codes.INTERNAL_ERROR, file, f"internal error: {lines[0]}; please report it"
            ) from None
        variables = variables_of(instrumented)
        # Recording takes most of the time, so better code would not pay off.
        self._code = CompiledModule(instrumented, hasty=True, instead=self._heap.functions())
        entry = with_pointer_targets(file, text, functions, entry)
        self._targets = ParameterMemory(file, entry, layouts, self._code.address)
        self._ending = FailureReport(
            self.instrumented, functions, self._metadata, entry, lambda: self._targets.zeros
        )
        self._parameter_notes = list[str]()
        self._region = None if entry.click or entry.dpdk or entry.xdp else Region()
        self._support = "slowpath_dpdk_" if entry.dpdk else "slowpath_click_"
        others = list[Area]()
        self.arena, self.store, self._filling = None, Store([]), None
        if entry.xdp:
            self.arena = Arena()
            tables = tables_of(file, text, self._metadata, layouts)
            contents = contents_of(file, start, tables)
            self.store = Store(tables, inner_tables(file, contents, tables))
            self.store.describe(self._code.address)
            self._filling = Filling(file, contents, self.store, functions, self._code.address)
            others += self._xdp_areas()
        if self._region is not None:
            others.append(Area(self._region.address, SIZE, "packet", -1))
        self.memory = memory_map(
            [
                (name, self._code.address(name), size, layouts.variable(name))
                for name, size in variables
                if name not in self.store.names
            ]
            + self._targets.symbols
            + [
                (name, address, size, layouts.outside(name))
                for name, address, size in self._code.outside()
            ]
            + [
                (one.map.name, address, one.size, one.variable)
                for one, address in zip(self.store.tables, self.store.addresses, strict=True)
                if one.size
            ],
            others,
        )
        self._first = len(self.memory.structures)
        self.memory.structures.extend(self._heap.structures)

    def _xdp_areas(self) -> list[Area]:
        """Return the memory areas of an XDP program that are not variables.

        These are its context, its packets and the descriptions of its maps.
        """
        if self.arena is None:
            return []
        maps = self.store.at.values()
        return [
            Area(self.arena.context, CONTEXT, "metadata", -1),
            Area(self.arena.packets, PACKETS, "packet", -1),
            *(Area(address, DESCRIBED, "metadata", -1) for address in maps),
        ]

    def line(self, block: int) -> Line | None:
        """Return the source line where the basic block with this number begins; None if unknown."""
        return self._ending.line(block)

    def own_line(self, place: int | None) -> Line | None:
        """Return the innermost source line of a debug location that is not in slowpath's headers.

        Return None if there is none. `place` is the number of the location's metadata node.
        """
        for _ in range(_DEEPEST):
            node = self._metadata.node(place)
            if node is None or place is None:
                return None
            line = self._metadata.line(place)
            if line is not None and not is_ours(line.file):
                return line
            place = node.reference("inlinedAt")
        return None

    def run(self, packets: Sequence[Captured], setting: RunSettings, until: float) -> Outcome:
        """Run the function on packets in a confined process, and return the counts.

        The run ends shortly before `until` on the monotonic clock, to leave time for the report.

        Raises:
            InputError: when a packet exceeds the limit of blocks, or the code crashes.
            StoppedError: when the time is over before the first packet is done.
        """
        self._check(packets, setting)
        last = until - _REPORT_SHARE * (until - time.monotonic())

        def attempt() -> dict[str, Any]:
            try:
                return self._all(packets, setting, last)
            except InputError as problem:
                return {"refused": problem.reason}
            except Exception:  # noqa: BLE001 - a defect of slowpath, lost with this process
                return {"refused": f"internal error: {traceback.format_exc()}; please report it"}

        series = Series([attempt], SECONDS, until)
        found = series.first()
        if found is None and time.monotonic() < until:
            raise InputError(
                codes.RUN_FAILED,
                self._file,
                self._ending.why(series.ended, self._last(), setting.receive_fuel),
            )
        if found is not None and "refused" in found:
            raise InputError(codes.RUN_FAILED, self._file, found["refused"])
        if found is None or not found["packets"]:
            raise StoppedError(codes.STOPPED_AT_DEADLINE, self._file, "deadline")
        return self.outcome(found)

    def outcome(self, found: dict[str, Any]) -> Outcome:
        """Return the counts of a run from the message of its process (`Recording.finish`)."""
        numbers = {name: Counter(dict(found[name])) for name in ("outputs", "results")}
        return Outcome(
            tally_of(found["tally"]),
            found["counts"],
            {port: count for port, count in sorted(numbers["outputs"].items()) if count},
            dict(sorted(numbers["results"].items())),
            found["packets"],
            found["returned"],
            found["kept"],
            found["waiting"],
            found["notes"],
            {self._first + at: size for at, size in enumerate(found["allocated"])},
        )

    def each(self, packets: Sequence[Captured], setting: RunSettings) -> Iterator[int | None]:
        """Run the function on packets in this process, and yield the result for each packet.

        The code must be trusted, because it may crash the process. A result is None if the function
        returns no number.
        """
        self._set_fuel(_SETUP_FUEL)
        self._code.construct()
        packet = self._packet(setting)
        self._fill()
        for number, one in enumerate(packets):
            self._set_fuel(setting.fuel)
            self._discard()
            yield packet(number, one)[0]

    def _check(self, packets: Sequence[Captured], setting: RunSettings) -> None:
        length = len(setting.config.encode())
        if self._entry.element is not None and length > MAX_CONFIG_BYTES:
            reason = (
                f"the configuration (--config) has {length:,} bytes, but an element takes at most"
            )
            raise InputError(codes.INVALID_VALUE, self._file, f"{reason} {MAX_CONFIG_BYTES:,}")
        room = _MAX_PACKET if self._entry.click or self._entry.dpdk else SIZE
        for number, packet in enumerate(packets, 1):
            if packet.length > room:
                reason = f"packet {number} of the trace has {packet.length:,} bytes, but at most"
                raise InputError(
                    codes.PACKET_NOT_RUNNABLE, self._file, f"{reason} {room:,} are supported"
                )

    # --- in the confined process, which may crash ------------------------------------------------

    def _all(
        self, packets: Sequence[Captured], setting: RunSettings, last: float
    ) -> dict[str, Any]:
        recording = self.record(setting, last)
        if isinstance(recording, str):
            return {"refused": recording}
        return recording.finish(self._pass(packets, setting, recording.turns))

    def record(self, setting: RunSettings, last: float) -> "Recording | str":
        """Set up the function, and return the recording of its run, or the reason of a failure.

        `last` is the deadline on the monotonic clock. Only a confined process may call this.
        """
        self._set_stage(CONSTRUCTORS)
        self._set_fuel(_SETUP_FUEL)
        self._code.construct()
        self._set_up(setting)
        error = self._start(setting)
        if error is not None:
            return error
        notes = self._fill()
        here = ctypes.CFUNCTYPE(ctypes.c_uint64)(self._code.address("slowpath.stack"))()
        memory = self.memory._replace(areas=_with_stack(self.memory.areas, here))
        blocks = self.instrumented.blocks
        recorder = Recorder(memory, self.instrumented.sites, len(blocks), self._firsts())
        self._extend(recorder)
        turns = self._turns(recorder, setting.fuel, last)
        return Recording(turns, partial(self._finish, memory, recorder, notes))

    def _finish(
        self, memory: MemoryMap, recorder: Recorder, notes: list[str], passed: PacketFate
    ) -> dict[str, Any]:
        """Return the counts of the run as a message; `outcome` converts it."""
        notes += self._parameter_notes
        self._take(recorder)
        totals = self._totals(reset=False)
        notes += self._gone_twice() + self._overwritten()
        left_over = waiting(memory, self._code.address) if self._entry.dpdk else NONE
        notes += waiting_note(left_over.packets, left_over.where)
        tally = recorder.tally()
        return {
            "tally": tally._asdict(),
            "counts": dict(zip(_KEYS, totals[_PORTS:], strict=False)),
            "outputs": list(enumerate(totals[:_PORTS])),
            "results": sorted(passed.results.items()),
            "packets": passed.packets,
            "returned": passed.returned,
            "kept": passed.kept + left_over.lost,
            "waiting": left_over.packets,
            "allocated": self._heap.sizes,
            "notes": notes + self._missing(tally),
        }

    def address(self, symbol: str) -> int:
        """Return the address of a function or variable of the module; 0 if it does not exist."""
        return self._code.address(symbol)

    def why(self, code: int, fuel: int) -> str:
        """Return the reason why a process with this exit code ended while the function ran."""
        return self._ending.why(code, self._last(), fuel)

    def check_config(self, config: str) -> None:
        """Check the length of the configuration of an element.

        Raises:
            InputError: when it is too long.
        """
        self._check([], RunSettings(config=config))

    def _extend(self, recorder: Recorder) -> None:
        """Add the memory that the program has allocated since the last call of this method.

        The memory is added to the recorder and to `self.memory`, so that accesses to it are counted
        by data structure.
        """
        chunks = [
            (Area(one.start, one.size, "state", self._first + one.purpose), one.type)
            for one in self._heap.chunks()
        ]
        recorder.extend(chunks)
        areas = sorted([*self.memory.areas, *(area for area, _ in chunks)])
        self.memory = self.memory._replace(areas=areas)

    def _firsts(self) -> list[int]:
        """Return the numbers of the first basic blocks of functions that the source never calls.

        These functions are the entry, and functions in a section of their own, such as XDP
        programs.
        """
        return [
            at
            for at, one in enumerate(self.instrumented.blocks)
            if not one.number
            if one.function == self._entry.function.name or self._functions[one.function].section
        ]

    def _turns(self, recorder: Recorder, fuel: int, last: float) -> PacketCallbacks:
        """Return the callbacks for the code that delivers packets to the function.

        `fuel` is the maximum number of basic blocks per packet or burst, and `last` the deadline on
        the monotonic clock.
        """

        def start() -> None:
            self._drain = lambda: self._take(recorder)
            self._discard()
            self._totals(reset=True)

        def begin(number: int, count: int) -> None:
            self._set_stage(number, count)
            self._set_fuel(fuel)
            if self._filled() > self._room // 2:
                self._take(recorder)

        return PacketCallbacks(start, begin, lambda: time.monotonic() < last)

    def _pass(
        self, packets: Sequence[Captured], setting: RunSettings, turns: PacketCallbacks
    ) -> PacketFate:
        """Pass packets to the function, and return their fate.

        A function with a receive loop requests the packets; another function is called for each.
        """
        if not self._entry.receives:
            return one_by_one(self._packet(setting), packets, turns)
        self._set_stage(READYING)
        self._set_fuel(setting.receive_fuel)
        targets, self._parameter_notes = self._targets.addresses()
        receiving = Receiving(self._file, self._ready(setting), targets)
        passed = receiving.run(packets, turns)
        if passed.returned and not passed.packets:
            raise InputError(codes.RUN_FAILED, self._file, self._ending.unreceived())
        return passed

    def _missing(self, tally: Tally) -> list[str]:
        """Return notes for the user on maps and variables that the run read but nothing filled."""
        if self._filling is None:
            if self._entry.click:
                return []
            address = self._code.address
            return uninitialised_notes(
                self.memory, tally, self.instrumented, self._functions, address
            )
        held = self._filling.held | {
            # names without the suffix that distinguishes structures of the same name
            self.memory.structures[tally.parts[part].structure].name.partition(" #")[0]
            for site, part, _ in tally.touches
            if self.instrumented.sites[site].kind == "write"
        }
        return unfilled_maps(self.store.tables, self.store.looked(), held)

    def _fill(self) -> list[str]:
        """Fill BPF maps with their initial content; return notes for the user on the content."""
        if self._filling is None:
            return []
        self._set_stage(FILLING)
        self._set_fuel(_SETUP_FUEL)
        return self._filling.fill()

    def _set_up(self, setting: RunSettings) -> None:
        """Call the functions that `--setup` names, with zeros as arguments."""
        for name in setting.setup:
            function = self._functions[find_entry(self._file, self._functions, name)]
            self._set_stage(SETUP)
            self._set_fuel(_SETUP_FUEL)
            zeros = [0] * len(function.parameters)
            prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * len(zeros))
            prototype(self._code.address(function.name))(*zeros)

    def _start(self, setting: RunSettings) -> str | None:
        """Start and configure the Click element, if the function is a method of one.

        Return an error text if the element rejects the configuration, else None.
        """
        if self._entry.element is None:
            return None
        name = self._entry.element.removeprefix(ELEMENT)
        self._set_stage(CONFIGURATION)
        self._totals(reset=True)
        start = self._code.address(f"slowpath_click_start_{name}")
        code = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(start)(setting.config.encode())
        if code >= 0:
            return None
        address = self._code.address("slowpath_click_totals") + 8 * (_PORTS + len(_KEYS))
        text = ctypes.c_char_p.from_address(address).value
        why = (text or b"no reason is given").decode(errors="replace")
        return f"the element {name} rejects its configuration ({setting.config or 'none'}): {why}"

    def _ready(self, setting: RunSettings) -> LoadedEntry:
        return LoadedEntry(self._entry, self._code.address, setting, self._support)

    def _packet(self, setting: RunSettings) -> Packet:
        """Return a Python function that runs the entry function on one packet."""
        ready = self._ready(setting)
        if self.arena is not None:
            return of_xdp(ready, self.arena)
        if self._region is not None:
            return raw(ready, self._region)
        if self._entry.dpdk:
            callback = ctypes.c_void_p.from_address(self._code.address("slowpath_dpdk_seek"))
            callback.value = ctypes.cast(self._seek, ctypes.c_void_p).value
        targets, self._parameter_notes = self._targets.addresses()
        return framework_delivery(ready, targets)

    def _totals(self, *, reset: bool) -> list[int]:
        """Return the counters that slowpath's headers keep during a run.

        These are the numbers of packets by output, then the counters of `_KEYS`. With `reset`, all
        counters are then set to zero.
        """
        if self.arena is not None:
            lost = self._code.address("slowpath_xdp_totals")
            refused, evicted = (ctypes.c_uint64 * 2).from_address(lost)
            return [0] * _PORTS + [0, 0, int(refused), int(evicted), 0]
        address = self._code.address(f"{self._support}totals")
        if not address:
            return [0] * (_PORTS + len(_KEYS))
        numbers = (ctypes.c_uint64 * (_PORTS + len(_KEYS) + 1)).from_address(address)
        if reset:
            ctypes.memset(address, 0, ctypes.sizeof(numbers))
        return list(numbers)[: _PORTS + len(_KEYS)]

    def _gone_twice(self) -> list[str]:
        """Return a note for the user if DPDK packets were sent or freed twice.

        The list is empty if none were.
        """
        if not self._entry.dpdk:
            return []
        behind = 8 * (_PORTS + len(_KEYS) + 1)
        address = self._code.address("slowpath_dpdk_totals") + behind
        count = ctypes.c_uint64.from_address(address).value
        if not count:
            return []
        times = "once" if count == 1 else f"{count:,} times"
        return [f"a packet was sent or freed a second time ({times})"]

    def _overwritten(self) -> list[str]:
        """Return notes for the user on DPDK buffers that were reused too early.

        Their packets were neither sent nor freed before.
        """
        if not self._entry.dpdk:
            return []
        found = list[str]()
        overwritten = self._number("slowpath_dpdk_overwritten")
        if overwritten:
            turns = Buffers(self.memory, self._code.address).turns
            why = f"at most {turns:,} packets can wait"
            if self._entry.receives:
                why += ", and no other core empties the queues"
            why += "; raise the limit with --cflags=-DSLOWPATH_TURNS=..."
            one = "buffer was" if overwritten == 1 else "buffers were"
            said = f"{overwritten:,} {one} reused before the packet was sent or freed"
            found.append(f"{said}: {why}")
        stolen = self._number("slowpath_dpdk_stolen")
        if stolen:
            one = "buffer was" if stolen == 1 else "buffers were"
            said = f"{stolen:,} {one} reused for a created packet, although perhaps still in use"
            found.append(f"{said} (--cflags=-DSLOWPATH_PACKETS=...)")
        return found

    def _number(self, name: str) -> int:
        return int(ctypes.c_uint64.from_address(self._code.address(name)).value)

    def _seek_buffers(self, to: int) -> int:
        """Find the DPDK buffers in use for slowpath's headers, see `Buffers.seek`."""
        return Buffers(self.memory, self._code.address).seek(to)

    def _drain_records(self) -> None:
        """Empty the buffer with the run's records.

        The instrumented code calls this when the buffer is full.
        """
        self._drain()

    def _take(self, recorder: Recorder) -> None:
        filled = self._filled()
        self._extend(recorder)
        recorder.take(np.frombuffer(self._shared, RECORDS, filled, _HEAD).copy())
        self._discard()

    def _filled(self) -> int:
        return int(struct.unpack_from("<q", self._shared, 0)[0])

    def _discard(self) -> None:
        struct.pack_into("<q", self._shared, 0, 0)

    def _set_fuel(self, fuel: int) -> None:
        struct.pack_into("<q", self._shared, 8, fuel)
        struct.pack_into("<ii", self._shared, 16, -1, 0)

    def _set_stage(self, packet: int, count: int = 1) -> None:
        """Store the packets that are being processed, for error messages after a crash.

        `packet` is the index of the first of `count` packets. A negative value stands for a stage
        before the first packet, such as the set-up.
        """
        struct.pack_into("<qq", self._shared, 24, packet, count)

    # --- after the confined process has ended ----------------------------------------------------

    def _last(self) -> LastState:
        _, fuel, block, outside, packet, count = struct.unpack_from("<qqiiqq", self._shared, 0)
        return LastState(fuel, block, outside, packet, count)

    def _is_support(self, symbol: str) -> bool:
        return symbol.startswith(_SUPPORT) or self._functions[symbol].engine


def _with_stack(areas: Sequence[Area], here: int) -> list[Area]:
    """Return `areas` with one more area for local variables.

    They are near the stack address `here`.
    """
    below = max((one.start + one.size for one in areas if one.start < here), default=0)
    above = min((one.start for one in areas if one.start >= here), default=here + _STACK)
    start, end = max(here - _STACK, below), min(here + _STACK // 4, above)
    return sorted([*areas, Area(start, end - start, "local", -1)])
