"""Finds the calls of a source that allocate memory, and the types of the allocated objects."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.insights.source.layouts import Type
from slowpath.insights.source.metadata import Line
from slowpath.insights.source.operands import callee_of
from slowpath.insights.source.unit import CompiledUnit

ALLOCATORS = frozenset(
    ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "_Znwm", "_Znam"]
)
"""Names of the functions of the C and C++ libraries that allocate memory."""
_DEFINE = re.compile(r'^define .*?@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(.*!dbg !(\d+)')
_BOUND = re.compile(r"#dbg_value\(ptr (%[\w.$-]+), !(\d+),")
_MADE = re.compile(r"\s+(%[\w.$-]+) = .*\b(?:call|invoke)\b[^@]*\bptr @")


class Allocation(NamedTuple):
    """A call that allocates memory, with the allocated type."""

    name: str  # name of the allocated memory in reports
    type: Type | None
    line: Line | None


class Allocations:
    """The calls of a module that allocate memory."""

    def __init__(self, unit: CompiledUnit) -> None:
        self._functions, self._metadata, self._layouts = unit.functions, unit.metadata, unit.layouts
        self._nodes, self._bound = dict[str, int](), dict[tuple[str, str], int]()
        self._read(unit.text)
        self.wrappers = self._wrapping()
        """Functions that return allocated memory as `void *`; their callers choose its type."""

    def allocates(self, caller: str, callee: str) -> bool:
        """Return true if a call of `callee` in `caller` allocates memory for an object.

        The result is false inside wrappers of allocators: there, the caller of the wrapper
        determines the type of the object.
        """
        return caller not in self.wrappers and (callee in ALLOCATORS or callee in self.wrappers)

    def at(self, caller: str, result: str, place: int | None) -> Allocation:
        """Return the allocation that a call in `caller` makes.

        `result` is the LLVM variable that holds the result, and `place` the number of the debug
        location.
        """
        function = self._functions[caller]
        kind = self._pointee(self._bound.get((caller, result)))
        kind = kind or (self._pointee(self._result(caller)) if result else None)
        line = None if place is None else self._metadata.line(place)
        name = kind.name if kind is not None else f"by {function.shown}"
        return Allocation(f"allocated {name}", kind, line or function.line)

    def all(self) -> Iterator[Allocation]:
        """Yield the allocation of each allocating call of the source."""
        for name, function in self._functions.items():
            if function.supports:
                continue
            for block in function.blocks:
                for one in block.instructions:
                    callee = callee_of(one.text) if one.opcode in ("call", "invoke") else None
                    if callee is not None and self.allocates(name, callee):
                        yield self.at(name, result_of(one.text), one.place)

    def _read(self, text: str) -> None:
        """Read the functions' debug nodes, and the types of variables that hold call results."""
        now, made = "", set[str]()
        for line in text.splitlines():
            if line.startswith("define "):
                head = _DEFINE.match(line)
                now, made = (head[1].strip('"'), set()) if head else ("", set())
                if head:
                    self._nodes[now] = int(head[2])
            elif found := _MADE.match(line):
                made.add(found[1])
            elif (bound := _BOUND.search(line)) and bound[1] in made:
                variable = self._metadata.node(int(bound[2]))
                kind = None if variable is None else variable.reference("type")
                if kind is not None:
                    self._bound.setdefault((now, bound[1]), kind)

    def _result(self, symbol: str) -> int | None:
        """Return the node number of a function's return type; None if it is unknown or void."""
        types = self._metadata.follow(self._nodes.get(symbol), "type", "types")
        return types.items[0] if types is not None and types.items else None

    def _pointee(self, number: int | None) -> Type | None:
        """Return the named structure that a pointer type points to; None for other types."""
        node = self._metadata.bare(number)
        if node is None or node.text("tag") != "DW_TAG_pointer_type":
            return None
        kind = self._layouts.type_of(node.reference("baseType"))
        return kind if kind is not None and (kind.fields or kind.flat) and kind.name else None

    def _wrapping(self) -> frozenset[str]:
        """Return the wrappers of allocators: functions that return `void *` and call an allocator.

        If a function calls the allocator indirectly, each function in between also returns `void
        *`.
        """
        found = set[str]()
        while True:
            new = {
                name
                for name, one in self._functions.items()
                if name not in found and one.result == "pointer" and self._is_untyped(name)
                if one.calls & (ALLOCATORS | found)
            }
            if not new:
                return frozenset(found)
            found |= new

    def _is_untyped(self, symbol: str) -> bool:
        """Return true if a function returns `void *`."""
        node = self._metadata.bare(self._result(symbol))
        if node is None or node.text("tag") != "DW_TAG_pointer_type":
            return False
        return self._metadata.bare(node.reference("baseType")) is None


def result_of(text: str) -> str:
    """Return the LLVM variable that holds the result of an instruction; empty if there is none."""
    return text.partition(" = ")[0].strip() if " = " in text else ""
