"""The components (such as a map lookup) that experiments can measure, and their parameters."""

from collections.abc import Mapping
from typing import NamedTuple

from slowpath.core.spanned import Number, Parameter, Word


class Component(NamedTuple):
    """A part of packet processing, such as a map lookup, whose cost experiments measure."""

    says: str  # description in one sentence
    parameters: Mapping[str, Parameter]


YES, NO = "yes", "no"
SIZE = "size"
"""Name of the packet size, which experiments can sweep for every component."""
_ENTRIES = Number("entries of each table", 1, 4_000_000, 1)
_KEY = Number("bytes of a key", 4, 64, 16, 4)
_VALUE = Number("bytes of an entry's value (action data)", 8, 1024, 64, 8)
_TABLES = Number("tables of equal size, with one look-up each", 1, 32, 1)
_REPEATS = Number("look-ups in the same table", 1, 32, 1)
_HIT = Word("look-ups find an entry, or do not", (YES, NO))

MIXES: Mapping[str, Mapping[str, int]] = {
    "parse": {"load": 6, "move": 5, "sum": 5, "branch": 6, "shift": 3, "swap": 1, "store": 1},
    "write": {"store": 9, "load": 4, "move": 4, "sum": 4, "branch": 1, "shift": 2, "reload": 1},
    "compute": {"sum": 9, "move": 5, "shift": 5, "multiply": 1, "constant": 1, "branch": 1},
    "turn": {"sum": 6, "move": 4, "shift": 3, "load": 3, "store": 1},
}
"""Relative frequency of each kind of instruction. In order, the mixes resemble parsers, programs
that write headers and records, hash functions, and small loops.
"""
HELPERS = (
    "ktime_get_ns",
    "ktime_get_coarse_ns",
    "jiffies64",
    "get_prandom_u32",
    "get_smp_processor_id",
    "map_lookup_elem",
    "map_update_elem",
    "map_insert",
    "map_insert_delete",
    "map_delete_elem",
    "xdp_adjust_meta",
    "xdp_shrink_tail",
    "xdp_grow_tail",
    "redirect",
    "redirect_map",
    "tail_call",
    "fib_lookup",
    "perf_event_output",
    "ringbuf_output",
    "ringbuf_submit",
    "ringbuf_discard",
    "trace_printk",
    "trace_vprintk",
)
"""Kernel helpers under test. Names with `_insert_delete`, `_submit` and `_discard` stand for two
calls each. `xdp_adjust_meta` moves the pointer forward and back. `xdp_shrink_tail` and
`xdp_grow_tail` both call `xdp_adjust_tail`."""
HELPER_MAPS = (
    "hash",
    "percpu_hash",
    "lru_hash",
    "lru_percpu_hash",
    "array",
    "percpu_array",
    "lpm_trie",
    "devmap",
    "devmap_hash",
    "cpumap",
    "xskmap",
)

