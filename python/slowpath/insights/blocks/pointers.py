"""Finds the memory accesses and calls in basic blocks of LLVM IR.

For each access, the kind of memory is found from the origin of the pointer: packet, state, stack or
others.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from copy import copy
from typing import Literal, NamedTuple

from slowpath.insights.source.calls import reachable_functions
from slowpath.insights.source.functions import Block, Function, Instruction
from slowpath.insights.source.metadata import Line, Metadata
from slowpath.insights.source.modules import (
    arguments,
    call_target,
    parts,
    pointer,
    result,
    split_at_commas,
    value,
    width,
)

Kind = Literal["stack", "context", "packet", "state", "constant", "unknown"]
"""Target of a pointer.

`stack`: a local variable; `context`: the argument of a program; `packet`: bytes of the packet;
`state`: variables of the module, and results of the framework; `constant`: read-only tables;
`unknown`: none of these, or different ones on different paths.
"""

_ARITHMETIC = frozenset({"add", "sub", "and", "or"})
_CASTS = frozenset({"inttoptr", "ptrtoint", "bitcast", "zext", "sext", "trunc", "addrspacecast"})
_PASS_THROUGH = ("llvm.bpf.passthrough", "llvm.preserve", "llvm.ptr.annotation", "llvm.launder")
_CHOICE = re.compile(r'\[ ([^,\]]+), %(?:"[^"]*"|[\w.$-]+) \]')


class Provenance:
    """Finds the kind of memory (such as packet or state) to which a function's pointers point."""

    def __init__(
        self, function: Function, parameters: dict[str, Kind], constants: Iterable[str]
    ) -> None:
        """Store the known kinds of memory from which those of other pointers follow.

        `parameters` maps the names of pointer parameters to kinds; `constants` has the names of
        read-only variables.
        """
        self._known: dict[str, frozenset[Kind]] = {
            name: frozenset({kind}) for name, kind in parameters.items()
        }
        self._constants = frozenset(constants)
        self._made = dict[str, Instruction]()
        for block in function.blocks:
            for one in block.instructions:
                made = result(one.text)
                if made:
                    self._made[made] = one

    def kind(self, name: str | None) -> Kind:
        """Return the kind of memory to which a value of the LLVM IR points.

        `name` is `%name` for a local value and `@name` for a variable. The kind is `unknown` if
        there are several.
        """
        if name is None:
            return "unknown"
        if name not in self._known:
            self._known[name] = frozenset(self._find(name, set()))
        found = self._known[name]
        return next(iter(found)) if len(found) == 1 else "unknown"

    def _find(self, name: str, seen: set[str]) -> set[Kind]:
        if name in seen:
            return set()
        seen.add(name)
        made = self._made.get(name)
        if name in self._known or made is None:
            return self._undefined(name)
        if made.opcode == "alloca":
            return {"stack"}
        if made.opcode == "load":
            return self._loaded(made, seen)
        if made.opcode == "call":
            return self._called(made.text, seen)
        sources = _sources(made.opcode, made.text)
        return set[Kind]().union(*(self._find(one, seen) for one in sources))

    def _undefined(self, name: str) -> set[Kind]:
        """Return the kinds of memory to which a value without a defining instruction may point.

        Such a value is a parameter of the function or a variable of the module. If `name` is
        another local value, return `unknown`.
        """
        if name in self._known:
            return set(self._known[name])
        if name.startswith("@"):
            return {"constant" if name[1:].strip('"') in self._constants else "state"}
        return {"unknown"} if name.startswith("%") else set()

    def _loaded(self, made: Instruction, seen: set[str]) -> set[Kind]:
        address = pointer(made.opcode, made.text)
        base = set[Kind]() if address is None else self._find(address, set(seen))
        if base == {"context"}:
            return {"packet"}
        return {"unknown"} if parts(made.text)[0].endswith("ptr") else set()

    def _called(self, text: str, seen: set[str]) -> set[Kind]:
        target = call_target(text)
        if target.name is not None and target.name.startswith(_PASS_THROUGH):
            names = [value(part.rstrip(")")) for part in parts(text)]
            return set[Kind]().union(*(self._find(one, seen) for one in names if one))
        if target.helper is not None:
            return {"state"}
        return {"unknown"}


