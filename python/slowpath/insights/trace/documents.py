"""Types of the JSON document of `slowpath insights counts`."""

from typing import NotRequired, TypedDict

from slowpath.core.schema import Document


class CountedFunction(TypedDict):
    """A function that ran, with its number of calls."""

    function: str
    """Name in the source."""
    symbol: str
    """Name in the LLVM module."""
    file: str
    """File with the definition; empty without debug information."""
    line: int
    """Line of the definition; 0 if unknown."""
    support: bool
    """True for functions of the headers of slowpath, such as a lookup in a table."""
    calls: int
    """Number of calls."""


class CountedBlock(TypedDict):
    """A basic block of a function that ran, after the passes of `-O1`."""

    function: str
    """Function of the block, by its name in the source."""
    symbol: str
    """Name of the function in the LLVM module."""
    number: int
    """Index in the function, from 0."""
    file: str
    """File with the start of the block."""
    line: int
    """Line of the start of the block; for inlined code, the line of the call. 0 if unknown."""
    support: bool
    """True for blocks of the headers of slowpath."""
    instructions: int
    """LLVM instructions in the block."""
    runs: int
    """Number of runs."""
    per_packet: float
    """Runs per packet."""


class CountedCall(TypedDict):
    """A call in the source, given by its line, of a function that is called from several lines."""

    function: str
    """Callee, by its name in the source."""
    symbol: str
    """Name of the callee in the LLVM module."""
    caller: str
    """Function that contains the call, by its name in the source."""
    caller_symbol: str
    """Name of the caller in the LLVM module."""
    file: str
    """File with the call; empty without debug information."""
    line: int
    """Line of the call; 0 if unknown."""
    calls: int
    """Number of calls."""
    instructions: int
    """LLVM instructions executed in all these calls, including nested calls."""
    per_packet: float
    """These instructions per packet."""


class CountedMember(TypedDict):
    """A member of a structure or of the entries of a table, with its accesses."""

    member: str
    """Path to the member; `[]` is an entry of an array. Empty for a structure without members."""
    type: str
    """Type of the member in the source; empty if unknown."""
    size_bytes: int
    """Size in bytes; 0 if unknown."""
    reads: int
    """Reads that include the member; a wide read counts for each member that it covers."""
    writes: int
    """Writes that include the member, counted in the same way."""


class CountedStructure(TypedDict):
    """Accesses to a variable, or a member of a Click element, that persists between packets."""

    structure: str
    """Name in the source."""
    file: str
    """File with the declaration."""
    line: int
    """Line of the declaration; 0 if unknown."""
    size_bytes: int
    """Size of the whole structure in bytes."""
    reads: int
    """Read accesses of any size."""
    writes: int
    """Write accesses of any size; an atomic access counts as a read and a write."""
    reads_per_packet: float
    """Read accesses per packet."""
    writes_per_packet: float
    """Write accesses per packet."""
    entries: int
    """Distinct entries of the table or array that were accessed; 0 if there are no entries."""
    entries_written: int
    """Distinct entries that were written."""
    members: list[CountedMember]
    """Members that were accessed, in the order of the source."""


class CountedElsewhere(TypedDict):
    """Accesses to memory other than the state that persists between packets."""

    what: str
    """`packet`: bytes of packets; `metadata`: data kept beside a packet; `local`: variables of
    functions; `constant`: texts and tables of the compiler; `other`: allocated, or unknown."""
    reads: int
    """Read accesses."""
    writes: int
    """Write accesses."""


class CountedOutput(TypedDict):
    """Packets that left through one output."""

    output: int
    """Number of the output."""
    packets: int
    """Number of packets."""


class CountedResult(TypedDict):
    """Packets for which the function returned the same number."""

    result: int
    """Returned number."""
    packets: int
    """Number of packets."""
    action: NotRequired[str]
    """Name of the result of an XDP program (`XDP_PASS`); absent for other functions."""


class Traffic(TypedDict):
    """The packet trace on which the function ran."""

    file: str
    """Name of the file, as the user gave it."""
    packets: int
    """Packets that ran."""
    truncated: int
    """Packets of these that were captured in part; missing bytes were zeros."""
    timeless: int
    """Packets of these without a timestamp; they arrive at intervals of one microsecond."""
    more: bool
    """True if the file has more packets than ran."""


class Fate(TypedDict):
    """Numbers of packets and of table entries, by outcome, such as sent, killed or evicted."""

    outputs: list[CountedOutput]
    """Packets by output."""
    results: list[CountedResult]
    """Packets by number that the function returned."""
    killed: int
    """Packets that were killed."""
    made: int
    """Packets that the function made, including clones."""
    unmade: int
    """Packets that could not be made because no buffer was free."""
    kept: int
    """Packets neither sent, killed nor returned; an element loses them at its next packet."""
    waiting: int
    """DPDK packets, neither sent nor freed, that structures of the function still refer to."""
    refused: int
    """Table entries that were not inserted because their bucket had no free slot."""
    evicted: int
    """Table entries that lost their slot to other entries."""


class CountsReport(Document):
    """Output of `slowpath insights counts --format json`."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    file: str
    """Name of the source, as the user gave it."""
    entry: str
    """Function that received the packets."""
    traffic: Traffic
    """The packet trace on which the function ran."""
    functions: list[CountedFunction]
    """Functions that ran, in the order of the module."""
    blocks: list[CountedBlock]
    """Basic blocks that ran."""
    calls: list[CountedCall]
    """Calls of functions that the source calls in several lines, one entry per line."""
    structures: list[CountedStructure]
    """Structures that were accessed, in the order of their addresses."""
    elsewhere: list[CountedElsewhere]
    """Accesses to memory other than the state that persists between packets."""
    fate: Fate
    """Numbers of packets and of table entries, by what happened to them."""
    notes: list[str]
    """Limits of the counts, functions that a card lacks, and assumptions."""
