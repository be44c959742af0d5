"""Estimates the number of instructions for a word of LLVM IR, by the rules of the code generator.

A 64-bit value is a pair of registers, so most operations take two instructions. A 32-bit value
takes one, and another one if its upper half must be zero.
"""

_BY_START = (
    ("address folded", 0.0),
    ("address same", 0.0),
    ("address made", 3.5),
    ("address variable", 4.5),
    ("zext 1", 3.0),
    ("sext", 3.0),
    ("zext", 0.2),
    ("trunc", 0.2),
    ("inttoptr", 0.0),
    ("ptrtoint", 0.0),
    ("bitcast", 0.0),
    ("freeze", 0.0),
    ("load packet", 2.5),
    ("load context", 2.0),
    ("load stack", 1.5),
    ("load state", 4.0),
    ("load", 2.5),
    ("store packet", 2.5),
    ("store stack", 1.2),
    ("store", 0.5),
    ("atomicrmw", 4.0),
    ("icmp", 2.0),
    ("branch icmp", 0.3),
    ("branch", 2.0),
    ("jump next", 0.0),
    ("jump", 1.0),
    ("choose", 1.8),
    ("switch", 0.0),
    ("case", 2.5),
    ("ret", 2.0),
    ("call", 0.0),
    ("pass map", 2.0),
    ("pass stack", 4.0),
    ("pass", 1.8),
    ("select", 4.0),
    ("mul", 8.0),
    ("udiv", 8.0),
    ("urem", 0.0),
    ("llvm.bswap", 2.5),
    ("llvm.fsh", 6.0),
    ("llvm", 3.0),
    ("entry", 1.5),
    ("gathered", 1.5),
)
_SHIFTS = frozenset({"shl", "lshr", "ashr"})


def usual(word: str) -> float:
    """Return the number of instructions to expect for a word without any training data."""
    found = next((takes for start, takes in _BY_START if word.startswith(start)), None)
    parts = word.split()
    if word.startswith("load packet") and word.endswith("again"):
        return 1.5
    if found is not None:
        wide = parts[0] == "icmp" and parts[2] == "64"
        big = parts[0] in ("load", "store") and parts[2] == "8"
        return found + (1.0 if wide or big else 0.0)
    if not parts[1:]:
        return 1.6
    wide = parts[1] == "64"
    kept = 2.0 if "kept" in parts else 0.0
    return kept + (2.2 if wide else 1.3) + (0.5 if wide and parts[0] in _SHIFTS else 0.0)
