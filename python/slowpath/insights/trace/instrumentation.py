"""Inserts code into LLVM modules that records runs of basic blocks and memory accesses.

The inserted code consists of calls in the text of a module after the optimisation passes; all other
code is unchanged. A block is one of `Function.blocks`. An access is a load, store, atomic operation
or copy.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from slowpath.insights.source.functions import Function, Instruction, unquoted
from slowpath.insights.source.modules import Kind, accesses, callee_of
from slowpath.insights.trace.memory import ALLOCATORS, Allocation, Allocations, result_of

RECORD = 16
"""Bytes of a record: an address (8), a number (4) and a size (4)."""
BEGINS = 1 << 31
"""Flag that is added to a block's number in the record that marks the start of the block.

Other records are accesses, which have the number of a site, or calls.
"""
CALLS = 1 << 30
"""Flag that is added to a call's number in the record that marks the start of the call."""
RETURNS = CALLS | 1 << 29
"""Flags that are added to a call's number in the record that marks the end of the call."""
_MAX_SIZE = (1 << 20) - 1
"""Limit on the recorded size of an access in bytes; larger accesses are recorded with this size."""
_DEFINE = re.compile(r'^define .*?@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(')
_EFFECTS = re.compile(r"\bmemory\([^)]*\)")
"""Attributes with which passes restrict the memory accesses of a function."""
_LABEL = re.compile(r'^("(?:[^"\\]|\\.)*"|[\w.$-]+):')


class AccessSite(NamedTuple):
    """An instruction that accesses memory, with the number of its basic block."""

    block: int
    kind: Kind
    place: int | None  # number of its debug location


class BlockId(NamedTuple):
    """A basic block, given by its function and its index in the function."""

    function: str
    number: int  # index in the function


class Call(NamedTuple):
    """A call that is recorded, because the source calls the function in several places."""

    block: int
    function: str  # symbol of the callee
    place: int | None  # number of its debug location


class Instrumented(NamedTuple):
    """An instrumented module, with tables that explain the numbers in its records.

    A record is what the inserted code writes when a block begins or memory is accessed.
    """

    text: str
    blocks: list[BlockId]
    sites: list[AccessSite]
    calls: list[Call]
    allocations: list[Allocation]
    """Allocations; the number of an allocation is its index plus 1."""
    outside: list[str]
    """External functions that end the run; the number of a function is its index plus 1."""


class Addresses(NamedTuple):
    """Memory addresses that the inserted code uses: of counters, buffers and functions."""

    records: int
    room: int  # capacity in records
    filled: int  # i64: number of records
    fuel: int  # i64: blocks that may run before the run ends
    block: int  # i32: the block that began last
    outside: int  # i32: number of the external function that was called last; 0: none
    site: int  # i32: number of the current allocation; 0: not by the source
    drain: int  # a function without arguments, called when all records are full


def instrument(  # noqa: PLR0913, PLR0917 - inputs of the instrumentation
    text: str,
    functions: Mapping[str, Function],
    allocations: Allocations,
    skipped: Callable[[str], bool],
    allowed: Callable[[str], bool],
    addresses: Addresses,
) -> Instrumented:
    """Insert code into the LLVM IR `text` that records its basic blocks and memory accesses.

    Functions for which `skipped` is true stay unchanged. Before a call of an external function for
    which `allowed` is false, the code stores the function's number, because the call ends the run.
    """
    instrumented = Instrumented("", [], [], [], [], [])
    recorded = _in_several_places(functions)
    lines, body = list[str](), None
    allocating = _Allocating(allocations, instrumented.allocations, addresses.site)
    for line in text.splitlines():
        if line.startswith("define "):
            head = _DEFINE.match(line)
            name = unquoted(head[1]) if head else ""
            if name in functions and not skipped(name):
                body = _Body(
                    functions[name], functions, allowed, instrumented, (recorded, allocating)
                )
        elif line == "}" and body is not None:
            body = None
        elif body is not None:
            lines += body.before(line)
        elif line.startswith("attributes #"):
            # Instrumented functions have side effects, so calls with unused results must stay.
            line = _EFFECTS.sub("", line)  # noqa: PLW2901 - the changed line
        lines.append(line)
    if not re.search(r"^declare .*@llvm\.trap\(", text, re.MULTILINE):
        lines.append("declare void @llvm.trap()")
    return instrumented._replace(text="\n".join([*lines, _runtime(addresses), ""]))


