"""Shape of counts."""

from typing import NotRequired, TypedDict


class CountedFunction(TypedDict):
    """A function that ran."""

    function: str
    """As the source calls it."""
    symbol: str
    """Its name in the module."""
    file: str
    """Where it is defined; empty where there is no debug information."""
    line: int
    """The same; 0 where nothing says it."""
    support: bool
    """Whether it is of the headers that come along, such as a look-up in a table."""
    calls: int
    """How often it was called."""


class CountedBlock(TypedDict):
    """A basic block of a function that ran, after the passes of `-O1`."""

    function: str
    """As the source calls it."""
    symbol: str
    """Its name in the module."""
    number: int
    """In the function, from 0 on."""
    file: str
    """Where it begins."""
    line: int
    """The same, where what was inlined was called; 0 where nothing says it."""
    support: bool
    """Whether it is of the headers that come along."""
    instructions: int
    """Of LLVM's intermediate language."""
    runs: int
    """How often it ran."""
    per_packet: float
    """The same, for each packet."""


class CountedCall(TypedDict):
    """A line of the source that calls a function which other lines call, too."""

    function: str
    """The callee as the source calls it."""
    symbol: str
    """Its name in the module."""
    caller: str
    """The function that has the call, as the source calls it."""
    caller_symbol: str
    """Its name in the module."""
    file: str
    """Where the call is; empty where there is no debug information."""
    line: int
    """The same; 0 where nothing says it."""
    calls: int
    """Number of calls."""
    instructions: int
    """Of LLVM's intermediate language, in all these calls and what they called."""
    per_packet: float
    """The same, for each packet."""


class CountedMember(TypedDict):
    """A member of a structure, or of its entries."""

    member: str
    """The path to it; `[]` is an entry of an array. Empty: what has no members."""
    type: str
    """Its type as the source calls it; empty where it is not known."""
    size_bytes: int
    """0 where it is not known."""
    reads: int
    """Accesses that read it, others of its structure too where they are wide."""
    writes: int
    """The same, written."""


class CountedStructure(TypedDict):
    """What is kept from packet to packet: a variable, or a member of an element."""

    structure: str
    """As the source calls it."""
    file: str
    """Where it is declared."""
    line: int
    """The same; 0 where nothing says it."""
    size_bytes: int
    """All of it."""
    reads: int
    """Accesses that read it, whatever their size."""
    writes: int
    """Accesses that write it; an atomic one does both."""
    reads_per_packet: float
    """The same, for each packet."""
    writes_per_packet: float
    """The same, for each packet."""
    entries: int
    """Different entries of its table or array that were touched; 0 where it has none."""
    entries_written: int
    """Of these, entries that were written."""
    members: list[CountedMember]
    """Those that were touched, in the order of the source."""


class CountedElsewhere(TypedDict):
    """Accesses to what is no state."""

    what: str
    """`packet`: bytes of packets; `metadata`: what is kept beside them; `local`: variables of
    functions; `constant`: texts and tables of the compiler; `other`: allocated, or unknown."""
    reads: int
    """Accesses that read it."""
    writes: int
    """Accesses that write it."""


class CountedOutput(TypedDict):
    """Packets that left by an output."""

    output: int
    """Its number."""
    packets: int
    """So many."""


class CountedResult(TypedDict):
    """Packets for which the function returned a number."""

    result: int
    """The number."""
    packets: int
    """So many."""
    action: NotRequired[str]
    """What it means for an XDP program (`XDP_PASS`); not there for other functions."""


class Traffic(TypedDict):
    """The trace."""

    file: str
    """As the user named it."""
    packets: int
    """Packets that ran."""
    truncated: int
    """Of these, packets of which not all was captured; the rest of them was zeros."""
    timeless: int
    """Of these, packets without a time; they arrive one each microsecond."""
    more: bool
    """Whether the file has more packets than ran."""


class Fate(TypedDict):
    """What became of packets, and of entries of tables."""

    outputs: list[CountedOutput]
    """By output of the element."""
    results: list[CountedResult]
    """By what the function returned, where that is a number."""
    killed: int
    """Packets that were killed."""
    made: int
    """Packets that the function made, clones too."""
    unmade: int
    """Packets that could not be made for lack of a buffer."""
    kept: int
    """Packets that were neither sent, killed nor given back; of elements, gone with the next."""
    waiting: int
    """Packets of DPDK, neither sent nor freed, that structures of the function have at the end."""
    refused: int
    """Entries that found no free slot in their bucket, and are not there."""
    evicted: int
    """Entries that lost their slot to others."""


class CountsReport(TypedDict):
    """What `slowpath insights counts --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    file: str
    """The source as the user named it."""
    entry: str
    """The function that got the packets."""
    traffic: Traffic
    """The trace."""
    functions: list[CountedFunction]
    """Those that ran, in the order of the module."""
    blocks: list[CountedBlock]
    """Those that ran."""
    calls: list[CountedCall]
    """Calls of functions that the source calls in several lines, one entry a line."""
    structures: list[CountedStructure]
    """Those that were touched, in the order of memory."""
    elsewhere: list[CountedElsewhere]
    """Accesses to everything else."""
    fate: Fate
    """What became of the packets."""
    notes: list[str]
    """What the counts do not know, a card does not have, or was taken for granted."""
