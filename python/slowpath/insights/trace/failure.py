"""Explains crashes of the process that runs a function, and finds reads of uninitialised state."""

import ctypes
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.terminal import first_few
from slowpath.insights.source.entry import Entry
from slowpath.insights.source.functions import Function, Instruction
from slowpath.insights.source.metadata import Line, Metadata
from slowpath.insights.source.modules import callee_of
from slowpath.insights.trace import MAX_CONFIG_BYTES
from slowpath.insights.trace.instrumentation import BlockId, Instrumented
from slowpath.insights.trace.memory import MemoryMap
from slowpath.insights.trace.recording import Tally
from slowpath.insights.trace.xdp_sources import known

_FEW = 6
_REMEDY = (
    "fill it with --setup FUNCTION, or with a constructor (__attribute__((constructor)), RTE_INIT)"
)


def uninitialised_notes(
    memory: MemoryMap,
    tally: Tally,
    instrumented: Instrumented,
    functions: Mapping[str, Function],
    address: Callable[[str], int],
) -> list[str]:
    """Return a note for the user on state that the run read but that nothing initialised.

    The variables are zero and were never written. The list is empty if there are none. `address`
    returns the address of a variable by its symbol.
    """
    found = dict[str, int]()
    for structure, start in _zero(memory, tally, instrumented):
        one = memory.structures[structure]
        line = f" ({one.line.file}:{one.line.line})" if one.line else ""
        found[f"{one.name}{line}"] = start
    if not found:
        return []
    ran = {instrumented.blocks[at].function for at, runs in enumerate(tally.runs) if runs}
    naming = [
        one.shown
        for name, one in functions.items()
        if name not in ran and not one.supports
        if any(address(symbol) in found.values() for symbol in one.globals)
    ]
    which = first_few(list(found), _FEW)
    idle = f"; these functions did not run: {first_few(naming, _FEW)}" if naming else ""
    return [
        (
            f"the function read state that was never written, so it held zeros: {which}{idle}; "
            f"{_REMEDY}"
        )
    ]


def _zero(memory: MemoryMap, tally: Tally, instrumented: Instrumented) -> Iterator[tuple[int, int]]:
    """Yield the number and the address of each variable that the run only read and that is zero."""
    kinds = dict[int, set[str]]()
    for site, part, _ in tally.touches:
        kinds.setdefault(tally.parts[part].structure, set()).add(instrumented.sites[site].kind)
    for area in memory.areas:
        if kinds.get(area.structure) != {"read"} or memory.structures[area.structure].owner:
            continue
        if not any(ctypes.string_at(area.start, area.size)):
            yield area.structure, area.start


SECONDS = 50
"""Maximum CPU time for all packets, in seconds."""
CONSTRUCTORS, CONFIGURATION, FILLING, READYING, SETUP = -1, -2, -3, -4, -5
"""Stages of a run in which no packet is processed."""
_WHEN = {
    CONSTRUCTORS: "constructors",
    CONFIGURATION: "configure or initialize",
    FILLING: "filling maps (--maps)",
    SETUP: "set-up (--setup)",
    READYING: "before it received a packet",
}
_WHY = {
    "slowpath_click_vector_is_full": (
        "a Vector has no slot left; enlarge it with --cflags=-DSLOWPATH_VECTOR=1024"
    ),
    "slowpath_click_text_is_too_long": (
        f"a String or StringAccum needs more than {MAX_CONFIG_BYTES:,} characters"
    ),
    "slowpath_click_router_is_full": "elements share more than 8 things by name (force_attachment)",
    "slowpath_click_buffer_is_full": "a packet needs more than its buffer of 16 KiB",
    "slowpath_click_no_such_output": "this output does not exist; outputs are 0 to 63",
    "slowpath_dpdk_no_such_output": "this port does not exist; ports are 0 to 63",
    "slowpath_dpdk_key_is_too_long": (
        "keys of rte_hash are longer than 40 bytes; raise the limit with --cflags=-DSLOWPATH_KEY=64"
    ),
    "slowpath_dpdk_too_many_fields": (
        "rules of rte_acl have more than 8 fields; raise the "
        "limit with --cflags=-DSLOWPATH_FIELDS=16"
    ),
    "llvm.trap": "an assertion failed, or behaviour is undefined in C++",
    "__cxa_pure_virtual": "a pure virtual method is called",
}
_ENDING_REMEDY = (
    "set up state for packets with --setup, a function or code ('conf[0].queues = 1'), or in a "
    "function of RTE_INIT"
)
_LATE = f"the run did not finish after {SECONDS} s of CPU time; run fewer packets with --packets"
_SIGNALS = {
    -signal.SIGSEGV: "the code accesses memory at an invalid address",
    -signal.SIGBUS: "the code accesses memory at an invalid address",
    -signal.SIGFPE: "the code divides by zero",
    -signal.SIGILL: "an assertion failed, or behaviour is undefined in C",
    -signal.SIGABRT: "the code aborts",
    -signal.SIGXCPU: _LATE,
    -signal.SIGKILL: _LATE,
}
_UNSET = (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE)
"""Signals that an uninitialised pointer or divisor may cause."""


