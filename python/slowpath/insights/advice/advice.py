"""Advice, gaps, the evidence for both, and cycles as weights.

An adviser is a function from `Evidence` to advice and gaps. It is independent of other advisers,
files and formats; `ranking.py` has the list of advisers.

Cycles rank advice; they are not a prediction. An instruction counts one cycle, the price of the
card's instructions (targets/agilio-cx-2x40.toml). An access to state costs the placement's price
for its memory: the farthest one, unless the user names another.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from slowpath.insights.accelerators.documents import AcceleratorsReport
from slowpath.insights.advice.statics import Statics
from slowpath.insights.blocks.traced import Executed
from slowpath.insights.demands.documents import CardUse
from slowpath.insights.layout.documents import ElementLayout
from slowpath.insights.placement.documents import PlacementCase
from slowpath.insights.trace.documents import CountedStructure, CountsReport

Kind = Literal["accelerator", "placement", "coalescing", "cores", "neighbour"]
Certainty = Literal["proved", "predicted", "estimated", "learnt", "assumption"]
"""The weakest basis of a piece of advice.

`proved`: execution, or an exhaustive search; `predicted`: a model with a known error; `estimated`:
prices of other functions, with an interval; `learnt`: a classifier; `assumption`: a number that was
never measured.
"""


class Advice(NamedTuple):
    """A recommended change."""

    kind: Kind
    title: str
    """Title in the imperative: put this there."""
    what: str
    """Function or structure to change."""
    file: str
    """File of the function or structure; empty if unknown."""
    line: int
    """Line of the function or structure; 0 if unknown."""
    reason: str
    before: float | None
    """Value per packet before the change (for neighbours: a share); None without counts."""
    after: float | None
    """The same value after the change."""
    unit: str
    """Unit of `before` and `after`."""
    saved: float | None
    """Cycles per packet that the change saves; None if unknown."""
    certainty: Certainty
    sure: str
    """Certainty and its basis in words."""
    code: str = ""
    """Code to write instead, if known."""
    share: float | None = None
    """Share of a packet's time that the change saves, unless it is given in cycles."""


class Gap(NamedTuple):
    """Advice that could not be given."""

    what: str
    why: str
    remedy: str
    """Action that makes the advice possible; empty if there is none yet."""


Findings = Iterator[Advice | Gap]


class Placed(NamedTuple):
    """Recommended placement of state, with the prices behind it."""

    case: PlacementCase
    farthest: str
    """The level that holds everything: the default for the current place of state."""
    prices: dict[str, dict[str, float]]
    """Price of an access by operation and level."""
    standing: Mapping[str, str]
    """Current level by structure, from the user; other structures are in the farthest."""

    def now(self, structure: str) -> str:
        """Return the current level of a structure."""
        return self.standing.get(structure, self.farthest)

    def price(self, operation: Literal["read", "write"], structure: str) -> float:
        """Return the current price of an access to a structure."""
        return self.prices[operation][self.now(structure)]

    def cost(self, one: CountedStructure) -> float:
        """Return the current cost per packet of all accesses to a structure."""
        name = one["structure"]
        reads = one["reads_per_packet"] * self.price("read", name)
        return reads + one["writes_per_packet"] * self.price("write", name)


class Traced(NamedTuple):
    """Results of a run over a trace."""

    counts: CountsReport
    executed: Executed
    """Blocks with their runs and instructions: card instructions if they could be counted.
    All instruction counts per packet come from here."""
    placed: Placed | None
    """None if there is no placement."""
    unplaced: str
    """Reason why there is no placement."""
    layouts: list[ElementLayout]
    """Current and best order of the variables that can be reordered."""
    width: int
    """Bytes that an access fetches, for `layouts`."""

    @property
    def entry(self) -> tuple[str, int]:
        """File and line of the function that gets the packets; empty and 0 if unknown."""
        for one in self.counts["functions"]:
            if one["function"] == self.counts["entry"]:
                return one["file"], one["line"]
        return "", 0


class Evidence(NamedTuple):
    """All evidence about a source."""

    file: str
    accelerators: AcceleratorsReport
    statics: Statics
    traced: Traced | None
    """None without a trace."""
    card: CardUse | None
    """Cores and neighbours; None without a trace, or if the source uses floating point."""


_ON_CARD = "one cycle for each instruction of the card, counted in generated code"
_IN_LLVM = "one cycle for each instruction of LLVM's intermediate language"
_STATE = "all state in {farthest}"
_LACKS = "what the card has not takes no instructions: {refused}"
_PRICES = (
    "prices of memories are round figures of ours, nearer ones cheaper; capacities as published "
    "of a Netronome Agilio CX"
)


def assumptions(traced: Traced) -> list[str]:
    """Return the assumptions behind cycles."""
    ran, placed = traced.executed, traced.placed
    farthest = "the farthest memory" if placed is None else placed.farthest
    state = _STATE.format(farthest=farthest)
    if placed is not None and placed.standing:
        state += ", but for what --placement says"
    found = [f"{_ON_CARD if ran.on_card else _IN_LLVM}, and {state}", _PRICES]
    if ran.refused:
        found.insert(1, _LACKS.format(refused=ran.lacking("; ")))
    return found


def unit(traced: Traced) -> str:
    """Return the unit of instruction counts."""
    return "instructions of the card" if traced.executed.on_card else "LLVM instructions"


def instructions(traced: Traced, symbols: frozenset[str] | None = None) -> float:
    """Return the instructions per packet of all functions, or of some."""
    return traced.executed.instructions(symbols)


def cycles(traced: Traced) -> float:
    """Return the cycles per packet, for instructions and accesses to state."""
    placed = traced.placed
    costs = [] if placed is None else [placed.cost(one) for one in traced.counts["structures"]]
    return instructions(traced) + sum(costs)
