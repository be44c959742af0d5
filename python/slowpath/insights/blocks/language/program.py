"""The functions of a program with what their parameters point to, from those that call them."""

import re
from collections.abc import Container, Mapping
from copy import copy
from typing import NamedTuple

from slowpath.insights.blocks.language.operands import arguments, called, value
from slowpath.insights.blocks.language.provenance import Kind, Provenance
from slowpath.insights.preparation.brackets import separated
from slowpath.insights.preparation.calls import reached
from slowpath.insights.preparation.functions import Function
from slowpath.insights.preparation.metadata import Line, Metadata

_CONSTANT = re.compile(r'^@("[^"]*"|[\w.$-]+) = [^\n]*?\bconstant\b', re.MULTILINE)
_HEAD = re.compile(r'^define [^\n]*?@("[^"]*"|[\w.$-]+)\((.*)\)[^()]*\{$', re.MULTILINE)
_NAME = re.compile(r'(%(?:"[^"]*"|[\w.$-]+))$')
_ROUNDS = 4
"""Calls in calls that kinds of parameters are followed through."""


class Traced(NamedTuple):
    """A function, and where its pointers come from."""

    function: Function
    provenance: Provenance


class Language:
    """A module in LLVM's text, with its functions."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        """`text` is what the functions were read from."""
        self.functions = functions
        self.metadata = Metadata(text)
        self._constants = {name.strip('"') for name in _CONSTANT.findall(text)}
        self._parameters = {
            name.strip('"'): [
                found[1] if (found := _NAME.search(one)) else "" for one in separated(inside) if one
            ]
            for name, inside in _HEAD.findall(text)
        }

    def only(self, names: Container[str]) -> "Language":
        """The same with none but these functions: others are called, whatever is in them."""
        some = copy(self)
        some.functions = {name: one for name, one in self.functions.items() if name in names}
        return some

    def line(self, place: int | None) -> Line | None:
        """The source line of a location."""
        return None if place is None else self.metadata.line(place)

    def traced(self, entry: str, kinds: list[Kind]) -> dict[str, Traced]:
        """An entry whose parameters point to what `kinds` says, and all that it calls, in order."""
        inside = reached(self.functions, entry)
        given = {entry: [{kind} for kind in kinds]}
        given |= {name: [] for name in self.functions if name in inside and name != entry}
        for _ in range(_ROUNDS):
            traced = {name: self._traced(name, given[name]) for name in given}
            before = {name: [set(one) for one in known] for name, known in given.items()}
            for one in traced.values():
                self._passed(one, given)
            if given == before:
                break
        return {name: self._traced(name, known) for name, known in given.items()}

    def _traced(self, name: str, known: list[set[Kind]]) -> Traced:
        kinds: dict[str, Kind] = {}
        for parameter, found in zip(self._parameters.get(name, []), known, strict=False):
            kinds[parameter] = next(iter(found)) if len(found) == 1 else "unknown"
        function = self.functions[name]
        return Traced(function, Provenance(function, kinds, self._constants))

    def _passed(self, one: Traced, given: dict[str, list[set[Kind]]]) -> None:
        """Adds what a function passes to those that it calls."""
        for block in one.function.blocks:
            for instruction in block.instructions:
                name = called(instruction.text).name if instruction.opcode == "call" else None
                if name is None or name not in given:
                    continue
                for number, part in enumerate(arguments(instruction.text)):
                    if len(given[name]) <= number:
                        given[name].append(set())
                    passed = value(part)
                    if part.startswith("ptr") and passed is not None:
                        given[name][number].add(one.provenance.kind(passed))
