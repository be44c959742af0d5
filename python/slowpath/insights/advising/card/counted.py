"""What a packet makes on the card, from what a run over a trace has counted.

Instructions are of LLVM's language, as their price is. Accesses to packets are no work here: the
first 64 bytes are in registers, as in the published functions, where they are part of a packet by
itself. Memory without a name is taken for external.
"""

import math
from collections.abc import Sequence

from slowpath.insights.advising.evidence import Placed
from slowpath.insights.demands.documents import CardPart, CardWork
from slowpath.insights.porting.documents import CountedMember, CountedStructure, CountsReport

WINDOW = 16
"""Bytes that an access of the published elements fetches at once, or so."""
_WIDEST = 64
"""Bytes that an access of the source is taken to fetch at most: members may be whole arrays."""
_UNNAMED = "memory without a name"


def work_of(counts: CountsReport, placed: Placed | None) -> CardWork:
    """The work, with each structure where the placement puts it.

    Instructions are of LLVM's language, because those of the published elements are, which their
    price comes from (`demands/published.py`); in another unit, both have to be counted anew.
    """
    packets = counts["traffic"]["packets"]
    parts = [
        part
        for one in counts["structures"]
        for part in _parts(one, _near(placed, one["structure"]), packets)
    ]
    for one in counts["elsewhere"]:
        if one["what"] == "other":
            count = (one["reads"] + one["writes"]) / packets
            parts.append({"structure": _UNNAMED, "memory": "emem", "fewest": count, "most": count})
    instructions = math.fsum(one["instructions"] * one["per_packet"] for one in counts["blocks"])
    return {"instructions": instructions, "parts": parts}


def _near(placed: Placed | None, structure: str) -> float:
    """Which part of a structure is in the internal memory."""
    if placed is None:
        return 0.0
    return math.fsum(
        part["parts"] / part["of_parts"]
        for part in placed.case["structures"]
        if part["structure"] == structure and part["level"] != placed.farthest
    )


def _parts(one: CountedStructure, near: float, packets: int) -> Sequence[CardPart]:
    fewest = most = 0.0
    for way, counted in (("reads", one["reads"]), ("writes", one["writes"])):
        windows = _windows(one["members"], way, counted)
        fewest += windows / packets
        most += max(counted, windows) / packets
    shares = ("imem", near), ("emem", 1 - near)
    return [
        {
            "structure": one["structure"],
            "memory": "imem" if memory == "imem" else "emem",
            "fewest": share * fewest,
            "most": share * most,
        }
        for memory, share in shares
        if share > 0
    ]


def _windows(members: Sequence[CountedMember], way: str, accesses: int) -> float:
    """Accesses of the card if each fetched a whole window of bytes that are wanted."""
    counts = [
        (one["size_bytes"], one["reads"] if way == "reads" else one["writes"]) for one in members
    ]
    if not all(size for size, count in counts if count):
        return accesses
    return math.fsum(min(size, _WIDEST) * count for size, count in counts) / WINDOW
