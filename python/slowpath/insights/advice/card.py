"""Advice on the card as a whole: cores and co-located functions.

Instructions are LLVM instructions, like their price. Accesses to packets do not count as work: the
first 64 bytes are in registers, and in the published functions they are part of the cost per
packet. Memory without a name counts as external memory.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from slowpath.insights.advice.advice import Advice, Evidence, Findings, Gap, Placed, Traced
from slowpath.insights.demands.documents import CardCores, CardNeighbour, CardPart, CardWork
from slowpath.insights.output import percent
from slowpath.insights.trace.documents import CountedMember, CountedStructure, CountsReport

WINDOW = 16
"""Approximate bytes per access of the published elements."""
_WIDEST = 64
"""Limit on the bytes per access of the source, since members can be whole arrays."""
_UNNAMED = "memory without a name"


def work_of(counts: CountsReport, placed: Placed | None) -> CardWork:
    """Return the work per packet, with each structure in the memory of the placement.

    Instructions are LLVM instructions, since their price comes from published elements counted in
    these (`demands/published.py`). For another unit, both must be counted again.
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
    """Return the share of a structure that is in internal memory."""
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
    """Return the card's accesses if each fetches a full window of needed bytes."""
    counts = [
        (one["size_bytes"], one["reads"] if way == "reads" else one["writes"]) for one in members
    ]
    if not all(size for size, count in counts if count):
        return accesses
    return math.fsum(min(size, _WIDEST) * count for size, count in counts) / WINDOW


def gap(evidence: Evidence, what: str) -> Gap:
    """Return the reason why there is no advice on the card as a whole."""
    if evidence.statics.floating is None:
        why = "it takes how many instructions and accesses packets make"
        return Gap(what, why, "a trace: --traffic")
    return Gap(
        what,
        f"{evidence.statics.floating}: it computes with floating-point numbers, which the card "
        "has not, and none of the published elements does",
        "integers instead, such as fixed point",
    )


def doubts(traced: Traced) -> str:
    """Return further assumptions of an estimate, to append to its basis."""
    ran = traced.executed
    if ran.refused:
        listed = ran.lacking(", ")
        return f"; what the card has not ({listed}) is taken for one instruction each"
    if not ran.on_card:
        return "; whether the card has all that it does could not be looked at"
    return ""


_CALLED = {"line": "the line", "IMEM": "the internal memory", "EMEM": "the external memory"}
_MEGA = 1e6
_GIGA = 1e9


def scaling(evidence: Evidence) -> Findings:
    """Yield advice to use the number of cores where the curve bends, instead of all 60."""
    card, traced = evidence.card, evidence.traced
    if card is None or traced is None:
        yield gap(evidence, "how many cores it is worth")
        return
    cores = card["cores"]
    knee, every = cores["knee_cores"], cores["points"][-1]
    before = every["cores"] / every["throughput_pps"] * _GIGA
    after = knee / cores["throughput_pps"] * _GIGA
    file, line = traced.entry
    confidence = percent(card["confidence"], 0)
    yield Advice(
        "cores",
        f"Give it {knee} cores" if knee < every["cores"] else f"Give it all {knee} cores",
        traced.counts["entry"],
        file,
        line,
        _reason(cores),
        before,
        after,
        "ns of cores",
        None,
        "estimated",
        f"{cores['knee_low']} to {cores['knee_high']} cores ({confidence}), predicted from counts "
        "on the trace and from what instructions and accesses of published elements take; state "
        "where the placement puts it; no card was measured, and nobody measured fewer than 24 "
        f"cores, which are never advised{doubts(traced)}",
        share=max(1 - after / before, 0.0),
    )


def _reason(cores: CardCores) -> str:
    rate, low, high = (cores[end] / _MEGA for end in ("throughput_pps", "low_pps", "high_pps"))
    most = cores["limits"][0]
    return (
        f"they reach {percent(cores['share'], 0)} of what all reach, {rate:.3g} million "
        f"packets a second ({low:.3g} to {high:.3g}); what holds it back on all is most likely "
        f"{_CALLED.get(most['limit'], most['limit'])} ({percent(most['share'], 0)})"
    )


_PERCENT = 100
_SHOWN = 8
"""Largest number of neighbours to name."""
_SAME = 0.01
"""Share of solo throughput; neighbours with a smaller difference count as equal."""


def sharing(evidence: Evidence) -> Findings:
    """Yield advice to choose the neighbour with which the function keeps most throughput."""
    card, traced = evidence.card, evidence.traced
    if card is None or traced is None:
        yield gap(evidence, "with whom it may share the card")
        return
    best, worst = card["neighbours"][0], card["neighbours"][-1]
    before = fmean(one["kept"] for one in card["neighbours"])
    after = best["kept"]
    alike = after - worst["kept"] < _SAME
    file, line = traced.entry
    yield Advice(
        "neighbour",
        "Share the card with whomever you like"
        if alike
        else f"Share the card with {best['neighbour']} rather than with {worst['neighbour']}",
        traced.counts["entry"],
        file,
        line,
        f"with half of the cores each, it keeps {_listed(card['neighbours'])}",
        _PERCENT * before,
        _PERCENT * after,
        "% of its throughput alone, beside any of these and beside that one",
        None,
        "estimated",
        f"{_kept(best)} beside the one, {_kept(worst)} beside the other "
        f"({percent(card['confidence'], 0)}), predicted from counts on the trace and from "
        "what instructions and accesses of published elements take; no card was measured"
        f"{doubts(traced)}",
        share=max(1 - before / after, 0.0),
    )


def _listed(neighbours: list[CardNeighbour]) -> str:
    """List all neighbours, or only the best and the worst ones."""
    told = [_told(one) for one in neighbours]
    if len(told) > _SHOWN:
        left = len(told) - _SHOWN
        told[_SHOWN // 2 : -(_SHOWN // 2)] = [f"{left:,} others in between"]
    return "; ".join(told)


def _told(one: CardNeighbour) -> str:
    return f"{percent(one['kept'], 0)} beside {one['neighbour']}"


def _kept(one: CardNeighbour) -> str:
    return f"{_PERCENT * one['low']:.0f} to {percent(one['high'], 0)}"