class LastState(NamedTuple):
    """The last state that the process of a run stored before it ended.

    It serves to explain a crash.
    """

    fuel: int
    """Number of blocks that could still run within the limit."""
    block: int
    """Number of the block that began last; negative if none did."""
    outside: int
    """Number of the external function that was called last, from 1; 0 if none was."""
    packet: int
    """Index in the trace of the first packet of the burst; negative: a stage, see `_WHEN`."""
    packets: int
    """Number of packets in the burst."""


class FailureReport:
    """Writes error messages for a run that crashed or was stopped."""

    def __init__(
        self,
        instrumented: Instrumented,
        functions: Mapping[str, Function],
        metadata: Metadata,
        entry: Entry,
        zeros: Callable[[], Sequence[str]],
    ) -> None:
        """Store the data with which crashes are explained.

        `zeros` returns descriptions of memory that is zero at the start of the run, as possible
        causes.
        """
        self._instrumented, self._functions, self._metadata = instrumented, functions, metadata
        self._entry, self._zeros = entry, zeros

    def why(self, code: int, last: LastState, readying: int) -> str:
        """Explain the end of the process in an error message that names the source line.

        `code` is the exit code, and `last` the state that the process stored. `readying` is the
        maximum number of basic blocks until a function with its own receive loop requests its first
        packet.
        """
        known_block = 0 <= last.block < len(self._instrumented.blocks)
        line = self.line(last.block) if known_block else None
        place = self._instrumented.blocks[last.block].function if line else ""
        where = f"{line.file}:{line.line}: " if line else ""
        shown = f"{self._functions[place].shown}: " if place else ""
        first = last.packet + 1
        packets = f"packets {first} to {last.packet + last.packets}"
        packets = packets if last.packets > 1 else f"packet {first}"
        when = _WHEN.get(last.packet, f"{packets} of the trace")
        name = self._instrumented.outside[last.outside - 1] if last.outside else None
        if last.fuel <= 0 and code == -signal.SIGILL:
            most = "a burst" if last.packets > 1 else "one packet"
            why = f"endless loop: {most} ran more basic blocks than --blocks allows"
            if last.packet == READYING:
                why = (
                    f"more than {readying:,} basic blocks ran without a call of "
                    "rte_eth_rx_burst, in "
                )
                why += "an endless or long loop; raise the limit with --blocks"
                why += self.unset()
        elif name is not None and code == -signal.SIGILL:
            called_at = self._call(last.block, name) or line
            where = f"{called_at.file}:{called_at.line}: " if called_at else ""
            why = _WHY.get(name, f"the code calls {name}, which slowpath does not provide")
            if self._entry.xdp and name not in _WHY:
                why += f"; supported helpers: {known()}"
        else:
            why = _SIGNALS.get(code, f"the process ended with exit code {code}")
            if (last.packet >= 0 or last.packet == READYING) and code in _UNSET:
                why += self.unset()
        return f"{where}{shown}{when}: {why}"

    def unreceived(self) -> str:
        """Return the error message for a function that returned without receiving a packet."""
        function = self._entry.function
        reason = f"{function.place}: the function {function.shown} ended without receiving a packet"
        return f"{reason} (rte_eth_rx_burst){self.unset() or f'; {_ENDING_REMEDY}'}"

    def unset(self) -> str:
        """Return the end of an error message, which names state that no code has initialised.

        The text is empty if there is no such state.
        """
        found = list(self._zeros())
        if self._entry.dpdk and any(one.shown == "main" for one in self._functions.values()):
            found.append("main does not run here")
        return f"; {'; '.join(found)}; {_ENDING_REMEDY}" if found else ""

    def line(self, block: int) -> Line | None:
        """Return the source line where the basic block with this number begins; None if unknown."""
        place = self._instrumented.blocks[block]
        function = self._functions[place.function]
        for instruction in self._inside(place):
            if instruction.place is not None:
                found = self._metadata.outer_line(instruction.place)
                if found is not None:
                    return found
        return function.line

    def _call(self, block: int, name: str) -> Line | None:
        """Return the source line where a block calls the function `name`; None if unknown.

        `block` is the number of the block.
        """
        for one in self._inside(self._instrumented.blocks[block]):
            if one.opcode == "call" and one.place is not None and callee_of(one.text) == name:
                return self._metadata.line(one.place)
        return None

    def _inside(self, place: BlockId) -> Sequence[Instruction]:
        return self._functions[place.function].blocks[place.number].instructions
