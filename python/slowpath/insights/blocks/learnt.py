"""Learnt models of card instructions: an additive model, and a tree.

Both are trained on synthetic programs (`bench/insights_blocks.py`) and shipped as JSON. The
additive model adds a non-negative weight for each word of a block. The tree follows the words of an
instruction from the first to the last one known from training, which has the prediction.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

_USUAL = 1.6
"""Instructions for a word whose group did not occur in training."""


class Predicted(NamedTuple):
    """Prediction for a block."""

    instructions: float
    low: float  # four in five blocks left out of training are from here
    high: float  # to here


class AdditiveModel:
    """The additive model."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """Load the model from its JSON form."""
        self.weights: dict[str, float] = saved["weights"]
        self.groups: dict[str, float] = saved["groups"]
        self._errors: list[tuple[float, float, float]] = [tuple(one) for one in saved["errors"]]

    def predict(self, words: Sequence[str]) -> Predicted:
        """Predict the instructions of a block; an unknown word counts as its group."""
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
    """Return the group of a word: its operation, and for some operations the operand."""
    parts = word.split()
    return " ".join(parts[:2]) if parts[0] in ("load", "store", "icmp", "address") else parts[0]


def shipped_model() -> AdditiveModel:
    """Load the additive model that is shipped with slowpath."""
    text = files("slowpath.insights.blocks").joinpath("models/additive.json").read_text()
    return AdditiveModel(json.loads(text))


class Described(NamedTuple):
    """A BPF instruction as tokens."""

    block: str  # name of the LLVM block
    words: tuple[str, ...]
    pieces: int  # instructions of the card that follow from lengths and places alone
    pointee: str  # memory that it accesses; empty: none


_STATE = frozenset({"element", "global", "table", "returned"})


class Costs(NamedTuple):
    """Card instructions and memory accesses of a BPF instruction, or of a block."""

    instructions: float
    packet: float  # accesses
    state: float
    unknown: float


NOTHING = Costs(0.0, 0.0, 0.0, 0.0)


class TreeModel:
    """The tree model."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """Load the model from its JSON form."""
        self._nodes = {words: Costs(*taken) for words, taken in saved["nodes"].items()}
        self._errors: list[tuple[float, float, float]] = [tuple(one) for one in saved["errors"]]

    def taken(self, words: Sequence[str]) -> Costs:
        """Predict the costs of an instruction; `NOTHING` if its first word is unknown."""
        for count in range(len(words), 0, -1):
            found = self._nodes.get(" / ".join(words[:count]))
            if found is not None:
                return found
        return NOTHING

    def block(self, inside: Iterable[Described]) -> Costs:
        """Predict the costs of a block from its instructions."""
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
        return Costs(instructions, packet, state, unknown)

    def interval(self, instructions: float) -> Predicted:
        """Return the interval of a prediction, from the errors in training."""
        low, high = next(
            ((low, high) for most, low, high in self._errors if instructions <= most),
            self._errors[-1][1:],
        )
        return Predicted(instructions, instructions * low, instructions * high)


def shipped_tree() -> TreeModel:
    """Load the tree that is shipped with slowpath."""
    text = files("slowpath.insights.blocks").joinpath("models/tree.json").read_text()
    return TreeModel(json.loads(text))
