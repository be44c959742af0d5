"""Calls through pointers: what they may come to, by where addresses of functions stand.

A function comes to those in the initial values of variables that it names, `static const struct
ops fast = {.hash = f}`, or that are put there, through other variables, too. What is called is not
followed further than that; where no function of that type has its address anywhere, nobody knows
what it is. Methods in tables of C++ are no such functions: a method that is called may be that of
any class.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from slowpath.insights.porting.instrumentation.operands import called
from slowpath.insights.preparation.brackets import enclosed, separated
from slowpath.insights.preparation.functions import Function, Instruction
from slowpath.insights.preparation.metadata import Metadata

_VARIABLE = re.compile(r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = ([^\n]*)$', re.MULTILINE)
_TEXT = re.compile(r'\bc"[^"]*"')
_NAME = re.compile(r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_CALL = re.compile(r"^(?:%\S+ = )?(?:\w+ )*?(?:call|invoke)\b(.*?) (%[\w.$-]+)(\(.*)$")
_METHODS = "_ZTV"
"""What symbols of tables of methods begin with."""
_STORE = re.compile(r'^store (?:\w+ )*?ptr (\S+), ptr @("(?:[^"\\]|\\.)*"|[\w.$-]+)')
_Shape = tuple[str, tuple[str, ...]]
"""Types of what is returned, and of arguments."""


class Unknown(NamedTuple):
    """A call of which nobody knows what it comes to."""

    symbol: str
    """The function that has it."""
    block: int
    """Its number there."""
    file: str
    line: int


def pointed(text: str, functions: Mapping[str, Function]) -> dict[str, list[str]]:
    """By function of a module, those in the values of variables that it names, first and later."""
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


def _stored(function: Function) -> Iterator[tuple[str, list[str]]]:
    """What a function puts into variables, where it is an address of the module, or one of some."""
    chosen = dict[str, list[str]]()
    for block in function.blocks:
        for one in block.instructions:
            if one.opcode in ("select", "phi"):
                chosen[one.text.partition(" = ")[0]] = _NAME.findall(one.text)
            put = _STORE.match(one.text) if one.opcode == "store" else None
            if put is not None:
                named = chosen.get(put[1], _NAME.findall(put[1]))
                yield put[2].strip('"'), [name.strip('"') for name in named]


def _initial(text: str) -> dict[str, set[str]]:
    """By variable of a module, what its initial value names."""
    return {
        one[1].strip('"'): {name.strip('"') for name in _NAME.findall(_TEXT.sub("", one[2]))}
        for one in _VARIABLE.finditer(text)
    }


def led_to(
    begun: Iterable[str],
    calls: Mapping[str, Collection[str]],
    through: Mapping[str, Collection[str]],
) -> set[str]:
    """The functions that some come to, by calls and through pointers; themselves, too."""
    left = [name for name in begun if name in calls]
    found = set(left)
    while left:
        name = left.pop()
        new = {one for one in (*calls[name], *through.get(name, ())) if one in calls} - found
        found |= new
        left += new
    return found


def unknown(
    functions: Mapping[str, Function],
    names: Collection[str],
    through: Mapping[str, Collection[str]],
    text: str,
    metadata: Metadata,
) -> Iterator[Unknown]:
    """Calls in a source's functions, of those that are led to, of which nobody knows the target."""
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
    """Functions whose address a function takes."""
    for block in function.blocks:
        for one in block.instructions:
            target = called(one.text) if one.opcode in ("call", "invoke") else None
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
    """The types of a call through a pointer; None: it is none."""
    found = _CALL.match(one.text) if one.opcode in ("call", "invoke") else None
    if found is None or re.search(r"\basm\b", one.text):
        return None
    inside = enclosed(found[3])[1:-1].strip()
    arguments = [each.split()[0] for each in separated(inside)] if inside else []
    return found[1].split()[-1], tuple(arguments)
