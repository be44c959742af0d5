"""A model of instructions by block: what each word takes, added up.

Weights are learnt from programs that are made up (`bench/insights_blocks.py`), none of them is
negative, and they are shipped as JSON.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

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


def shipped() -> Model:
    """The model that comes along."""
    text = files("slowpath.insights.blocks.learnt").joinpath("model.json").read_text()
    return Model(json.loads(text))
