"""Advises on the order of variables in structures, and on the memory for each structure."""

import math
import re
from collections.abc import Mapping, Sequence

from slowpath.insights.advice.advice import Advice, Evidence, Findings, Gap, Placed, cycles
from slowpath.insights.layout.documents import ElementLayout
from slowpath.insights.output import quantity
from slowpath.insights.placement.documents import PlacedPart
from slowpath.insights.trace.documents import CountedStructure, CountsReport

_NO_STRUCT, _NO_STRUCT_TITLE = "variables", "global variables outside of structs"
"""Element name of variables outside of structures, and their description in titles."""


def packing(evidence: Evidence) -> Findings:
    """Yield advice for each structure whose order of variables in the source costs accesses."""
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "order of variables",
            "advice needs the runs and accesses of each block of code",
            "give a trace of packets with --pcap",
        )
        return
    placed = traced.placed
    for one in traced.layouts:
        before = accesses_in_source(one)
        if not before > one["accesses"]:
            continue
        structures = _structures(traced.counts, one)
        file, line = (structures[0]["file"], structures[0]["line"]) if structures else ("", 0)
        proved = one["verdict"] == "optimal"
        searched = (
            "no order takes fewer" if proved else f"no order takes fewer than {one['bound']:g}"
        )
        yield Advice(
            "coalescing",
            f"Order {_title(one)} as below",
            one["element"],
            file,
            line,
            "variables that a block of code uses together then share a window of "
            f"{traced.width} bytes, which one access fetches",
            before,
            one["accesses"],
            f"accesses of {traced.width} bytes",
            None if placed is None else (before - one["accesses"]) * _price(placed, structures),
            "proved" if proved else "predicted",
            f"{searched} accesses for the blocks counted on the trace. Each block is assumed "
            f"to fetch a window once, and to keep it{_remark(one)}",
            one["struct"],
        )


def _title(layout: ElementLayout) -> str:
    return (
        _NO_STRUCT_TITLE
        if layout["element"] == _NO_STRUCT
        else f"the variables of {layout['element']}"
    )


def _price(placed: Placed, structures: Sequence[CountedStructure]) -> float:
    """Return the highest present price of a read of one of these structures, in cycles."""
    return max((placed.price("read", one["structure"]) for one in structures), default=0.0)


def _remark(layout: ElementLayout) -> str:
    """Return a remark if the variables are not members of one struct in the source; else ""."""
    if layout["element"].endswith(")"):  # members of a structure that the source declares
        return ""
    return (
        ". The first number is for these variables alone, as one struct in the order of the source"
    )


def accesses_in_source(layout: ElementLayout) -> float:
    """Return the accesses per packet if the variables have the order of the source."""
    return next(one["accesses"] for one in layout["compared"] if one["layout"] == "source")


def _structures(counts: CountsReport, layout: ElementLayout) -> list[CountedStructure]:
    """Return the counted structures that contain the variables of a layout."""
    name = layout["element"]
    variables = {one["variable"] for one in layout["members"]}
    found = list[CountedStructure]()
    for one in counts["structures"]:
        owner, _, last = one["structure"].rpartition("::")
        inside = name.startswith(
            tuple(f"{one['structure']}{of} (" for of in ("", " key", " value"))
        )
        if inside or ((owner or _NO_STRUCT) == name and last in variables):
            found.append(one)
    return found


_SMALL = 0.01
"""Structures that save less than this share of cycles are combined in one piece of advice."""
_DPDK_TABLES = re.compile(r"rte_(lpm|fib)6?\b")
"""DPDK tables that slowpath's headers implement in another way than DPDK."""
_LINEAR_SEARCH = (
    "here, a lookup compares all prefixes in turn, as a card without a lookup unit may do. "
    "A table of DPDK takes fewer accesses and more memory (IPv4, DIR-24-8: one or two "
    "accesses to 64 MiB)"
)
_EQUAL = 1e-9
"""Costs are considered equal up to this relative difference."""


def placing(evidence: Evidence) -> Findings:
    """Yield advice for each structure that should be in another memory.

    There is no advice unless the recommended placement saves cycles in total.
    """
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "memory of each structure",
            "advice needs the reads and writes of each structure",
            "give a trace of packets with --pcap",
        )
        return
    if traced.placed is None:
        yield Gap("memory of each structure", traced.unplaced, "")
        return
    dpdk_tables = [
        one["structure"]
        for one in traced.counts["structures"]
        if _DPDK_TABLES.match(one["structure"])
    ]
    if dpdk_tables:
        yield Gap(f"accesses to {', '.join(dpdk_tables)} in DPDK's own layout", _LINEAR_SEARCH, "")
    placed = traced.placed
    counted = {one["structure"]: one for one in traced.counts["structures"]}
    accesses_in_source = math.fsum(map(placed.cost, counted.values()))
    if accesses_in_source <= placed.case["cost"] * (1 + _EQUAL):
        return
    small = dict[str, list[PlacedPart]]()
    min_saving = _SMALL * cycles(traced)
    for part in placed.case["structures"]:
        if part["level"] == placed.present_level(part["structure"]):
            continue
        saved = placed.cost(counted[part["structure"]]) - part["cost"]
        if 0 <= saved < min_saving:
            small.setdefault(part["level"], []).append(part)
        else:
            yield _advice(placed, [part], counted)
    for parts in small.values():
        yield _advice(placed, parts, counted)


def _advice(
    placed: Placed, parts: list[PlacedPart], counted: Mapping[str, CountedStructure]
) -> Advice:
    """Return the advice to move all structures in `parts` to their common memory level."""
    structures = [counted[part["structure"]] for part in parts]
    before = math.fsum(map(placed.cost, structures))
    after = math.fsum(part["cost"] for part in parts)
    names = ", ".join(one["structure"] for one in structures)
    reads = math.fsum(one["reads_per_packet"] for one in structures)
    writes = math.fsum(one["writes_per_packet"] for one in structures)
    size = sum(one["size_bytes"] for one in structures)
    proved = placed.case["verdict"] == "optimal"
    level = parts[0]["level"]
    each = f"{quantity(reads, 'read')} and {quantity(writes, 'write')} for each packet"
    moved = f"{quantity(size, 'byte')} with {each}"
    return Advice(
        "placement",
        f"Put {names} into {level}",
        names,
        structures[0]["file"],
        structures[0]["line"],
        f"{moved} fit into {level}"
        if before >= after
        else f"moving {moved} makes room for other structures in nearer memories",
        before,
        after,
        "cycles of accesses",
        before - after,
        "assumption",
        f"{'no placement costs less' if proved else 'this is the best placement found in time'}, "
        "for the counts on the trace and the assumed prices. slowpath chose these prices as "
        "rounded figures",
    )
