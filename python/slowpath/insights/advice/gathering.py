"""Collection of evidence with the other commands of insights.

One worker process parses the source, runs it and looks for accelerators. Beside it, another one
counts instructions of the card, in a module of its own, and this process places state.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Message
from slowpath.core.jobs.isolated_job import Work
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.programs.sources import Clang
from slowpath.insights.accelerators.library_calls import LibraryUse
from slowpath.insights.accelerators.run import examine_unit, examined
from slowpath.insights.advice.advice import Evidence, Placed, Traced
from slowpath.insights.advice.card import work_of
from slowpath.insights.advice.pointers import Unknown
from slowpath.insights.advice.statics import Statics, first_functions, statics_of
from slowpath.insights.blocks.traced import Executed, Trace, executed, in_llvm
from slowpath.insights.demands.documents import CardUse
from slowpath.insights.layout.documents import ElementLayout
from slowpath.insights.layout.reading import elements_of
from slowpath.insights.layout.run import WIDTH
from slowpath.insights.layout.run import advise as arrange
from slowpath.insights.placement.reading import Standing, cases_of, read_standing
from slowpath.insights.source.calls import reachable_from, source_functions
from slowpath.insights.source.sources import Source, is_xdp
from slowpath.insights.source.unit import CompiledUnit, UnitWorker
from slowpath.insights.trace.problems import CAPACITIES
from slowpath.insights.trace.request import RunLimits, RunSettings
from slowpath.insights.trace.running import Run, counted, run_unit
from slowpath.insights.trace.xdp_sources import load_runnable

if TYPE_CHECKING:
    from slowpath.insights.demands.neighbours import Neighbour


_PLACING = 10.0
"""Default time limit for the placement in seconds."""
_EXAMINING = 0.9
"""Share of the remaining time for the search for accelerators, so that a report is made in time."""


class AdviceRequest(NamedTuple):
    """Input of a report."""

    source: Source
    clang: Clang
    """Compiler settings of the source."""
    traffic: str | None
    setting: RunSettings
    seconds: float | None
    """Time limit for the whole report; None for no limit."""
    memory: int | None
    beside: Sequence[str] = ()
    """Files with functions that may share the card with it."""
    placement: str | None = None
    """File with the current memory of structures."""


def gather(asked: AdviceRequest, stopping: Stopping) -> Evidence:
    """Collect the evidence about a source.

    Raises:
        InputError: when the source or the trace cannot be used.
        StoppedError: when the time was too short to run the trace.
    """
    until = None if asked.seconds is None else monotonic() + asked.seconds
    others = _neighbours(asked) if asked.beside else []
    whole, asked = asked, _runnable(asked)
    unit = CompiledUnit(asked.source)
    apart = unit if whole is asked else CompiledUnit(whole.source)
    read = partial(_read, unit, asked.setting.entry)
    examine = partial(examine_unit, apart, None)
    works: list[Work] = [read, examine]
    if asked.traffic is not None:
        count = partial(run_unit, unit, asked.traffic, asked.setting)
        works.append(count)
    with UnitWorker(unit.file, asked.memory, stopping, *works) as worker:
        statics, first = _statics(unit.file, worker, read, _left(until))
        standing = _standing(asked, statics)
        run: Run | None = None
        if asked.traffic is not None:
            run = counted(unit.file, worker, count, _left(until))
            first = [one["symbol"] for one in run.report["functions"]]
            sizes = {one["structure"]: one["size_bytes"] for one in run.report["structures"]}
            for one in statics.structures:  # the run has the size of allocated state
                one["size_bytes"] = sizes.get(one["structure"], one["size_bytes"])
        # Examine targets of pointers, too; without known first functions, examine all.
        first = sorted(reachable_from(statics.calls, first, statics.through)) if first else []
        left = _left(until)
        seconds = left if left is None or run is None else _EXAMINING * left
        end = None if seconds is None else monotonic() + seconds
        worker.start(examine, seconds, first)
        traced, use = None, None
        if run is not None and asked.traffic is not None:  # meanwhile, beside the worker
            ran = _executed(asked, asked.traffic, run, left, stopping)
            levels = standing, _room(standing, statics, run)
            traced = _traced(unit.file, run, ran, levels, _left(until))
            use = None if statics.floating is not None else _card(traced, others)
        accelerators = examined(whole.source, worker, _left(end))
    return Evidence(unit.file, accelerators, statics, traced, use)


def _neighbours(asked: AdviceRequest) -> "list[Neighbour]":
    from slowpath.insights.demands.assessment import card
    from slowpath.insights.demands.reading import numbered, read_neighbours

    known = card()
    return numbered([one for file in asked.beside for one in read_neighbours(known, file)])


def _card(traced: Traced, others: "Sequence[Neighbour]") -> CardUse:
    from slowpath.insights.demands.assessment import assess, card

    return assess(card(), work_of(traced.counts, traced.placed), others)


def _runnable(asked: AdviceRequest) -> AdviceRequest:
    """Return the request with a source that runs: XDP programs compiled for BPF, with tables."""
    if not asked.source.compiled or not is_xdp(asked.source.file):
        return asked
    filled = asked.setting.maps is not None
    return asked._replace(source=load_runnable(asked.source.file, asked.clang, filled=filled))


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - monotonic(), 0.1)


def _read(
    unit: CompiledUnit, entry: str | None, _seconds: float | None, _stopping: Stopping
) -> Iterator[Message]:
    """Read static facts of the source, and the symbols of functions that packets reach first."""
    symbol = unit.find_entry(entry)
    if not source_functions(unit.functions):
        raise InputError(unit.file, "has no function of its own")
    said = statics_of(unit, symbol)
    # Messages must consist of plain tuples.
    plain = said._asdict() | {"uses": [tuple(one) for one in said.uses]}
    plain["unknown"] = [tuple(one) for one in said.unknown]
    yield "read", first_functions(unit.file, unit.functions, symbol), plain


def _statics(
    file: str, worker: UnitWorker, read: Work, seconds: float | None
) -> tuple[Statics, list[str]]:
    """Return the result of `_read` in a worker."""
    found = list[tuple[Statics, list[str]]]()

    def take(message: Message) -> None:
        match message:
            case ("read", first, said):
                said["uses"] = [LibraryUse(*one) for one in said["uses"]]
                said["unknown"] = [Unknown(*one) for one in said["unknown"]]
                found.append((Statics(**said), first))

    stopped = worker.run(read, seconds, take)
    if not found:
        raise StoppedError(file, f"{stopped or 'it'} before the source was read")
    return found[0]


def _executed(
    asked: AdviceRequest, traffic: str, run: Run, seconds: float | None, stopping: Stopping
) -> Executed:
    """Return the blocks that ran, with card instructions, or else LLVM instructions."""
    allowed = RunLimits(None if seconds is None else seconds / 2, asked.memory)
    try:
        trace = Trace(traffic, asked.setting, allowed, run.report)
        return executed(asked.source, asked.clang, trace, stopping)
    except InputError as problem:  # or StoppedError: go on without it
        return in_llvm(run.report, problem.reason)


def _standing(asked: AdviceRequest, statics: Statics) -> Standing:
    if asked.placement is None:
        return {}
    sizes = {one["structure"]: one["size_bytes"] for one in statics.structures}
    return read_standing(asked.placement, sizes, CAPACITIES)


def _room(standing: Standing, statics: Statics, run: Run) -> dict[str, int]:
    """Return the free bytes per level; structures that packets do not access stay in place."""
    touched = {one["structure"] for one in run.report["structures"]}
    room = dict(CAPACITIES)
    for one in statics.structures:
        if one["structure"] in standing and one["structure"] not in touched:
            room[standing[one["structure"]]] -= one["size_bytes"]
    return room


def _traced(
    file: str,
    run: Run,
    ran: Executed,
    levels: tuple[Standing, Mapping[str, int]],
    seconds: float | None,
) -> Traced:
    layouts, width = list[ElementLayout](), WIDTH
    if run.coalescing is not None:
        described = elements_of(file, json.dumps(run.coalescing))
        width = described.width or WIDTH
        layouts = [arrange(one, width) for one in described.elements]
    placed, unplaced = None, "no state was touched"
    if run.report["structures"]:
        try:
            placed = _placed(file, run, *levels, seconds)
        except InputError as problem:
            unplaced = problem.reason
    return Traced(run.report, ran, placed, unplaced, layouts, width)


def _placed(
    file: str, run: Run, standing: Standing, room: Mapping[str, int], seconds: float | None
) -> Placed:
    from slowpath.insights.placement.run import Rules
    from slowpath.insights.placement.run import advise as place

    (described,) = cases_of(file, json.dumps(run.placement))
    card = described.case.card._replace(capacity=room)
    described = described._replace(case=described.case._replace(card=card))
    farthest = max(card.levels, key=lambda level: card.capacity[level])
    rules = Rules(seconds=_PLACING if seconds is None else min(seconds, _PLACING))
    prices = {name: dict(each) for name, each in card.access_cost.items()}
    return Placed(place(file, described, rules), farthest, prices, standing)
