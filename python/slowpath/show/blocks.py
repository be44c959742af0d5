"""Reads jumps, calls and map references from listings in the verifier's notation."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slowpath.core.schema.shown import Instruction, Program

_JUMP = re.compile(r"(?:^|\s)(may_goto|gotol?) pc([+-]\d+)$")
_CALL = re.compile(r"^call ([\w.]+)#-?\d+$")
_MAP = re.compile(r"\bmap\[([^\]]+)\]")
_ALWAYS = re.compile(r"^gotol? pc")
_END = "exit"


class Block(NamedTuple):
    """A basic block: instructions that always run one after the other."""

    instructions: Sequence[Instruction]
    next: Sequence[int]  # first instructions of the blocks that may follow

    @property
    def first(self) -> int:
        """Number of the first instruction."""
        return self.instructions[0]["instruction"]


class Function(NamedTuple):
    """A function of a program with its basic blocks, in the order of their instructions."""

    name: str
    blocks: Sequence[Block]


def called(text: str) -> str | None:
    """Return the helper or kernel function that an instruction calls; None if it calls none."""
    found = _CALL.match(text)
    return None if found is None else found[1]


def referenced_map(text: str) -> str | None:
    """Return the map whose address an instruction loads; None if it loads none."""
    found = _MAP.search(text)
    return None if found is None else found[1]


def functions(program: Program) -> list[Function]:
    """Return the functions of a program with a listing; none without one."""
    listing = program["listing"] or []
    if not listing:
        return []
    starts = {one["first"]: one["name"] for one in program["subprograms"]}
    starts.setdefault(listing[0]["instruction"], program["name"])
    parts = dict[int, list[Instruction]]()
    at = listing[0]["instruction"]
    for one in listing:
        at = one["instruction"] if one["instruction"] in starts else at
        parts.setdefault(at, []).append(one)
    return [Function(starts[first], _blocks(part)) for first, part in parts.items()]


def _target(one: Instruction) -> int | None:
    """Return the number of the instruction that a jump leads to; None if it is no jump."""
    found = _JUMP.search(one["text"])
    return None if found is None else one["instruction"] + 1 + int(found[2])


def _blocks(part: Sequence[Instruction]) -> list[Block]:
    known = {one["instruction"] for one in part}
    targets = set(_known(map(_target, part), known))
    groups, ended = list[list[Instruction]](), True
    for one in part:
        if ended or one["instruction"] in targets:
            groups.append([])
        groups[-1].append(one)
        ended = one["text"] == _END or _target(one) is not None
    made = list[Block]()
    for at, group in enumerate(groups):
        last, following = group[-1], list[int | None]()
        if last["text"] != _END and not _ALWAYS.match(last["text"]) and at + 1 < len(groups):
            following.append(groups[at + 1][0]["instruction"])
        following.append(_target(last))
        made.append(Block(group, list(dict.fromkeys(_known(following, known)))))
    return made


def _known(numbers: Iterable[int | None], known: set[int]) -> list[int]:
    """Return the numbers of instructions of the function; damaged jumps may lead elsewhere."""
    return [one for one in numbers if one is not None and one in known]
