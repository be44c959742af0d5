"""Good orders of many variables: from several starts, better ones nearby until there is none.

Work is counted in orders that are looked at, and starts are drawn by numbers that are the same on
every machine: the same variables have the same order.
"""

import random
from collections.abc import Iterator, Sequence

from slowpath.insights.coalescing.layout import Order, Weighted, accesses

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
