"""Finds the functions that calls through pointers may reach.

A function may call every other function whose address is in a variable that it names. Such
addresses are in initial values, as in `static const struct ops fast = {.hash = f}`, or are stored
or copied, perhaps through other variables. Stores through pointer parameters are ignored. A call is
unknown if no function of its type is found. Virtual methods of C++ are exempt: a call may reach the
method of any class.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from slowpath.insights.source.functions import Function, Instruction
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import bracketed_prefix, split_at_commas
from slowpath.insights.source.operands import call_target

_VARIABLE = re.compile(r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = ([^\n]*)$', re.MULTILINE)
_TEXT = re.compile(r'\bc"[^"]*"')
_NAME = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_CALL = re.compile(r"^(?:%\S+ = )?(?:\w+ )*?(?:call|invoke)\b(.*?) (%[\w.$-]+)(\(.*)$")
_METHODS = "_ZTV"
"""Prefix of the symbols of virtual method tables."""
_REGISTER = re.compile(r"%[\w.$-]+")
_COPY = re.compile(r"@llvm\.mem(?:cpy|move)\.\S*?(\(.*)$")
_ADDRESS_OPCODES = ("select", "phi", "getelementptr", "load")
"""Instructions that compute an address from other addresses, or read an address."""
_Shape = tuple[str, tuple[str, ...]]
"""Type of the result and types of the arguments of a function."""


class UnknownCall(NamedTuple):
    """A call through a pointer, for which no possible target was found."""

    symbol: str
    """Symbol of the calling function."""
    block: int
    """Index of the block in the function."""
    file: str
    line: int


def pointer_targets(text: str, functions: Mapping[str, Function]) -> dict[str, list[str]]:
    """Return the possible targets of calls through pointers, for each calling function.

    These are the functions whose addresses are in variables that the calling function names.
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
    """Yield each variable that a function writes, and the symbols that it may then point to.

    A symbol of another variable stands for the content of that variable, if a value is read or
    copied from it.
    """
    known = dict[str, set[str]]()

    def named(operand: str) -> set[str]:
        names = {name.strip('"') for name in _NAME.findall(operand)}
        return names.union(*(known.get(one, ()) for one in _REGISTER.findall(operand)))

    for block in function.blocks:
        for one in block.instructions:
            if one.opcode in _ADDRESS_OPCODES:
                result, _, expression = one.text.partition(" = ")
                known[result] = named(expression)
            for value, place in _stores(one):
                for variable in named(place):
                    yield variable, named(value)


def _stores(one: Instruction) -> Iterator[tuple[str, str]]:
    """Yield value and address of a store of a pointer; for a copy, source and destination."""
    if one.opcode == "store":
        value, place, *_ = split_at_commas(one.text.removeprefix("store "))
        if re.search(r"\bptr\b", value):
            yield value, place
    copied = _COPY.search(one.text) if one.opcode == "call" else None
    if copied is not None:
        place, value, *_ = split_at_commas(bracketed_prefix(copied[1])[1:-1])
        yield value, place


def _initial(text: str) -> dict[str, set[str]]:
    """Return the symbols in the initial value of each variable of a module, by variable."""
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
    """Yield the calls through pointers without known targets in the functions `names`."""
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
    """Yield the functions whose addresses a function's code uses other than to call them."""
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
    """Return the types of result and arguments of a call through a pointer.

    Return None for any other instruction.
    """
    found = _CALL.match(one.text) if one.opcode in ("call", "invoke") else None
    if found is None or re.search(r"\basm\b", one.text):
        return None
    inside = bracketed_prefix(found[3])[1:-1].strip()
    arguments = [each.split()[0] for each in split_at_commas(inside)] if inside else []
    return found[1].split()[-1], tuple(arguments)
