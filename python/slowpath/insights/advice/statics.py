"""Finds facts about a source file without running it: sizes of state, memory accesses, loops.

An access is described by the base of its address: a variable, the object of a method (`this`), a
parameter, or an unknown address, such as an address that was read from memory.

A call through a pointer may reach every other function whose address is in a variable that the
caller names. Such addresses are in initial values, as in
`static const struct ops fast = {.hash = f}`, or are stored or copied, perhaps through other
variables. Stores through pointer parameters are ignored. A call is unknown if no function of its
type is found. Virtual methods of C++ are exempt: a call may reach the method of any class.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypedDict

from slowpath.core.errors import InputError
from slowpath.insights.accelerators.library_calls import LibraryUse, uses
from slowpath.insights.source.calls import reachable_from, recursive, source_functions
from slowpath.insights.source.entry import choose_entry
from slowpath.insights.source.functions import Function, Instruction, loops
from slowpath.insights.source.layouts import Variable
from slowpath.insights.source.metadata import Line, Metadata
from slowpath.insights.source.modules import (
    accesses,
    bracketed_prefix,
    call_target,
    split_at_commas,
)
from slowpath.insights.source.sources import is_ours
from slowpath.insights.source.unit import CompiledUnit
from slowpath.insights.trace.memory import Allocations, Structure, memory_map
from slowpath.insights.trace.xdp_maps import tables_of

_VARIABLE = re.compile(r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = ([^\n]*)$', re.MULTILINE)
_TEXT = re.compile(r'\bc"[^"]*"')
_NAME = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_CALL = re.compile(r"^(?:%\S+ = )?(?:\w+ )*?(?:call|invoke)\b(.*?) (%[\w.$-]+)(\(.*)$")
_METHODS = "_ZTV"
"""Prefix of the symbols of virtual method tables."""
_REGISTER = re.compile(r"%[\w.$-]+")
_COPY = re.compile(r"@llvm\.mem(?:cpy|move)\.\S*?(\(.*)$")
_POINTER_OPCODES = ("select", "phi", "getelementptr", "load")
"""Instructions that compute an address from other addresses, or read an address."""
_Shape = tuple[str, tuple[str, ...]]
"""Signature of a function: type of the result, and types of the arguments."""


class UnknownCall(NamedTuple):
    """A call through a pointer for which no possible target was found in the source."""

    symbol: str
    """Symbol of the calling function."""
    block: int
    """Index of the block in the function."""
    file: str
    line: int


def pointer_targets(text: str, functions: Mapping[str, Function]) -> dict[str, list[str]]:
    """Return the functions that calls through pointers may reach, for each calling function.

    These are the functions whose addresses are in variables that the caller names. `text` is the
    LLVM IR of the module.
    """
    addresses = {
        name: named for name, named in _initial(text).items() if not name.startswith(_METHODS)
    }
    for variable, named in chain.from_iterable(map(_stored, functions.values())):
        addresses.setdefault(variable, set()).update(named)
    found = {}
    for name, function in functions.items():
        seen, pending = set[str](), [one for one in function.globals if one in addresses]
        while pending:
            new = addresses[pending.pop()] - seen
            seen |= new
            pending += [one for one in new if one in addresses]
        targets = sorted(seen & functions.keys())
        if targets:
            found[name] = targets
    return found


def _stored(function: Function) -> Iterator[tuple[str, set[str]]]:
    """Yield each variable that a function writes, and the symbols whose addresses it may then hold.

    If a value is read or copied from another variable, that variable's symbol stands for its
    content.
    """
    known = dict[str, set[str]]()

    def named(operand: str) -> set[str]:
        names = {name.strip('"') for name in _NAME.findall(operand)}
        return names.union(*(known.get(one, ()) for one in _REGISTER.findall(operand)))

    for block in function.blocks:
        for one in block.instructions:
            if one.opcode in _POINTER_OPCODES:
                result, _, expression = one.text.partition(" = ")
                known[result] = named(expression)
            for value, place in _stores(one):
                for variable in named(place):
                    yield variable, named(value)


def _stores(one: Instruction) -> Iterator[tuple[str, str]]:
    """Yield the value that an instruction stores, and the address to which it stores it.

    Only pointers count as values. A call that copies memory yields its source and destination.
    """
    if one.opcode == "store":
        value, place, *_ = split_at_commas(one.text.removeprefix("store "))
        if re.search(r"\bptr\b", value):
            yield value, place
    copied = _COPY.search(one.text) if one.opcode == "call" else None
    if copied is not None:
        place, value, *_ = split_at_commas(bracketed_prefix(copied[1])[1:-1])
        yield value, place


def _initial(text: str) -> dict[str, set[str]]:
    """Return the symbols that the initial value of each variable contains, by variable.

    `text` is the LLVM IR of the module.
    """
    return {
        one[1].strip('"'): {name.strip('"') for name in _NAME.findall(_TEXT.sub("", one[2]))}
        for one in _VARIABLE.finditer(text)
    }


def unknown_calls(
    functions: Mapping[str, Function],
    names: Collection[str],
    indirect: Mapping[str, Collection[str]],
    text: str,
    metadata: Metadata,
) -> Iterator[UnknownCall]:
    """Yield the calls through pointers in the functions `names` that have no known target.

    A target is known if a function of the call's type is among the possible targets. `indirect` has
    the targets by caller; `text` is the LLVM IR of the module, and `metadata` its debug
    information.
    """
    tables = [named for name, named in _initial(text).items() if name.startswith(_METHODS)]
    targets = {one for methods in tables for one in methods if one in functions}
    for name in names:
        targets |= {*indirect.get(name, ()), *_named(functions, functions[name])}
    shapes = {_shape(functions[one]) for one in targets}
    for name in names:
        if functions[name].supports:
            continue
        for number, block in enumerate(functions[name].blocks):
            for one in block.instructions:
                shape = _pointer(one)
                if shape is None or shape in shapes or one.place is None:
                    continue
                line = metadata.line(one.place)
                if line is not None:
                    yield UnknownCall(name, number, line.file, line.line)


def _named(functions: Mapping[str, Function], function: Function) -> Iterator[str]:
    """Yield the functions whose address a function uses for anything but a direct call.

    Such functions may be called through pointers.
    """
    for block in function.blocks:
        for one in block.instructions:
            target = call_target(one.text) if one.opcode in ("call", "invoke") else None
            names = [name.strip('"') for name in _NAME.findall(one.text)]
            if target in names:
                names.remove(target)
            yield from (name for name in names if name in functions)


def _shape(function: Function) -> _Shape:
    result = "ptr" if function.result == "pointer" else function.result
    named = {"pointer": "ptr"}
    return result, tuple(
        f"i{one.bits}" if one.kind == "integer" else named.get(one.kind, one.kind)
        for one in function.parameters
    )


def _pointer(one: Instruction) -> _Shape | None:
    """Return the types of the result and arguments if an instruction is a call through a pointer.

    Return None for any other instruction.
    """
    found = _CALL.match(one.text) if one.opcode in ("call", "invoke") else None
    if found is None or re.search(r"\basm\b", one.text):
        return None
    inside = bracketed_prefix(found[3])[1:-1].strip()
    arguments = [each.split()[0] for each in split_at_commas(inside)] if inside else []
    return found[1].split()[-1], tuple(arguments)


# --- state, accesses and loops --------------------------------------------------------------------

_VALUE = re.compile(r"^(%\S+) = (\w+) (.*)$")
_ADDRESS_OPCODES = ("getelementptr", "bitcast", "addrspacecast", "freeze")
_POINTER = re.compile(r"ptr (?:[\w()]+ )*?([%@](?:\"(?:[^\"\\]|\\.)*\"|[\w.$-]+))")
_FLOATING = re.compile(
    r"^%\S+ = (?:f(?:add|sub|mul|div|rem|neg|cmp|pext|ptrunc|ptosi|ptoui)|[su]itofp)\b"
)
_NOTES = re.compile(
    r'^@("[^"]*"|[\w.$-]+) = [^\n]*'
    r'\bsection "(?:license|version|features|\.xdp_run_config|xdp_metadata)"',
    re.MULTILINE,
)
"""Variables of an XDP program that only its loader reads."""
_MAX_STEPS = 64
_OBJECT = "this"
UNKNOWN = "an address that is not followed"


class StaticStructure(TypedDict):
    """A structure that keeps state between packets: a variable, or a member of a Click element."""

    structure: str
    """Name in the source."""
    file: str
    """File with the declaration; empty if unknown."""
    line: int
    """Line of the declaration; 0 if unknown."""
    size_bytes: int
    """Size in bytes. For allocated state without a run: the size of one object, or 0 if its type is
    unknown."""


class StaticAccess(TypedDict):
    """Memory accesses in the code of a source line, through addresses that start at the same base.

    A base is a variable, the object of a method, or a parameter.
    """

    function: str
    """Name of the function in the source."""
    file: str
    """File of the line."""
    line: int
    """Number of the line."""
    of: str
    """Base of the address: a variable, `this`, a parameter; or a remark that it is not followed."""
    reads: int
    """Instructions that read, in the compiled code."""
    writes: int
    """Instructions that write, in the compiled code."""


class StaticLoop(TypedDict):
    """A loop in a function of the source."""

    function: str
    """Name of the function in the source."""
    file: str
    """File with the start of the loop."""
    line: int
    """Line of the start; 0 if unknown."""
    depth: int
    """Nesting depth; 1 for an outermost loop."""
    instructions: int
    """LLVM instructions of the whole loop, for one iteration."""


class Statics(NamedTuple):
    """Facts about a source found without running it; slowpath's own headers are left out."""

    structures: list[StaticStructure]
    accesses: list[StaticAccess]
    loops: list[StaticLoop]
    calls: dict[str, list[str]]
    """Callees by function symbol, including functions of slowpath's headers."""
    floating: str | None
    """Place of the first floating-point computation (`the code in nf.c:3`); None without any."""
    uses: list[LibraryUse]
    """Uses of header functions and of inlined functions in the source's functions."""
    inlined: list[str]
    """Symbols of functions that are always inlined."""
    indirect: dict[str, list[str]]
    """Possible targets of calls through pointers, by symbol of the calling function."""
    unknown: list[UnknownCall]
    """Calls through pointers with unknown target."""
    recursive: list[tuple[str, str]]
    """Functions of the source that may call themselves, with `file:line`."""
    substantial: list[str]
    """Symbols of functions whose own code does much work (bit operations)."""


