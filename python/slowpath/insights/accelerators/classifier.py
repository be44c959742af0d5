"""Classifies functions by a linear support vector machine over their features.

The weights are in `classifier.json`; `bench/accelerators.py` learns them.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from slowpath.insights.accelerators.sequences import (
    Words,
    chases_pointers,
    occurs,
    sequences,
    words,
)
from slowpath.insights.source.functions import Function, loops

_SHARES = (
    *("xor", "and", "or", "shl", "lshr", "add", "sub", "mul", "urem"),
    *("load8", "load16", "load32", "load64", "loadp", "store8", "store32"),
    *("gep", "icmp", "select", "call", "fshl", "bswap"),
)
"""Words of which the feature is their share among all words; constants after a word are ignored."""


def features(function: Function, patterns: Sequence[Words]) -> list[float]:
    """Return the features of a function as numbers for the classifier.

    They are the shares of certain opcodes among all opcodes, scaled counts, and one number for
    each pattern. This number is 1 if the pattern occurs in an innermost loop of the function, or
    in the whole function if it has no loops; otherwise 0.
    """
    loop_words = sequences(function)
    all_words = words(function.blocks)
    counted = Counter(word.partition(".")[0] for one in loop_words for word in one)
    total = sum(counted.values()) or 1
    found = loops(function)
    tables = sum(
        "getelementptr" in instruction.text and "@" in instruction.text
        for block in function.blocks
        for instruction in block.instructions
    )
    numbers = [counted[word] / total for word in _SHARES]
    numbers += [
        math.log1p(len(all_words)) / 8,
        math.log1p(len(found)) / 2,
        float(max((one.depth for one in found), default=0)) / 3,
        math.log1p(tables) / 4,
        float(chases_pointers(function)),
    ]
    numbers += [float(any(occurs(one, text) for text in loop_words)) for one in patterns]
    return numbers


MODEL = Path(__file__).with_name("classifier.json")


class Machine(NamedTuple):
    """Weights of the classifier for one kind of accelerator.

    Slope and offset turn a margin into a probability (Platt).
    """

    kind: str
    weights: tuple[float, ...]
    bias: float
    slope: float
    offset: float


class Model(NamedTuple):
    """A classifier: patterns of instructions as features, and weights per accelerator kind."""

    patterns: tuple[Words, ...]
    machines: tuple[Machine, ...]


@cache
def shipped() -> Model:
    """Return the model that comes with the package."""
    return read_model(MODEL.read_text(encoding="utf-8"))


def read_model(text: str) -> Model:
    """Parse a model from JSON."""
    read = json.loads(text)
    return Model(
        tuple(tuple(one.split()) for one in read["patterns"]),
        tuple(
            Machine(
                one["kind"],
                tuple(one["weights"]),
                one["bias"],
                one["slope"],
                one["offset"],
            )
            for one in read["machines"]
        ),
    )


def classify(function: Function, model: Model | None = None) -> tuple[str, float]:
    """Return the most likely kind of accelerator (or `none`), and the confidence from 0 to 1."""
    known = shipped() if model is None else model
    numbers = features(function, known.patterns)
    likely = {one.kind: probability(one, numbers) for one in known.machines}
    kind = max(likely, key=lambda one: likely[one])
    return (kind, likely[kind]) if likely[kind] >= 0.5 else ("none", 1 - likely[kind])  # noqa: PLR2004


def probability(machine: Machine, numbers: list[float]) -> float:
    """Return the probability (0 to 1) that a function suits the accelerator of `machine`.

    `numbers` are the features of the function.
    """
    margin = sum(map(float.__mul__, machine.weights, numbers)) + machine.bias
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, machine.slope * margin + machine.offset))))
