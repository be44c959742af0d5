"""The order of variables with the fewest accesses (A*).

What the rest of an order costs depends on three things only: which variables are left, where in its
window the last one ended, and which blocks have fetched that window already. So orders that agree
in these are one state, and variables of the same size, alignment and blocks are interchangeable.
States are taken by the least that any order through them can cost (Hart, Nilsson and Raphael,
1968): what was placed, and for each block as many windows as its bytes that are left fill at least.
The first complete order that is taken is the best; when the work is over before that, the state
that would be next says what no order is below.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from math import lcm
from typing import NamedTuple

from slowpath.insights.layout.problem import Order, Weighted

MOST = 600_000
"""Steps, each a variable behind those of a state, of many blocks several: seconds, 300 MB."""
_BLOCKS = 16  # that cost as much as the rest of a step

_State = tuple[int, int, int]
"""Variables left of each kind, as digits; where the last one ended; blocks that have its window."""
_Cost = tuple[int, int]
"""Accesses, then bytes up to the end."""

_Open = tuple[_Cost, tuple[int, int], _State, _Cost]
"""The least that orders through a state cost, a number that makes the order of states the same
every time, the state, and what it costs so far."""


class Found(NamedTuple):
    """What a search came to."""

    order: Order | None
    """The best; None where the one that was known before is, or the work was over."""
    bound: int
    """No order costs less, in the unit of costs."""
    proven: bool
    """Whether that order, or the one that was known, is the best."""


class _Kind(NamedTuple):
    """Variables that are interchangeable."""

    members: Sequence[int]
    size: int
    align: int
    mask: int
    weight: int
    digit: int
    """What one of them is in the first part of a state."""


def best_order(of: Weighted, known: _Cost, most: int = MOST) -> Found:
    """The order with the fewest accesses, and of these one with the fewest bytes.

    Args:
        of: what is to be put in order.
        known: what an order costs that is known already; only better ones are looked for.
        most: steps that the search may take.
    """
    return _Search(of, known).run(most)


class _Search:
    """States that were reached, and how."""

    def __init__(self, of: Weighted, known: _Cost) -> None:
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
                continue  # reached in a better way since
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
        """One more variable of a kind, behind what is placed."""
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
        # Of equal ones, those with less left first.
        heappush(self.open, (least, (size, number), other, through))

    def _left(self, left: int, kind: _Kind) -> tuple[Sequence[int], int]:
        """Of what is left without one of a kind: bytes by kind of block, and of all of it."""
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
        """Of blocks, those that touch what is left: others are done with any window."""
        found, rest = 0, mask
        while rest:
            lowest = rest & -rest
            if needs[lowest.bit_length() - 1]:
                found |= lowest
            rest ^= lowest
        return found

    def _least(self, needs: Sequence[int], mask: int, room: int) -> int:
        """Accesses that what is left takes at least."""
        total, width = 0, self.of.width
        for block, need in enumerate(needs):
            if need:
                beyond = need - room if mask >> block & 1 else need
                if beyond > 0:
                    total += self.of.weights[block] * -(-beyond // width)
        return total

    def _order(self, state: _State) -> Order:
        """The way to a state; variables of a kind in the order of the source."""
        kinds = list[int]()
        while state in self.before:
            state, at = self.before[state]
            kinds.append(at)
        members = [iter(kind.members) for kind in self.kinds]
        return [next(members[at]) for at in reversed(kinds)]


def _kinds(of: Weighted) -> list[_Kind]:
    alike = dict[tuple[int, int, int], list[int]]()
    for at, looks in enumerate(zip(of.sizes, of.aligns, of.masks, strict=True)):
        alike.setdefault(looks, []).append(at)
    found, digit = list[_Kind](), 1
    for (size, align, mask), those in alike.items():
        found.append(_Kind(those, size, align, mask, of.weight(mask), digit))
        digit *= len(those) + 1
    return found