def statics_of(unit: CompiledUnit, entry: str | None) -> Statics:
    """Return the facts about a source that are found without running it, such as its loops.

    With `entry`, only functions that this function reaches are considered.
    """
    from slowpath.insights.source.modules import variables_of

    text, functions, metadata, layouts = unit.text, unit.functions, unit.metadata, unit.layouts
    symbols, at = list[tuple[str, int, int, Variable | None]](), 0
    tables = {one.map.name: one for one in tables_of("", text, metadata, layouts)}
    notes = {one.strip('"') for one in _NOTES.findall(text)}
    for name, size in variables_of(unit.module):
        if name in notes:
            continue
        if name in tables:
            table = tables[name]
            symbols.append((name, at, table.size, table.variable))
            at += table.size
            continue
        symbols.append((name, at, size, layouts.variable(name)))
        at += size
    indirect = pointer_targets(text, functions)
    calls = {name: sorted(one.calls) for name, one in functions.items()}
    reached = set(functions) if entry is None else reachable_from(calls, [entry], indirect)
    own = [one for name, one in functions.items() if name in reached and not one.supports]
    structures = [one for one in memory_map(symbols, []).structures if not _is_support(one)]
    allocations = {one.name: one for one in Allocations(unit).all()}
    structures += [
        Structure(name, one.type, 0 if one.type is None else one.type.size, one.line, "")
        for name, one in allocations.items()
    ]
    used = uses(functions, metadata, [one.name for one in own])
    recursive_functions = recursive({name: functions[name] for name in reached})
    return Statics(
        [
            {
                "structure": one.name,
                "file": "" if one.line is None else one.line.file,
                "line": 0 if one.line is None else one.line.line,
                "size_bytes": one.size,
            }
            for one in structures
        ],
        [access for one in own for access in _accesses(one, metadata)],
        [loop for one in own for loop in _loops(one, metadata)],
        calls,
        next((place for one in own for place in _floating(one, metadata)), None),
        used,
        [name for name, one in functions.items() if one.inlined],
        indirect,
        list(unknown_calls(functions, sorted(reached), indirect, text, metadata)),
        [(one.shown, one.place) for one in own if one.name in recursive_functions],
        [one.name for one in own if _is_substantial(one, metadata, used)],
    )