def _sources(opcode: str, text: str) -> list[str]:
    """Return the operands that an instruction may take its resulting pointer from.

    `opcode` and `text` are the instruction. For example, the result of `select` is one of two
    operands.
    """
    operands = parts(text)
    found: list[str | None] = []
    if opcode == "getelementptr":
        found = [value(one) for one in operands[1:2]]
    elif opcode == "phi":
        found = [value(one) for one in _CHOICE.findall(text)]
    elif opcode == "select":
        found = [value(one) for one in operands[1:3]]
    elif opcode in _CASTS:
        found = [value(operands[0].partition(" to ")[0])]
    elif opcode == "freeze" or opcode in _ARITHMETIC:
        found = [value(one) for one in operands[:2]]
    return [one for one in found if one is not None and one[0] in "%@"]


_CONSTANT = re.compile(r'^@("[^"]*"|[\w.$-]+) = [^\n]*?\bconstant\b', re.MULTILINE)
_HEAD = re.compile(r'^define [^\n]*?@("[^"]*"|[\w.$-]+)\((.*)\)[^()]*\{$', re.MULTILINE)
_NAME = re.compile(r'(%(?:"[^"]*"|[\w.$-]+))$')
_ROUNDS = 4
"""Maximum depth of calls through which the kinds of pointer arguments are propagated."""


class Traced(NamedTuple):
    """A function whose pointers have known kinds of memory, such as packet or state."""

    function: Function
    provenance: Provenance


