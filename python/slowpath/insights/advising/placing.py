"""Advice: the memory in which each structure should be."""

import math
import re
from collections.abc import Mapping

from slowpath.insights.advising.advice import Advice, Gap, Said
from slowpath.insights.advising.evidence import Evidence, Placed
from slowpath.insights.advising.weight import cycles
from slowpath.insights.numbers import number
from slowpath.insights.placement.advice.documents import PlacedPart
from slowpath.insights.porting.documents import CountedStructure

_SMALL = 0.01
"""Of a packet's cycles: structures that save less than this are one piece of advice."""
_ROWS = re.compile(r"rte_(lpm|fib)6?\b")
"""Tables of DPDK's that the headers make otherwise."""
_COMPARED = (
    "here they have their prefixes in a row, all of which each look-up compares, as a card without "
    "a unit for that may; tables of DPDK take fewer accesses and more memory (for IPv4, DIR-24-8: "
    "one or two of some 64 MiB)"
)
_EQUAL = 1e-9
"""Costs that differ by less, as a share, are equal."""


def placing(evidence: Evidence) -> Said:
    """A piece of advice for each structure that should be elsewhere, if that pays in all."""
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "the memory of each structure",
            "it takes how often each is read and written",
            "a trace: --traffic",
        )
        return
    if traced.placed is None:
        yield Gap("the memory of each structure", traced.unplaced, "")
        return
    rows = [
        one["structure"] for one in traced.counts["structures"] if _ROWS.match(one["structure"])
    ]
    if rows:
        yield Gap(f"accesses to {', '.join(rows)} as DPDK has them", _COMPARED, "")
    placed = traced.placed
    counted = {one["structure"]: one for one in traced.counts["structures"]}
    now = math.fsum(map(placed.cost, counted.values()))
    if now <= placed.case["cost"] * (1 + _EQUAL):
        return
    small = dict[str, list[PlacedPart]]()
    least = _SMALL * cycles(traced)
    for part in placed.case["structures"]:
        if part["level"] == placed.now(part["structure"]):
            continue
        saved = placed.cost(counted[part["structure"]]) - part["cost"]
        if 0 <= saved < least:
            small.setdefault(part["level"], []).append(part)
        else:
            yield _advice(placed, [part], counted)
    for parts in small.values():
        yield _advice(placed, parts, counted)


def _advice(
    placed: Placed, parts: list[PlacedPart], counted: Mapping[str, CountedStructure]
) -> Advice:
    """To put structures on the level of the first of them."""
    those = [counted[part["structure"]] for part in parts]
    before = math.fsum(map(placed.cost, those))
    after = math.fsum(part["cost"] for part in parts)
    names = ", ".join(one["structure"] for one in those)
    reads = math.fsum(one["reads_per_packet"] for one in those)
    writes = math.fsum(one["writes_per_packet"] for one in those)
    size = sum(one["size_bytes"] for one in those)
    proved = placed.case["verdict"] == "optimal"
    each = f"{number(reads, 'read')} and {number(writes, 'write')} for each packet,"
    touched = f"{number(size, 'byte')}, with {each}"
    return Advice(
        "placement",
        f"Put {names} into {parts[0]['level']}",
        names,
        those[0]["file"],
        those[0]["line"],
        f"{touched} have room there" if before >= after else f"{touched} make room for others",
        before,
        after,
        "cycles of accesses",
        before - after,
        "assumption",
        f"counted on the trace; with these counts and prices, "
        f"{'no placement costs less' if proved else 'this was the best found in time'}; the "
        "prices are round figures of ours",
    )
