"""A model of what an instruction of BPF takes on the card: a tree over its words.

From the first word on, each further one that was seen in learning tells more; what was learnt is at
the last. Learnt by `bench/insights_blocks.py` from programs that are made up, shipped as JSON.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from slowpath.insights.blocks.learnt.model import Predicted
from slowpath.insights.blocks.machine.words import Described

_STATE = frozenset({"element", "global", "table", "returned"})


class Taken(NamedTuple):
    """What an instruction takes on the card."""

    instructions: float
    packet: float  # accesses
    state: float
    unknown: float


NOTHING = Taken(0.0, 0.0, 0.0, 0.0)


class Tree:
    """What was learnt."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """`saved` is a model as JSON."""
        self._nodes = {words: Taken(*taken) for words, taken in saved["nodes"].items()}
        self._errors: list[tuple[float, float, float]] = [tuple(one) for one in saved["errors"]]

    def taken(self, words: Sequence[str]) -> Taken:
        """What an instruction in words takes; nothing where not even the first word is known."""
        for count in range(len(words), 0, -1):
            found = self._nodes.get(" / ".join(words[:count]))
            if found is not None:
                return found
        return NOTHING

    def block(self, inside: Iterable[Described]) -> Taken:
        """What the instructions of a block take."""
        instructions = packet = state = unknown = 0.0
        for one in inside:
            taken = self.taken(one.words)
            instructions += taken.instructions + one.pieces
            packet += taken.packet
            state += taken.state
            if one.pointee == "packet":
                packet += taken.unknown
            elif one.pointee in _STATE:
                state += taken.unknown
            else:
                unknown += taken.unknown
        return Taken(instructions, packet, state, unknown)

    def interval(self, instructions: float) -> Predicted:
        """How far off a block of so many instructions may be."""
        low, high = next(
            ((low, high) for most, low, high in self._errors if instructions <= most),
            self._errors[-1][1:],
        )
        return Predicted(instructions, instructions * low, instructions * high)


def shipped() -> Tree:
    """The tree that comes along."""
    text = files("slowpath.insights.blocks.learnt").joinpath("tree.json").read_text()
    return Tree(json.loads(text))
