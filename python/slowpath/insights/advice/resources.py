"""Advises on memory, on the number of cores, and on functions to share the SmartNIC with.

For memory, the advice is on the order of variables in structures, and the level of each structure.
Instructions are LLVM instructions, because the published costs are per LLVM instruction. Accesses
to packets are not counted: the first 64 bytes are in registers, and the published cost per packet
includes other accesses. Memory without a name counts as external memory.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from slowpath.core.quantities import with_interval
from slowpath.insights.advice.advice import Advice, Evidence, Findings, Gap, Placed, Traced, cycles
from slowpath.insights.cores.assessment_documents import (
    CardCores,
    CardNeighbour,
    CardPart,
    CardUse,
    CardWork,
)
from slowpath.insights.layout.documents import ElementLayout
from slowpath.insights.output import percent, quantity
from slowpath.insights.placement.documents import PlacedPart
from slowpath.insights.trace.documents import CountedMember, CountedStructure, CountsReport

_NO_STRUCT, _NO_STRUCT_TITLE = "variables", "global variables outside of structs"
"""Element name of variables outside of structures, and their description in titles."""


def packing(evidence: Evidence) -> Findings:
    """Yield advice for each structure whose variables should be in another order.

    With this order, packets need fewer memory accesses, because variables that are used together
    share an access.
    """
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "order of variables",
            "advice needs the runs and accesses of each block of code",
            "give a trace of packets with --pcap",
        )
        return
    yield from ordering(traced)


def ordering(traced: Traced) -> Iterator[Advice]:
    """Yield advice for each structure in which another order of variables needs fewer accesses."""
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
    """Return the highest cost in cycles of a read of one of the structures where they are now."""
    return max((placed.price("read", one["structure"]) for one in structures), default=0.0)


def _remark(layout: ElementLayout) -> str:
    """Return a remark for the report if the variables are not members of one declared structure.

    Return an empty text if they are.
    """
    if layout["element"].endswith(")"):  # members of a structure that the source declares
        return ""
    return (
        ". The first number is for these variables alone, as one struct in the order of the source"
    )


def accesses_in_source(layout: ElementLayout) -> float:
    """Return the memory accesses per packet if the variables are in the order of the source."""
    return next(one["accesses"] for one in layout["compared"] if one["layout"] == "source")


def _structures(counts: CountsReport, layout: ElementLayout) -> list[CountedStructure]:
    """Return the structures, with their counts, that contain the variables of `layout`."""
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
    """Yield advice for each structure that should be in another memory of the SmartNIC.

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
    yield from moving(traced, traced.placed)


def moving(traced: Traced, placed: Placed) -> Iterator[Advice]:
    """Yield advice for each structure that should be in another memory, as `placing`."""
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
    """Return the advice to move all structures in `parts` to the same memory level.

    `placed` is the recommended placement, and `counted` has the accesses to each structure.
    """
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


# --- cores and shared SmartNICs -------------------------------------------------------------------

WINDOW = 16
"""Bytes per access in published elements (approximate)."""
_MAX_ACCESS_BYTES = 64
"""Maximum number of bytes that one access in the source stands for; members can be whole arrays."""
_UNNAMED = "memory without a name"


def work_of(counts: CountsReport, placed: Placed | None) -> CardWork:
    """Return the work per packet that the throughput on the SmartNIC is predicted from.

    This is the number of LLVM instructions, as in the published figures for Click elements
    (`cores/prices.py`), and the accesses to each memory with structures placed as recommended.
    """
    packets = counts["traffic"]["packets"]
    parts = [
        part
        for one in counts["structures"]
        for part in _parts(one, _internal_share(placed, one["structure"]), packets)
    ]
    for one in counts["elsewhere"]:
        if one["what"] == "other":
            count = (one["reads"] + one["writes"]) / packets
            parts.append({"structure": _UNNAMED, "memory": "emem", "fewest": count, "most": count})
    instructions = math.fsum(one["instructions"] * one["per_packet"] for one in counts["blocks"])
    return {"instructions": instructions, "parts": parts}


def _internal_share(placed: Placed | None, structure: str) -> float:
    """Return the share (0 to 1) of a structure that the placement puts into internal memory.

    Without a placement (None), the structure is in external memory, so the share is 0.
    """
    if placed is None:
        return 0.0
    return math.fsum(
        part["parts"] / part["of_parts"]
        for part in placed.case["structures"]
        if part["structure"] == structure and part["level"] != placed.farthest
    )


def _parts(one: CountedStructure, internal_share: float, packets: int) -> Sequence[CardPart]:
    fewest = most = 0.0
    for operation, counted in (("reads", one["reads"]), ("writes", one["writes"])):
        windows = _windows(one["members"], operation, counted)
        fewest += windows / packets
        most += max(counted, windows) / packets
    shares = ("imem", internal_share), ("emem", 1 - internal_share)
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


def _windows(members: Sequence[CountedMember], operation: str, accesses: int) -> float:
    """Return the number of accesses that the SmartNIC needs for accesses to `members`.

    `operation` is `reads` or `writes`; `accesses` is their number in the program, the result if the
    sizes of the members are unknown. The program is assumed to need every byte that an access
    fetches.
    """
    counts = [
        (one["size_bytes"], one["reads"] if operation == "reads" else one["writes"])
        for one in members
    ]
    if not all(size for size, count in counts if count):
        return accesses
    return math.fsum(min(size, _MAX_ACCESS_BYTES) * count for size, count in counts) / WINDOW


