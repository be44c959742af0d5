"""Chooses memory for pointer parameters of DPDK functions, so that slowpath can call them.

Parameters for packets are excluded. No caller supplies these pointers, so slowpath chooses memory
of the pointee type:

1. a variable of this type, or the first element of an array (runs use only one core);
2. else the memory that a pointer variable of this type points to;
3. else zeros.

The pointee type of `void *` comes from local variables to which the function converts the pointer.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.insights.source.functions import Function
from slowpath.insights.source.layouts import Layouts, Type
from slowpath.insights.source.metadata import Metadata, Node
from slowpath.insights.source.modules import bracketed_prefix, split_at_commas
from slowpath.insights.source.sources import is_support

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
    "or select a caller with --entry that takes only packets and passes the address of a variable"
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
"""Functions that create those structures of the headers that are not valid as zeros."""


class PointerTarget(NamedTuple):
    """The memory to which a pointer parameter of a function can point."""

    place: int
    """Index of the parameter."""
    name: str
    """Name of the parameter in the source; empty if it has none."""
    type: Type | None
    """The type that the parameter points to; None if the function does not use the parameter,
    which then gets no address.
    """
    variables: tuple[str, ...] = ()
    """Symbols of variables of the type, and of arrays of it, in the order of the source."""
    pointers: tuple[str, ...] = ()
    """Symbols of pointers to the type, and of arrays of such pointers."""

    @property
    def maker(self) -> str:
        """Name of the DPDK function that creates objects of the type; empty if zeros suffice."""
        return "" if self.type is None or not self.type.ours else _MADE.get(self.type.name, "")


class TargetFinder:
    """Finds memory that the pointer parameters of a module's functions can point to."""

    def __init__(self, file: str, text: str, functions: Mapping[str, Function]) -> None:
        """Parse the types and variables of a module; `text` is its LLVM IR.

        `file` is the source, for error messages.
        """
        self._file, self._text, self._functions = file, text, functions
        self._metadata = Metadata(text)
        self._layouts = Layouts(text, self._metadata)

    def target(self, function: Function, place: int) -> PointerTarget:
        """Find memory to which the parameter with index `place` of a function can point.

        Raises:
            InputError: if the pointee type is unknown, or slowpath cannot supply memory for it.
        """
        described = function.parameters[place].described
        name = "" if described is None else described.name
        number = None if described is None else described.points

        def problem(reason: str) -> InputError:
            which = f"parameter {place + 1}{f' ({name})' if name else ''} of {function.shown}"
            return InputError(
                codes.PARAMETER_NOT_UNDERSTOOD,
                self._file,
                f"{function.place}: {which}: {reason}, {_REMEDY}",
            )

        if number is None:
            used, number = self._converted(function, place)
            if not used:
                return PointerTarget(place, name, None)
            if number is None:
                raise problem("points to an unknown type: declare the type")
        kind = self._type(number)
        if isinstance(kind, str):
            raise problem(kind)
        pointee = self._metadata.bare(number)
        variables, pointers = list[str](), list[str]()
        for symbol in self._layouts.symbols():
            node = self._element(self._layouts.node(symbol))
            if node is None or is_support(symbol, ""):
                continue
            if node is pointee:
                variables.append(symbol)
            elif (
                node.text("tag") == _POINTER
                and self._metadata.bare(node.reference("baseType")) is pointee
            ):
                pointers.append(symbol)
        variables += self._layouts.outside_of(kind.name)
        if not kind.fields and kind.element is None and not kind.flat:
            variables, pointers = [], []  # any variable of a number type would match
        return PointerTarget(place, name, kind, tuple(variables), tuple(pointers))

    def _type(self, number: int) -> Type | str:
        """Return the type with this metadata node number, to which a parameter points.

        Return an error text if slowpath cannot supply memory of this type, such as an undefined
        type or a packet header.
        """
        node = self._metadata.bare(number)
        called = "" if node is None else node.text("name")
        if called.endswith("hdr"):
            return (
                f"points to {called} in the packet; name the function with --entry that "
                "locates it there"
            )
        if node is not None and node.text("tag") == _POINTER:
            return "points to pointers with unknown targets"
        kind = self._layouts.type_of(number)
        if kind is None or not kind.size:
            return f"{called or 'its type'} is declared but not defined; include its definition"
        return kind

    def _converted(self, function: Function, place: int) -> tuple[bool, int | None]:
        """Find out how a function uses its `void *` parameter with index `place`.

        Return true if it uses the parameter. Also return the pointee type to which it converts the
        parameter, as a metadata node number. The type is that of the first typed pointer variable
        that holds the parameter; None if there is none.
        """
        parameters, body = _body(self._text, function.name)
        values, slots = set(parameters[place : place + 1]), set[str]()
        # Debug records of a stack slot precede the store to it, so a first pass collects the slots.
        self._follow(body, values, slots)
        return self._follow(body, values, slots)

    def _follow(
        self, body: Sequence[str], values: set[str], slots: set[str]
    ) -> tuple[bool, int | None]:
        """Pass once over a function's body, and return the same results as `_converted`.

        LLVM values and stack slots that hold the parameter are added to `values` and `slots`.
        """
        used, kinds = False, list[int]()
        for line in body:
            debug = _DEBUG.search(line)
            if debug and debug[1] in values | slots:
                kinds += self._pointed(int(debug[2]))
            if _IS_DEBUG.search(line):
                continue
            stored, loaded = _STORED.search(line), _LOADED.search(line)
            if stored and stored[1] in values:
                slots.add(stored[2])
            elif loaded and loaded[2] in slots:
                values.add(loaded[1])
            elif values & set(_VALUES.findall(line)):
                used = True
                kinds += self._passed(line, values)
        return used, next(iter(kinds), None)

    def _pointed(self, variable: int) -> Iterator[int]:
        """Yield the type to which a pointer variable points, as a metadata node number.

        Yield nothing for `void *` and for variables that are not pointers. `variable` is the number
        of the variable's node.
        """
        node = self._metadata.node(variable)
        kind = None if node is None else self._metadata.bare(node.reference("type"))
        if kind is not None and kind.text("tag") == _POINTER:
            pointee = kind.reference("baseType")
            if pointee is not None and self._metadata.bare(pointee) is not None:
                yield pointee

    def _passed(self, line: str, values: set[str]) -> Iterator[int]:
        """Yield the pointee types of parameters of a called function that receive one of `values`.

        `line` is the call in LLVM IR. Types are given as metadata node numbers.
        """
        called = _CALLED.search(line)
        known = None if called is None else self._functions.get(called[1].strip('"'))
        if called is None or known is None:
            return
        passed = split_at_commas(bracketed_prefix(line[called.end() :])[1:-1])
        for argument, parameter in zip(passed, known.parameters, strict=False):
            described = parameter.described
            if values.intersection(_VALUES.findall(argument)[-1:]) and described:
                yield from () if described.points is None else (described.points,)

    def _element(self, number: int | None) -> Node | None:
        """Return the type with this node number, without qualifiers.

        For an array, return its element type.
        """
        node = self._metadata.bare(number)
        if node is not None and node.text("tag") == _ARRAY:
            node = self._metadata.bare(node.reference("baseType"))
        return node


def _body(text: str, symbol: str) -> tuple[list[str], list[str]]:
    """Return the parameter names and the lines of the body of a function in LLVM IR.

    `symbol` is the symbol of the function. Both lists are empty if it has no body.
    """
    lines = iter(text.splitlines())
    head = re.compile(rf'^define [^@]*@"?{re.escape(symbol)}"?(?=\()')
    for line in lines:
        found = head.match(line)
        if found:
            inside = split_at_commas(bracketed_prefix(line[found.end() :])[1:-1])
            names = [one[1] for part in inside if (one := _PARAMETER.search(part))]
            return names, list(takewhile("}".__ne__, lines))
    return [], []
