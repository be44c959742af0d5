"""Local search over orders, and the published clustering.

Work is counted in orders that are looked at, and starts are drawn by numbers that are the same on
every machine: the same variables have the same order.

A variable's vector has a coordinate for each block, the share of its accesses that are from there.
Starts are drawn by k-means++ (Arthur and Vassilvitskii, 2007) with Python's own generator, whose
numbers are the same on every machine and in every version, so clusters are, too.
"""

import math
import random
from collections.abc import Iterator, Sequence

from slowpath.insights.layout.problem import Element, Order, Weighted, accesses

STARTS = 8
"""Orders that are drawn."""
MOST = 2_000_000
"""Variables in orders that are looked at from all starts together, which is seconds."""


def cost(of: Weighted, order: Order) -> tuple[int, int]:
    """Accesses, then bytes up to the end."""
    end = 0
    for at in order:
        end = -(-end // of.aligns[at]) * of.aligns[at] + of.sizes[at]
    return accesses(of, order), end


def good_order(of: Weighted, starts: Sequence[Order], most: int = MOST) -> Order:
    """The best order that is found; no worse than any start, of which there is at least one."""
    dice = random.Random(0)  # noqa: S311 - where a search begins
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


def tidied(of: Weighted, order: Order) -> Order:
    """An order that costs the same, with neighbours in the source's order where they can be."""
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


def _by_affinity(of: Weighted) -> Order:
    """Each variable followed by the one that most blocks touch together with it."""
    left = [*range(len(of.sizes))]
    order = [max(left, key=lambda at: (of.weight(of.masks[at]), -at))] if left else []
    for at in order:
        left.remove(at)
        if left:
            mask = of.masks[at]
            order.append(max(left, key=lambda to: (of.weight(of.masks[to] & mask), -to)))
    return order


def _beside(order: Order) -> Iterator[Order]:
    """One variable elsewhere, then two in each other's places."""
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
    for _ in range(min(CLUSTER_STARTS, max(1, _WORK // each))):
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
