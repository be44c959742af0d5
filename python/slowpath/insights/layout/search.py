"""Searches for orders of struct members with few memory accesses, in three ways.

The ways are an exact search, a local search, and the published clustering.

The local search limits the number of examined orders, not the time, and has a fixed seed. So equal
variables always yield equal orders.

For the clustering, each variable has a vector with a coordinate for each block of code: the share
of the variable's accesses from this block. k-means++ (Arthur and Vassilvitskii, 2007) draws the
starts with Python's own generator, whose numbers depend neither on the machine nor on the version.

The exact search is A*. The cost of the rest of an order depends on the remaining variables, on the
end of the last variable within its window (range that one access fetches), and on the blocks that
have already fetched this window. Partial orders that agree in these three form one state. Variables
with equal size, alignment and blocks are interchangeable.

The exact search visits states in the order of a lower bound (Hart, Nilsson and Raphael, 1968): the
cost so far plus, for each block, the minimum number of windows that its remaining bytes fill. The
first complete order is optimal. If the search reaches its limit first, the bound of the next state
is a lower bound of all orders.
"""

import math
import random
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from slowpath.insights.layout.problem import Element, MergedElement, Order, accesses

STARTS = 8
"""Number of random start orders of the local search."""
MAX_WORK = 2_000_000
"""Maximum total work of the local search, in examined orders times variables; it takes seconds."""


