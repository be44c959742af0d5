"""Targets of further pointer parameters of DPDK functions.

No caller supplies these pointers, so each gets memory of the type that it points to. The first
choice is a variable of that type; of an array it is the first element, as there is only one core.
The second is the target of a variable that points to that type, and the last is zeros. For `void
*`, the type comes from the debug information of variables to which the function converts the
pointer.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.errors import InputError
from slowpath.insights.source.framework import is_support
from slowpath.insights.source.functions import Function
from slowpath.insights.source.layouts import Layouts, Type
from slowpath.insights.source.metadata import Metadata, Node
from slowpath.insights.source.modules import bracketed_prefix, split_at_commas

_NAMED = r'%(?:"[^"]*"|[\w.$-]+)'
_PARAMETER = re.compile(rf"({_NAMED})$")
_VALUES = re.compile(_NAMED)
_STORED = re.compile(rf"store (?:volatile )?ptr ({_NAMED}), ptr ({_NAMED})")
_LOADED = re.compile(rf"({_NAMED}) = load (?:volatile )?ptr, ptr ({_NAMED})")
_DEBUG = re.compile(
    rf"(?:#dbg_(?:value|declare)\(|@llvm\.dbg\.(?:value|declare)\(metadata )ptr ({_NAMED}), "
    r"(?:metadata )?!(\d+)"
)
_IS_DEBUG = re.compile(r"#dbg_|@llvm\.dbg\.")
_CALLED = re.compile(r'\bcall [^@\n]*@("[^"]*"|[\w.$-]+)(?=\()')
_ARRAY, _POINTER = "DW_TAG_array_type", "DW_TAG_pointer_type"
_REMEDY = (
    "or call it in a function that has packets alone, with the address of a variable (see --entry)"
)
_MADE = {
    "rte_hash": "rte_hash_create",
    "rte_fbk_hash_table": "rte_fbk_hash_create",
    "rte_lpm": "rte_lpm_create",
    "rte_lpm6": "rte_lpm6_create",
    "rte_fib": "rte_fib_create",
    "rte_fib6": "rte_fib6_create",
    "rte_ip_frag_tbl": "rte_ip_frag_table_create",
    "rte_reorder_buffer": "rte_reorder_create",
    "rte_acl_ctx": "rte_acl_create",
    "rte_ring": "rte_ring_create",
}
"""Functions that create those structures of the headers for which zeros are not enough."""


class PointerTarget(NamedTuple):
    """The target of a pointer parameter."""

    place: int
    """Index of the parameter."""
    name: str
    """Name of the parameter; empty if it has none."""
    type: Type | None
    """Type of the target; None: the function does not use it, and gets no address."""
    variables: tuple[str, ...] = ()
    """Symbols of variables of that type, and of arrays of it, in the order of the source."""
    pointers: tuple[str, ...] = ()
    """Symbols of pointers to that type, and of arrays of such pointers."""

    @property
    def maker(self) -> str:
        """Function that creates the target; empty if zeros are enough."""
        return "" if self.type is None or not self.type.ours else _MADE.get(self.type.name, "")


class TargetFinder:
    """The available targets for pointer parameters in a module."""

    def __init__(self, file: str, text: str, functions: Mapping[str, Function]) -> None:
        """Prepare the search; `text` is the functions' module."""
        self._file, self._text, self._functions = file, text, functions
        self._metadata = Metadata(text)
        self._layouts = Layouts(text, self._metadata)

    def given(self, function: Function, place: int) -> PointerTarget:
        """Return the target of a pointer parameter.

        Raises:
            InputError: if its type is unknown, or no memory of that type is available.
        """
        described = function.parameters[place].described
        name = "" if described is None else described.name
        number = None if described is None else described.points

        def problem(reason: str) -> InputError:
            which = f"parameter {place + 1}{f' ({name})' if name else ''} of {function.shown}"
            return InputError(self._file, f"{function.place}: {which}: {reason}, {_REMEDY}")

        if number is None:
            used, number = self._looked(function, place)
            if not used:
                return PointerTarget(place, name, None)
            if number is None:
                raise problem("points to nothing that is known: say in its type what it is")
        kind = self._type(number)
        if isinstance(kind, str):
            raise problem(kind)
        wanted = self._bare(number)
        variables, pointers = list[str](), list[str]()
        for symbol in self._layouts.symbols():
            of = self._element(self._layouts.node(symbol))
            if of is None or is_support(symbol, ""):
                continue
            if of is wanted:
                variables.append(symbol)
            elif of.text("tag") == _POINTER and self._bare(of.reference("baseType")) is wanted:
                pointers.append(symbol)
        variables += self._layouts.outside_of(kind.name)
        if not kind.fields and kind.element is None and not kind.flat:
            variables, pointers = [], []  # any variable with a number would match
        return PointerTarget(place, name, kind, tuple(variables), tuple(pointers))

    def _type(self, number: int) -> Type | str:
        """Return a type, or why it is not available: it is undefined, or in the packet."""
        node = self._bare(number)
        called = "" if node is None else node.text("name")
        if called.endswith("hdr"):
            what = f"points to {called}, which is in the packet"
            return f"{what}: name the function that has found it there"
        if node is not None and node.text("tag") == _POINTER:
            return "points to pointers, and nobody says to what these do"
        kind = self._layouts.type_of(number)
        if kind is None or not kind.size:
            what = f"{called or 'something'} is declared, and defined nowhere in this source"
            return f"{what}: include what defines it"
        return kind

    def _looked(self, function: Function, place: int) -> tuple[bool, int | None]:
        """Return true if a parameter is used, and the type that local variables give its target."""
        parameters, body = _body(self._text, function.name)
        names, places = set(parameters[place : place + 1]), set[str]()
        # Debug records of a place precede the store to it, so a first pass collects the places.
        self._followed(body, names, places)
        return self._followed(body, names, places)

    def _followed(
        self, body: Sequence[str], names: set[str], places: set[str]
    ) -> tuple[bool, int | None]:
        """Follow a parameter as `_looked` does; add its names, and the places that hold it."""
        used, kinds = False, list[int]()
        for line in body:
            debug = _DEBUG.search(line)
            if debug and debug[1] in names | places:
                kinds += self._pointed(int(debug[2]))
            if _IS_DEBUG.search(line):
                continue
            stored, loaded = _STORED.search(line), _LOADED.search(line)
            if stored and stored[1] in names:
                places.add(stored[2])
            elif loaded and loaded[2] in places:
                names.add(loaded[1])
            elif names & set(_VALUES.findall(line)):
                used = True
                kinds += self._passed(line, names)
        return used, next(iter(kinds), None)

    def _pointed(self, variable: int) -> Iterator[int]:
        """Yield the node of the type that a variable points to; nothing for void or no pointer."""
        node = self._metadata.node(variable)
        kind = None if node is None else self._bare(node.reference("type"))
        if kind is not None and kind.text("tag") == _POINTER:
            to = kind.reference("baseType")
            if self._bare(to) is not None:
                yield int(to or 0)

    def _passed(self, line: str, names: set[str]) -> Iterator[int]:
        """Yield the target types of parameters for which a call passes one of the names."""
        called = _CALLED.search(line)
        known = None if called is None else self._functions.get(called[1].strip('"'))
        if called is None or known is None:
            return
        passed = split_at_commas(bracketed_prefix(line[called.end() :])[1:-1])
        for one, parameter in zip(passed, known.parameters, strict=False):
            described = parameter.described
            if _VALUES.findall(one)[-1:] and _VALUES.findall(one)[-1] in names and described:
                yield from () if described.points is None else (described.points,)

    def _bare(self, number: int | None) -> Node | None:
        return self._metadata.bare(number)

    def _element(self, number: int | None) -> Node | None:
        """Return a type without qualifiers; for an array, the type of its elements."""
        node = self._bare(number)
        if node is not None and node.text("tag") == _ARRAY:
            node = self._bare(node.reference("baseType"))
        return node


def _body(text: str, symbol: str) -> tuple[list[str], list[str]]:
    """Return the names of a function's parameters, and its lines."""
    lines = iter(text.splitlines())
    head = re.compile(rf'^define [^@]*@"?{re.escape(symbol)}"?(?=\()')
    for line in lines:
        found = head.match(line)
        if found:
            inside = split_at_commas(bracketed_prefix(line[found.end() :])[1:-1])
            names = [one[1] for part in inside if (one := _PARAMETER.search(part))]
            return names, list(_until_end(lines))
    return [], []


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "}":
            return
        yield line