def first_functions(file: str, functions: Mapping[str, Function], entry: str | None) -> list[str]:
    """Return the symbols of the functions that may receive packets; empty if unknown.

    If the source does not determine its entry, return all its functions except `main`, which
    receives no packets. Return no symbols if any function may be the entry.
    """
    if entry is not None:
        return [entry]
    try:
        return [choose_entry(file, functions, None).function.name]
    except InputError:
        own = source_functions(functions)
        others = [name for name in own if functions[name].shown != "main"]
        return others if len(others) < len(own) else []


def _is_substantial(function: Function, metadata: Metadata, used: Sequence[LibraryUse]) -> bool:
    """Return true if a function's own code does much work, such as bit operations in a loop.

    Inlined code of header functions does not count. `used` are all uses of header functions.
    """
    from slowpath.insights.accelerators.candidates import is_substantial, without_inlined

    others = {name for use in used for name in use.symbols}
    own_code = without_inlined(function, metadata, others)
    return own_code is not None and is_substantial(own_code)


def _floating(function: Function, metadata: Metadata) -> Iterator[str]:
    """Yield the places of floating-point arithmetic, which the SmartNIC does not support.

    Each place is the subject of a sentence in the report, such as `the code in nf.c:3`.
    """
    for block in function.blocks:
        for one in block.instructions:
            if _FLOATING.match(one.text):
                line = None if one.place is None else metadata.line(one.place)
                yield (
                    f"the function {function.shown}"
                    if line is None
                    else f"the code in {line.file}:{line.line}"
                )


