"""Collects the evidence for advice, using the code of the other insights commands.

A worker process parses the source, runs it on the packet trace, and searches for functions that
accelerators could replace. Meanwhile, a second worker counts SmartNIC instructions, and this
process computes the placement of state. The two workers share the memory limit.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Message, Stopping
from slowpath.core.jobs.isolated_job import Work
from slowpath.core.programs.sources import Clang
from slowpath.insights.accelerators.library_calls import LibraryUse
from slowpath.insights.accelerators.run import examine_unit, examined
from slowpath.insights.advice.advice import Evidence, Placed, Traced
from slowpath.insights.advice.resources import work_of
from slowpath.insights.advice.statics import Statics, UnknownCall, first_functions, statics_of
from slowpath.insights.blocks.traced import Executed, Trace, executed, in_llvm
from slowpath.insights.cores.assessment_documents import CardUse
from slowpath.insights.layout.documents import ElementLayout
from slowpath.insights.layout.problem import elements_of
from slowpath.insights.layout.run import WIDTH
from slowpath.insights.layout.run import advise as arrange
from slowpath.insights.placement.reading import StatedLevels, cases_of, read_stated_levels
from slowpath.insights.source.calls import reachable_from, source_functions
from slowpath.insights.source.sources import Source, is_xdp
from slowpath.insights.source.unit import CompiledUnit, UnitWorker
from slowpath.insights.trace import RunLimits, RunSettings
from slowpath.insights.trace.problems import CAPACITIES
from slowpath.insights.trace.running import Run, counted, run_unit
from slowpath.insights.trace.xdp_sources import load_runnable

if TYPE_CHECKING:
    from slowpath.insights.cores.assessment import Neighbour


_PLACEMENT_SECONDS = 10.0
"""Default time limit for the placement in seconds."""
_SEARCH_SHARE = 0.9
"""Share of the remaining time that the search for accelerators may use; the report needs the rest.
"""


class AdviceRequest(NamedTuple):
    """Files, options and limits from which the evidence for advice is collected."""

    source: Source
    clang: Clang
    """Compiler settings of the source."""
    traffic: str | None
    setting: RunSettings
    seconds: float | None
    """Time limit for the whole report, if any."""
    memory: int | None
    """Memory limit in bytes, if any."""
    beside: Sequence[str] = ()
    """Files with functions that may share the card with the assessed function."""
    placement: str | None = None
    """File with the present levels of structures, if any."""


def gather(request: AdviceRequest, stopping: Stopping) -> Evidence:
    """Collect the evidence about a source file from which advice is derived.

    `stopping` tells when the user interrupts the command.

    Raises:
        InputError: when the source or the trace cannot be used.
        StoppedError: when the time was too short to run the trace.
    """
    until = None if request.seconds is None else monotonic() + request.seconds
    others = _neighbours(request) if request.beside else []
    original, request = request, _runnable(request)
    unit = CompiledUnit(request.source)
    original_unit = unit if original is request else CompiledUnit(original.source)
    read = partial(_read, unit, request.setting.entry)
    examine = partial(examine_unit, original_unit, None)
    works: list[Work] = [read, examine]
    if request.traffic is not None:
        count = partial(run_unit, unit, request.traffic, request.setting)
        works.append(count)
        if request.memory is not None:  # a second worker runs at the same time
            request = request._replace(memory=request.memory // 2)
    with UnitWorker(unit.file, request.memory, stopping, *works) as worker:
        statics, first = _statics(unit.file, worker, read, _left(until))
        stated = _stated_levels(request, statics)
        run: Run | None = None
        if request.traffic is not None:
            run = counted(unit.file, worker, count, _left(until))
            first = [one["symbol"] for one in run.report["functions"]]
            sizes = {one["structure"]: one["size_bytes"] for one in run.report["structures"]}
            for one in statics.structures:  # only the run knows the size of allocated state
                one["size_bytes"] = sizes.get(one["structure"], one["size_bytes"])
        # Examine targets of pointers as well; without known first functions, examine all functions.
        first = sorted(reachable_from(statics.calls, first, statics.indirect)) if first else []
        left = _left(until)
        seconds = left if left is None or run is None else _SEARCH_SHARE * left
        end = None if seconds is None else monotonic() + seconds
        worker.start(examine, seconds, first)
        traced, use = None, None
        if run is not None and request.traffic is not None:  # while the worker searches
            blocks = _executed(request, request.traffic, run, left, stopping)
            levels = stated, _room(stated, statics, run)
            traced = _traced(unit.file, run, blocks, levels, _left(until))
            use = None if statics.floating is not None else _card(traced, others)
        accelerators = examined(original.source, worker, _left(end))
    return Evidence(unit.file, accelerators, statics, traced, use)


def _neighbours(request: AdviceRequest) -> "list[Neighbour]":
    from slowpath.insights.cores.assessment import card, numbered, read_neighbours

    known = card()
    return numbered([one for file in request.beside for one in read_neighbours(known, file)])


def _card(traced: Traced, others: "Sequence[Neighbour]") -> CardUse:
    from slowpath.insights.cores.assessment import assess, card

    return assess(card(), work_of(traced.counts, traced.placed), others)


def _runnable(request: AdviceRequest) -> AdviceRequest:
    """Return a request whose source can run on this computer.

    For an XDP program, the source is replaced by host code; other requests are returned unchanged.
    """
    if not request.source.compiled or not is_xdp(request.source.file):
        return request
    filled = request.setting.maps is not None
    return request._replace(source=load_runnable(request.source.file, request.clang, filled=filled))


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - monotonic(), 0.1)


def _read(
    unit: CompiledUnit, entry: str | None, _seconds: float | None, _stopping: Stopping
) -> Iterator[Message]:
    """Yield one message: the functions that may receive packets, and facts about the source.

    This runs in the worker process. The facts, such as loops, are found without running the source.
    """
    symbol = unit.find_entry(entry)
    if not source_functions(unit.functions):
        raise InputError(codes.ENTRY_NOT_CHOSEN, unit.file, "does not define a function")
    facts = statics_of(unit, symbol)
    # Messages must consist of plain tuples.
    plain = facts._asdict() | {"uses": [tuple(one) for one in facts.uses]}
    plain["unknown"] = [tuple(one) for one in facts.unknown]
    yield "read", first_functions(unit.file, unit.functions, symbol), plain


def _statics(
    file: str, worker: UnitWorker, read: Work, seconds: float | None
) -> tuple[Statics, list[str]]:
    """Read a source in the worker process, and return facts about it, such as loops.

    The facts are found without running the source. Also return the symbols of functions that may
    receive packets. `read` is the function for the worker process, and `seconds` the time limit.
    """
    found = list[tuple[Statics, list[str]]]()

    def receive(message: Message) -> None:
        match message:
            case ("read", first, facts):
                facts["uses"] = [LibraryUse(*one) for one in facts["uses"]]
                facts["unknown"] = [UnknownCall(*one) for one in facts["unknown"]]
                found.append((Statics(**facts), first))

    stopped = worker.run(read, seconds, receive)
    if not found:
        raise StoppedError(
            codes.STOPPED_AT_DEADLINE, file, f"{stopped or 'stopped'} before the source was read"
        )
    return found[0]


def _executed(
    request: AdviceRequest, traffic: str, run: Run, seconds: float | None, stopping: Stopping
) -> Executed:
    """Return the counts of the code blocks that ran, in SmartNIC instructions if possible.

    If the SmartNIC's instructions cannot be counted, use LLVM instructions. `run` has the results
    of running the source on the trace `traffic`.
    """
    allowed = RunLimits(None if seconds is None else seconds / 2, request.memory)
    try:
        trace = Trace(traffic, request.setting, allowed, run.report)
        return executed(request.source, request.clang, trace, stopping)
    except InputError as problem:  # or StoppedError: continue without card instructions
        return in_llvm(run.report, problem.reason)


def _stated_levels(request: AdviceRequest, statics: Statics) -> StatedLevels:
    if request.placement is None:
        return {}
    sizes = {one["structure"]: one["size_bytes"] for one in statics.structures}
    return read_stated_levels(request.placement, sizes, CAPACITIES)


def _room(stated: StatedLevels, statics: Statics, run: Run) -> dict[str, int]:
    """Return the number of bytes in each memory level that are free for placing state.

    Structures that the user put into a level (`stated`) take up space if packets do not access
    them.
    """
    touched = {one["structure"] for one in run.report["structures"]}
    room = dict(CAPACITIES)
    for one in statics.structures:
        if one["structure"] in stated and one["structure"] not in touched:
            room[stated[one["structure"]]] -= one["size_bytes"]
    return room


def _traced(
    file: str,
    run: Run,
    blocks: Executed,
    levels: tuple[StatedLevels, Mapping[str, int]],
    seconds: float | None,
) -> Traced:
    layouts, width = list[ElementLayout](), WIDTH
    if run.coalescing is not None:
        described = elements_of(file, json.dumps(run.coalescing))
        width = described.width or WIDTH
        layouts = [arrange(one, width) for one in described.elements]
    placed, unplaced = None, "no packet accesses state"
    if run.report["structures"]:
        try:
            placed = placed_state(file, run.placement, *levels, seconds)
        except InputError as problem:
            unplaced = problem.reason
    return Traced(run.report, blocks, placed, unplaced, layouts, width)


def placed_state(
    file: str,
    problem: Mapping[str, object],
    stated: StatedLevels,
    room: Mapping[str, int],
    seconds: float | None,
) -> Placed:
    """Return the best placement of the structures of `problem` (`placement_problem`).

    `stated` has the present levels, and `room` the free bytes of each level.

    Raises:
        InputError: when the structures do not fit.
    """
    from slowpath.insights.placement.run import Rules
    from slowpath.insights.placement.run import advise as place

    (described,) = cases_of(file, json.dumps(problem))
    card = described.case.card._replace(capacity=room)
    described = described._replace(case=described.case._replace(card=card))
    farthest = max(card.levels, key=lambda level: card.capacity[level])
    rules = Rules(
        seconds=_PLACEMENT_SECONDS if seconds is None else min(seconds, _PLACEMENT_SECONDS)
    )
    prices = {name: dict(each) for name, each in card.access_cost.items()}
    return Placed(place(file, described, rules), farthest, prices, stated)
