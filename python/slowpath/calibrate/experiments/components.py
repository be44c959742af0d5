"""The components, such as a map lookup, whose costs experiments measure, and their parameters."""

from collections.abc import Mapping
from typing import NamedTuple

from slowpath.core.spanned import Number, Parameter, Word


class Component(NamedTuple):
    """A part of packet processing, such as a map lookup, whose cost experiments can measure."""

    says: str  # description in one sentence
    parameters: Mapping[str, Parameter]


YES, NO = "yes", "no"
SIZE = "size"
"""Name of the parameter for the packet size, which experiments can sweep for every component."""
_ENTRIES = Number("number of entries of each table", 1, 4_000_000, 1)
_KEY = Number("size of a key, in bytes", 4, 64, 16, 4)
_VALUE = Number("size of an entry's value (action data), in bytes", 8, 1024, 64, 8)
_TABLES = Number("number of tables of equal size, with one lookup in each", 1, 32, 1)
_REPEATS = Number("number of lookups in the same table", 1, 32, 1)
_HIT = Word("yes: lookups find an entry (hit); no: they find none (miss)", (YES, NO))

MIXES: Mapping[str, Mapping[str, int]] = {
    "parse": {"load": 6, "move": 5, "sum": 5, "branch": 6, "shift": 3, "swap": 1, "store": 1},
    "write": {"store": 9, "load": 4, "move": 4, "sum": 4, "branch": 1, "shift": 2, "reload": 1},
    "compute": {"sum": 9, "move": 5, "shift": 5, "multiply": 1, "constant": 1, "branch": 1},
    "turn": {"sum": 6, "move": 4, "shift": 3, "load": 3, "store": 1},
}
"""Relative frequency of each kind of instruction, for each mix. In order, the mixes resemble
parsers, programs that write headers and records, hash functions, and small loops.
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
"""Kernel helpers that experiments measure. Names with `_insert_delete`, `_submit` and `_discard`
stand for two calls each. `xdp_adjust_meta` moves the pointer forward and back. `xdp_shrink_tail`
and `xdp_grow_tail` both call `xdp_adjust_tail`.
"""
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
        "Parse headers of equal size in sequence, and check the type field of each",
        {
            "headers": Number("number of headers that are parsed", 1, 32, 1),
            "header_bytes": Number("size of a header, in bytes", 4, 64, 8, 4),
            "fields": Number(
                "number of fields of each header that are read, besides the type field", 0, 15, 1
            ),
            "branches": Number(
                "number of comparisons with other header types before the right type", 0, 64, 0
            ),
        },
    ),
    "push": Component(
        "Add headers in front of the packet, and write them",
        {
            "headers": Number("number of headers that are added", 1, 8, 1),
            "header_bytes": Number("size of a header, in bytes", 4, 64, 8, 4),
        },
    ),
    "pop": Component(
        "Remove headers from the front of the packet",
        {
            "headers": Number("number of headers that are removed", 1, 8, 1),
            "header_bytes": Number("size of a header, in bytes", 4, 64, 8, 4),
        },
    ),
    "table-exact": Component(
        "Look up exact keys in tables",
        {
            "map": Word(
                "type of the BPF map", ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash")
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
        "Look up indices in an array",
        {
            "map": Word("type of the BPF map", ("array", "percpu_array")),
            "entries": _ENTRIES,
            "value_bytes": _VALUE,
            "repeats": _REPEATS,
        },
    ),
    "table-lpm": Component(
        "Look up the longest matching prefix in a table",
        {
            "method": Word("library of DPDK for the table", ("lpm", "fib")),
            "entries": _ENTRIES._replace(most=1 << 20),
            "key_bytes": Number("size of an address, in bytes", 4, 16, 4, 4),
            "prefix_bits": Number("length of each prefix, in bits", 8, 128, 24),
            "value_bytes": _VALUE._replace(default=8),
            "tables": _TABLES,
            "repeats": _REPEATS,
            "hit": _HIT,
        },
    ),
    "table-ternary": Component(
        "Look up keys by value and mask; the last entry matches",
        {
            "method": Word(
                "search entry by entry (linear), in one exact table for each mask (tuples), "
                "or by DPDK's library (acl)",
                ("linear", "tuples", "acl"),
            ),
            "entries": _ENTRIES._replace(most=1024),
            "masks": Number(
                "number of different masks of the entries, for the method `tuples`", 1, 32, 1
            ),
            "key_bytes": _KEY._replace(default=4),
            "value_bytes": _VALUE._replace(default=8),
            "tables": _TABLES,
            "repeats": _REPEATS,
        },
    ),
    "field-writes": Component(
        "Write fields of 16 bits",
        {
            "where": Word(
                "place of the fields: in the packet, or in metadata", ("header", "metadata")
            ),
            "writes": Number("number of fields that are written", 1, 512, 1),
        },
    ),
    "state": Component(
        "Access 64-bit words of state that is kept between packets",
        {
            "operation": Word("operation on each word of state", ("read", "write", "atomic-add")),
            "accesses": Number("number of words that are accessed", 1, 256, 1),
            "entries": _ENTRIES,
        },
    ),
    "checksum": Component(
        "Compute internet checksums (RFC 1071)",
        {
            "method": Word(
                "method: a sum over bytes, the kernel's helper, or updates of 4 bytes each "
                "(RFC 1624)",
                ("loop", "helper", "update"),
            ),
            "bytes": Number("number of bytes that are summed or updated", 4, 1024, 20, 4),
        },
    ),
    "hash": Component(
        "Hash keys, as for a choice between servers or links",
        {
            "method": Word(
                "hash function: Jenkins's hash of the kernel and DPDK, or a cyclic redundancy "
                "check (with a table in XDP and P4 programs, by an instruction in DPDK)",
                ("jhash", "crc32"),
            ),
            "key_bytes": _KEY,
            "hashes": Number("number of times that the key is hashed", 1, 64, 1),
        },
    ),
    "meter": Component(
        "Meter packets in token buckets with two rates and three colours (RFC 2698)",
        {
            "meters": Number("number of meters that each packet passes", 1, 64, 1),
            "entries": _ENTRIES,
        },
    ),
    "clone": Component(
        "Copy packets, besides forwarding them",
        {
            "clones": Number("number of copies", 1, 4, 1),
            "bytes": Number("number of bytes that each copy keeps", 16, 1024, 64, 16),
        },
    ),
    "digest": Component(
        "Send records about packets to the control plane",
        {
            "digests": Number("number of records", 1, 32, 1),
            "bytes": Number("size of a record, in bytes", 8, 256, 16, 8),
        },
    ),
    "arithmetic": Component(
        "Execute 64-bit instructions of one class",
        {
            "operation": Word(
                "operation",
                (
                    *("add", "xor", "shift", "multiply", "divide", "modulo"),
                    *("byte-swap", "constant", "move"),
                ),
            ),
            "count": Number("instructions", 1, 512, 1),
            "dependent": Word(
                "each instruction depends on the previous one, or none does", (YES, NO)
            ),
        },
    ),
    "mixture": Component(
        "Execute random instructions of all kinds, with random registers",
        {
            "mix": Word("kinds of instructions that are frequent", tuple(MIXES)),
            "count": Number("instructions", 2, 512, 64),
            "turns": Number("number of iterations of a loop around the instructions", 1, 128, 1),
        },
    ),
    "branches": Component(
        "Execute conditional jumps, half of them taken",
        {
            "count": Number("jumps", 64, 1024, 64, 64),
            "predictable": Word(
                "all packets take the same jumps, or each packet takes other jumps", (YES, NO)
            ),
        },
    ),
    "helper": Component(
        "Call a helper function of the kernel",
        {
            "helper": Word(
                "name of the helper function",
                HELPERS,
            ),
            "map": Word("type of the BPF map, for helpers that use a map", HELPER_MAPS),
            "calls": Number("calls", 1, 64, 1),
            "bytes": Number("number of bytes that are written out or printed", 8, 256, 16, 8),
            "arguments": Number(
                "number of values that are printed; `trace_printk` takes up to 3", 0, 12, 0
            ),
        },
    ),
    "tail-calls": Component(
        "Make tail calls from program to program", {"calls": Number("calls", 1, 32, 1)}
    ),
    "calls": Component("Call functions of the program", {"calls": Number("calls", 1, 128, 1)}),
    "loops": Component(
        "Iterate over a loop with one addition",
        {
            "method": Word(
                "kind of loop: a loop of the program, or the helper bpf_loop", ("loop", "bpf_loop")
            ),
            "turns": Number("iterations", 1, 1024, 1),
        },
    ),
    "copy": Component(
        "Copy bytes from the packet to state",
        {"bytes": Number("number of bytes that are copied", 8, 1024, 8, 8)},
    ),
    "recirculate": Component(
        "Send packets back from the last stage of a pipeline to the first one",
        {"passes": Number("number of times that a packet goes back", 0, 16, 1)},
    ),
    "memory": Component(
        "Read memory at an address that the previous read returned",
        {
            "bytes": Number(
                "size of the memory that the reads cover (working set), in bytes",
                4096,
                1 << 30,
                4096,
                64,
            )
        },
    ),
}
