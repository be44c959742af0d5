"""Local search over orders, and the published clustering.

The search limits the number of examined orders, not the time, and draws its starts from a fixed
seed. The same variables thus always yield the same order.

For the clustering, each variable has a vector with a coordinate for each block: the share of the
variable's accesses from this block. Starts are drawn by k-means++ (Arthur and Vassilvitskii, 2007)
with Python's own generator. Its numbers are the same on every machine and in every version, and so
are the clusters.
"""

import math
import random
from collections.abc import Iterator, Sequence

from slowpath.insights.layout.problem import Element, MergedElement, Order, accesses

STARTS = 8
"""Number of random starts."""
MOST = 2_000_000
"""Maximum work of all starts together, in variables of examined orders; it takes seconds."""


def cost(of: MergedElement, order: Order) -> tuple[int, int]:
    """Return the accesses of an order, and its bytes up to the end."""
    end = 0
    for at in order:
        end = -(-end // of.aligns[at]) * of.aligns[at] + of.sizes[at]
    return accesses(of, order), end


def good_order(of: MergedElement, starts: Sequence[Order], most: int = MOST) -> Order:
    """Return the best order found, no worse than any start; at least one start is required."""
    dice = random.Random(0)  # noqa: S311 - a fixed seed, no secret
    drawn = [[*starts[0]] for _ in range(STARTS)]
    for one in drawn:
        dice.shuffle(one)
    ranked = sorted([*starts, _by_affinity(of)], key=lambda one: cost(of, one))
    best, left = ranked[0], most // max(1, len(of.sizes))
    for start in (*ranked, *drawn):
        order, known = start, cost(of, start)
        better = True
        while better and left > 0:
            better = False
            for other in _beside(order):
                left -= 1
                found = cost(of, other)
                if found < known:
                    order, known, better = other, found, True
                    break
                if left <= 0:
                    break
        if known < cost(of, best):
            best = order
    return best


def tidied(of: MergedElement, order: Order) -> Order:
    """Swap neighbours into the source's order where the order does not become more expensive."""
    best = [*order]
    least = cost(of, best)
    moved = True
    while moved:
        moved = False
        for at in range(len(best) - 1):
            if best[at] > best[at + 1]:
                other = [*best]
                other[at : at + 2] = best[at + 1], best[at]
                if cost(of, other) <= least:
                    best, moved = other, True
    return best


def _by_affinity(of: MergedElement) -> Order:
    """Order variables greedily: next is the variable with the most runs of common blocks."""
    left = [*range(len(of.sizes))]
    order = [max(left, key=lambda at: (of.weight(of.masks[at]), -at))] if left else []
    for at in order:
        left.remove(at)
        if left:
            mask = of.masks[at]
            order.append(max(left, key=lambda to: (of.weight(of.masks[to] & mask), -to)))
    return order


def _beside(order: Order) -> Iterator[Order]:
    """Yield orders with one variable moved, then orders with two variables swapped."""
    for at in range(len(order)):
        rest = [*order[:at], *order[at + 1 :]]
        for to in range(len(order)):
            if to != at:
                yield [*rest[:to], order[at], *rest[to:]]
    for at in range(len(order)):
        for to in range(at + 2, len(order)):
            other = [*order]
            other[at], other[to] = other[to], other[at]
            yield other


CLUSTER_STARTS = 50
_WORK = 100_000
"""Limit for the product of variables, clusters, blocks and starts; large problems have fewer
starts."""
_ROUNDS = 100
Vector = tuple[float, ...]


def access_vectors(element: Element, *, shares: bool = True) -> list[Vector]:
    """Return the vector of each variable.

    With `shares`, coordinates are shares of accesses, as in the paper. Without, they are the
    weights of blocks that touch the variable, as in the published program.
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
    """Return the cluster of each vector, a number below k, from the best of several starts.

    At least one vector is required.
    """
    dice = random.Random(seed)  # noqa: S311 - a fixed seed, no secret
    best, least = list[int](), math.inf
    each = max(1, len(vectors) * k * len(vectors[0]))
    for _ in range(min(CLUSTER_STARTS, max(1, _WORK // each))):
        labels, centres = _settled(vectors, _start(vectors, k, dice))
        spread = math.fsum(
            _distance(one, centres[label]) for one, label in zip(vectors, labels, strict=True)
        )
        if spread < least:
            best, least = labels, spread
    return best


def _start(vectors: Sequence[Vector], k: int, dice: random.Random) -> list[Vector]:
    """Draw distant centres, each with a probability by its squared distance to earlier ones."""
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
    """Iterate Lloyd's algorithm until nothing changes."""
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
    """Return the source's order, with each variable followed by the rest of its cluster."""
    first = {label: labels.index(label) for label in labels}
    return sorted(range(len(labels)), key=lambda at: (first[labels[at]], at))
