"""The functions of assembler text: instructions with the blocks that they were made from, labels.

Source of the comments that name blocks: `AsmPrinter::emitBasicBlockStart` of LLVM.
"""

import re
from typing import NamedTuple

from slowpath.insights.blocks.machine.instructions import Instruction, parsed

_FUNCTION = re.compile(r'^("[^"]+"|[\w.$-]+):\s+# @')
_LABEL = re.compile(r'^(?:# %bb\.\d+|(LBB\d+_\d+)):(?:\s+# (?:%("[^"]*"|[\w.$-]+))?)?')
_NAMED_BELOW = re.compile(r'^\s+#\s+%("[^"]*"|[\w.$-]+)\s*$')
_SLOTS = re.compile(r"^[-+]\d+$")
_COMMENT = re.compile(r"\s+#.*$")


class Assembled(NamedTuple):
    """A function."""

    name: str
    instructions: list[Instruction]
    blocks: list[str]  # for each, the block of LLVM's language; empty: it is not known
    labels: dict[str, int]  # the instruction that each is in front of
    starts: list[int]  # instructions that begin a block of the machine

    def successors(self, at: int) -> list[int]:
        """The instructions that may follow one."""
        one = self.instructions[at]
        if one.kind == "exit":
            return []
        following = [at + 1] if at + 1 < len(self.instructions) else []
        if one.kind in ("jump", "branch"):
            goal = self.goal(at)
            there = [] if goal is None or goal >= len(self.instructions) else [goal]
            return there if one.kind == "jump" else [*following, *there]
        return following

    def targets(self) -> set[int]:
        """The instructions that something jumps to."""
        jumps = [at for at, one in enumerate(self.instructions) if one.kind in ("jump", "branch")]
        return {goal for at in jumps if (goal := self.goal(at)) is not None}

    def goal(self, at: int) -> int | None:
        """Where a jump leads to; in inline assembly it may say how many slots are between."""
        name = self.instructions[at].name
        if not _SLOTS.match(name):
            return self.labels.get(name)
        slots, step = int(name), 1 if int(name) >= 0 else -1
        at += 1
        while slots and 0 <= at < len(self.instructions):
            passed = self.instructions[at if step > 0 else at - 1]
            slots -= step * (2 if passed.kind == "wide" else 1)
            at += step
        return at


def assembled(text: str) -> dict[str, Assembled]:
    """By name, the functions of a text."""
    found = dict[str, Assembled]()
    inside: Assembled | None = None
    block = ""
    for line in text.splitlines():
        head = _FUNCTION.match(line)
        if head:
            name = head[1].strip('"')
            inside, block = found.setdefault(name, Assembled(name, [], [], {}, [])), ""
            continue
        if inside is None:
            continue
        begun = _LABEL.match(line)
        words = line.strip()
        if begun:
            block = (begun[2] or "").strip('"')
            inside.starts.append(len(inside.instructions))
            if begun[1]:
                inside.labels[begun[1]] = len(inside.instructions)
        elif line.startswith(".Lfunc_end"):
            inside = None
        elif not block and (named := _NAMED_BELOW.match(line)):
            block = named[1].strip('"')
        elif line.startswith("\t") and words and words[0] not in ".#":
            inside.instructions.append(parsed(_COMMENT.sub("", words)))
            inside.blocks.append(block)
    return found
