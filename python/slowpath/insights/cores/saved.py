"""Models in files: parameters only; the measurements that they were learnt from are not in them."""

import json
from pathlib import Path
from typing import TypedDict

import numpy as np

from slowpath.insights.cores.model import CoresModel
from slowpath.insights.network import saved
from slowpath.insights.network.saved import SavedNetwork

TRAFFIC = ("hit", "miss")
"""Kinds of traffic that there are models for: whether accesses to external memory mostly hit its
cache (few large flows) or miss it (many small ones)."""
_FOLDER = Path(__file__).parent / "shipped"


class SavedCores(TypedDict):
    """A model of curves."""

    functions: int
    members: list[SavedNetwork]
    latency: dict[str, float]
    spread: list[list[float]]


def shipped_file(traffic: str) -> Path:
    """Where the model for a kind of traffic is that comes with the package."""
    return _FOLDER / f"{traffic}.json"


def shipped(traffic: str) -> CoresModel:
    """The model that comes with the package."""
    return read(json.loads(shipped_file(traffic).read_text()))


def written(model: CoresModel) -> SavedCores:
    """A model as a document."""
    return {
        "functions": model.functions,
        "members": [saved.written(one) for one in model.members],
        "latency": saved.written_latency(model.latency),
        "spread": [[saved.rounded(one) for one in row] for row in model.spread],
    }


def read(document: SavedCores) -> CoresModel:
    """The model of a document."""
    return CoresModel(
        tuple(saved.read(one) for one in document["members"]),
        saved.read_latency(document["latency"]),
        np.array(document["spread"]),
        document["functions"],
    )
