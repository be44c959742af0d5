"""Shape of advice."""

from typing import Literal, NotRequired, TypedDict

from slowpath.insights.accelerators.documents import Unexamined
from slowpath.insights.advice.statics import StaticAccess, StaticLoop, StaticStructure
from slowpath.insights.demands.documents import CardUse


class AdviceGiven(TypedDict):
    """A piece of advice."""

    kind: Literal["accelerator", "placement", "coalescing", "cores", "neighbour"]
    """What it is about."""
    title: str
    """What to change."""
    what: str
    """The function or structure."""
    file: str
    """Where that is; empty where nothing says it."""
    line: int
    """The same; 0 where nothing says it."""
    reason: str
    """Why."""
    before: float | None
    """For each packet, as the source is; null without counts. Of a neighbour, what it keeps
    beside any of those that are compared."""
    after: float | None
    """The same with the change, or beside the best one."""
    unit: str
    """Of both."""
    saved_cycles: float | None
    """Cycles of a packet that it saves, by the assumptions of the report; null: not known, or
    not in cycles."""
    effect: float | None
    """The same as a share of all that a packet takes; pieces of advice are sorted by it. Of cores:
    of the time for which a packet holds them, beside all 60; of a neighbour: of the time between
    packets, beside any of those that are compared. Of this change alone: effects do not add up."""
    certainty: Literal["proved", "predicted", "estimated", "learnt", "assumption"]
    """Of `before` and `after`, the weakest of what they rest on: proved by execution or an exact
    search; predicted by a model; estimated by prices of other functions; learnt by a classifier; or
    a number that nobody measured. Effects rest on the assumptions of the report in any case."""
    sure: str
    """How sure it is, in words."""
    code: str
    """What to write instead, in C; empty where there is none."""


class Unsaid(TypedDict):
    """Advice that could not be given."""

    what: str
    """What it would be about."""
    why: str
    """Why not."""
    remedy: str
    """What to do to have it; empty: nothing helps yet."""


class AdviceTraffic(TypedDict):
    """The trace that counts are from."""

    file: str
    """As the user named it."""
    packets: int
    """So many ran."""
    entry: str
    """The function that got them."""
    instructions: float
    """For each packet."""
    unit: str
    """What they are of: the card, where they could be counted in code for it, else LLVM."""
    cycles: float
    """All that a packet takes, by the assumptions of the report."""
    notes: list[str]
    """What the counts do not know, a card does not have, or was taken for granted."""


class LineCount(TypedDict):
    """How often code of a line ran."""

    file: str
    """The line."""
    line: int
    """The same."""
    runs_per_packet: float
    """Of the block of it that ran most often, for each packet."""
    instructions_per_packet: float
    """Its share of all blocks, for each packet; of what, `unit` of `traffic` says."""


class PresentStructure(TypedDict):
    """State that packets touch, where it stands now."""

    structure: str
    """As the source calls it."""
    level: str
    """The memory that it is in: what `--placement` says, else the farthest."""
    reads_per_packet: float
    """Accesses that read it."""
    writes_per_packet: float
    """Accesses that write it."""
    cycles: float
    """What these cost there, for each packet."""


class PresentOrder(TypedDict):
    """Variables that may be put into another order, as the source has them."""

    what: str
    """The structure; of an element, or of variables, its plain ones as one struct."""
    accesses: float
    """For each packet."""
    access_bytes: int
    """What one of these fetches."""


class Present(TypedDict):
    """What is so before any advice is followed: `before` of advice, also of what has none."""

    structures: list[PresentStructure]
    """In the order of memory."""
    orders: list[PresentOrder]
    """Those that were examined."""


class AdviceReport(TypedDict):
    """What `slowpath insights FILE --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    file: str
    """The source as the user named it."""
    target: str
    """The card."""
    traffic: AdviceTraffic | None
    """Null without a trace."""
    assumptions: list[str]
    """What the order of the advice rests on."""
    advice: list[AdviceGiven]
    """Largest effect first, then those whose effect is not known, then those on what no packet of
    the trace came to (`before` is 0)."""
    unsaid: list[Unsaid]
    """What could not be said."""
    unexamined: list[Unexamined]
    """Functions of which it was not found out, or not in all ways, whether they are for
    accelerators; of those that packets may come to."""
    present: Present | None
    """Where state stands now, and what it costs; null without a trace."""
    structures: list[StaticStructure]
    """State of the source: variables, members of elements."""
    accesses: list[StaticAccess]
    """Accesses to memory by line, as they stand in the code; functions of headers left out."""
    loops: list[StaticLoop]
    """Loops of the source's own functions."""
    card: CardUse | None
    """Its cores and neighbours; null without a trace, or where it has floating-point numbers."""
    lines: list[LineCount]
    """How often lines ran; empty without a trace."""
