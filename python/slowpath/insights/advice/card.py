"""Advice on the card as a whole: cores and co-located functions.

Instructions are of LLVM's language, as their price is. Accesses to packets are no work here: the
first 64 bytes are in registers, as in the published functions, where they are part of a packet by
itself. Memory without a name is taken for external.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from slowpath.insights.advice.advice import Advice, Evidence, Gap, Placed, Said, Traced
from slowpath.insights.demands.documents import CardCores, CardNeighbour, CardPart, CardWork
from slowpath.insights.output import percent
from slowpath.insights.trace.documents import CountedMember, CountedStructure, CountsReport

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


def gap(evidence: Evidence, what: str) -> Gap:
    """Why nothing can be said of the card as a whole, where nothing is."""
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
    """What else an estimate takes for granted, to be put behind what it rests on."""
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


def scaling(evidence: Evidence) -> Said:
    """One piece of advice: from all 60 cores to the number where the curve bends."""
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
"""Neighbours that are named, at most."""
_SAME = 0.01
"""Of its throughput: neighbours that differ by less are alike."""


def sharing(evidence: Evidence) -> Said:
    """One piece of advice: from any of the neighbours to the one with which it keeps most."""
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
    """All of them, or those at the ends."""
    told = [_told(one) for one in neighbours]
    if len(told) > _SHOWN:
        left = len(told) - _SHOWN
        told[_SHOWN // 2 : -(_SHOWN // 2)] = [f"{left:,} others in between"]
    return "; ".join(told)


def _told(one: CardNeighbour) -> str:
    return f"{percent(one['kept'], 0)} beside {one['neighbour']}"


def _kept(one: CardNeighbour) -> str:
    return f"{_PERCENT * one['low']:.0f} to {percent(one['high'], 0)}"
