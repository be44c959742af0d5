"""Searches for good orders of variables: by local search, and by the published clustering.

The search limits the number of examined orders, not the time, and has a fixed seed. So equal
variables always yield equal orders.

For the clustering, each variable has a vector with a coordinate for each block: the share of the
variable's accesses from this block. k-means++ (Arthur and Vassilvitskii, 2007) draws the starts
with Python's own generator, whose numbers depend neither on the machine nor on the version.
"""

import math
import random
from collections.abc import Iterator, Sequence

from slowpath.insights.layout.problem import Element, MergedElement, Order, accesses

STARTS = 8
"""Number of random start orders of the local search."""
MAX_WORK = 2_000_000
"""Maximum total work of the local search, in examined orders times variables; it takes seconds."""


def cost(element: MergedElement, order: Order) -> tuple[int, int]:
    """Return the accesses of an order, and its size in bytes without padding at the end."""
    end = 0
    for at in order:
        end = -(-end // element.aligns[at]) * element.aligns[at] + element.sizes[at]
    return accesses(element, order), end


def good_order(element: MergedElement, starts: Sequence[Order], max_work: int = MAX_WORK) -> Order:
    """Return an order from local search that is no worse than any start order.

    `starts` must have at least one order. `max_work` limits the examined orders times variables.
    """
    dice = random.Random(0)  # noqa: S311 - a fixed seed, no secret
    drawn = [[*starts[0]] for _ in range(STARTS)]
    for one in drawn:
        dice.shuffle(one)
    ranked = sorted([*starts, _by_affinity(element)], key=lambda one: cost(element, one))
    best, remaining = ranked[0], max_work // max(1, len(element.sizes))
    for start in (*ranked, *drawn):
        order, best_cost = start, cost(element, start)
        better = True
        while better and remaining > 0:
            better = False
            for other in _neighbours(order):
                remaining -= 1
                found = cost(element, other)
                if found < best_cost:
                    order, best_cost, better = other, found, True
                    break
                if remaining <= 0:
                    break
        if best_cost < cost(element, best):
            best = order
    return best


def tidied(element: MergedElement, order: Order) -> Order:
    """Swap neighbouring variables back into the source's order where this does not cost more."""
    best = [*order]
    least = cost(element, best)
    moved = True
    while moved:
        moved = False
        for at in range(len(best) - 1):
            if best[at] > best[at + 1]:
                other = [*best]
                other[at : at + 2] = best[at + 1], best[at]
                if cost(element, other) <= least:
                    best, moved = other, True
    return best


def _by_affinity(element: MergedElement) -> Order:
    """Order variables greedily: each next one shares most block executions with its predecessor."""
    remaining = [*range(len(element.sizes))]
    order = (
        [max(remaining, key=lambda at: (element.weight(element.masks[at]), -at))]
        if remaining
        else []
    )
    for at in order:
        remaining.remove(at)
        if remaining:
            mask = element.masks[at]
            order.append(
                max(remaining, key=lambda to: (element.weight(element.masks[to] & mask), -to))
            )
    return order


def _neighbours(order: Order) -> Iterator[Order]:
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
"""Maximum product of variables, clusters, blocks and starts; large problems get fewer starts."""
_ROUNDS = 100
Vector = tuple[float, ...]


def access_vectors(element: Element, *, shares: bool = True) -> list[Vector]:
    """Return a vector for each variable, with a coordinate for each block.

    With `shares`, coordinates are shares of the variable's accesses, as in the paper. Otherwise,
    they are the weights of the blocks that touch the variable, as in the published program.
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
    """Return the cluster (0 to k - 1) of each vector, by k-means from the best of several starts.

    At least one vector is required.
    """
    dice = random.Random(seed)  # noqa: S311 - a fixed seed, no secret
    best, least = list[int](), math.inf
    work_of_start = max(1, len(vectors) * k * len(vectors[0]))
    for _ in range(min(CLUSTER_STARTS, max(1, _WORK // work_of_start))):
        labels, centres = _lloyd(vectors, _start(vectors, k, dice))
        spread = math.fsum(
            _distance(one, centres[label]) for one, label in zip(vectors, labels, strict=True)
        )
        if spread < least:
            best, least = labels, spread
    return best


def _start(vectors: Sequence[Vector], k: int, dice: random.Random) -> list[Vector]:
    """Draw centres as k-means++ does: probabilities are proportional to squared distances.

    The distance of a vector is that to the nearest centre that was drawn before.
    """
    centres = [vectors[int(dice.random() * len(vectors))]]
    distances = [math.inf] * len(vectors)
    while len(centres) < k:
        distances = [
            min(known, _distance(one, centres[-1]))
            for known, one in zip(distances, vectors, strict=True)
        ]
        total = math.fsum(distances)
        if not total:  # fewer different vectors than clusters
            break
        point, at = dice.random() * total, 0
        while at < len(distances) - 1 and (point := point - distances[at]) >= 0:
            at += 1
        centres.append(vectors[at])
    return centres


def _lloyd(vectors: Sequence[Vector], centres: list[Vector]) -> tuple[list[int], list[Vector]]:
    """Run Lloyd's algorithm until labels no longer change; return labels and centres."""
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
    """Return an order in which variables with equal labels are adjacent.

    Clusters, and variables within a cluster, keep the order of the source.
    """
    first = {label: labels.index(label) for label in labels}
    return sorted(range(len(labels)), key=lambda at: (first[labels[at]], at))
