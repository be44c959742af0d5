"""Possible targets of calls through pointers.

A function can call the functions in the values of variables that it names: initial values, as in
`static const struct ops fast = {.hash = f}`, and stored or copied ones, also through other
variables. Stores through pointer parameters are not followed. A call is unknown if no function of
its type is found in this way. Virtual methods of C++ are excluded: a call may reach any class's
method.
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
_COPIED = re.compile(r"@llvm\.mem(?:cpy|move)\.\S*?(\(.*)$")
_FOLLOWED = ("select", "phi", "getelementptr", "load")
"""Instructions that compute an address from others, or read one."""
_Shape = tuple[str, tuple[str, ...]]
"""Types of the result and of the arguments."""


class Unknown(NamedTuple):
    """A call whose target is unknown."""

    symbol: str
    """Symbol of the function with the call."""
    block: int
    """Number of the block in the function."""
    file: str
    line: int


def pointed(text: str, functions: Mapping[str, Function]) -> dict[str, list[str]]:
    """Return, by function, the functions whose addresses are in variables that it names."""
    initial = {
        name: those for name, those in _initial(text).items() if not name.startswith(_METHODS)
    }
    for variable, named in chain.from_iterable(map(_stored, functions.values())):
        initial.setdefault(variable, set()).update(named)
    found = {}
    for name, function in functions.items():
        seen, left = set[str](), [one for one in function.globals if one in initial]
        while left:
            new = initial[left.pop()] - seen
            seen |= new
            left += [one for one in new if one in initial]
        those = sorted(seen & functions.keys())
        if those:
            found[name] = those
    return found


def _stored(function: Function) -> Iterator[tuple[str, set[str]]]:
    """Yield each variable that a function writes, with the symbols whose address it may store.

    For a value that is read or copied from another variable, that variable's symbol stands for its
    content.
    """
    known = dict[str, set[str]]()

    def named(operand: str) -> set[str]:
        names = {name.strip('"') for name in _NAME.findall(operand)}
        return names.union(*(known.get(one, ()) for one in _REGISTER.findall(operand)))

    for block in function.blocks:
        for one in block.instructions:
            if one.opcode in _FOLLOWED:
                result, _, made = one.text.partition(" = ")
                known[result] = named(made)
            for value, place in _put(one):
                for variable in named(place):
                    yield variable, named(value)


def _put(one: Instruction) -> Iterator[tuple[str, str]]:
    """Yield value and address of a store of a pointer, or both addresses of a copy."""
    if one.opcode == "store":
        value, place, *_ = split_at_commas(one.text.removeprefix("store "))
        if re.search(r"\bptr\b", value):
            yield value, place
    copied = _COPIED.search(one.text) if one.opcode == "call" else None
    if copied is not None:
        place, value, *_ = split_at_commas(bracketed_prefix(copied[1])[1:-1])
        yield value, place


def _initial(text: str) -> dict[str, set[str]]:
    """Return the symbols in the initial value of each variable of a module."""
    return {
        one[1].strip('"'): {name.strip('"') for name in _NAME.findall(_TEXT.sub("", one[2]))}
        for one in _VARIABLE.finditer(text)
    }


def unknown(
    functions: Mapping[str, Function],
    names: Collection[str],
    through: Mapping[str, Collection[str]],
    text: str,
    metadata: Metadata,
) -> Iterator[Unknown]:
    """Yield the calls of unknown target in the functions `names` of a source."""
    methods = [those for name, those in _initial(text).items() if name.startswith(_METHODS)]
    targets = {one for those in methods for one in those if one in functions}
    for name in names:
        targets |= {*through.get(name, ()), *_named(functions, functions[name])}
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
                    yield Unknown(name, number, line.file, line.line)


def _named(functions: Mapping[str, Function], function: Function) -> Iterator[str]:
    """Yield the functions whose address a function takes."""
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
    """Return the types of a call through a pointer; None for other instructions."""
    found = _CALL.match(one.text) if one.opcode in ("call", "invoke") else None
    if found is None or re.search(r"\basm\b", one.text):
        return None
    inside = bracketed_prefix(found[3])[1:-1].strip()
    arguments = [each.split()[0] for each in split_at_commas(inside)] if inside else []
    return found[1].split()[-1], tuple(arguments)