class IrModule:
    """The functions of an LLVM module, with debug information and names of read-only variables."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        """Store the parsed `functions` of a module, and parse the debug information in `text`.

        `text` is the LLVM IR of the module.
        """
        self.functions = functions
        self.metadata = Metadata(text)
        self._constants = {name.strip('"') for name in _CONSTANT.findall(text)}
        self._parameters = {
            name.strip('"'): [
                found[1] if (found := _NAME.search(one)) else ""
                for one in split_at_commas(inside)
                if one
            ]
            for name, inside in _HEAD.findall(text)
        }

    def only(self, names: Container[str]) -> "IrModule":
        """Return a copy of the module with only the functions `names`.

        Calls of other functions then count as calls of external functions.
        """
        some = copy(self)
        some.functions = {name: one for name, one in self.functions.items() if name in names}
        return some

    def line(self, place: int | None) -> Line | None:
        """Return the source line of the debug location with this number; None if it is unknown."""
        return None if place is None else self.metadata.line(place)

    def first_line(self, block: Block | None) -> Line | None:
        """Return the first known source line of a block; None if there is none."""
        lines = (self.line(one.place) for one in (block.instructions if block else ()))
        return next((line for line in lines if line is not None), None)

    def traced(self, entry: str, kinds: list[Kind]) -> dict[str, Traced]:
        """Find the kinds of memory to which the pointers of a function and its callees point.

        `entry` is the function, and `kinds` has the kind of memory for each of its parameters.
        Return the functions by symbol.
        """
        inside = reachable_functions(self.functions, entry)
        targets = {entry: [{kind} for kind in kinds]}
        targets |= {name: [] for name in self.functions if name in inside and name != entry}
        for _ in range(_ROUNDS):
            traced = {name: self._traced(name, targets[name]) for name in targets}
            before = {name: [set(one) for one in known] for name, known in targets.items()}
            for one in traced.values():
                self._add_arguments(one, targets)
            if targets == before:
                break
        return {name: self._traced(name, known) for name, known in targets.items()}

    def _traced(self, name: str, known: list[set[Kind]]) -> Traced:
        kinds: dict[str, Kind] = {}
        for parameter, found in zip(self._parameters.get(name, []), known, strict=False):
            kinds[parameter] = next(iter(found)) if len(found) == 1 else "unknown"
        function = self.functions[name]
        return Traced(function, Provenance(function, kinds, self._constants))

    def _add_arguments(self, one: Traced, targets: dict[str, list[set[Kind]]]) -> None:
        """Add the kinds of memory of the pointers that a function passes in its calls to `targets`.

        `targets` has, for each called function, the set of kinds by argument.
        """
        for block in one.function.blocks:
            for instruction in block.instructions:
                name = call_target(instruction.text).name if instruction.opcode == "call" else None
                if name is None or name not in targets:
                    continue
                for index, part in enumerate(arguments(instruction.text)):
                    if len(targets[name]) <= index:
                        targets[name].append(set())
                    passed = value(part)
                    if part.startswith("ptr") and passed is not None:
                        targets[name][index].add(one.provenance.kind(passed))


# --- accesses and calls ---------------------------------------------------------------------------

_MAX_ACCESS = 8
"""Largest access of a BPF instruction in bytes."""
_ASSEMBLY = re.compile(r'(?<![%@"\w.-])asm (?:\w+ )*"')
_ALIGNED = re.compile(r"\balign (\d+)")
_MARKERS = (
    "llvm.lifetime",
    "llvm.dbg",
    "llvm.assume",
    "llvm.bpf",
    "llvm.preserve",
    "llvm.experimental.noalias",
)


class Access(NamedTuple):
    """A memory access that one BPF instruction makes."""

    kind: Kind  # kind of the accessed memory
    writes: bool
    reads: bool
    size: int  # bytes


def accesses(block: Block, provenance: Provenance) -> Iterator[Access]:
    """Yield the memory accesses of a block in order.

    An access that is too large for one BPF instruction is split. `provenance` tells the kind of the
    accessed memory.
    """
    for one in block.instructions:
        if one.opcode == "call":
            yield from _copied(one, provenance)
            continue
        address = pointer(one.opcode, one.text)
        if address is None:
            continue
        atomic = one.opcode in ("atomicrmw", "cmpxchg")
        size = max(1, width(parts(one.text)[1 if atomic else 0]) // 8)
        kind = provenance.kind(address)
        aligned = None if atomic else _ALIGNED.search(one.text)
        step = min(_MAX_ACCESS, int(aligned[1]) if aligned else _MAX_ACCESS)
        for _ in range(size // step + (size % step).bit_count()):
            reads = one.opcode == "load" or atomic
            yield Access(kind, one.opcode == "store" or atomic, reads, min(size, step))


def _has_size(call: Instruction) -> bool:
    """Return true if the length of a call that copies or fills memory is constant."""
    return (value(arguments(call.text)[2]) or "").isdigit()


def _copied(call: Instruction, provenance: Provenance) -> Iterator[Access]:
    """Yield the memory accesses of a call that copies or fills memory.

    Yield nothing if the length is not constant, or for other calls.
    """
    name = call_target(call.text).name or ""
    if not name.startswith(("llvm.mem", "memcpy", "memset", "memmove")):
        return
    passed = arguments(call.text)
    length = value(passed[2]) if len(passed) > 2 else None  # noqa: PLR2004
    if length is None or not length.isdigit():
        return
    fills = "set" in name
    aligned = [int(found[1]) if (found := _ALIGNED.search(one)) else 1 for one in passed[:2]]
    step = min(_MAX_ACCESS, aligned[0] if fills else min(aligned))
    pieces, rest = divmod(int(length), step)
    for number in range(pieces + rest.bit_count()):
        size = step if number < pieces else 1
        if not fills:
            yield Access(provenance.kind(value(passed[1])), writes=False, reads=True, size=size)
        yield Access(provenance.kind(value(passed[0])), writes=True, reads=False, size=size)


def calls(block: Block, own: Mapping[str, object]) -> Counter[str]:
    """Count the calls in a block by name: framework functions, and kernel helpers by number.

    `own` are the functions of the module; their calls are left out.
    """
    found = Counter[str]()
    for one in block.instructions:
        if one.opcode != "call":
            continue
        target = call_target(one.text)
        if target.helper is not None:
            found[f"helper {target.helper}"] += 1
        elif _ASSEMBLY.search(one.text):
            found["inline assembly"] += 1
        elif target.name is None:
            found["through a pointer"] += 1
        elif target.name.startswith("llvm.mem") and not _has_size(one):
            found[f"{target.name.split('.')[1]} of unknown length"] += 1
        elif target.name not in own and not target.name.startswith("llvm."):
            found[target.name] += 1
    return found


def counted(block: Block) -> int:
    """Return the number of LLVM instructions of a block that lead to machine code.

    This excludes phi instructions and calls that only mark something, such as those for debug
    information.
    """
    return sum(
        one.opcode != "phi"
        and not (one.opcode == "call" and (call_target(one.text).name or "").startswith(_MARKERS))
        for one in block.instructions
    )
