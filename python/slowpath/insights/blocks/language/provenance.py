"""What pointers of a function point to: through arithmetic and choices to where they begin."""

import re
from collections.abc import Iterable
from typing import Literal

from slowpath.insights.blocks.language.operands import called, parts, pointer, result, value
from slowpath.insights.preparation.functions import Function, Instruction

Kind = Literal["stack", "context", "packet", "state", "constant", "unknown"]
"""`stack`: a variable of the function; `context`: what a program is called with; `packet`: bytes of
the packet; `state`: variables of the module, and what the framework returns; `constant`: tables
that nobody writes; `unknown`: nothing of this, or several."""

_ARITHMETIC = frozenset({"add", "sub", "and", "or"})
_CASTS = frozenset({"inttoptr", "ptrtoint", "bitcast", "zext", "sext", "trunc", "addrspacecast"})
_PASSED = ("llvm.bpf.passthrough", "llvm.preserve", "llvm.ptr.annotation", "llvm.launder")
_CHOICE = re.compile(r'\[ ([^,\]]+), %(?:"[^"]*"|[\w.$-]+) \]')


class Provenance:
    """Where pointers of one function come from."""

    def __init__(
        self, function: Function, given: dict[str, Kind], constants: Iterable[str]
    ) -> None:
        """`given`: what its parameters point to; `constants`: variables that nobody writes."""
        self._known: dict[str, frozenset[Kind]] = {
            name: frozenset({kind}) for name, kind in given.items()
        }
        self._constants = frozenset(constants)
        self._made = dict[str, Instruction]()
        for block in function.blocks:
            for one in block.instructions:
                made = result(one.text)
                if made:
                    self._made[made] = one

    def kind(self, name: str | None) -> Kind:
        """What a value points to."""
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
            return self._given(name)
        if made.opcode == "alloca":
            return {"stack"}
        if made.opcode == "load":
            return self._loaded(made, seen)
        if made.opcode == "call":
            return self._called(made.text, seen)
        sources = _sources(made.opcode, made.text)
        return set[Kind]().union(*(self._find(one, seen) for one in sources))

    def _given(self, name: str) -> set[Kind]:
        """Of what no instruction makes."""
        if name in self._known:
            return set(self._known[name])
        if name.startswith("@"):
            return {"constant" if name[1:].strip('"') in self._constants else "state"}
        return {"unknown"} if name.startswith("%") else set()

    def _loaded(self, made: Instruction, seen: set[str]) -> set[Kind]:
        through = pointer(made.opcode, made.text)
        base = set[Kind]() if through is None else self._find(through, set(seen))
        if base == {"context"}:
            return {"packet"}
        return {"unknown"} if parts(made.text)[0].endswith("ptr") else set()

    def _called(self, text: str, seen: set[str]) -> set[Kind]:
        whom = called(text)
        if whom.name is not None and whom.name.startswith(_PASSED):
            names = [value(part.rstrip(")")) for part in parts(text)]
            return set[Kind]().union(*(self._find(one, seen) for one in names if one))
        if whom.helper is not None:
            return {"state"}
        return {"unknown"}


def _sources(opcode: str, text: str) -> list[str]:
    """The values that what an instruction makes may be an address in."""
    given = parts(text)
    found: list[str | None] = []
    if opcode == "getelementptr":
        found = [value(one) for one in given[1:2]]
    elif opcode == "phi":
        found = [value(one) for one in _CHOICE.findall(text)]
    elif opcode == "select":
        found = [value(one) for one in given[1:3]]
    elif opcode in _CASTS:
        found = [value(given[0].partition(" to ")[0])]
    elif opcode == "freeze" or opcode in _ARITHMETIC:
        found = [value(one) for one in given[:2]]
    return [one for one in found if one is not None and one[0] in "%@"]
