"""Advises on the number of cores, and on other functions that share the SmartNIC.

Instructions are LLVM instructions, because the published costs are per LLVM instruction. Accesses
to packets are not counted: the first 64 bytes are in registers, and the published cost per packet
includes other accesses. Memory without a name counts as external memory.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from slowpath.core.quantities import with_interval
from slowpath.insights.advice.advice import Advice, Evidence, Findings, Gap, Placed, Traced
from slowpath.insights.demands.documents import CardCores, CardNeighbour, CardPart, CardWork
from slowpath.insights.output import percent
from slowpath.insights.trace.documents import CountedMember, CountedStructure, CountsReport

WINDOW = 16
"""Bytes per access in published elements (approximate)."""
_MAX_ACCESS_BYTES = 64
"""Maximum number of bytes that one access in the source stands for; members can be whole arrays."""
_UNNAMED = "memory without a name"


def work_of(counts: CountsReport, placed: Placed | None) -> CardWork:
    """Return instructions and memory accesses per packet, with structures placed as recommended.

    Instructions are LLVM instructions, as in the published figures for Click elements
    (`demands/published.py`).
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
    """Return the share (0 to 1) of a structure that the placement puts into internal memory."""
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
    """Return the number of accesses that the card needs for the program's accesses to `members`.

    The program is assumed to need every byte that an access fetches.
    """
    counts = [
        (one["size_bytes"], one["reads"] if operation == "reads" else one["writes"])
        for one in members
    ]
    if not all(size for size, count in counts if count):
        return accesses
    return math.fsum(min(size, _MAX_ACCESS_BYTES) * count for size, count in counts) / WINDOW


def gap(evidence: Evidence, what: str) -> Gap:
    """Return the reason why the advice `what` cannot be given, with a remedy.

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
    """Return additional assumptions of an estimate, as a further sentence; empty if none."""
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
    """Yield advice to use as many cores as the knee of the throughput curve, instead of all 60."""
    card, traced = evidence.card, evidence.traced
    if card is None or traced is None:
        yield gap(evidence, "number of cores")
        return
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
    """Yield advice to share the card with the function that reduces throughput least."""
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
    """Return a list of all neighbours as text; if there are many, of the best and the worst."""
    described = [_described(one) for one in neighbours]
    if len(described) > _MAX_NAMED:
        omitted = len(described) - _MAX_NAMED
        described[_MAX_NAMED // 2 : -(_MAX_NAMED // 2)] = [f"{omitted:,} others between these"]
    return "; ".join(described)


def _described(one: CardNeighbour) -> str:
    return f"{percent(one['kept'], 0)} beside {one['neighbour']}"


def _kept(one: CardNeighbour) -> str:
    return f"{_PERCENT * one['low']:.0f} to {percent(one['high'], 0)}"
