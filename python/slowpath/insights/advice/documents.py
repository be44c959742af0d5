"""Types of the JSON document of `slowpath insights FILE`."""

from typing import Literal, NotRequired, TypedDict

from slowpath.core.schema import Document
from slowpath.insights.accelerators.documents import Unexamined
from slowpath.insights.advice.statics import StaticAccess, StaticLoop, StaticStructure
from slowpath.insights.cores.assessment_documents import CardUse


class AdviceGiven(TypedDict):
    """A piece of advice: a recommended change, with its effect and certainty."""

    kind: Literal["accelerator", "placement", "coalescing", "cores", "neighbour"]
    """Subject of the advice."""
    title: str
    """Change to make."""
    what: str
    """Function or structure to change."""
    file: str
    """File of the function or structure; empty if unknown."""
    line: int
    """Line of the function or structure; 0 if unknown."""
    reason: str
    """Reason for the change."""
    before: float | None
    """Value per packet before the change; null without counts. For a neighbour: throughput kept
    beside an average one of the compared neighbours."""
    after: float | None
    """The same value after the change, or beside the best neighbour."""
    unit: str
    """Unit of `before` and `after`."""
    saved_cycles: float | None
    """Cycles per packet that the change saves, under the report's assumptions; null if unknown, or
    not in cycles."""
    effect: float | None
    """Saved share of a packet's cycles; advice is sorted by it. For cores: share of the time that a
    packet occupies cores, compared with all 60. For a neighbour: share of the time between
    packets, compared with an average neighbour. Effects are of one change each: they do not add
    up."""
    certainty: Literal["proved", "predicted", "estimated", "learnt", "assumption"]
    """Weakest basis of `before` and `after`: proved by execution or an exact search; predicted by a
    model; estimated by prices of other functions; learnt by a classifier; or assumed, without any
    measurement. Effects always depend on the assumptions of the report."""
    sure: str
    """Certainty in words."""
    code: str
    """Code to write instead, in C; empty if there is none."""


class Unsaid(TypedDict):
    """A piece of advice that could not be given, with the reason."""

    what: str
    """Subject of the advice."""
    why: str
    """Reason why the advice is missing."""
    remedy: str
    """Action that makes the advice possible; empty if there is none yet."""


class AdviceTraffic(TypedDict):
    """The packet trace over which instructions and accesses were counted."""

    file: str
    """Name of the file, as the user gave it."""
    packets: int
    """Number of packets that ran."""
    entry: str
    """Function that got the packets."""
    instructions: float
    """Instructions per packet."""
    unit: str
    """Unit of `instructions`: card instructions where they could be counted, else LLVM's."""
    cycles: float
    """Cycles per packet, under the assumptions of the report."""
    notes: list[str]
    """Limits of the counts, features that a card lacks, and assumptions."""


class LineCount(TypedDict):
    """Number of runs and instructions of a source line, per packet of the trace."""

    file: str
    """File of the line."""
    line: int
    """Number of the line."""
    runs_per_packet: float
    """Runs per packet of the line's most frequent block."""
    instructions_per_packet: float
    """Instructions per packet of the line, over all blocks, in `unit` of `traffic`."""


class PresentStructure(TypedDict):
    """A structure that packets access, with the memory in which it is now and its cost there."""

    structure: str
    """Name in the source."""
    level: str
    """Current memory: from `--placement`, else the farthest."""
    reads_per_packet: float
    """Read accesses per packet."""
    writes_per_packet: float
    """Write accesses per packet."""
    cycles: float
    """Cost of these accesses in that memory, in cycles per packet."""


class PresentOrder(TypedDict):
    """A group of variables whose order could change, with its cost in the order of the source."""

    what: str
    """The structure; for an element, or for variables, its plain ones as one struct."""
    accesses: float
    """Accesses per packet."""
    access_bytes: int
    """Bytes per access."""


class Present(TypedDict):
    """Costs before any change, also of structures without advice."""

    structures: list[PresentStructure]
    """Structures in the order of their addresses."""
    orders: list[PresentOrder]
    """Examined orders of variables."""


class AdviceReport(Document):
    """The JSON document that `slowpath insights FILE --format json` prints."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    file: str
    """Name of the source, as the user gave it."""
    target: str
    """The card."""
    traffic: AdviceTraffic | None
    """The trace; null without one."""
    assumptions: list[str]
    """Assumptions behind the order of the advice."""
    advice: list[AdviceGiven]
    """Advice, largest effect first; then advice with unknown effect; then advice on code that no
    packet of the trace reached (`before` is 0)."""
    unsaid: list[Unsaid]
    """Advice that could not be given."""
    unexamined: list[Unexamined]
    """Functions that packets may reach, but that were not fully examined for accelerators."""
    present: Present | None
    """Current memory and cost of state; null without a trace."""
    structures: list[StaticStructure]
    """State of the source: variables, and members of elements."""
    accesses: list[StaticAccess]
    """Memory accesses in the code by line, without functions of the headers."""
    loops: list[StaticLoop]
    """Loops in the source's own functions."""
    card: CardUse | None
    """Cores and neighbours; null without a trace, or if the source uses floating point."""
    lines: list[LineCount]
    """Runs by line; empty without a trace."""