def _in_several_places(functions: Mapping[str, Function]) -> frozenset[str]:
    """Return the symbols of functions that the user's source calls in several places."""
    found = Counter[str](
        callee_of(one.text) or ""
        for function in functions.values()
        if not function.supports
        for block in function.blocks
        for one in block.instructions
        if one.opcode == "call"
    )
    return frozenset(name for name, count in found.items() if name in functions and count > 1)


class _Allocating:
    """Inserts code before calls that allocate memory.

    The code tells the heap the number of the allocating call.
    """

    def __init__(self, allocations: Allocations, found: list[Allocation], site: int) -> None:
        self._allocations, self._found, self._site = allocations, found, site

    def before(self, function: Function, one: Instruction) -> list[str]:
        """Return the code to insert before the instruction `one` of a function.

        The list is empty if the instruction does not allocate memory.
        """
        callee = callee_of(one.text)
        if callee is None or not self._allocations.allocates(function.name, callee):
            return []
        number = 0
        if not function.supports:
            made = result_of(one.text)
            self._found.append(self._allocations.at(function.name, made, one.place))
            number = len(self._found)
        elif callee not in ALLOCATORS:
            return []
        return [f"  store volatile i32 {number}, ptr inttoptr (i64 {self._site} to ptr)"]


class _Body:
    """Instruments a function in the text of its module, line by line."""

    def __init__(
        self,
        function: Function,
        functions: Mapping[str, Function],
        allowed: Callable[[str], bool],
        instrumented: Instrumented,
        around: "tuple[frozenset[str], _Allocating]",
    ) -> None:
        """Prepare the instrumentation of a function.

        `around` consists of the functions whose calls are recorded, and the object that instruments
        allocating calls.
        """
        recorded, self._allocating = around
        self._recorded = frozenset[str]() if function.supports else recorded
        self._ended = list[str]()
        self._function, self._functions = function, functions
        self._allowed, self._instrumented = allowed, instrumented
        self._first = len(instrumented.blocks)
        instrumented.blocks.extend(BlockId(function.name, at) for at in range(len(function.blocks)))
        self._block, self._instruction = -1, 0
        self._begins = True
        self._inside = False

    def before(self, line: str) -> list[str]:
        """Return the code to insert before a line of the function's LLVM IR."""
        if _LABEL.match(line):
            self._begins = True
            return []
        stripped = line.strip()
        if not stripped or stripped.startswith((";", "#dbg")) or self._continues(line, stripped):
            return []
        if self._begins and not self._inside:
            self._block, self._instruction, self._inside = self._block + 1, 0, True
        instruction = self._function.blocks[self._block].instructions[self._instruction]
        self._instruction += 1
        code, self._ended = self._ended, []
        if instruction.opcode in ("phi", "landingpad"):
            return code
        if self._begins:
            self._begins = self._inside = False
            number = self._first + self._block
            code.append(f'  call void @"slowpath.block"(i32 {number})')
        name = callee_of(instruction.text) if instruction.opcode in ("call", "invoke") else None
        if name is not None and name not in self._functions and self._ends(name):
            code.append(f'  call void @"slowpath.outside"(i32 {self._number(name)})')
        if name is not None:
            code += self._allocating.before(self._function, instruction)
        if name in self._recorded and not instruction.text.startswith("musttail"):
            code += self._around(name, instruction.place)
        for touch in accesses(instruction.opcode, instruction.text):
            site = len(self._instrumented.sites)
            place = instruction.place
            self._instrumented.sites.append(
                AccessSite(self._first + self._block, touch.kind, place)
            )
            code.append(
                f'  call void @"slowpath.access"(i32 {site}, ptr {touch.pointer}, i64 {touch.size})'
            )
        return code

    def _around(self, name: str, place: int | None) -> list[str]:
        """Return the code to insert before a call of the function `name`, to record the call.

        The code that records the return is kept for the next line.
        """
        number = len(self._instrumented.calls)
        self._instrumented.calls.append(Call(self._first + self._block, name, place))
        record = '  call void @"slowpath.append"(i64 0, i32 {}, i32 0)'
        self._ended = [record.format(RETURNS + number)]
        return [record.format(CALLS + number)]

    def _continues(self, line: str, stripped: str) -> bool:
        """Return true if a line of LLVM IR continues the instruction of the line before.

        This occurs for switch, invoke and landingpad.
        """
        return line.startswith("    ") or stripped == "]" or stripped.startswith("],")

    def _ends(self, name: str) -> bool:
        return name == "llvm.trap" or not self._allowed(name)

    def _number(self, name: str) -> int:
        known = self._instrumented.outside
        if name not in known:
            known.append(name)
        return known.index(name) + 1


