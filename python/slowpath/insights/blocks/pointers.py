"""Finds the kind of memory that each pointer of a program points to."""

import re
from collections.abc import Container, Iterable, Mapping
from copy import copy
from typing import Literal, NamedTuple

from slowpath.insights.source.calls import reachable_functions
from slowpath.insights.source.functions import Block, Function, Instruction
from slowpath.insights.source.metadata import Line, Metadata
from slowpath.insights.source.modules import split_at_commas
from slowpath.insights.source.operands import arguments, call_target, parts, pointer, result, value

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
    """The kinds of memory to which the pointers of one function point."""

    def __init__(
        self, function: Function, parameters: dict[str, Kind], constants: Iterable[str]
    ) -> None:
        """Store the kinds of memory to which parameters point, and names of read-only variables.

        `parameters` maps their names to kinds; `constants` has the names of the variables.
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
        """Return the kind of memory that a value (`%name` or `@name`) points to."""
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
        """Return the kinds of memory to which a parameter or a variable of the module may point.

        These are values that no instruction defines. Other local values are of unknown kind.
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
    """Return the operands of an instruction that determine where its result points."""
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
    """A function, with the kinds of memory to which its pointers point."""

    function: Function
    provenance: Provenance


class IrModule:
    """The functions of an LLVM module, with debug information and the targets of pointers."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        """Read a module; `text` is its LLVM IR, and `functions` are its parsed functions."""
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
        """Return the module with only the functions `names`; all others count as external."""
        some = copy(self)
        some.functions = {name: one for name, one in self.functions.items() if name in names}
        return some

    def line(self, place: int | None) -> Line | None:
        """Return the source line of a debug location; None if it is unknown."""
        return None if place is None else self.metadata.line(place)

    def first_line(self, block: Block | None) -> Line | None:
        """Return the first known source line of a block; None if there is none."""
        lines = (self.line(one.place) for one in (block.instructions if block else ()))
        return next((line for line in lines if line is not None), None)

    def traced(self, entry: str, kinds: list[Kind]) -> dict[str, Traced]:
        """Return a function and its callees, with the kinds of memory to which pointers point.

        `kinds` has the kind of memory for each parameter of the entry.
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
        """Add the kinds of pointers in a function's calls to `targets`.

        They are listed by called function and argument. A kind is the kind of memory to which a
        pointer points.
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
