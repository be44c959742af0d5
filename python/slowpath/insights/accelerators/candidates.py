"""Choice of functions that are worth examining."""

import re
from collections.abc import Collection, Mapping, Sequence

import llvmlite.binding as llvm

from slowpath.insights.accelerators.library_calls import LibraryUse
from slowpath.insights.accelerators.sequences import innermost, words
from slowpath.insights.sandbox.externals import is_allowed
from slowpath.insights.sandbox.native import has_callable_prototype
from slowpath.insights.source.calls import reachable_functions
from slowpath.insights.source.framework import SUPPORT, is_ours
from slowpath.insights.source.framework_calls import framework
from slowpath.insights.source.functions import Function, loops
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import Module


def without(function: Function, metadata: Metadata, others: Collection[str]) -> Function | None:
    """Return the function without instructions that were inlined from others, given by symbols.

    Return None if the function has loops, but none with instructions of its own.
    """
    names = frozenset(others) - {function.name}
    blocks = tuple(
        block._replace(
            instructions=tuple(
                one
                for one in block.instructions
                if one.place is None or not metadata.around(one.place) & names
            )
        )
        for block in function.blocks
    )
    if blocks == function.blocks:
        return function
    left = function._replace(blocks=blocks)
    by_name = {block.name: block for block in blocks}
    inner = innermost(loops(function))
    own = any(words([by_name[name] for name in loop.blocks]) for loop in inner)
    return left if own or not inner else None


_MIXING = frozenset({"xor", "shl", "lshr", "ashr", "mul", "and", "or", "urem", "srem"})
_MUCH = 12
"""Least bit operations of a function that is more than an access or a rotation."""
_FEW = 5
"""Least bit operations of a header's function that is more than an accessor."""
_LARGE = 8
"""Size of the largest number or address in bytes; a larger type is a structure."""
_SYSTEM = ("/usr/include/", "/usr/lib/")
_LOOKING = re.compile("look|find|search|match", re.IGNORECASE)
"""Names of functions that search a table; they need the function that fills it."""
_FREE = re.compile(r"_ZL?\d")
"""Start of symbols of C++ functions that are not methods."""


def own(functions: Mapping[str, Function]) -> list[str]:
    """Return the functions that do not come from system headers."""
    return [
        name
        for name, one in functions.items()
        if one.own or one.line is None or not one.line.file.startswith(_SYSTEM)
    ]


def of_headers(functions: Mapping[str, Function], used: Sequence[LibraryUse]) -> list[str]:
    """Return functions of slowpath's headers that a source calls and an engine may replace.

    Functions of the card's framework are excluded, because no core runs them: hash table lookups.
    """
    apart = framework(functions)
    named = {symbol for use in used for symbol in use.symbols}
    return [
        name
        for name, one in functions.items()
        if name in named
        and _comes_along(one)
        and (looks_up(one) or (not _is_method(one) and _computes(one)))
        and not any(inner in apart for inner in reachable_functions(functions, name))
    ]


def looks_up(function: Function) -> bool:
    """Return true if, by its name, a function searches a table other than a hash table.

    Tables for any type (C++ templates) are hash tables.
    """
    return _LOOKING.search(function.shown) is not None and "<" not in function.shown


def companions(functions: Mapping[str, Function], name: str) -> list[str]:
    """Return functions of the same header that take the same structure or object."""
    function = functions[name]
    taken = _taken(function)
    return [
        other
        for other, one in functions.items()
        if other != name
        and _comes_along(one)
        and _header(one) == _header(function)
        and taken & _taken(one)
    ]


def keep_inlined(module: Module) -> None:
    """Keep C++ functions that are always inlined in the module as well, so that they can run."""
    for function in module.functions:
        if function.is_declaration or not _FREE.match(function.name):
            continue
        inlined = any(b"alwaysinline" in words.split() for words in function.attributes)
        if inlined and function.linkage == llvm.Linkage.linkonce_odr:
            function.linkage = llvm.Linkage.weak_odr


def works(function: Function) -> bool:
    """Return true if a function has loops or bit operations."""
    return bool(loops(function)) or _mixing(function) > 0


def toils(function: Function) -> bool:
    """Return true if a function does enough work to be a part of an algorithm by itself."""
    mixing = _mixing(function)
    return mixing >= _MUCH or (mixing > 0 and bool(loops(function)))


def why_not(functions: Mapping[str, Function], name: str) -> str | None:
    """Return why a function cannot be run, as a predicate for its name; None if it can."""
    function = functions[name]
    if function.variadic:
        return "takes any number of arguments"
    if not has_callable_prototype(function):
        return "takes or returns what is neither a number nor an address"
    for inner in sorted(reachable_functions(functions, name), key=lambda one: (one != name, one)):
        assembly = functions[inner].assembly
        if assembly is not False:
            whose = "" if inner == name else f"calls {functions[inner].shown}, which "
            line = None if isinstance(assembly, bool) else assembly
            where = f" in line {line.line}" if line else ""
            return f"{whose}has inline assembly{where}"
    return None


def outside(functions: Mapping[str, Function], name: str, known: frozenset[str]) -> list[str]:
    """Return functions that may be called but do not exist; a run ends at such a call."""
    called = {
        one for inner in reachable_functions(functions, name) for one in functions[inner].calls
    }
    return sorted(one for one in called - known if not is_allowed(one))


def _mixing(function: Function) -> int:
    """Return the number of bit operations."""
    return sum(
        instruction.opcode in _MIXING
        for block in function.blocks
        for instruction in block.instructions
    )


def _computes(function: Function) -> bool:
    """Return true if a function is more than an accessor."""
    return _mixing(function) >= _FEW or bool(loops(function))


def _comes_along(function: Function) -> bool:
    """Return true for a library function of slowpath's headers, except engines and support code."""
    ours = is_ours(_header(function)) and not function.own
    return ours and not function.engine and not function.name.startswith(SUPPORT)


def _header(function: Function) -> str:
    return function.line.file if function.line else ""


def _is_method(function: Function) -> bool:
    return any(
        one.described is not None and one.described.artificial for one in function.parameters
    )


def _taken(function: Function) -> set[tuple[str, int]]:
    """Return name and size in bytes of each structure that a function takes."""
    described = [one.described for one in function.parameters]
    return {(one.pointee, one.size) for one in described if one is not None and one.size > _LARGE}
