"""Pieces of advice, gaps, the evidence they rest on, and their weight in cycles.

What advises is a module with one function, from `Evidence` to pieces of advice and gaps. It knows
nothing of other modules of its kind, of files and of formats; `report.py` has the list of them.

It is an order, no prediction: an instruction counts one cycle, which is the price that the card's
instructions have (targets/agilio-cx-2x40.toml), and an access to state costs what the placement's
prices say of the memory that it is in, the farthest as long as nobody says otherwise.
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
"""The weakest of what a piece of advice rests on: `proved`, by execution or by a search that leaves
out nothing; `predicted`, by a model with a known error; `estimated`, by prices of
other functions, with an interval; `learnt`, by a classifier; `assumption`,
where a number was not measured by anybody."""


class Advice(NamedTuple):
    """What to change."""

    kind: Kind
    title: str
    """As an order: put this there."""
    what: str
    """The function or structure."""
    file: str
    """Where that is; empty where nothing says it."""
    line: int
    """The same; 0 where nothing says it."""
    reason: str
    before: float | None
    """For each packet, as the source is (of neighbours: a share); None without counts."""
    after: float | None
    """The same with the change."""
    unit: str
    """Of both."""
    saved: float | None
    """Cycles of a packet that it saves, as `weight.py` counts them; None: not known."""
    certainty: Certainty
    sure: str
    """How sure it is, and what it rests on, in words."""
    code: str = ""
    """What to write instead, where that can be said."""
    share: float | None = None
    """Of a packet's time, what it saves, where that is not in cycles."""


class Gap(NamedTuple):
    """Advice that could not be given."""

    what: str
    why: str
    remedy: str
    """What to do to have it; empty: nothing helps yet."""


Said = Iterator[Advice | Gap]


class Placed(NamedTuple):
    """Where state should be, with the prices that this rests on."""

    case: PlacementCase
    farthest: str
    """The level that holds everything: where state is as long as nobody says otherwise."""
    prices: dict[str, dict[str, float]]
    """What an access costs, by operation and level."""
    standing: Mapping[str, str]
    """Level by structure, as the user says that it is now; others are in the farthest."""

    def now(self, structure: str) -> str:
        """The level that a structure is on now."""
        return self.standing.get(structure, self.farthest)

    def price(self, operation: Literal["read", "write"], structure: str) -> float:
        """What an access to a structure costs now."""
        return self.prices[operation][self.now(structure)]

    def cost(self, one: CountedStructure) -> float:
        """What all accesses to a structure cost now, for each packet."""
        name = one["structure"]
        reads = one["reads_per_packet"] * self.price("read", name)
        return reads + one["writes_per_packet"] * self.price("write", name)


class Traced(NamedTuple):
    """What a run over a trace has brought."""

    counts: CountsReport
    executed: Executed
    """Instructions of each block, with how often it ran: of the card where they could be counted.
    Numbers of instructions for each packet are to be taken from here."""
    placed: Placed | None
    """None: there is none."""
    unplaced: str
    """Why there is none."""
    layouts: list[ElementLayout]
    """Of variables that may be put into another order."""
    width: int
    """Bytes that an access fetches, of layouts."""

    @property
    def entry(self) -> tuple[str, int]:
        """File and line of the function that gets packets; empty and 0 where nothing says it."""
        for one in self.counts["functions"]:
            if one["function"] == self.counts["entry"]:
                return one["file"], one["line"]
        return "", 0


class Evidence(NamedTuple):
    """All of it."""

    file: str
    accelerators: AcceleratorsReport
    statics: Statics
    traced: Traced | None
    """None without a trace."""
    card: CardUse | None
    """Its cores and neighbours; None without a trace, or where it has floating-point numbers."""


_ON_CARD = "one cycle for each instruction of the card, counted in generated code"
_IN_LLVM = "one cycle for each instruction of LLVM's intermediate language"
_STATE = "all state in {farthest}"
_LACKS = "what the card has not takes no instructions: {refused}"
_PRICES = (
    "prices of memories are round figures of ours, nearer ones cheaper; capacities as published "
    "of a Netronome Agilio CX"
)


def assumptions(traced: Traced) -> list[str]:
    """What cycles rest on."""
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
    """What instructions are of."""
    return "instructions of the card" if traced.executed.on_card else "LLVM instructions"


def instructions(traced: Traced, symbols: frozenset[str] | None = None) -> float:
    """Instructions for each packet: of all functions, or of some."""
    return traced.executed.instructions(symbols)


def cycles(traced: Traced) -> float:
    """All that a packet takes."""
    placed = traced.placed
    costs = [] if placed is None else [placed.cost(one) for one in traced.counts["structures"]]
    return instructions(traced) + sum(costs)
