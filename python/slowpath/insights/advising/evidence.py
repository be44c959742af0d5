"""What advice rests on: everything that is known of a source, by those who find it out."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from slowpath.insights.accelerators.documents import AcceleratorsReport
from slowpath.insights.advising.statics import Statics
from slowpath.insights.blocks.traced.rows import Executed
from slowpath.insights.coalescing.documents import ElementLayout
from slowpath.insights.demands.documents import CardUse
from slowpath.insights.placement.advice.documents import PlacementCase
from slowpath.insights.porting.documents import CountedStructure, CountsReport


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
