"""Objects behind further pointer parameters of DPDK functions.

Nobody calls the function with them, so each gets memory of the type that it points to: a variable
of that type where the source has one (of an array the first element, as the only core has it), what
a variable that points to that type points to, or else zeros. What `void *` is comes from the
variables that the function makes of it, by debug information.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.errors import InputError
from slowpath.insights.source.framework import is_support
from slowpath.insights.source.functions import Function
from slowpath.insights.source.layouts import Layouts, Type
from slowpath.insights.source.metadata import Metadata, Node
from slowpath.insights.source.modules import enclosed, separated

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
"""Structures of the headers that are nothing before they are made, and what makes them."""


class Given(NamedTuple):
    """What a parameter points to."""

    place: int
    """Of the parameter, among all."""
    name: str
    """Of the parameter; empty where it has none."""
    type: Type | None
    """Of what it points to; None: the function does not look, and gets no address."""
    variables: tuple[str, ...] = ()
    """By symbol, those of that type, and arrays of it, in the order of the source."""
    pointers: tuple[str, ...] = ()
    """By symbol, those that point to that type, and arrays of these."""

    @property
    def maker(self) -> str:
        """What makes it, where it is nothing before; empty: zeros are as good as any."""
        return "" if self.type is None or not self.type.ours else _MADE.get(self.type.name, "")


class Giving:
    """A module, and what its functions may be called with."""

    def __init__(self, file: str, text: str, functions: Mapping[str, Function]) -> None:
        """`text` is the module that the functions are of."""
        self._file, self._text, self._functions = file, text, functions
        self._metadata = Metadata(text)
        self._layouts = Layouts(text, self._metadata)

    def given(self, function: Function, place: int) -> Given:
        """What a parameter of a function points to.

        Raises:
            InputError: when nothing says it, or that cannot be had.
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
                return Given(place, name, None)
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
            variables, pointers = [], []  # of a number, any could be it
        return Given(place, name, kind, tuple(variables), tuple(pointers))

    def _type(self, number: int) -> Type | str:
        """What is in a type; or why nobody can have one: nothing says it, it is in the packet."""
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
        """Whether a parameter is used, and what type the function's variables say it points to."""
        parameters, body = _body(self._text, function.name)
        names, places = set(parameters[place : place + 1]), set[str]()
        # Places are declared before something is stored there.
        self._followed(body, names, places)
        return self._followed(body, names, places)

    def _followed(
        self, body: Sequence[str], names: set[str], places: set[str]
    ) -> tuple[bool, int | None]:
        """The same, and adds names that the parameter has, and places where it is."""
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
        """What a variable points to, by its node; nothing where it is no pointer, or to void."""
        node = self._metadata.node(variable)
        kind = None if node is None else self._bare(node.reference("type"))
        if kind is not None and kind.text("tag") == _POINTER:
            to = kind.reference("baseType")
            if self._bare(to) is not None:
                yield int(to or 0)

    def _passed(self, line: str, names: set[str]) -> Iterator[int]:
        """What functions take that are called with one of the names."""
        called = _CALLED.search(line)
        known = None if called is None else self._functions.get(called[1].strip('"'))
        if called is None or known is None:
            return
        passed = separated(enclosed(line[called.end() :])[1:-1])
        for one, parameter in zip(passed, known.parameters, strict=False):
            described = parameter.described
            if _VALUES.findall(one)[-1:] and _VALUES.findall(one)[-1] in names and described:
                yield from () if described.points is None else (described.points,)

    def _bare(self, number: int | None) -> Node | None:
        return self._metadata.bare(number)

    def _element(self, number: int | None) -> Node | None:
        """A type without qualifiers, of an array that of its elements."""
        node = self._bare(number)
        if node is not None and node.text("tag") == _ARRAY:
            node = self._bare(node.reference("baseType"))
        return node


def _body(text: str, symbol: str) -> tuple[list[str], list[str]]:
    """The names of a function's parameters, and its lines."""
    lines = iter(text.splitlines())
    head = re.compile(rf'^define [^@]*@"?{re.escape(symbol)}"?(?=\()')
    for line in lines:
        found = head.match(line)
        if found:
            inside = separated(enclosed(line[found.end() :])[1:-1])
            names = [one[1] for part in inside if (one := _PARAMETER.search(part))]
            return names, list(_until_end(lines))
    return [], []


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "}":
            return
        yield line
