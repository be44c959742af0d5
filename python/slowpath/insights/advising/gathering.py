"""Finds out what advice rests on: each part by the command's own code that there is for it."""

import json
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import NamedTuple

from slowpath.cli.errors import InputError, StoppedError
from slowpath.insights.accelerators.examination import examine
from slowpath.insights.advising.card.counted import work_of
from slowpath.insights.advising.evidence import Evidence, Placed, Traced
from slowpath.insights.advising.statics import Statics, statics_of
from slowpath.insights.coalescing.advising import WIDTH
from slowpath.insights.coalescing.advising import advise as arrange
from slowpath.insights.coalescing.documents import ElementLayout
from slowpath.insights.coalescing.reading import elements_of
from slowpath.insights.demands.assessment import assess, card
from slowpath.insights.demands.reading import read_neighbours
from slowpath.insights.errands import attempt
from slowpath.insights.placement.advice.advising import Rules
from slowpath.insights.placement.advice.advising import advise as place
from slowpath.insights.placement.reading import cases_of
from slowpath.insights.porting.running import Run, run_source
from slowpath.insights.porting.setting import Allowance, Setting
from slowpath.insights.preparation.sources import Source
from slowpath.work.jobs import Message
from slowpath.work.stopping import Stopping

_PLACING = 10.0
"""Seconds for the best placement, where nobody says."""


class Asked(NamedTuple):
    """What the report is about."""

    source: Source
    traffic: str | None
    setting: Setting
    seconds: float | None
    """For all of it; None: as long as it takes."""
    memory: int | None
    beside: Sequence[str] = ()
    """Files of functions that it may share the card with."""


def gather(asked: Asked, stopping: Stopping) -> Evidence:
    """All that is known of a source.

    Raises:
        InputError: when it, or the trace, cannot be used.
        StoppedError: when there was not enough time to run the trace.
    """
    until = None if asked.seconds is None else monotonic() + asked.seconds
    known = card()
    others = [one for file in asked.beside for one in read_neighbours(known, file)]
    statics = _statics(asked, stopping)
    traced = None
    if asked.traffic is not None:
        allowed = Allowance(_left(until), asked.memory)
        run = run_source(asked.source, asked.traffic, asked.setting, allowed, stopping)
        traced = _traced(asked.source.file, run, _left(until))
    entry = asked.setting.entry
    accelerators = examine(asked.source, entry, _left(until), asked.memory, stopping)
    use = None if traced is None else assess(known, work_of(traced.counts, traced.placed), others)
    return Evidence(asked.source.file, accelerators, statics, traced, use)


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - monotonic(), 0.1)


def _statics(asked: Asked, stopping: Stopping) -> Statics:
    """What the source says of itself, read in a process that may die."""
    found = list[Statics]()

    def take(message: Message) -> None:
        match message:
            case ("read", structures, accesses, loops):
                found.append(Statics(structures, accesses, loops))

    def work(_seconds: float | None, _stopping: Stopping) -> Iterator[Message]:
        from slowpath.insights.preparation.modules import keep_loops
        from slowpath.insights.program import Program

        keep_loops()
        program = Program(asked.source, asked.setting.entry)
        yield "read", *statics_of(program.module, program.functions, program.entry)

    stopped = attempt(asked.source.file, work, (asked.seconds, asked.memory), stopping, take)
    if not found:
        raise StoppedError(asked.source.file, f"{stopped or 'it'} before the source was read")
    return found[0]


def _traced(file: str, run: Run, seconds: float | None) -> Traced:
    layouts, width = list[ElementLayout](), WIDTH
    if run.coalescing is not None:
        described = elements_of(file, json.dumps(run.coalescing))
        width = described.width or WIDTH
        layouts = [arrange(one, width) for one in described.elements]
    placed, unplaced = None, "no state was touched"
    if run.report["structures"]:
        try:
            placed = _placed(file, run, seconds)
        except InputError as problem:
            unplaced = problem.reason
    return Traced(run.report, placed, unplaced, layouts, width)


def _placed(file: str, run: Run, seconds: float | None) -> Placed:
    (described,) = cases_of(file, json.dumps(run.placement))
    card = described.case.card
    farthest = max(card.levels, key=lambda level: card.capacity[level])
    rules = Rules(seconds=_PLACING if seconds is None else min(seconds, _PLACING))
    prices = {name: dict(each) for name, each in card.access_cost.items()}
    return Placed(place(file, described, rules), farthest, prices)
