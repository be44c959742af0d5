"""The control flow of a function: dominators, and its loops.

Source: Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm (2001).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath.insights.preparation.functions import Function


class Loop(NamedTuple):
    """A natural loop."""

    header: str
    blocks: frozenset[str]
    depth: int  # 1: in no other


def loops(function: Function) -> list[Loop]:
    """The loops of a function, outer ones first; those with one header are one."""
    successors = {block.name: block.successors for block in function.blocks}
    if not function.blocks:
        return []
    order = _reverse_postorder(function.blocks[0].name, successors)
    above = _dominators(order, successors)
    bodies = dict[str, set[str]]()
    before = _predecessors(order, successors)
    for block in order:
        for header in successors[block]:
            if _dominates(header, block, above):
                bodies.setdefault(header, {header}).update(_body(header, block, before))
    found = sorted(bodies.items(), key=lambda one: -len(one[1]))
    return [
        Loop(header, frozenset(body), sum(header in other for _, other in found))
        for header, body in found
    ]


def _reverse_postorder(entry: str, successors: Mapping[str, Sequence[str]]) -> list[str]:
    seen, order = {entry}, list[str]()
    stack = [(entry, iter(successors[entry]))]
    while stack:
        block, left = stack[-1]
        following = next((one for one in left if one not in seen and one in successors), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors[following])))
    return order[::-1]


def _predecessors(
    order: Sequence[str], successors: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {block: [] for block in order}
    for block in order:
        for following in successors[block]:
            if following in found:
                found[following].append(block)
    return found


def _dominators(order: Sequence[str], successors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """By block, its immediate dominator."""
    number = {block: at for at, block in enumerate(order)}
    before = _predecessors(order, successors)
    above = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [one for one in before[block] if one in above]
            new = known[0]
            for other in known[1:]:
                new = _meet(new, other, above, number)
            if above.get(block) != new:
                above[block], changed = new, True
    return above


def _meet(one: str, other: str, above: Mapping[str, str], number: Mapping[str, int]) -> str:
    while one != other:
        while number[one] > number[other]:
            one = above[one]
        while number[other] > number[one]:
            other = above[other]
    return one


def _dominates(one: str, other: str, above: Mapping[str, str]) -> bool:
    while True:
        if one == other:
            return True
        if above.get(other, other) == other:
            return False
        other = above[other]


def _body(header: str, end: str, before: Mapping[str, Sequence[str]]) -> set[str]:
    """The blocks that reach the end of a turn without the header."""
    body, left = {header, end}, [end]
    while left:
        block = left.pop()
        if block == header:
            continue
        new = [one for one in before[block] if one not in body]
        body.update(new)
        left += new
    return body
