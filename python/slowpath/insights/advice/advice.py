"""Types for advice, the evidence behind it, and gaps: advice that lacks evidence.

An adviser is a function that takes `Evidence` and yields advice and gaps. It is independent of
other advisers, files and formats; `ranking.py` has the list of advisers.

Cycles serve to compare costs, not to predict time. An instruction counts one cycle, as in the model
of the SmartNIC (targets/agilio-cx-2x40.toml). An access to state costs the cycles of the memory
that holds the state: the farthest memory, unless the user names another.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from slowpath.insights.accelerators.documents import AcceleratorsReport
from slowpath.insights.advice.statics import Statics
from slowpath.insights.blocks.traced import Executed
from slowpath.insights.cores.assessment_documents import CardUse
from slowpath.insights.layout.documents import ElementLayout
from slowpath.insights.placement.documents import PlacementCase
from slowpath.insights.trace.documents import CountedStructure, CountsReport

Kind = Literal["accelerator", "placement", "coalescing", "cores", "neighbour"]
Certainty = Literal["proved", "predicted", "estimated", "learnt", "assumption"]
"""Reliability of a piece of advice; if it has several bases, the weakest one counts.

`proved`: execution, or an exhaustive search; `predicted`: a model with a known error; `estimated`:
prices of other functions, with an interval; `learnt`: a classifier; `assumption`: a number that was
never measured.
"""


class Advice(NamedTuple):
    """A recommended change to a network function, with its effect and certainty."""

    kind: Kind
    title: str
    """Title in the imperative, such as "Put T into IMEM"."""
    what: str
    """Name of the function or structure to change."""
    file: str
    """File of the function or structure; empty if unknown."""
    line: int
    """Line of the function or structure; 0 if unknown."""
    reason: str
    before: float | None
    """Value per packet before the change; None without counts. For neighbours, the share of
    throughput kept beside an average neighbour.
    """
    after: float | None
    """Value per packet after the change; for neighbours, the share kept beside the best neighbour.
    """
    unit: str
    """Unit of `before` and `after`."""
    saved: float | None
    """Cycles per packet that the change saves; None if unknown."""
    certainty: Certainty
    sure: str
    """Certainty and its basis in words."""
    code: str = ""
    """Code that replaces the present code; empty if unknown."""
    share: float | None = None
    """Share of a packet's time that the change saves; None if `saved` states the saving instead."""


class Gap(NamedTuple):
    """Advice that could not be given: the kind of advice, the reason and a remedy."""

    what: str
    why: str
    remedy: str
    """An action of the user that makes the advice possible; empty if none is known to help."""


Findings = Iterator[Advice | Gap]


class Placed(NamedTuple):
    """The recommended placement of state in the SmartNIC's memories, and the cost of accesses."""

    case: PlacementCase
    farthest: str
    """The largest memory level. State is assumed to be there at present, unless the user says
    otherwise.
    """
    prices: dict[str, dict[str, float]]
    """Price of an access in cycles, by operation and level."""
    stated_levels: Mapping[str, str]
    """Present level by structure, as the user states it; other structures are in `farthest`."""

    def present_level(self, structure: str) -> str:
        """Return the name of the memory level in which the structure is now, before any change."""
        return self.stated_levels.get(structure, self.farthest)

    def price(self, operation: Literal["read", "write"], structure: str) -> float:
        """Return the cost in cycles of one access to the structure where it is now."""
        return self.prices[operation][self.present_level(structure)]

    def cost(self, one: CountedStructure) -> float:
        """Return the cost in cycles per packet of all accesses to a structure where it is now."""
        name = one["structure"]
        reads = one["reads_per_packet"] * self.price("read", name)
        return reads + one["writes_per_packet"] * self.price("write", name)


class Traced(NamedTuple):
    """Results of running a network function on the packets of a trace."""

    counts: CountsReport
    executed: Executed
    """Blocks with runs and instructions, the source of all instruction counts per packet.
    Instructions are the card's if they could be counted, else LLVM's."""
    placed: Placed | None
    """Recommended placement of state; None if no placement could be computed."""
    unplaced: str
    """Reason why `placed` is None."""
    layouts: list[ElementLayout]
    """Present and best order of variables, by structure."""
    width: int
    """Bytes that one access fetches, as assumed in `layouts`."""

    @property
    def entry(self) -> tuple[str, int]:
        """File and line of the function that receives packets; empty and 0 if unknown."""
        for one in self.counts["functions"]:
            if one["function"] == self.counts["entry"]:
                return one["file"], one["line"]
        return "", 0


class Evidence(NamedTuple):
    """All evidence about a source file, from which advice is derived."""

    file: str
    accelerators: AcceleratorsReport
    statics: Statics
    traced: Traced | None
    """Results of a run over the trace; None without a trace."""
    card: CardUse | None
    """Cores and neighbours; None without a trace, or if the source uses floating point."""


_ON_CARD = "each instruction of the card, counted in generated code, takes one cycle"
_IN_LLVM = "each LLVM instruction takes one cycle"
_STATE = "all state is in {farthest}"
_LACKS = "unsupported operations take no instructions ({refused})"
_PRICES = (
    "memory prices are rounded figures of slowpath, lower for nearer memories; capacities are "
    "those published for a Netronome Agilio CX"
)


def assumptions(traced: Traced) -> list[str]:
    """Return the assumptions that `cycles` makes, as phrases for the report."""
    executed, placed = traced.executed, traced.placed
    farthest = "the farthest memory" if placed is None else placed.farthest
    state = _STATE.format(farthest=farthest)
    if placed is not None and placed.stated_levels:
        state += ", except the structures in --placement"
    found = [_ON_CARD if executed.on_card else _IN_LLVM, state, _PRICES]
    if executed.refused:
        found.insert(1, _LACKS.format(refused=executed.lacking()))
    return found


def unit(traced: Traced) -> str:
    """Return the unit in which `instructions` counts: instructions of LLVM or of the SmartNIC."""
    return "instructions of the card" if traced.executed.on_card else "LLVM instructions"


def instructions(traced: Traced, symbols: frozenset[str] | None = None) -> float:
    """Return the number of instructions that run per packet of the trace.

    With `symbols`, count only the functions with these symbols.
    """
    return traced.executed.instructions(symbols)


def cycles(traced: Traced) -> float:
    """Return the total cycles per packet of instructions and accesses to state.

    This is the denominator for the effects of advice.
    """
    placed = traced.placed
    costs = [] if placed is None else [placed.cost(one) for one in traced.counts["structures"]]
    return instructions(traced) + sum(costs)
