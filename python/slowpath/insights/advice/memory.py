"""Advice on memory: order of variables, and placement of structures."""

import math
import re
from collections.abc import Mapping, Sequence

from slowpath.insights.advice.advice import Advice, Evidence, Findings, Gap, Placed, cycles
from slowpath.insights.layout.documents import ElementLayout
from slowpath.insights.output import quantity
from slowpath.insights.placement.documents import PlacedPart
from slowpath.insights.trace.documents import CountedStructure, CountsReport

_NONE, _FREE = "variables", "variables that are in no struct"
"""Element name for the plain variables of a program, and their description in titles."""


def packing(evidence: Evidence) -> Findings:
    """Yield advice for each structure that needs more accesses in the source's order."""
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "which variables to pack together",
            "it takes which blocks of code run how often, and what they touch",
            "a trace: --traffic",
        )
        return
    placed = traced.placed
    for one in traced.layouts:
        before = now(one)
        if not before > one["accesses"]:
            continue
        those = _structures(traced.counts, one)
        file, line = (those[0]["file"], those[0]["line"]) if those else ("", 0)
        proved = one["verdict"] == "optimal"
        searched = (
            "no order takes fewer" if proved else f"no order takes less than {one['bound']:g}"
        )
        yield Advice(
            "coalescing",
            f"Order {_named(one)} as below",
            one["element"],
            file,
            line,
            f"what blocks of code touch together stands in one window of {traced.width} bytes",
            before,
            one["accesses"],
            f"accesses of {traced.width} bytes",
            None if placed is None else (before - one["accesses"]) * _price(placed, those),
            "proved" if proved else "predicted",
            f"blocks counted on the trace; {searched} with them; a block is taken to fetch a "
            f"window once and to keep it{_apart(one)}",
            one["struct"],
        )


def _named(layout: ElementLayout) -> str:
    return _FREE if layout["element"] == _NONE else f"the variables of {layout['element']}"


def _price(placed: Placed, those: Sequence[CountedStructure]) -> float:
    """Return the highest current price of a read of these structures."""
    return max((placed.price("read", one["structure"]) for one in those), default=0.0)


def _apart(layout: ElementLayout) -> str:
    """Return a remark on variables that are not a struct in the source."""
    if layout["element"].endswith(")"):  # members of a structure that the source declares
        return ""
    return "; before is of these variables alone, as one struct in the source's order"


def now(layout: ElementLayout) -> float:
    """Return the accesses per packet in the source's order."""
    return next(one["accesses"] for one in layout["compared"] if one["layout"] == "source")


def _structures(counts: CountsReport, layout: ElementLayout) -> list[CountedStructure]:
    """Return the structures that contain the variables of a layout."""
    name = layout["element"]
    alone = {one["variable"] for one in layout["members"]}
    found = list[CountedStructure]()
    for one in counts["structures"]:
        owner, _, last = one["structure"].rpartition("::")
        inside = name.startswith(
            tuple(f"{one['structure']}{of} (" for of in ("", " key", " value"))
        )
        if inside or ((owner or _NONE) == name and last in alone):
            found.append(one)
    return found


_SMALL = 0.01
"""Share of a packet's cycles; structures that save less are combined in one piece of advice."""
_ROWS = re.compile(r"rte_(lpm|fib)6?\b")
"""Tables of DPDK that the headers implement differently."""
_COMPARED = (
    "here they have their prefixes in a row, all of which each look-up compares, as a card without "
    "a unit for that may; tables of DPDK take fewer accesses and more memory (for IPv4, DIR-24-8: "
    "one or two of some 64 MiB)"
)
_EQUAL = 1e-9
"""Relative difference below which costs count as equal."""


def placing(evidence: Evidence) -> Findings:
    """Yield advice for each structure that should move, if the whole placement saves cycles."""
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
    """Return the advice to move structures to the level of the first one."""
    those = [counted[part["structure"]] for part in parts]
    before = math.fsum(map(placed.cost, those))
    after = math.fsum(part["cost"] for part in parts)
    names = ", ".join(one["structure"] for one in those)
    reads = math.fsum(one["reads_per_packet"] for one in those)
    writes = math.fsum(one["writes_per_packet"] for one in those)
    size = sum(one["size_bytes"] for one in those)
    proved = placed.case["verdict"] == "optimal"
    each = f"{quantity(reads, 'read')} and {quantity(writes, 'write')} for each packet,"
    touched = f"{quantity(size, 'byte')}, with {each}"
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
