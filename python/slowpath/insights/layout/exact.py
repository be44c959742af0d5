"""Exact search (A*) for the order of variables with the fewest accesses.

The cost of the rest of an order depends on three things only: the variables that are left, the end
of the last variable within its window, and the blocks that have fetched this window already. Orders
that agree in these are one state. Variables of the same size, alignment and blocks are
interchangeable.

The search visits states by a lower bound of the orders through them (Hart, Nilsson and Raphael,
1968): the cost so far, plus, for each block, the windows that its remaining bytes fill at least.
The first complete order is optimal. If the search reaches its limit before, the bound of the next
state is a lower bound of all orders.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from math import lcm
from typing import NamedTuple

from slowpath.insights.layout.problem import MergedElement, Order

MOST = 600_000
"""Maximum number of steps, which takes seconds and 300 MB. A step appends a variable to a state;
with many blocks, it counts as several."""
_BLOCKS = 16  # number of blocks that cost as much as the rest of a step

_State = tuple[int, int, int]
"""Number of variables left of each kind, as digits; end of the last variable; blocks that have
fetched its window."""
_Cost = tuple[int, int]
"""Accesses, then bytes up to the end of the struct."""


class Found(NamedTuple):
    """Result of a search."""

    order: Order | None
    """Best order; None if the known order is the best, or the search reached its limit."""
    bound: int
    """Lower bound of all orders, in the unit of costs."""
    proven: bool
    """True if `order`, or else the known order, is optimal."""


class _Kind(NamedTuple):
    """Interchangeable variables."""

    members: Sequence[int]
    size: int
    align: int
    mask: int
    weight: int
    digit: int
    """Place value of one such variable in the first part of a state."""


def best_order(of: MergedElement, known: _Cost, most: int = MOST) -> Found:
    """Return the order with the fewest accesses, and among these one with the fewest bytes.

    Args:
        of: variables to order.
        known: cost of a known order; only better orders are searched.
        most: maximum number of steps.
    """
    return _Search(of, known).run(most)


class _Search:
    """States reached so far, with their costs and predecessors."""

    def __init__(self, of: MergedElement, known: _Cost) -> None:
        self.of = of
        self.known = known
        self.kinds = _kinds(of)
        self.period = lcm(of.width, *of.aligns)
        start: _State = (sum(one.digit * len(one.members) for one in self.kinds), 0, 0)
        blocks = range(len(of.weights))
        needs = [
            sum(of.sizes[at] for at, mask in enumerate(of.masks) if mask >> block & 1)
            for block in blocks
        ]
        self.left: dict[int, tuple[Sequence[int], int]] = {start[0]: (needs, sum(of.sizes))}
        self.cost: dict[_State, _Cost] = {start: (0, 0)}
        self.before: dict[_State, tuple[_State, int]] = {}
        self.open: list[tuple[_Cost, tuple[int, int], _State, _Cost]] = [
            ((0, 0), (0, 0), start, (0, 0))
        ]

    def run(self, most: int) -> Found:
        steps, each = 0, 1 + len(self.of.weights) // _BLOCKS
        number = 0
        while self.open:
            least, _, state, cost = heappop(self.open)
            if cost != self.cost[state]:
                continue  # a cheaper way to this state was found
            if not state[0]:
                return Found(self._order(state), cost[0], proven=True)
            if steps >= most:
                return Found(None, min(least[0], self.known[0]), proven=False)
            for at, kind in enumerate(self.kinds):
                if state[0] // kind.digit % (len(kind.members) + 1):
                    steps += each
                    number += 1
                    self._reach(state, cost, at, number)
        return Found(None, self.known[0], proven=True)

    def _reach(self, state: _State, cost: _Cost, at: int, number: int) -> None:
        """Append a variable of a kind to a state."""
        kind, width = self.kinds[at], self.of.width
        left, end, fetched = state
        begin = -(-end // kind.align) * kind.align
        behind = begin + kind.size
        first, last = begin // width, (behind - 1) // width
        same = first == end // width and end % width > 0
        spent = kind.weight * (last - first + 1)
        if same and kind.mask & fetched:
            spent -= self.of.weight(kind.mask & fetched)
        mask = kind.mask | fetched if same and last == first else kind.mask
        needs, size = self._left(left, kind)
        left -= kind.digit
        mask = self._matters(mask, needs) if behind % width else 0
        other: _State = (left, behind % self.period, mask)
        through = (cost[0] + spent, cost[1] + behind - end)
        if through >= self.cost.get(other, self.known):
            return
        least = (through[0] + self._least(needs, mask, -behind % width), through[1] + size)
        if least >= self.known:
            return
        self.cost[other] = through
        self.before[other] = (state, at)
        # Among equal bounds, prefer states with fewer bytes left.
        heappush(self.open, (least, (size, number), other, through))

    def _left(self, left: int, kind: _Kind) -> tuple[Sequence[int], int]:
        """Return the bytes left, by block and in all, without one variable of a kind."""
        behind = left - kind.digit
        if behind not in self.left:
            needs, size = self.left[left]
            mask = kind.mask
            fewer = [
                need - kind.size if mask >> block & 1 else need for block, need in enumerate(needs)
            ]
            self.left[behind] = (fewer, size - kind.size)
        return self.left[behind]

    @staticmethod
    def _matters(mask: int, needs: Sequence[int]) -> int:
        """Return the blocks that touch variables left; windows do not matter for other blocks."""
        found, rest = 0, mask
        while rest:
            lowest = rest & -rest
            if needs[lowest.bit_length() - 1]:
                found |= lowest
            rest ^= lowest
        return found

    def _least(self, needs: Sequence[int], mask: int, room: int) -> int:
        """Return a lower bound of the accesses to variables left."""
        total, width = 0, self.of.width
        for block, need in enumerate(needs):
            if need:
                beyond = need - room if mask >> block & 1 else need
                if beyond > 0:
                    total += self.of.weights[block] * -(-beyond // width)
        return total

    def _order(self, state: _State) -> Order:
        """Return the order that leads to a state; variables of a kind have the source's order."""
        kinds = list[int]()
        while state in self.before:
            state, at = self.before[state]
            kinds.append(at)
        members = [iter(kind.members) for kind in self.kinds]
        return [next(members[at]) for at in reversed(kinds)]


def _kinds(of: MergedElement) -> list[_Kind]:
    alike = dict[tuple[int, int, int], list[int]]()
    for at, looks in enumerate(zip(of.sizes, of.aligns, of.masks, strict=True)):
        alike.setdefault(looks, []).append(at)
    found, digit = list[_Kind](), 1
    for (size, align, mask), those in alike.items():
        found.append(_Kind(those, size, align, mask, of.weight(mask), digit))
        digit *= len(those) + 1
    return found