def gap(evidence: Evidence, what: str) -> Gap:
    """Return a `Gap` that explains why advice on `what` is missing, with a remedy.

    The cause is a missing trace, or floating-point arithmetic in the source.
    """
    if evidence.statics.floating is None:
        why = "predictions need the instructions and accesses of each packet"
        return Gap(what, why, "give a trace of packets with --pcap")
    return Gap(
        what,
        f"{evidence.statics.floating} uses floating-point numbers, which the card does not support",
        "use integers instead, such as fixed-point numbers",
    )


def doubts(traced: Traced) -> str:
    """Return a sentence with further assumptions of an estimate; empty if there are none.

    For example, operations that the SmartNIC lacks count as one instruction each.
    """
    executed = traced.executed
    if executed.refused:
        return f". Each unsupported operation counts as one instruction ({executed.lacking()})"
    if not executed.on_card:
        return ". slowpath could not check whether the card supports all operations"
    return ""


_LIMIT_NAMES = {"line": "line rate", "IMEM": "internal memory", "EMEM": "external memory"}
_BASIS = (
    "The prediction uses counts on the trace, and costs of instructions and accesses from "
    "published functions. No card was measured"
)
_MEGA = 1e6
_GIGA = 1e9


def scaling(evidence: Evidence) -> Findings:
    """Yield advice on the number of cores to use.

    The recommended number is the knee of the throughput curve: cores beyond it add little
    throughput.
    """
    card, traced = evidence.card, evidence.traced
    if card is None or traced is None:
        yield gap(evidence, "number of cores")
        return
    yield from choosing_cores(card, traced)


def choosing_cores(card: CardUse, traced: Traced) -> Iterator[Advice]:
    """Yield advice on the number of cores, as `scaling`."""
    cores = card["cores"]
    knee, all_cores = cores["knee_cores"], cores["points"][-1]
    before = all_cores["cores"] / all_cores["throughput_pps"] * _GIGA
    after = knee / cores["throughput_pps"] * _GIGA
    file, line = traced.entry
    confidence = percent(card["confidence"], 0)
    yield Advice(
        "cores",
        f"Use {knee} cores" if knee < all_cores["cores"] else f"Use all {knee} cores",
        traced.counts["entry"],
        file,
        line,
        _reason(cores),
        before,
        after,
        "ns of core time",
        None,
        "estimated",
        f"The number is from {cores['knee_low']} to {cores['knee_high']} cores with "
        f"{confidence} confidence. {_BASIS}. The prediction assumes the recommended placement. "
        "Published measurements start at 24 cores, so fewer cores are never recommended"
        f"{doubts(traced)}",
        share=max(1 - after / before, 0.0),
    )


def _reason(cores: CardCores) -> str:
    ends = (cores["throughput_pps"], cores["low_pps"], cores["high_pps"])
    rate, low, high = with_interval(*(one / _MEGA for one in ends))
    first, most = cores["limits"][0], cores["points"][-1]["cores"]
    return (
        f"{cores['knee_cores']} cores reach {percent(cores['share'], 0)} of the throughput of "
        f"{most}: {rate} million packets a second ({low} to {high}). Likely bottleneck "
        f"of {most} cores: {_LIMIT_NAMES.get(first['limit'], first['limit'])} "
        f"({percent(first['share'], 0)})"
    )


_PERCENT = 100
_MAX_NAMED = 8
"""Maximum number of neighbours that advice names."""
_MIN_DIFFERENCE = 0.01
"""Neighbours whose shares of solo throughput differ by less are equally good."""


def sharing(evidence: Evidence) -> Findings:
    """Yield advice on the neighbour: the function with which to share the SmartNIC.

    The best neighbour leaves the assessed function the largest share of its solo throughput.
    """
    card, traced = evidence.card, evidence.traced
    if card is None or traced is None:
        yield gap(evidence, "functions to share the card with")
        return
    best, worst = card["neighbours"][0], card["neighbours"][-1]
    before = fmean(one["kept"] for one in card["neighbours"])
    after = best["kept"]
    alike = after - worst["kept"] < _MIN_DIFFERENCE
    name = traced.counts["entry"]
    file, line = traced.entry
    yield Advice(
        "neighbour",
        "Share the card with any of these functions"
        if alike
        else f"Share the card with {best['neighbour']} rather than with {worst['neighbour']}",
        name,
        file,
        line,
        f"if each function gets half of the cores, {name} keeps this share of its solo "
        f"throughput: {_listed(card['neighbours'])}",
        _PERCENT * before,
        _PERCENT * after,
        "% of solo throughput (first the mean of all neighbours, then the best neighbour)",
        None,
        "estimated",
        f"The function keeps {_kept(best)} beside the best neighbour and {_kept(worst)} beside "
        f"the worst, with {percent(card['confidence'], 0)} confidence. {_BASIS}{doubts(traced)}",
        share=max(1 - before / after, 0.0),
    )


def _listed(neighbours: list[CardNeighbour]) -> str:
    """Return a text with the share of solo throughput kept beside each neighbour.

    If there are many neighbours, list only the best and the worst.
    """
    described = [_described(one) for one in neighbours]
    if len(described) > _MAX_NAMED:
        omitted = len(described) - _MAX_NAMED
        described[_MAX_NAMED // 2 : -(_MAX_NAMED // 2)] = [f"{omitted:,} others between these"]
    return "; ".join(described)


def _described(one: CardNeighbour) -> str:
    return f"{percent(one['kept'], 0)} beside {one['neighbour']}"


def _kept(one: CardNeighbour) -> str:
    return f"{_PERCENT * one['low']:.0f} to {percent(one['high'], 0)}"
