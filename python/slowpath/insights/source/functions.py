"""Parses the functions of an LLVM module: parameters, basic blocks, dominators and loops.

Source: Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm (2001).

Signatures come from llvmlite. Bodies are parsed from the module's text, because llvmlite takes as
long to print one instruction as to print the whole module.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.source.metadata import DeclaredParameter, Line, Metadata
from slowpath.insights.source.modules import Module
from slowpath.insights.source.sources import is_engine, is_support

_DEFINE = re.compile(r'^define .*?@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(.*?(?:!dbg !(\d+))?[^!]*\{$')
_LABEL = re.compile(r'^("(?:[^"\\]|\\.)*"|[\w.$-]+):')
_RESULT = re.compile(r"^(%\S+) = ")
_CALLED = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_TO = re.compile(r'label %("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_PLACE = re.compile(r"!dbg !(\d+)")
_SECTION = re.compile(r' section "([^"]*)"')
_PREFIXES = frozenset({"tail", "musttail", "notail", "fast"})
_Body = tuple[int | None, list["Block"], str]
"""Metadata node number, blocks, and section of a function."""
_ASCII = 0x80
_INTEGER = re.compile(r"i(\d+)$")


class Parameter(NamedTuple):
    """A parameter of a function, with its type in LLVM and its declaration in the source."""

    kind: str  # `integer`, `pointer` or the type as LLVM writes it
    bits: int  # width of an integer
    signed: bool  # callers sign-extend the integer
    reads: bool  # the function may read through the pointer
    writes: bool  # the function may write through the pointer
    plain: bool  # passed without special attributes (byval, sret, ...)
    described: DeclaredParameter | None  # its declaration; None without debug information


class Instruction(NamedTuple):
    """An LLVM instruction of a basic block."""

    opcode: str
    text: str  # as LLVM writes it, without metadata
    place: int | None  # number of its debug location node


class Block(NamedTuple):
    """A basic block of a function, with its instructions and the names of its successors."""

    name: str
    instructions: tuple[Instruction, ...]
    successors: tuple[str, ...]


class Function(NamedTuple):
    """A function of an LLVM module that has a body, with its source location and basic blocks."""

    name: str  # the symbol
    shown: str  # name in the source, with its class
    line: Line | None
    result: str  # `void`, `pointer`, `i32` or the type as LLVM writes it
    parameters: tuple[Parameter, ...]
    variadic: bool
    blocks: tuple[Block, ...]
    calls: frozenset[str]  # functions and intrinsics that its instructions name
    globals: frozenset[str]  # variables of the module that its instructions name
    assembly: Line | bool | None  # line of the first inline assembly; None: unknown, False: none
    own: bool = True  # in the compiled file, not in an included one
    section: str = ""  # section that the source sets by an attribute; empty: none
    inlined: bool = False  # `alwaysinline`: callers contain its code instead of a call

    @property
    def place(self) -> str:
        """Source location of the function as `file:line`; empty if unknown."""
        return f"{self.line.file}:{self.line.line}" if self.line else ""

    @property
    def engine(self) -> bool:
        """True if a hardware engine of the SmartNIC executes the function, not a core."""
        return is_engine(self.name, self.line.file if self.line else "")

    @property
    def supports(self) -> bool:
        """True if the function belongs to slowpath's headers, a library or the compiler.

        It then is not a part of the user's program.
        """
        return is_support(self.name, self.line.file if self.line else "", own=self.own)


def functions_of(
    module: Module, text: str | None = None, metadata: Metadata | None = None
) -> dict[str, Function]:
    """Parse the functions of a module that have bodies; return them by symbol, in module order.

    `text` is the module as LLVM writes it, and `metadata` its debug information. Without them, they
    are made from `module`.

    Raises:
        InputError: if the name of a function is not ASCII.
    """
    text = str(module) if text is None else text
    metadata = metadata or Metadata(text)
    bodies = dict(_bodies(text))
    names = {function.name for function in module.functions}
    found = {}
    for function in module.functions:
        if function.is_declaration:
            continue
        if not function.name.isascii():
            raise _unreadable(function, text, metadata)
        if function.name not in bodies:
            continue
        at, blocks, section = bodies[function.name]
        made = _function(function, blocks, metadata, at, names)
        found[function.name] = made._replace(section=section)
    return found


def _function(
    function: Module, blocks: list[Block], metadata: Metadata, at: int | None, names: set[str]
) -> Function:
    node = metadata.node(at)
    named = {
        unquoted(one)
        for block in blocks
        for instruction in block.instructions
        for one in _CALLED.findall(instruction.text)
    }
    kind = function.global_value_type
    result = str(kind.get_function_return())
    described = [] if at is None else metadata.parameters(at)
    arguments = list(function.arguments)
    if len(described) != len(arguments):
        described = []  # structures in registers, or results in memory, change their count
    line = None if node is None or at is None else Line(metadata.file(at), node.number("line"))
    return Function(
        function.name,
        (function.name if node is None or at is None else metadata.qualified(at)) or function.name,
        line,
        "pointer" if result == "ptr" else result,
        tuple(
            _parameter(one, described[number] if described else None)
            for number, one in enumerate(arguments)
        ),
        kind.is_function_vararg,
        tuple(blocks),
        frozenset(named & names),
        frozenset(named - names),
        _assembly(blocks, metadata),
        at is None or metadata.is_own(at),
        inlined=any(b"alwaysinline" in one.split() for one in function.attributes),
    )


def _unreadable(function: Module, text: str, metadata: Metadata) -> InputError:
    """Return the error for a function name that is not ASCII.

    LLVM spells such a symbol in several ways.
    """
    escaped = "".join(chr(x) if x < _ASCII else f"\\{x:02X}" for x in function.name.encode())
    head = re.search(rf'^define .*@"{re.escape(escaped)}"\(.*!dbg !(\d+)', text, re.MULTILINE)
    node = None if head is None else metadata.node(int(head[1]))
    file = function.module.source_file
    if head is None or node is None:
        return InputError(
            codes.SOURCE_NOT_SUPPORTED, file, f"function names must be ASCII: {function.name}"
        )
    place = f"{metadata.file(int(head[1]))}:{node.number('line')}"
    return InputError(
        codes.SOURCE_NOT_SUPPORTED,
        file,
        f"{place}: function names must be ASCII: {node.text('name')}",
    )


def _parameter(argument: Module, described: DeclaredParameter | None) -> Parameter:
    kind = str(argument.type)
    words = {word.decode().partition("(")[0] for word in argument.attributes}
    number = _INTEGER.match(kind)
    named = "integer" if number else "pointer" if kind == "ptr" else kind
    bits = int(number[1]) if number else 0
    return Parameter(
        named,
        bits,
        signed="signext" in words,
        reads=not words & {"writeonly", "readnone"},
        writes=not words & {"readonly", "readnone"},
        plain=not words & {"byval", "sret", "inalloca", "preallocated", "byref", "nest"},
        described=described,
    )


def _assembly(blocks: list[Block], metadata: Metadata) -> Line | bool | None:
    for block in blocks:
        for instruction in block.instructions:
            if instruction.opcode in ("call", "callbr") and re.search(r"\basm\b", instruction.text):
                return metadata.line(instruction.place) if instruction.place is not None else None
    return False


def _bodies(text: str) -> Iterator[tuple[str, _Body]]:
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("define "):
            continue
        head = _DEFINE.match(line)
        if head is None:
            continue
        place = re.search(r"!dbg !(\d+)", line)
        section = _SECTION.search(line)
        number = int(place[1]) if place else None
        yield unquoted(head[1]), (number, list(_blocks(lines)), section[1] if section else "")


def _blocks(lines: Iterator[str]) -> Iterator[Block]:
    """Parse the basic blocks of a function, and yield them in order.

    `lines` are lines of LLVM IR that begin with the body of the function.
    """
    name, inside = "", list[str]()
    started = False
    for line in lines:
        if line == "}":
            break
        label = _LABEL.match(line)
        if label:
            if started:
                yield _block(name, inside)
            name, inside, started = unquoted(label[1]), [], True
            continue
        stripped = line.strip()
        if not stripped or stripped.startswith((";", "#dbg")):
            continue
        started = True
        continued = line.startswith("    ") or stripped == "]" or stripped.startswith("],")
        if continued and inside:  # a switch or an invoke has several lines
            inside[-1] += f" {stripped}"
        else:
            inside.append(stripped)
    yield _block(name, inside)


def _block(name: str, lines: list[str]) -> Block:
    instructions = tuple(map(_instruction, lines))
    last = lines[-1] if lines else ""
    return Block(name, instructions, tuple(dict.fromkeys(map(unquoted, _TO.findall(last)))))


def _instruction(line: str) -> Instruction:
    place = _PLACE.search(line)
    text = line.partition(", !")[0]
    words = _RESULT.sub("", text).split()
    while words and words[0] in _PREFIXES:
        words.pop(0)
    return Instruction(words[0] if words else "", text, int(place[1]) if place else None)


def unquoted(name: str) -> str:
    """Return the name behind an LLVM name in quotation marks, without escapes.

    Other names are returned unchanged.
    """
    if not name.startswith('"'):
        return name
    return re.sub(r"\\([0-9A-Fa-f]{2})", lambda code: chr(int(code[1], 16)), name[1:-1])


class Loop(NamedTuple):
    """A natural loop of a function's control-flow graph."""

    header: str
    blocks: frozenset[str]
    depth: int  # 1: outermost


def loops(function: Function) -> list[Loop]:
    """Find the loops of a function, outer ones first.

    Loops with the same header are merged.
    """
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
    """Return the immediate dominator of each basic block; the entry block is its own dominator.

    `order` is the reverse postorder of the blocks.
    """
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
    """Return the closest common dominator of the blocks `one` and `other`.

    `above` maps each block to its immediate dominator, and `number` to its position in the reverse
    postorder.
    """
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
    """Return the blocks of the loop with a back edge from `end` to `header`.

    These are the header and all blocks from which `end` can be reached without passing the header.
    `before` has the predecessors of each block.
    """
    body, left = {header, end}, [end]
    while left:
        block = left.pop()
        if block == header:
            continue
        new = [one for one in before[block] if one not in body]
        body.update(new)
        left += new
    return body
