"""The model of pairs in a file: parameters only; no measurement is in it."""

import json
from pathlib import Path
from typing import TypedDict

from slowpath.insights.colocation.model import PairsModel
from slowpath.insights.network import saved
from slowpath.insights.network.saved import SavedNetwork

SHIPPED = Path(__file__).parent / "shipped" / "pairs.json"


class SavedPairs(TypedDict):
    """A model of pairs."""

    groups: int
    network: SavedNetwork
    latency: dict[str, float]


def shipped() -> PairsModel:
    """The model that comes with the package."""
    return read(json.loads(SHIPPED.read_text()))


def written(model: PairsModel) -> SavedPairs:
    """A model as a document."""
    return {
        "groups": model.groups,
        "network": saved.written(model.parameters),
        "latency": saved.written_latency(model.latency),
    }


def read(document: SavedPairs) -> PairsModel:
    """The model of a document."""
    parameters = saved.read(document["network"])
    return PairsModel(parameters, saved.read_latency(document["latency"]), document["groups"])
