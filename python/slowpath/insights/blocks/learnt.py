"""Learnt models of card instructions: additive, and a tree.

Weights are learnt from programs that are made up (`bench/insights_blocks.py`), none of them is
negative, and they are shipped as JSON.

From the first word on, each further one that was seen in learning tells more; what was learnt is at
the last. Learnt by `bench/insights_blocks.py` from programs that are made up, shipped as JSON.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from slowpath.insights.blocks.machine.tokens import Described

_USUAL = 1.6
"""Instructions of a word of whose group nothing was seen."""


class Predicted(NamedTuple):
    """What a model says of a block."""

    instructions: float
    low: float  # four in five blocks of what was left out in learning are from here
    high: float  # to here


class Model:
    """What was learnt."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """`saved` is a model as JSON."""
        self.weights: dict[str, float] = saved["weights"]
        self.groups: dict[str, float] = saved["groups"]
        self._errors: list[tuple[float, float, float]] = [tuple(one) for one in saved["errors"]]

    def predict(self, words: Sequence[str]) -> Predicted:
        """Instructions of a block in words; one that was never seen takes what its group does."""
        guess = sum(
            times * self.weights.get(word, self.groups.get(group(word), _USUAL))
            for word, times in Counter(words).items()
        )
        low, high = next(
            ((low, high) for most, low, high in self._errors if guess <= most),
            self._errors[-1][1:],
        )
        return Predicted(guess, guess * low, guess * high)


def group(word: str) -> str:
    """The group of a word: what it does, and to what."""
    parts = word.split()
    return " ".join(parts[:2]) if parts[0] in ("load", "store", "icmp", "address") else parts[0]


def shipped_model() -> Model:
    """The model that comes along."""
    text = files("slowpath.insights.blocks").joinpath("models/additive.json").read_text()
    return Model(json.loads(text))


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


def shipped_tree() -> Tree:
    """The tree that comes along."""
    text = files("slowpath.insights.blocks").joinpath("models/tree.json").read_text()
    return Tree(json.loads(text))
