"""Collects all advice on a source file in a report, sorted by effect.

Advice on code that no packet of the trace reached comes last.
"""

from collections.abc import Callable, Sequence

from slowpath.core import engine
from slowpath.core.programs.sources import provenance
from slowpath.insights.advice.advice import (
    Advice,
    Evidence,
    Findings,
    Gap,
    Placed,
    Traced,
    assumptions,
    cycles,
    instructions,
    unit,
)
from slowpath.insights.advice.documents import (
    AdviceGiven,
    AdviceReport,
    AdviceTraffic,
    LineCount,
    Present,
    PresentStructure,
)
from slowpath.insights.advice.engines import accelerating
from slowpath.insights.advice.resources import (
    accesses_in_source,
    packing,
    placing,
    scaling,
    sharing,
)
from slowpath.insights.source.sources import is_source
from slowpath.insights.trace.documents import CountedStructure


def missing_counts(evidence: Evidence) -> Findings:
    """Yield the reasons why the report lacks counts of instructions.

    The source is recursive, no trace was given, or the code could not be compiled for the SmartNIC.
    """
    for name, place in evidence.statics.recursive:
        where = f" ({place})" if place else ""
        yield Gap(
            f"cost of {name}{where}",
            "the function is recursive, which the card does not support",
            "replace the recursion by a loop",
        )
    traced = evidence.traced
    if traced is None:
        yield Gap(
            "instructions for each packet",
            "the number needs the runs of each block of code",
            "give a trace of packets with --pcap; without a trace, slowpath insights blocks "
            "counts single blocks",
        )
    elif not traced.executed.on_card:
        yield Gap(
            "instructions on the card",
            f"LLVM instructions were counted instead: {traced.executed.why}",
            "run slowpath insights blocks to count the supported parts",
        )


_ADVISERS: Sequence[Callable[[Evidence], Findings]] = (
    accelerating,
    placing,
    packing,
    scaling,
    sharing,
    missing_counts,
)
_CERTAINTIES = ("proved", "predicted", "estimated", "assumption", "learnt")


def report_on(evidence: Evidence, target: str) -> AdviceReport:
    """Return the report with all advice that the evidence supports, largest effect first.

    `target` is the name of the SmartNIC.
    """
    findings = [one for adviser in _ADVISERS for one in adviser(evidence)]
    traced = evidence.traced
    total_cycles = 0.0 if traced is None else cycles(traced)
    advice = sorted(
        (as_document(one, total_cycles) for one in findings if isinstance(one, Advice)), key=order
    )
    return {
        **engine.head("insights", "advice"),
        **provenance(compiled=is_source(evidence.file)),
        "file": evidence.file,
        "target": target,
        "traffic": None if traced is None else _traffic(traced, total_cycles),
        "assumptions": [] if traced is None else assumptions(traced),
        "advice": advice,
        "unsaid": [
            {"what": one.what, "why": one.why, "remedy": one.remedy}
            for one in findings
            if isinstance(one, Gap)
        ],
        "unexamined": evidence.accelerators["unexamined"],
        "present": None if traced is None else _present(traced),
        "structures": evidence.statics.structures,
        "accesses": evidence.statics.accesses,
        "loops": evidence.statics.loops,
        "card": evidence.card,
        "lines": [] if traced is None else _lines(traced),
    }


def order(one: AdviceGiven) -> tuple[bool, bool, float, int, str, int]:
    """Return the sort key of advice: known effects, then unknown effects, then unreached code."""
    known, idle = one["effect"] is not None, one["before"] == 0
    sure = _CERTAINTIES.index(one["certainty"])
    return (idle, not known, -(one["effect"] or 0.0), sure, one["file"], one["line"])


def as_document(one: Advice, total_cycles: float) -> AdviceGiven:
    """Return a piece of advice as JSON; `total_cycles` are the cycles per packet."""
    return {
        "kind": one.kind,
        "title": one.title,
        "what": one.what,
        "file": one.file,
        "line": one.line,
        "reason": one.reason,
        "before": one.before,
        "after": one.after,
        "unit": one.unit,
        "saved_cycles": one.saved,
        "effect": one.share
        if one.saved is None
        else one.saved / total_cycles
        if total_cycles
        else None,
        "certainty": one.certainty,
        "sure": one.sure,
        "code": one.code,
    }


def _traffic(traced: Traced, total_cycles: float) -> AdviceTraffic:
    counts = traced.counts
    return {
        "file": counts["traffic"]["file"],
        "packets": counts["traffic"]["packets"],
        "entry": counts["entry"],
        "instructions": instructions(traced),
        "unit": unit(traced),
        "cycles": total_cycles,
        "notes": counts["notes"],
    }


def _present(traced: Traced) -> Present:
    """Return the costs of the program as it is, before any advised change.

    These are the memory and cost of each structure, and the accesses to each group of variables in
    the order of the source.
    """
    placed = traced.placed
    structures = (
        []
        if placed is None
        else [_present_structure(placed, one) for one in traced.counts["structures"]]
    )
    return {
        "structures": structures,
        "orders": [
            {
                "what": one["element"],
                "accesses": accesses_in_source(one),
                "access_bytes": traced.width,
            }
            for one in traced.layouts
        ],
    }


def _present_structure(placed: Placed, one: CountedStructure) -> PresentStructure:
    return {
        "structure": one["structure"],
        "level": placed.present_level(one["structure"]),
        "reads_per_packet": one["reads_per_packet"],
        "writes_per_packet": one["writes_per_packet"],
        "cycles": placed.cost(one),
    }


def _lines(traced: Traced) -> list[LineCount]:
    found = dict[tuple[str, int], LineCount]()
    for one in traced.executed.blocks:
        if one.support:
            continue
        for at, share in one.lines.items():
            line = found.setdefault(
                at, LineCount(file=at[0], line=at[1], runs_per_packet=0, instructions_per_packet=0)
            )
            line["runs_per_packet"] = max(line["runs_per_packet"], one.per_packet)
            line["instructions_per_packet"] += one.per_packet * one.instructions * share
    return [found[at] for at in sorted(found)]
