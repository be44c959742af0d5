"""BPF instructions and functions in LLVM's assembler text.

Source: `BPFInstrInfo.td` and `BPFInstPrinter` of LLVM; RFC 9669 for what they mean.

Source of the comments that name blocks: `AsmPrinter::emitBasicBlockStart` of LLVM.
"""

import re
from typing import Literal, NamedTuple

Kind = Literal[
    "alu",
    "move",
    "negate",
    "swap",
    "wide",
    "load",
    "store",
    "atomic",
    "branch",
    "jump",
    "call",
    "exit",
    "other",
]
"""`wide`: an immediate of 64 bits, or the address of a symbol; `other`: what is not understood."""

_WORD = 1 << 32
_PLACE = r"\(r(\d+) ([+-]) (\d+)\)"
_LOAD = re.compile(rf"^[rw](\d+) = \*\(([us])(\d+) \*\){_PLACE}$")
_STORE = re.compile(rf"^\*\(u(\d+) \*\){_PLACE} = (?:[rw](\d+)|(-?\d+))$")
_LOCKED = re.compile(rf"^lock \*\(u(\d+) \*\){_PLACE} (\S+)= [rw](\d+)$")
_FETCHED = re.compile(rf"^[rw](\d+) = atomic_fetch_\w+\(\(u(\d+) \*\){_PLACE}, [rw](\d+)\)$")
_EXCHANGED = re.compile(
    r"^([rw])(\d+) = (?:cmp)?xchg\w*\(r(\d+) ([+-]) (\d+), (?:\S+, )?[rw](\d+)\)$"
)
_WIDE = re.compile(r"^r(\d+) = (\S+) ll$")
_SWAP = re.compile(r"^[rw](\d+) = (be|le|bswap)(16|32|64) [rw]\d+$")
_NEGATE = re.compile(r"^([rw])(\d+) = -[rw]\d+$")
_ALU = re.compile(r"^([rw])(\d+) (s?(?:<<|>>)|s?[-+*/%&|^])?= (?:[rw](\d+)|(-?\d+))$")
_BRANCH = re.compile(r"^if ([rw])(\d+) (\S+) (?:[rw](\d+)|(-?\d+)) goto (\S+)$")
_JUMP = re.compile(r"^gotol? (\S+)$")
_CALL = re.compile(r"^callx? (\S+)$")


class Instruction(NamedTuple):
    """An instruction."""

    kind: Kind
    op: str = ""  # `+`, `s>>`, `be16`, `==`, ...
    bits: int = 64  # what it computes with; of accesses: what is moved
    target: int | None = None  # the register that is written; of branches and stores: looked at
    source: int | None = None  # the other register
    immediate: int | None = None
    base: int = 0  # of accesses: the register of the address
    offset: int = 0
    fetches: bool = False  # of atomic accesses: whether what was there is wanted
    name: str = ""  # a symbol, the number of a helper, a label


def parsed(text: str) -> Instruction:  # noqa: PLR0911 - one form after the other
    """The instruction that a line has, without comments."""
    if text == "exit":
        return Instruction("exit")
    if found := _ALU.match(text):
        bits, op = _bits(found[1]), found[3] or ""
        kind: Kind = "alu" if op else "move"
        return Instruction(
            kind, op, bits, int(found[2]), _number(found[4]), _signed(found[5], bits)
        )
    if found := _LOAD.match(text):
        op = "signed" if found[2] == "s" else ""
        at = int(f"{found[5]}{found[6]}")
        return Instruction("load", op, int(found[3]), int(found[1]), base=int(found[4]), offset=at)
    if found := _STORE.match(text):
        at = int(f"{found[3]}{found[4]}")
        base, source = int(found[2]), _number(found[5])
        value = _number(found[6])
        return Instruction("store", "", int(found[1]), None, source, value, base=base, offset=at)
    if found := _BRANCH.match(text):
        bits = _bits(found[1])
        value = _signed(found[5], bits)
        return Instruction(
            "branch", found[3], bits, int(found[2]), _number(found[4]), value, name=found[6]
        )
    if found := _CALL.match(text):
        return Instruction("call", name=found[1])
    if found := _JUMP.match(text):
        return Instruction("jump", name=found[1])
    if found := _WIDE.match(text):
        number = re.fullmatch(r"-?\d+", found[2])
        value = int(found[2]) if number else None
        return Instruction(
            "wide", "", 64, int(found[1]), immediate=value, name="" if number else found[2]
        )
    if found := _SWAP.match(text):
        return Instruction("swap", f"{found[2]}{found[3]}", int(found[3]), int(found[1]))
    if found := _NEGATE.match(text):
        return Instruction("negate", "", _bits(found[1]), int(found[2]))
    return _atomic(text) or Instruction("other", text)


def _atomic(text: str) -> Instruction | None:
    if found := _LOCKED.match(text):
        at = int(f"{found[3]}{found[4]}")
        return Instruction(
            "atomic", found[5], int(found[1]), None, int(found[6]), base=int(found[2]), offset=at
        )
    if found := _FETCHED.match(text):
        op, bits, target = "fetch", int(found[2]), found[1]
    elif found := _EXCHANGED.match(text):
        op, bits, target = "exchange", _bits(found[1]), found[2]
    else:
        return None
    at = int(f"{found[4]}{found[5]}")
    base, source = int(found[3]), int(found[6])
    return Instruction("atomic", op, bits, int(target), source, base=base, offset=at, fetches=True)


def _bits(letter: str) -> int:
    return 32 if letter == "w" else 64


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _signed(text: str | None, bits: int) -> int | None:
    """An immediate as instructions have it: 32 bits with a sign."""
    if text is None:
        return None
    value = int(text)
    if bits == 32 and value >= _WORD // 2:  # noqa: PLR2004
        value -= _WORD
    return value


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