def _is_support(structure: Structure) -> bool:
    """Return true if a variable is not state of the user's program.

    It comes from slowpath's headers, or is a guard variable of the compiler.
    """
    line = structure.line
    return structure.name.startswith("_ZGV") if line is None else is_ours(line.file)


def _accesses(function: Function, metadata: Metadata) -> Iterator[StaticAccess]:
    definitions = dict[str, tuple[str, str]]()
    for block in function.blocks:
        for one in block.instructions:
            value = _VALUE.match(one.text)
            if value:
                definitions[value[1]] = value[2], value[3]
    names = _parameters(function)
    found = Counter[tuple[Line, str, str]]()
    for block in function.blocks:
        for one in block.instructions:
            line = None if one.place is None else metadata.line(one.place)
            if line is None:
                continue
            for touch in accesses(one.opcode, one.text):
                base = _base(touch.pointer, definitions, names)
                if base is not None:
                    found[line, base, touch.kind] += 1
    lines = dict.fromkeys((line, base) for line, base, _ in found)
    for line, base in sorted(lines):
        yield {
            "function": function.shown,
            "file": line.file,
            "line": line.line,
            "of": base,
            "reads": found[line, base, "read"],
            "writes": found[line, base, "write"],
        }


def _parameters(function: Function) -> dict[str, str]:
    """Return the source names of a function's parameters, by LLVM value (`%0`, `%1`, ...)."""
    found = {}
    for at, one in enumerate(function.parameters):
        described = one.described
        if described is None:
            found[f"%{at}"] = f"parameter {at + 1}"
        else:
            found[f"%{at}"] = _OBJECT if described.artificial else described.name
    return found


def _base(
    pointer: str, definitions: Mapping[str, tuple[str, str]], names: Mapping[str, str]
) -> str | None:
    """Return the name of the variable or parameter from which an address is computed.

    `pointer` is the LLVM value of the address, `definitions` has the instruction behind each value,
    and `names` the names of parameters. Return `UNKNOWN` for other addresses, and None for a local
    variable, which is not state.
    """
    for _ in range(_MAX_STEPS):
        operand = _POINTER.search(pointer)
        if operand is not None:
            pointer = operand[1]
        if pointer.startswith("@"):
            return pointer[1:].strip('"')
        if pointer in names:
            return names[pointer]
        opcode, text = definitions.get(pointer, ("", ""))
        if opcode == "alloca":
            return None
        operand = _POINTER.search(text) if opcode in _ADDRESS_OPCODES else None
        if operand is None:
            return UNKNOWN
        pointer = operand[1]
    return UNKNOWN


def _loops(function: Function, metadata: Metadata) -> Iterator[StaticLoop]:
    blocks = {block.name: block for block in function.blocks}
    file = function.line.file if function.line else ""
    for loop in loops(function):
        lines = [
            line
            for name in loop.blocks
            for one in blocks[name].instructions
            if one.place is not None and (line := metadata.line(one.place)) is not None
        ]
        # In the source, the condition comes before the body; in the code, it may come later.
        first = min((one for one in lines if one.file == file), default=None)
        yield {
            "function": function.shown,
            "file": first.file if first else "",
            "line": first.line if first else 0,
            "depth": loop.depth,
            "instructions": sum(len(blocks[name].instructions) for name in loop.blocks),
        }
