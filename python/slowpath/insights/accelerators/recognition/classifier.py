"""What a function looks like: a linear support vector machine whose weights were learnt before.

The weights are in `model.json`; `bench/accelerators.py` learns them.
"""

import json
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from slowpath.insights.accelerators.recognition.features import features
from slowpath.insights.accelerators.recognition.sequences import Words
from slowpath.insights.preparation.functions import Function

MODEL = Path(__file__).with_name("model.json")


class Machine(NamedTuple):
    """The weights of one class, and how its margins become probabilities (Platt)."""

    kind: str
    weights: tuple[float, ...]
    bias: float
    slope: float
    offset: float


class Model(NamedTuple):
    """All of it."""

    patterns: tuple[Words, ...]
    machines: tuple[Machine, ...]


@cache
def shipped() -> Model:
    """The model that comes with the package."""
    return read_model(MODEL.read_text(encoding="utf-8"))


def read_model(text: str) -> Model:
    """A model as it is written."""
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
    """What a function looks like most (`none`: nothing of it), and how sure that is."""
    known = shipped() if model is None else model
    numbers = features(function, known.patterns)
    likely = {one.kind: probability(one, numbers) for one in known.machines}
    kind = max(likely, key=lambda one: likely[one])
    return (kind, likely[kind]) if likely[kind] >= 0.5 else ("none", 1 - likely[kind])  # noqa: PLR2004


def probability(machine: Machine, numbers: list[float]) -> float:
    """Of one class, by the features of a function."""
    margin = sum(map(float.__mul__, machine.weights, numbers)) + machine.bias
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, machine.slope * margin + machine.offset))))