def cost(element: MergedElement, order: Order) -> tuple[int, int]:
    """Return the number of accesses with this order, and the struct's size without end padding.

    Orders are compared by this pair; the size is in bytes.
    """
    end = 0
    for at in order:
        end = -(-end // element.aligns[at]) * element.aligns[at] + element.sizes[at]
    return accesses(element, order), end


def good_order(element: MergedElement, starts: Sequence[Order], max_work: int = MAX_WORK) -> Order:
    """Improve the orders `starts` by local search, and return the best order found.

    It is no worse than any of `starts`, which must not be empty. `max_work` limits the number of
    examined orders times variables.
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
    """Return an equally good order that is closer to the source.

    Neighbours are swapped back into the order of the source wherever that costs no more.
    """
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
    """Return a greedy order, in which neighbours are often used by the same blocks of code.

    The next variable is the one that shares most runs of blocks with the previous one.
    """
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
    """Yield the orders that a single change of `order` makes.

    First one variable is moved to another position, then two variables are swapped.
    """
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


# --- clustering -----------------------------------------------------------------------------------

CLUSTER_STARTS = 50
_WORK = 100_000
"""Maximum product of variables, clusters, blocks and starts; large problems get fewer starts."""
_ROUNDS = 100
Vector = tuple[float, ...]


def access_vectors(element: Element, *, shares: bool = True) -> list[Vector]:
    """Return a vector for each variable that describes the blocks of code that use it.

    There is a coordinate for each block. With `shares`, coordinates are shares of the variable's
    accesses, as in the paper. Otherwise, they are the weights of the blocks that touch the
    variable, as in the published program.
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
    """Divide vectors into `k` clusters by k-means, and return the cluster (0 to k - 1) of each.

    The best of several random starts counts. At least one vector is required.
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
    """Draw `k` random centres for k-means from the vectors, as k-means++ does.

    The probability of a vector is proportional to its squared distance from the nearest centre
    drawn before.
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
    """Run Lloyd's algorithm for k-means, from the given centres.

    It ends when the clusters no longer change. Return the cluster of each vector, and the centres.
    """
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
    """Return an order in which variables of the same cluster are adjacent.

    `labels` has the cluster of each variable. Clusters, and variables within a cluster, keep the
    order of the source.
    """
    first = {label: labels.index(label) for label in labels}
    return sorted(range(len(labels)), key=lambda at: (first[labels[at]], at))


# --- exact search ---------------------------------------------------------------------------------

MAX_STEPS = 600_000
"""Maximum number of steps, which takes seconds and 300 MB. A step appends a variable to a state;
with many blocks, it counts as several steps."""
_BLOCKS = 16  # number of blocks whose work equals the rest of a step

_State = tuple[int, int, int]
"""Three numbers that describe a partial order of variables: the number of remaining variables of
each kind (as digits), the end of the last variable, and a bit mask of the blocks that have fetched
the last window."""
_Cost = tuple[int, int]
"""Cost of an order: the number of accesses, and the number of bytes up to the end of the last
variable."""


class Found(NamedTuple):
    """Result of the exact search for the best order of variables."""

    order: Order | None
    """Best order; None if the known order is optimal, or if the search reached its limit."""
    bound: int
    """Lower bound of the accesses of all orders."""
    proven: bool
    """True if `order` (if None, the known order) is optimal."""


class _Kind(NamedTuple):
    """Interchangeable variables: with equal size and alignment, and used by the same blocks."""

    members: Sequence[int]
    size: int
    align: int
    mask: int
    weight: int
    digit: int
    """Factor of this kind's digit in the first number of a state, which counts remaining
    variables.
    """


def best_order(element: MergedElement, known: _Cost, max_steps: int = MAX_STEPS) -> Found:
    """Search for the order with the fewest accesses; of equal orders, one with the fewest bytes.

    Args:
        element: variables to order.
        known: cost of a known order; only better orders are searched.
        max_steps: maximum number of steps.
    """
    return _Search(element, known).run(max_steps)


class _Search:
    """The A* search for the best order: visited states, with their costs and predecessors.

    A state describes a partial order of variables.
    """

    def __init__(self, element: MergedElement, known: _Cost) -> None:
        self.element = element
        self.known = known
        self.kinds = _kinds(element)
        self.period = math.lcm(element.width, *element.aligns)
        start: _State = (sum(one.digit * len(one.members) for one in self.kinds), 0, 0)
        blocks = range(len(element.weights))
        needs = [
            sum(element.sizes[at] for at, mask in enumerate(element.masks) if mask >> block & 1)
            for block in blocks
        ]
        self.remaining: dict[int, tuple[Sequence[int], int]] = {
            start[0]: (needs, sum(element.sizes))
        }
        self.cost: dict[_State, _Cost] = {start: (0, 0)}
        self.predecessor: dict[_State, tuple[_State, int]] = {}
        self.open: list[tuple[_Cost, tuple[int, int], _State, _Cost]] = [
            ((0, 0), (0, 0), start, (0, 0))
        ]

    def run(self, max_steps: int) -> Found:
        steps, each = 0, 1 + len(self.element.weights) // _BLOCKS
        number = 0
        while self.open:
            bound, _, state, cost = heappop(self.open)
            if cost != self.cost[state]:
                continue  # the state was reached again with a lower cost
            if not state[0]:
                return Found(self._order(state), cost[0], proven=True)
            if steps >= max_steps:
                return Found(None, min(bound[0], self.known[0]), proven=False)
            for at, kind in enumerate(self.kinds):
                if state[0] // kind.digit % (len(kind.members) + 1):
                    steps += each
                    number += 1
                    self._reach(state, cost, at, number)
        return Found(None, self.known[0], proven=True)

    def _reach(self, state: _State, cost: _Cost, at: int, number: int) -> None:
        """Record the state that results from appending a variable to a partial order.

        `cost` is the cost of the partial order, and `at` the index of the variable's kind (set of
        interchangeable variables). `number` orders states with equal bounds in the queue.
        """
        kind, width = self.kinds[at], self.element.width
        remaining, end, fetched = state
        begin = -(-end // kind.align) * kind.align
        after = begin + kind.size
        first, last = begin // width, (after - 1) // width
        same_window = first == end // width and end % width > 0
        accesses = kind.weight * (last - first + 1)
        if same_window and kind.mask & fetched:
            accesses -= self.element.weight(kind.mask & fetched)
        mask = kind.mask | fetched if same_window and last == first else kind.mask
        needs, size = self._remaining(remaining, kind)
        remaining -= kind.digit
        mask = self._relevant(mask, needs) if after % width else 0
        other: _State = (remaining, after % self.period, mask)
        total_cost = (cost[0] + accesses, cost[1] + after - end)
        if total_cost >= self.cost.get(other, self.known):
            return
        bound = (
            total_cost[0] + self._lower_bound(needs, mask, -after % width),
            total_cost[1] + size,
        )
        if bound >= self.known:
            return
        self.cost[other] = total_cost
        self.predecessor[other] = (state, at)
        # Of states with equal bounds, prefer those with fewer remaining bytes.
        heappush(self.open, (bound, (size, number), other, total_cost))

    def _remaining(self, remaining: int, kind: _Kind) -> tuple[Sequence[int], int]:
        """Return the bytes of the variables that remain after placing a variable of this kind.

        They are given by block of code, and in total. `remaining` encodes the variables that
        remained before.
        """
        after = remaining - kind.digit
        if after not in self.remaining:
            needs, size = self.remaining[remaining]
            mask = kind.mask
            new_needs = [
                need - kind.size if mask >> block & 1 else need for block, need in enumerate(needs)
            ]
            self.remaining[after] = (new_needs, size - kind.size)
        return self.remaining[after]

    @staticmethod
    def _relevant(mask: int, needs: Sequence[int]) -> int:
        """Return the blocks of code in `mask` that still need variables without a place.

        Both masks have a bit for each block. `needs` has the bytes of variables without a place, by
        block.
        """
        found, rest = 0, mask
        while rest:
            lowest = rest & -rest
            if needs[lowest.bit_length() - 1]:
                found |= lowest
            rest ^= lowest
        return found

    def _lower_bound(self, needs: Sequence[int], mask: int, room: int) -> int:
        """Return a lower bound of the accesses to variables that are not placed yet.

        `needs` has the bytes of these variables by block of code. `room` is the number of free
        bytes in the last window. The blocks in `mask` have already fetched this window.
        """
        total, width = 0, self.element.width
        for block, need in enumerate(needs):
            if need:
                uncovered = need - room if mask >> block & 1 else need
                if uncovered > 0:
                    total += self.element.weights[block] * -(-uncovered // width)
        return total

    def _order(self, state: _State) -> Order:
        """Return the complete order of variables that ends in this state of the search.

        Interchangeable variables keep the order of the source.
        """
        kinds = list[int]()
        while state in self.predecessor:
            state, at = self.predecessor[state]
            kinds.append(at)
        members = [iter(kind.members) for kind in self.kinds]
        return [next(members[at]) for at in reversed(kinds)]


def _kinds(element: MergedElement) -> list[_Kind]:
    groups = dict[tuple[int, int, int], list[int]]()
    for at, properties in enumerate(zip(element.sizes, element.aligns, element.masks, strict=True)):
        groups.setdefault(properties, []).append(at)
    found, digit = list[_Kind](), 1
    for (size, align, mask), members in groups.items():
        found.append(_Kind(members, size, align, mask, element.weight(mask), digit))
        digit *= len(members) + 1
    return found