def _runtime(at: Addresses) -> str:
    """Return the LLVM IR of functions that the inserted code calls.

    They append records to a buffer, and trap when too many basic blocks have run.
    """

    def pointer(address: int) -> str:
        return f"inttoptr (i64 {address} to ptr)"

    return f"""
define void @"slowpath.append"(i64 %address, i32 %number, i32 %size) noinline nounwind {{
  %had = load i64, ptr {pointer(at.filled)}
  %full = icmp uge i64 %had, {at.room}
  br i1 %full, label %drain, label %append
drain:
  call void {pointer(at.drain)}()
  br label %append
append:
  %filled = load i64, ptr {pointer(at.filled)}
  %to = getelementptr {{ i64, i32, i32 }}, ptr {pointer(at.records)}, i64 %filled
  store i64 %address, ptr %to
  %second = getelementptr i8, ptr %to, i64 8
  store i32 %number, ptr %second
  %third = getelementptr i8, ptr %to, i64 12
  store i32 %size, ptr %third
  %more = add i64 %filled, 1
  store i64 %more, ptr {pointer(at.filled)}
  ret void
}}
define void @"slowpath.block"(i32 %block) noinline nounwind {{
  store volatile i32 %block, ptr {pointer(at.block)}
  %fuel = load i64, ptr {pointer(at.fuel)}
  %less = sub i64 %fuel, 1
  store volatile i64 %less, ptr {pointer(at.fuel)}
  %out = icmp sle i64 %less, 0
  br i1 %out, label %end, label %go
end:
  call void @llvm.trap()
  unreachable
go:
  %number = or i32 %block, {BEGINS - (1 << 32)}
  call void @"slowpath.append"(i64 0, i32 %number, i32 0)
  ret void
}}
define void @"slowpath.access"(i32 %site, ptr %address, i64 %size) noinline nounwind {{
  %none = icmp eq i64 %size, 0
  br i1 %none, label %end, label %go
go:
  %large = icmp ugt i64 %size, {_MAX_SIZE}
  %limited = select i1 %large, i64 {_MAX_SIZE}, i64 %size
  %short = trunc i64 %limited to i32
  %number = ptrtoint ptr %address to i64
  call void @"slowpath.append"(i64 %number, i32 %site, i32 %short)
  ret void
end:
  ret void
}}
define void @"slowpath.outside"(i32 %number) noinline nounwind {{
  store volatile i32 %number, ptr {pointer(at.outside)}
  ret void
}}
define i64 @"slowpath.stack"() noinline nounwind {{
  %here = alloca i8
  %number = ptrtoint ptr %here to i64
  ret i64 %number
}}"""
