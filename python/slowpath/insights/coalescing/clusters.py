"""Variables that are accessed alike, by k-means: the published way (Clara, section 4.4).

A variable's vector has a coordinate for each block, the share of its accesses that are from there.
Starts are drawn by k-means++ (Arthur and Vassilvitskii, 2007) with Python's own generator, whose
numbers are the same on every machine and in every version, so clusters are, too.
"""

import math
import random
from collections.abc import Sequence

from slowpath.insights.coalescing.layout import Order
from slowpath.insights.coalescing.problem import Element

STARTS = 50
_WORK = 100_000
"""Of many variables, clusters and blocks there are fewer starts, such that their product is not
larger than this."""
_ROUNDS = 100
Vector = tuple[float, ...]


def access_vectors(element: Element, *, shares: bool = True) -> list[Vector]:
    """The vector of each variable; without `shares`, of weights where a block touches it at all.

    The latter is what the published program does, the former what the paper says.
    """
    found = []
    for one in element.variables:
        if shares:
            counts = [
                block.weight * sum(name == one.name for name in block.touches)
                for block in element.blocks
            ]
            total = math.fsum(counts)
            found.append(tuple(count / total if total else 0.0 for count in counts))
        else:
            found.append(
                tuple(block.weight * (one.name in block.touches) for block in element.blocks)
            )
    return found


def clusters(vectors: Sequence[Vector], k: int, seed: int = 0) -> list[int]:
    """Of each vector, its cluster, a number below k; the best of several starts.

    There is at least one vector.
    """
    dice = random.Random(seed)  # noqa: S311 - where a search begins
    best, least = list[int](), math.inf
    each = max(1, len(vectors) * k * len(vectors[0]))
    for _ in range(min(STARTS, max(1, _WORK // each))):
        labels, centres = _settled(vectors, _start(vectors, k, dice))
        spread = math.fsum(
            _distance(one, centres[label]) for one, label in zip(vectors, labels, strict=True)
        )
        if spread < least:
            best, least = labels, spread
    return best


def _start(vectors: Sequence[Vector], k: int, dice: random.Random) -> list[Vector]:
    """Centres far from each other: each drawn by its squared distance to those before it."""
    centres = [vectors[int(dice.random() * len(vectors))]]
    far = [math.inf] * len(vectors)
    while len(centres) < k:
        far = [
            min(known, _distance(one, centres[-1])) for known, one in zip(far, vectors, strict=True)
        ]
        total = math.fsum(far)
        if not total:  # fewer different vectors than clusters
            break
        point, at = dice.random() * total, 0
        while at < len(far) - 1 and (point := point - far[at]) >= 0:
            at += 1
        centres.append(vectors[at])
    return centres


def _settled(vectors: Sequence[Vector], centres: list[Vector]) -> tuple[list[int], list[Vector]]:
    """Lloyd's iterations, until nothing changes."""
    labels = list[int]()
    for _ in range(_ROUNDS):
        nearest = [
            min(range(len(centres)), key=lambda at: _distance(one, centres[at])) for one in vectors
        ]
        if nearest == labels:
            break
        labels = nearest
        for at in range(len(centres)):
            members = [one for one, label in zip(vectors, labels, strict=True) if label == at]
            if members:
                parts = zip(*members, strict=True)
                centres[at] = tuple(math.fsum(part) / len(members) for part in parts)
    return labels, centres


def _distance(one: Vector, other: Vector) -> float:
    return sum([(a - b) * (a - b) for a, b in zip(one, other, strict=True)])


def clustered(labels: Sequence[int]) -> Order:
    """The order of the source, each variable followed by the rest of its cluster."""
    first = {label: labels.index(label) for label in labels}
    return sorted(range(len(labels)), key=lambda at: (first[labels[at]], at))
