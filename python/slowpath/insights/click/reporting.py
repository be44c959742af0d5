"""Combines the counts of all elements to the report on a configuration.

State of all elements competes for the same memories, so that one placement covers all of it.
Structures are named `element: structure`.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core import engine
from slowpath.core.errors import InputError
from slowpath.core.programs.sources import provenance
from slowpath.insights.advice.advice import Advice, Traced, assumptions, cycles
from slowpath.insights.advice.gathering import placed_state
from slowpath.insights.advice.ranking import as_document, order
from slowpath.insights.advice.resources import choosing_cores, moving, ordering, work_of
from slowpath.insights.blocks.traced import in_llvm
from slowpath.insights.click.documents import (
    GraphAdvice,
    GraphConnection,
    GraphElement,
    GraphMissing,
    GraphReport,
    GraphTraffic,
)
from slowpath.insights.click.running import Configured
from slowpath.insights.cores.assessment import assess, card
from slowpath.insights.layout.problem import elements_of
from slowpath.insights.layout.run import WIDTH
from slowpath.insights.layout.run import advise as arrange
from slowpath.insights.trace.documents import CountsReport
from slowpath.insights.trace.problems import CAPACITIES, placement_problem

_DIGITS = 6
_BOTH = ": "
"""Text between the names of an element and its structure."""
_ASSUMED = (
    "tasks and devices that pull empty the queues after each packet",
    "timers never run",
    "copies of packets between elements take no instructions",
)
_ENGINES = (
    "functions that an accelerator can replace are not searched; run slowpath insights on the "
    "source of an element"
)
_ON_CARD = (
    "instructions are those of LLVM; slowpath insights counts card instructions for a single "
    "element"
)


class ElementRun(NamedTuple):
    """The counts of an element in a run of the whole configuration."""

    report: CountsReport
    coalescing: dict[str, object] | None


class Ran(NamedTuple):
    """The result of a run of a configuration."""

    elements: Mapping[int, ElementRun]
    missing: Mapping[int, str]
    """Reasons, by element."""
    passed: Mapping[str, Any] | None
    """Numbers of packets; None if nothing ran."""
    traffic: Mapping[int, str]
    """Capture file of each source element."""
    more: bool


def report_on(configured: Configured, folder: str, ran: Ran, seconds: float | None) -> GraphReport:
    """Return the report on a configuration; `seconds` limits the search for a placement."""
    graph = configured.graph
    merged = _merged(configured, ran)
    traced = None if merged is None else _traced(graph.file, merged, seconds)
    advice = [] if traced is None else _advice(configured, ran, traced)
    missing = _missing(configured, ran)
    return {
        **engine.head("insights graph", "graph"),
        **provenance(compiled=True),
        "file": graph.file,
        "click": folder,
        "packages": list(graph.packages),
        "traffic": None if traced is None else _traffic(configured, ran, traced, missing),
        "elements": [_element(configured, ran, at) for at in range(len(graph.elements))],
        "connections": list(_connections(configured)),
        "missing": missing,
        "advice": sorted(advice, key=lambda one: order(one["given"])),
        "assumptions": [] if traced is None else [*assumptions(traced), *_ASSUMED],
        "notes": _notes(ran),
    }


def _merged(configured: Configured, ran: Ran) -> CountsReport | None:
    """Return the counts of all elements as those of one function; None if nothing ran."""
    if not ran.elements:
        return None
    reports = [one.report for one in ran.elements.values()]
    file, elements = configured.graph.file, configured.graph.elements
    first = reports[0]
    return {
        **first,
        "file": file,
        "entry": file,
        "functions": [one for each in reports for one in each["functions"]],
        "blocks": [one for each in reports for one in each["blocks"]],
        "calls": [],
        "structures": [
            {**one, "structure": f"{elements[at].name}{_BOTH}{one['structure']}"}
            for at, each in ran.elements.items()
            for one in each.report["structures"]
        ],
        "elsewhere": [one for each in reports for one in each["elsewhere"]],
        "notes": [],
    }


def _traced(file: str, merged: CountsReport, seconds: float | None) -> Traced:
    placed, why = None, "no packet accesses state"
    if merged["structures"]:
        try:
            placed = placed_state(file, placement_problem(merged), {}, CAPACITIES, seconds)
        except InputError as problem:
            why = problem.reason
    return Traced(merged, in_llvm(merged, _ON_CARD), placed, why, [], WIDTH)


def _advice(configured: Configured, ran: Ran, traced: Traced) -> list[GraphAdvice]:
    total = cycles(traced)
    found = list[GraphAdvice]()
    if traced.placed is not None:
        found += [_given(one, total) for one in moving(traced, traced.placed)]
    for at, one in ran.elements.items():
        if one.coalescing is None:
            continue
        name = configured.graph.elements[at].name
        described = elements_of(one.report["file"], json.dumps(one.coalescing))
        width = described.width or WIDTH
        layouts = [arrange(each, width) for each in described.elements]
        alone = traced._replace(counts=one.report, layouts=layouts, width=width)
        found += [_given(each, total, [name]) for each in ordering(alone)]
    use = assess(card(), work_of(traced.counts, traced.placed), [])
    found += [_given(one, total) for one in choosing_cores(use, traced)]
    return found


def _given(one: Advice, total: float, elements: Sequence[str] = ()) -> GraphAdvice:
    named = list(elements)
    if not named and one.kind == "placement":
        named = [part.partition(_BOTH)[0] for part in one.what.split(", ")]
    return {"elements": list(dict.fromkeys(named)), "given": as_document(one, total)}


def _traffic(
    configured: Configured, ran: Ran, traced: Traced, missing: Sequence[GraphMissing]
) -> GraphTraffic:
    structures = traced.counts["structures"]
    names = configured.graph.elements
    return {
        "sources": [
            {"element": names[at].name, "file": file} for at, file in sorted(ran.traffic.items())
        ],
        "packets": traced.counts["traffic"]["packets"],
        "more": ran.more,
        "instructions_per_packet": round(traced.executed.instructions(), _DIGITS),
        "state_reads_per_packet": round(
            sum(one["reads_per_packet"] for one in structures), _DIGITS
        ),
        "state_writes_per_packet": round(
            sum(one["writes_per_packet"] for one in structures), _DIGITS
        ),
        "state_bytes": sum(one["size_bytes"] for one in structures),
        "cycles": round(cycles(traced), _DIGITS),
        "complete": not any(one["packets"] for one in missing),
    }


def _element(configured: Configured, ran: Ran, at: int) -> GraphElement:
    one = configured.graph.elements[at]
    model, source = configured.models.get(at), configured.classes.get(one.kind)
    run = ran.elements.get(at)
    passed: Mapping[str, Any] = ran.passed or {"entered": {}, "dropped": {}, "waiting": {}}
    counts = _counts(run)
    return {
        "name": one.name,
        "kind": one.kind,
        "file": one.file,
        "line": one.line,
        "source": "" if source is None else str(source.file),
        "role": "missing" if at in ran.missing else "code" if model is None else model.role,
        "reason": ran.missing.get(at, ""),
        "inputs": list(configured.directions[at].inputs),
        "outputs": list(configured.directions[at].outputs),
        "packets": passed["entered"].get(str(at), 0),
        "dropped": passed["dropped"].get(str(at), 0),
        "waiting": passed["waiting"].get(str(at), 0),
        "instructions_per_packet": counts[0],
        "state_reads_per_packet": counts[1],
        "state_writes_per_packet": counts[2],
        "packet_reads_per_packet": counts[3],
        "packet_writes_per_packet": counts[4],
        "structures": [] if run is None else run.report["structures"],
        "notes": [] if run is None else run.report["notes"],
    }


def _counts(run: ElementRun | None) -> tuple[float | None, ...]:
    """Return instructions, reads and writes of state, and of packets, per packet."""
    if run is None:
        return (None,) * 5
    report = run.report
    packets = report["traffic"]["packets"]
    bytes_ = [one for one in report["elsewhere"] if one["what"] == "packet"]
    numbers = (
        math.fsum(one["runs"] * one["instructions"] for one in report["blocks"]),
        *(sum(one[what] for one in report["structures"]) for what in ("reads", "writes")),
        *(sum(one[what] for one in bytes_) for what in ("reads", "writes")),
    )
    return tuple(round(one / packets, _DIGITS) for one in numbers)


def _connections(configured: Configured) -> Iterator[GraphConnection]:
    names = [one.name for one in configured.graph.elements]
    for one in configured.graph.connections:
        yield {
            "start": names[one.start],
            "output": one.output,
            "end": names[one.end],
            "input": one.input,
            "direction": configured.directions[one.start].outputs[one.output],
        }


def _missing(configured: Configured, ran: Ran) -> list[GraphMissing]:
    """Return the missing elements, each with the elements that only it, or others, lead to."""
    graph, entered = configured.graph, {} if ran.passed is None else ran.passed["entered"]
    after = dict[int, set[int]]()
    for one in graph.connections:
        after.setdefault(one.start, set()).add(one.end)
    starts = {at for at, one in configured.models.items() if one.role in ("source", "device")}
    reached = _reached(starts, {at: to for at, to in after.items() if at not in ran.missing})
    return [
        {
            "element": graph.elements[at].name,
            "kind": graph.elements[at].kind,
            "reason": reason,
            "packets": entered.get(str(at), 0),
            "behind": [
                graph.elements[other].name
                for other in sorted(_reached({at}, after) - reached - {at})
                if other not in configured.models
            ],
        }
        for at, reason in sorted(ran.missing.items())
    ]


def _reached(starts: set[int], after: Mapping[int, set[int]]) -> set[int]:
    found, left = set(starts), list(starts)
    while left:
        new = after.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def _notes(ran: Ran) -> list[str]:
    notes = [_ENGINES, _ON_CARD] if ran.elements else []
    if ran.passed is None and ran.traffic:
        return ["no packet ran, because no element with code runs"]
    if ran.passed is None:
        return ["no packet ran; give a capture file with --pcap", *notes]
    return notes
