"""Predicts card instructions of blocks by one of two learnt models: additive or a tree.

Both are trained on synthetic programs (`bench/insights_blocks.py`) and shipped as JSON. The
additive model adds a non-negative weight for each word of a block. A node of the tree is a sequence
of words; the node for the longest known prefix of an instruction's words has the prediction.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

_DEFAULT_WEIGHT = 1.6
"""Instructions that a word counts as if its group did not occur in training."""
_Errors = Sequence[tuple[float, float, float]]
"""Error model: for each range of predictions, its upper end and the factors of an interval."""


class Predicted(NamedTuple):
    """The predicted number of instructions of a block, with an interval.

    The intervals contained 80 % of the blocks that were not used for training.
    """

    instructions: float
    low: float
    high: float


def _predicted(instructions: float, errors: _Errors) -> Predicted:
    low, high = next(
        ((low, high) for end, low, high in errors if instructions <= end), errors[-1][1:]
    )
    return Predicted(instructions, instructions * low, instructions * high)


class AdditiveModel:
    """A learnt additive model that predicts the instructions of blocks from words of LLVM IR."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """Load the model from the content of its JSON file."""
        self.weights: dict[str, float] = saved["weights"]
        self.groups: dict[str, float] = saved["groups"]
        self._errors: _Errors = saved["errors"]

    def predict(self, words: Sequence[str]) -> Predicted:
        """Predict the instructions of a block; an unknown word has the weight of its group."""
        instructions = sum(
            times * self.weights.get(word, self.groups.get(group(word), _DEFAULT_WEIGHT))
            for word, times in Counter(words).items()
        )
        return _predicted(instructions, self._errors)


def group(word: str) -> str:
    """Return the group to which a word of a block belongs.

    The group is the operation, for some operations with the operand. It is used for words that the
    model does not know.
    """
    parts = word.split()
    return " ".join(parts[:2]) if parts[0] in ("load", "store", "icmp", "address") else parts[0]


def shipped_model() -> AdditiveModel:
    """Load the additive model that is shipped with slowpath."""
    return AdditiveModel(_shipped("additive"))


def _shipped(name: str) -> Mapping[str, Any]:
    text = files("slowpath.insights.blocks").joinpath(f"models/{name}.json").read_text()
    saved: Mapping[str, Any] = json.loads(text)
    return saved


class Described(NamedTuple):
    """A BPF instruction, described by words for the learnt models."""

    block: str  # name of the LLVM block
    words: tuple[str, ...]
    pieces: int  # card instructions that follow from the access's length and alignment alone
    pointee: str  # kind of memory that it accesses; empty: none


_STATE = frozenset({"element", "global", "table", "returned"})


class Costs(NamedTuple):
    """Predicted card instructions and memory accesses of a BPF instruction, or of a block."""

    instructions: float
    packet: float  # accesses to the packet
    state: float  # accesses to state
    unknown: float  # accesses to packet or state


NOTHING = Costs(0.0, 0.0, 0.0, 0.0)


class TreeModel:
    """A learnt tree that predicts blocks from their BPF instructions, described by words."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        """Load the model from the content of its JSON file."""
        self._nodes = {words: Costs(*costs) for words, costs in saved["nodes"].items()}
        self._errors: _Errors = saved["errors"]

    def taken(self, words: Sequence[str]) -> Costs:
        """Predict the costs of an instruction from its words.

        The longest known prefix of the words decides. Return `NOTHING` if even the first word is
        unknown.
        """
        for count in range(len(words), 0, -1):
            found = self._nodes.get(" / ".join(words[:count]))
            if found is not None:
                return found
        return NOTHING

    def block(self, inside: Iterable[Described]) -> Costs:
        """Predict the costs of a block from its instructions."""
        instructions = packet = state = unknown = 0.0
        for one in inside:
            costs = self.taken(one.words)
            instructions += costs.instructions + one.pieces
            packet += costs.packet
            state += costs.state
            if one.pointee == "packet":
                packet += costs.unknown
            elif one.pointee in _STATE:
                state += costs.unknown
            else:
                unknown += costs.unknown
        return Costs(instructions, packet, state, unknown)

    def interval(self, instructions: float) -> Predicted:
        """Return a prediction with its interval; its width follows from the errors in training."""
        return _predicted(instructions, self._errors)


def shipped_tree() -> TreeModel:
    """Load the tree model that is shipped with slowpath."""
    return TreeModel(_shipped("tree"))
