"""Describes blocks of LLVM IR by words, from which a learnt model predicts SmartNIC instructions.

A word is an instruction without names, with the kinds and sizes of its operands. The vocabulary is
compact (a few hundred words): names are removed, and constants are classified by the effort of
creating them. A word has the properties that code generators examine, such as:

- a comparison only decides a branch;
- the address is folded into the access;
- earlier code read bytes of the packet near these.

The idea is Clara's (section 3.2); the properties are our choice.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.insights.blocks.pointers import Traced
from slowpath.insights.source.functions import Block, Instruction
from slowpath.insights.source.modules import (
    arguments,
    call_target,
    parts,
    pointer,
    result,
    value,
    width,
)

_NAME = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')
_ALIGNED = re.compile(r"\balign (\d+)")
_CHOICE = re.compile(r'\[ ([^,\]]+), %("[^"]*"|[\w.$-]+) \]')
_WORDS = frozenset(["nsw", "nuw", "exact", "disjoint", "samesign", "inbounds", "nneg", "volatile"])
_ARITHMETIC = frozenset(
    ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor"]
)
_COMMUTATIVE = frozenset(["add", "mul", "and", "or", "xor"])
"""Operations whose operands can be swapped, so that the result can overwrite either operand."""
_CASTS = frozenset(["zext", "sext", "trunc", "inttoptr", "ptrtoint", "bitcast"])
_MARKS = ("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.experimental", "llvm.preserve")
_SMALL, _BYTE, _HALF, _WORD = 31, 255, 65535, 0xFFFFFFFF


class Said(NamedTuple):
    """A basic block described by words, with the number of its memory accesses.

    A word is an instruction without names.
    """

    block: str  # name of the block
    words: tuple[str, ...]
    packet: int  # accesses to the packet
    state: int  # accesses to state
    unknown: int  # accesses to packet or state


class Describer:
    """Describes the blocks of a function by words, from which a learnt model predicts costs.

    A word is an instruction without names, with the kinds and sizes of its operands.
    """

    def __init__(self, traced: Traced) -> None:
        """Index the instructions of a function by result and by use.

        `traced` is the function, with the memory kinds of its pointers.
        """
        self._provenance = traced.provenance
        self._blocks = traced.function.blocks
        self._made = dict[str, tuple[str, Instruction]]()
        self._uses = dict[str, list[tuple[str, Instruction]]]()
        for block in self._blocks:
            for one in block.instructions:
                name = result(one.text)
                if name:
                    self._made[name] = block.name, one
                for used in _NAME.findall(one.text.partition(" = ")[2] if name else one.text):
                    self._uses.setdefault(used, []).append((block.name, one))
        self._before = Counter[str]()
        for block in self._blocks:
            self._before.update(block.successors)
        self._read: str | None = None  # base of the packet address that was read last
        self._accesses = Counter[str]()

    def said(self) -> list[Said]:
        """Return a description of each block of the function, in order."""
        found = []
        for number, block in enumerate(self._blocks):
            following = self._blocks[number + 1].name if number + 1 < len(self._blocks) else ""
            if not number or not self._is_reached_without_jump(number):
                self._read = None
            self._accesses.clear()
            words = tuple(self._words(block, following))
            known = self._accesses
            state = known["state"] + known["constant"]
            entry = () if number else ("entry",)
            found.append(
                Said(block.name, (*entry, *words), known["packet"], state, known["unknown"])
            )
        return found

    def _is_reached_without_jump(self, number: int) -> bool:
        """Return true if control reaches block `number` only from the block before, without a jump.

        The block before must be its only predecessor and must not end with a switch.
        """
        name, before = self._blocks[number].name, self._blocks[number - 1]
        jumps = before.instructions and before.instructions[-1].opcode == "switch"
        return self._before[name] == 1 and name in before.successors and not jumps

    def _words(self, block: Block, following: str) -> Iterator[str]:
        for one in block.instructions[:-1]:
            yield from self._word(block, one)
        yield from self._choices(block)
        for one in block.instructions[-1:]:
            yield from self._end(block, one, following)

    def _word(self, block: Block, one: Instruction) -> Iterator[str]:
        opcode, given = one.opcode, parts(one.text)
        if opcode in _ARITHMETIC:
            yield f"{self._arithmetic(opcode, given)}{self._fate(block, one, given)}"
        elif opcode in ("load", "store", "atomicrmw", "cmpxchg"):
            yield from self._access(one, given)
        elif opcode == "getelementptr":
            yield self._address(block, one, given)
        elif opcode == "icmp":
            yield self._compared(one, given)
        elif opcode in _CASTS:
            yield self._cast(block, one, given)
        elif opcode == "select":
            self._read = None  # becomes a branch in BPF
            yield f"select {width(given[1])} {self._operand(given[1])} {self._operand(given[2])}"
        elif opcode == "call":
            yield from self._call(one)
        elif opcode not in ("phi", "alloca"):
            yield opcode

    def _fate(self, block: Block, one: Instruction, given: list[str]) -> str:
        """Return words about the uses of an instruction's operands and result, for its description.

        A BPF instruction overwrites an operand, so a value that later code needs is copied first
        (`kept`). A 32-bit result that is used with 64 bits must be zero-extended (`wide`). The
        result may also be used in another block (`away`).
        """
        operands = given if one.opcode in _COMMUTATIVE else given[:1]
        free = any(self._ends_here(block, one, value(part)) for part in operands)
        uses = self._uses.get(result(one.text) or "", [])
        wide = any(use.opcode in ("zext", "sext") for _, use in uses)
        away = any(at != block.name for at, _ in uses)
        return f"{'' if free else ' kept'}{' wide' if wide else ''}{' away' if away else ''}"

    def _ends_here(self, block: Block, one: Instruction, name: str | None) -> bool:
        """Return true if the value `name` is defined in `block`, and `one` is its last use there.

        No other block may use the value.
        """
        uses = self._uses.get(name or "", [])
        made = self._made.get(name or "")
        return (
            made is not None
            and all(at == block.name for at, _ in uses)
            and uses[-1][1] is one
            and made[0] == block.name
        )

    def _arithmetic(self, opcode: str, given: list[str]) -> str:
        first = " ".join(word for word in given[0].split() if word not in _WORDS)
        return f"{opcode} {width(first)} {self._operand(given[-1])}"

    def _access(self, one: Instruction, given: list[str]) -> Iterator[str]:
        address = pointer(one.opcode, one.text)
        kind = self._provenance.kind(address)
        size = width(given[0] if one.opcode in ("load", "store") else given[1]) // 8
        step = min(8, max(1, size), _alignment(one.text))
        by = f" by {step}" if step < size else ""
        if one.opcode == "load":
            yield f"load {kind} {size}{by}{self._reads(kind, address, -(-size // step))}"
        elif one.opcode == "store":
            self._writes(kind, -(-size // step))
            yield f"store {kind} {size}{by} {self._operand(given[0])}"
        else:
            self._accesses[kind] += 1
            yield f"{one.opcode} {kind} {size}"

    def _reads(self, kind: str, address: str | None, pieces: int) -> str:
        """Count the memory accesses of a read, and return a word if the read needs no access.

        A read of the packet also fetches bytes nearby, so a second read there needs no access; the
        word is ` again`. For other reads, the word is empty. A read from other memory takes
        `pieces` accesses.
        """
        if kind != "packet":
            self._accesses[kind] += pieces
            return ""
        base = self._base(address)
        if base and base == self._read:
            return " again"
        self._read = base
        self._accesses[kind] += 1
        return ""

    def _writes(self, kind: str, pieces: int) -> None:
        self._accesses[kind] += pieces
        if kind == "packet":
            self._read = None

    def _copied(self, name: str, given: list[str]) -> Iterator[str]:
        """Yield words for a call that copies or fills memory.

        These are loads and stores if the size is known, else the name of the operation. `given` are
        the arguments.
        """
        length = value(given[2]) or ""
        if not length.isdigit():
            yield name.rpartition(".")[0]
            return
        fills = name.startswith("llvm.memset")
        to = self._provenance.kind(value(given[0]))
        source = "" if fills else self._provenance.kind(value(given[1]))
        # The compiler aligns local variables and tables, so these move in large pieces.
        steps = [8]
        steps += [_alignment(given[0])] if to != "stack" else []
        steps += [_alignment(given[1])] if not fills and source not in ("stack", "constant") else []
        pieces, rest = divmod(int(length), min(steps))
        pieces, step = pieces + rest.bit_count(), min(steps)
        if to == "packet" and source == "state" and pieces > 1:
            self._accesses[source] += 1
            self._writes(to, 1)
            yield from ["gathered copy", *["gathered word"] * -(-int(length) // 4)]
            return
        for _ in range(0 if fills or source == "constant" else pieces):
            yield f"load {source} {step}{self._reads(source, value(given[1]), 1)}"
        for _ in range(pieces):
            yield f"store {to} {step} {self._operand(given[1]) if fills else 'value'}"
        self._writes(to, pieces)

    def _base(self, name: str | None) -> str:
        """Return the name of the value from which the address `name` is computed.

        Accesses at constant offsets from the same value are near each other.
        """
        seen = set[str]()
        while name in self._made and name not in seen:
            seen.add(name)
            one = self._made[name][1]
            if one.opcode == "getelementptr":
                given = parts(one.text)
                if any((value(each) or "").startswith("%") for each in given[2:]):
                    return name
                name = value(given[1])
            elif one.opcode in _CASTS:
                name = value(parts(one.text)[0].partition(" to ")[0])
            else:
                break
        return name or ""

    def _address(self, block: Block, one: Instruction, given: list[str]) -> str:
        name = result(one.text) or ""
        uses = self._uses.get(name, [])
        changing = sum((value(each) or "").startswith("%") for each in given[2:])
        if changing:
            return f"address variable {changing} {_unit(given[0])}"
        zero = all(value(each) == "0" for each in given[2:])
        if zero:
            return "address same"
        inside = all(
            pointer(use.opcode, use.text) == name or use.opcode == "getelementptr"
            for _, use in uses
        )
        if inside:
            return "address folded"
        away = any(at != block.name for at, _ in uses)
        stack = self._provenance.kind(name) == "stack"
        return f"address made{' stack' if stack else ''}{' kept' if away else ''}"

    def _compared(self, one: Instruction, given: list[str]) -> str:
        words = one.text.partition(" = ")[2].split()
        words = [word for word in words if word not in _WORDS]
        how = words[1]
        kind = "eq" if how in ("eq", "ne") else "signed" if how[0] == "s" else "unsigned"
        bits = width(" ".join(words[2:])) or 64
        uses = self._uses.get(result(one.text) or "", [])
        branch = all(use.opcode in ("br", "select") for _, use in uses)
        pointers = " pointer" if words[2] == "ptr" else ""
        end = "" if branch else " value"
        return f"icmp {kind} {bits}{pointers} {self._operand(given[-1])}{end}"

    def _cast(self, block: Block, one: Instruction, given: list[str]) -> str:
        before, _, after = given[0].partition(" to ")
        source = self._made.get(value(before) or "")
        uses = self._uses.get(result(one.text) or "", [])
        made = source[1].opcode if source else "none"
        if made not in ("load", "icmp", "call", "phi", "trunc", "and", "lshr"):
            made = "other"
        same = " away" if source and source[0] != block.name else ""
        if one.opcode in ("inttoptr", "ptrtoint", "bitcast"):
            return f"{one.opcode} {width(before)}"
        several = " once" if len(uses) == 1 else ""
        before = " ".join(word for word in before.split() if word not in _WORDS)
        if width(before) == 1:
            self._read = None  # becomes a branch in BPF
        return f"{one.opcode} {width(before)} {width(after)} {made}{same}{several}"

    def _call(self, one: Instruction) -> Iterator[str]:
        target, given = call_target(one.text), arguments(one.text)
        if target.name and target.name.startswith(_MARKS):
            return
        if target.name and target.name.startswith("llvm.mem"):
            yield from self._copied(target.name, given)
            return
        if target.name and target.name.startswith("llvm."):
            yield target.name
            return
        self._read = None
        yield "call"
        for number, part in enumerate(given):
            passed = value(part) or ""
            if part.startswith("ptr"):
                kind = self._provenance.kind(passed)
                made = self._made.get(passed)
                kept = " made" if made and made[1].opcode == "getelementptr" else ""
                yield f"pass {'map' if passed.startswith('@') else kind}{kept}"
            else:
                first = " first" if passed.startswith("%") and not number else ""
                yield f"pass {self._operand(part)}{first}"

    def _choices(self, block: Block) -> Iterator[str]:
        """Yield words for the register moves at the end of a block.

        The phi instructions of its successors need these moves.
        """
        known = {one.name: one for one in self._blocks}
        for name in block.successors:
            for one in known[name].instructions if name in known else ():
                if one.opcode != "phi":
                    break
                for chosen, place in _CHOICE.findall(one.text):
                    if place.strip('"') == block.name:
                        yield self._chosen(block, one, chosen)

    def _chosen(self, block: Block, phi: Instruction, chosen: str) -> str:
        bits = width(parts(phi.text)[0])
        if not chosen.startswith("%"):
            return f"choose {bits} {_constant(chosen)}"
        made = self._made.get(chosen)
        here = made is not None and made[0] == block.name and made[1].opcode != "phi"
        only = len(self._uses.get(chosen, [])) == 1
        return f"choose {bits} {'made' if here else 'kept'}{' only' if only else ''}"

    def _end(self, block: Block, one: Instruction, following: str) -> Iterator[str]:
        if one.opcode == "br":
            if len(block.successors) == 1:
                yield "jump next" if block.successors[0] == following else "jump"
                return
            decided = self._made.get(value(parts(one.text)[0]) or "")
            opcode = decided[1].opcode if decided else "none"
            away = " away" if decided and decided[0] != block.name else ""
            falls = "" if following in block.successors else " twice"
            yield f"branch {'icmp' if opcode == 'icmp' else 'other'}{away}{falls}"
        elif one.opcode == "switch":
            cases = len(re.findall(r", label", one.text)) - 1
            yield "switch"
            yield from ["case"] * cases
        elif one.opcode == "ret":
            yield f"ret {self._operand(parts(one.text)[0])}"
        else:
            yield from self._word(block, one)

    def _operand(self, part: str) -> str:
        found = value(part)
        if found is None:
            return "expression"
        if found.startswith("%"):
            return "value"
        return "global" if found.startswith("@") else _constant(found)


def _alignment(text: str) -> int:
    """Return the alignment in bytes that an instruction's text states; 1 if it states none."""
    found = _ALIGNED.search(text)
    return int(found[1]) if found else 1


def _constant(text: str) -> str:
    """Return the class of a constant, such as `byte`.

    Constants of a class take the same effort to create on the SmartNIC.
    """
    if text in ("null", "false", "undef", "poison"):
        return "0"
    if not re.fullmatch(r"-?\d+", text):
        return "1" if text == "true" else "expression"
    number = int(text)
    if number < 0:
        return "negative"
    for limit, name in ((0, "0"), (_SMALL, "small"), (_BYTE, "byte"), (_HALF, "half")):
        if number <= limit:
            return name
    return "word" if number <= _WORD else "wide"


def _unit(kind: str) -> str:
    """Return the kind of array element that an address computation indexes, such as `bytes`.

    `kind` is the type of the element in LLVM IR.
    """
    bits = width(kind.rsplit(maxsplit=1)[-1])
    return "bytes" if bits == 8 else "numbers" if bits else "structures"  # noqa: PLR2004
