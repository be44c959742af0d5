"""Blocks that ran, with what each takes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

_SHOWN = 4


class Ran(NamedTuple):
    """A block, as often as it ran."""

    symbol: str
    """Of the function that it is in, in the module that ran."""
    file: str
    """Where it begins; empty where nothing says it."""
    line: int
    """The same; 0 where nothing says it."""
    support: bool
    """Whether it is of the headers."""
    per_packet: float
    """Runs for each packet."""
    instructions: float
    """Of one run."""
    within: Sequence[tuple[frozenset[str], float]]
    """Functions that were inlined there, each in the one before, and the share of the block's
    instructions that is of all of them."""
    lines: Mapping[tuple[str, int], float]
    """By file and line of the source, its share of them."""

    def share(self, symbols: frozenset[str]) -> float:
        """How much of it belongs to some functions."""
        if self.symbol in symbols:
            return 1.0
        return sum(share for inside, share in self.within if inside & symbols)


class Executed(NamedTuple):
    """All blocks of a run."""

    blocks: list[Ran]
    on_card: bool
    """Whether instructions were counted in code for the card; else they are of LLVM's language."""
    why: str
    """Why they were not counted for the card; empty where they were."""
    refused: list[str]
    """What the card has not, and that is in no number of instructions."""

    def lacking(self, between: str) -> str:
        """The first few of `refused`, with this between them, and how many more there are."""
        left = len(self.refused) - _SHOWN
        return between.join([*self.refused[:_SHOWN], *([f"{left} more"] if left > 0 else [])])

    def instructions(self, symbols: frozenset[str] | None = None) -> float:
        """For each packet: of all functions, or of some, what they call left out."""
        return sum(
            one.instructions * one.per_packet * (1.0 if symbols is None else one.share(symbols))
            for one in self.blocks
        )