COMPONENTS: Mapping[str, Component] = {
    "forward": Component("The minimal program: it sends each packet back", {}),
    "parser": Component(
        "Headers of equal size in sequence, each with a type field that is checked",
        {
            "headers": Number("headers that are parsed", 1, 32, 1),
            "header_bytes": Number("bytes of a header", 4, 64, 8, 4),
            "fields": Number("fields of each header that are read, besides its type", 0, 15, 1),
            "branches": Number("comparisons with other types before the right one", 0, 64, 0),
        },
    ),
    "push": Component(
        "Headers that are added in front of the packet, and written",
        {
            "headers": Number("headers that are added", 1, 8, 1),
            "header_bytes": Number("bytes of a header", 4, 64, 8, 4),
        },
    ),
    "pop": Component(
        "Headers that are removed from the front of the packet",
        {
            "headers": Number("headers that are removed", 1, 8, 1),
            "header_bytes": Number("bytes of a header", 4, 64, 8, 4),
        },
    ),
    "table-exact": Component(
        "Look-ups in tables by exact key",
        {
            "map": Word(
                "the kernel's type of map", ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash")
            ),
            "entries": _ENTRIES,
            "key_bytes": _KEY,
            "value_bytes": _VALUE,
            "tables": _TABLES,
            "repeats": _REPEATS,
            "hit": _HIT,
        },
    ),
    "table-array": Component(
        "Look-ups in an array by index",
        {
            "map": Word("the kernel's type of map", ("array", "percpu_array")),
            "entries": _ENTRIES,
            "value_bytes": _VALUE,
            "repeats": _REPEATS,
        },
    ),
    "table-lpm": Component(
        "Look-ups in a table by the longest prefix",
        {
            "method": Word("the library of DPDK", ("lpm", "fib")),
            "entries": _ENTRIES._replace(most=1 << 20),
            "key_bytes": Number("bytes of an address", 4, 16, 4, 4),
            "prefix_bits": Number("bits of each prefix", 8, 128, 24),
            "value_bytes": _VALUE._replace(default=8),
            "tables": _TABLES,
            "repeats": _REPEATS,
            "hit": _HIT,
        },
    ),
    "table-ternary": Component(
        "Look-ups by value and mask; the last entry matches",
        {
            "method": Word(
                "entry by entry, one exact table for each mask, or DPDK's library",
                ("linear", "tuples", "acl"),
            ),
            "entries": _ENTRIES._replace(most=1024),
            "masks": Number("different masks of the entries, for `tuples`", 1, 32, 1),
            "key_bytes": _KEY._replace(default=4),
            "value_bytes": _VALUE._replace(default=8),
            "tables": _TABLES,
            "repeats": _REPEATS,
        },
    ),
    "field-writes": Component(
        "Fields of 16 bits that are written",
        {
            "where": Word("in the packet, or in metadata", ("header", "metadata")),
            "writes": Number("fields that are written", 1, 512, 1),
        },
    ),
    "state": Component(
        "Accesses to 64-bit words of state that outlive a packet",
        {
            "operation": Word("operation on each word", ("read", "write", "atomic-add")),
            "accesses": Number("words that are accessed", 1, 256, 1),
            "entries": _ENTRIES,
        },
    ),
    "checksum": Component(
        "Internet checksums (RFC 1071)",
        {
            "method": Word(
                "a sum over bytes, the kernel's helper, or updates of 4 bytes each (RFC 1624)",
                ("loop", "helper", "update"),
            ),
            "bytes": Number("bytes that are summed or updated", 4, 1024, 20, 4),
        },
    ),
    "arithmetic": Component(
        "Instructions of one class on 64 bits",
        {
            "operation": Word(
                "operation",
                (
                    *("add", "xor", "shift", "multiply", "divide", "modulo"),
                    *("byte-swap", "constant", "move"),
                ),
            ),
            "count": Number("instructions", 1, 512, 1),
            "dependent": Word("each depends on the previous one, or does not", (YES, NO)),
        },
    ),
    "mixture": Component(
        "Random instructions of all kinds, with random registers",
        {
            "mix": Word("frequent kinds of instructions", tuple(MIXES)),
            "count": Number("instructions", 2, 512, 64),
            "turns": Number("iterations of a loop around them", 1, 128, 1),
        },
    ),
    "branches": Component(
        "Conditional jumps, half of them taken",
        {
            "count": Number("jumps", 64, 1024, 64, 64),
            "predictable": Word("each packet takes the same jumps, or does not", (YES, NO)),
        },
    ),
    "helper": Component(
        "Calls of a function of the kernel",
        {
            "helper": Word(
                "which one",
                HELPERS,
            ),
            "map": Word("the kernel's type of map, for helpers that have one", HELPER_MAPS),
            "calls": Number("calls", 1, 64, 1),
            "bytes": Number("bytes that are written out or printed", 8, 256, 16, 8),
            "arguments": Number("numbers that are printed: `trace_printk` takes 3", 0, 12, 0),
        },
    ),
    "tail-calls": Component(
        "Tail calls from program to program", {"calls": Number("calls", 1, 32, 1)}
    ),
    "calls": Component("Calls of functions", {"calls": Number("calls", 1, 128, 1)}),
    "loops": Component(
        "Iterations of a loop with one addition",
        {
            "method": Word("a loop of the program, or the helper", ("loop", "bpf_loop")),
            "turns": Number("iterations", 1, 1024, 1),
        },
    ),
    "copy": Component(
        "Bytes copied from the packet to state",
        {"bytes": Number("bytes that are copied", 8, 1024, 8, 8)},
    ),
    "recirculate": Component(
        "Packets that go back from the last stage to the first one",
        {"passes": Number("times that a packet goes back", 0, 16, 1)},
    ),
    "memory": Component(
        "A read of memory at an address from the previous read",
        {"bytes": Number("bytes that are read in turn (working set)", 4096, 1 << 30, 4096, 64)},
    ),
}
