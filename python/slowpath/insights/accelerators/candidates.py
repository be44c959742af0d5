"""Selects the functions of a module that `slowpath insights accelerators` examines.

An examined function is run with chosen inputs, to prove that an accelerator could replace it. This
module leaves out functions that do too little work or that cannot be run.
"""

import re
from collections.abc import Collection, Mapping, Sequence

import llvmlite.binding as llvm

from slowpath.insights.accelerators.classifier import innermost, words
from slowpath.insights.accelerators.library_calls import LibraryUse
from slowpath.insights.native import has_callable_prototype, is_allowed
from slowpath.insights.source.calls import framework, reachable_functions
from slowpath.insights.source.functions import Function, loops
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import Module
from slowpath.insights.source.sources import SUPPORT, is_ours


def without_inlined(
    function: Function, metadata: Metadata, callees: Collection[str]
) -> Function | None:
    """Return a copy of `function` without the instructions inlined from the functions `callees`.

    Use this to examine a function apart from callees that are examined on their own. Return None if
    the function has loops, and all of them consist of inlined instructions.
    """
    names = frozenset(callees) - {function.name}
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
    remaining = function._replace(blocks=blocks)
    by_name = {block.name: block for block in blocks}
    inner = innermost(loops(function))
    has_own_loop = any(words([by_name[name] for name in loop.blocks]) for loop in inner)
    return remaining if has_own_loop or not inner else None


_MIXING = frozenset({"xor", "shl", "lshr", "ashr", "mul", "and", "or", "urem", "srem"})
_MIN_PART_OPERATIONS = 12
"""Minimum number of bit operations of a function without loops that can be a part of an algorithm.
"""
_MIN_HEADER_OPERATIONS = 5
"""Minimum number of bit operations of a header function that is more than an accessor of a member.
"""
_MAX_SCALAR_SIZE = 8
"""Size of the largest number or address in bytes; larger types are structures."""
_SYSTEM_FOLDERS = ("/usr/include/", "/usr/lib/")
_LOOKUP_NAME = re.compile("look|find|search|match", re.IGNORECASE)
"""Pattern for the names of functions that search a table. A proof for such a function also needs a
function that fills the table.
"""
_FREE_FUNCTION = re.compile(r"_ZL?\d")
"""Start of symbols of C++ functions that are not methods."""


def user_functions(functions: Mapping[str, Function]) -> list[str]:
    """Return the symbols of all functions that are not defined in the system's header files."""
    return [
        name
        for name, one in functions.items()
        if one.own or one.line is None or not one.line.file.startswith(_SYSTEM_FOLDERS)
    ]


def header_functions(functions: Mapping[str, Function], used: Sequence[LibraryUse]) -> list[str]:
    """Return the symbols of functions in slowpath's headers that an accelerator may replace.

    `used` lists the uses of header functions in the user's source; unused functions are left out.
    Framework functions, such as hash table lookups, are left out, too: the SmartNIC has its own
    implementations of them.
    """
    framework_functions = framework(functions)
    named = {symbol for use in used for symbol in use.symbols}
    return [
        name
        for name, one in functions.items()
        if name in named
        and _is_header_library(one)
        and (looks_up(one) or (not _is_method(one) and _computes(one)))
        and not any(inner in framework_functions for inner in reachable_functions(functions, name))
    ]


def looks_up(function: Function) -> bool:
    """Return true if the name of the function suggests a search in a table without hashing.

    C++ templates are excluded, because tables that are templates are hash tables.
    """
    return _LOOKUP_NAME.search(function.shown) is not None and "<" not in function.shown


def companions(functions: Mapping[str, Function], name: str) -> list[str]:
    """Return symbols of header functions that may work on the same structure as `name`.

    They are in the same header as the function `name`, and take a structure of the same type.
    """
    function = functions[name]
    structures = _structures_taken(function)
    return [
        other
        for other, one in functions.items()
        if other != name
        and _is_header_library(one)
        and _header(one) == _header(function)
        and structures & _structures_taken(one)
    ]


def keep_inlined(module: Module) -> None:
    """Stop LLVM from removing C++ functions that are always inlined.

    slowpath can then call them as separate functions.
    """
    for function in module.functions:
        if function.is_declaration or not _FREE_FUNCTION.match(function.name):
            continue
        inlined = any(b"alwaysinline" in words.split() for words in function.attributes)
        if inlined and function.linkage == llvm.Linkage.linkonce_odr:
            function.linkage = llvm.Linkage.weak_odr


def does_work(function: Function) -> bool:
    """Return true if the function has loops or bit operations.

    Algorithms of accelerators have them; a function without them is not examined.
    """
    return bool(loops(function)) or _bit_operations(function) > 0


def is_substantial(function: Function) -> bool:
    """Return true if a function does enough work to count as a part of an algorithm.

    It needs at least 12 bit operations, or bit operations and a loop.
    """
    mixing = _bit_operations(function)
    return mixing >= _MIN_PART_OPERATIONS or (mixing > 0 and bool(loops(function)))


def obstacle(functions: Mapping[str, Function], name: str) -> str | None:
    """Return the reason why slowpath cannot run the function `name`; None if it can.

    The reason is a clause for a report, such as "the function takes any number of arguments".
    """
    function = functions[name]
    if function.variadic:
        return "the function takes any number of arguments"
    if not has_callable_prototype(function):
        return "the function takes or returns a value that is neither a number nor an address"
    for inner in sorted(reachable_functions(functions, name), key=lambda one: (one != name, one)):
        assembly = functions[inner].assembly
        if assembly is not False:
            caller = (
                "the function "
                if inner == name
                else f"the function calls {functions[inner].shown}, which "
            )
            line = None if isinstance(assembly, bool) else assembly
            where = f" in line {line.line}" if line else ""
            return f"{caller}has inline assembly{where}"
    return None


def undefined_callees(
    functions: Mapping[str, Function], name: str, known: frozenset[str]
) -> list[str]:
    """Return the functions that `name` may call directly or indirectly, without a definition.

    `known` are the symbols of the functions that the module defines. A run ends when it calls an
    undefined function.
    """
    called = {
        one for inner in reachable_functions(functions, name) for one in functions[inner].calls
    }
    return sorted(one for one in called - known if not is_allowed(one))


def _bit_operations(function: Function) -> int:
    """Return the number of bit operations, such as xor and shift, in a function."""
    return sum(
        instruction.opcode in _MIXING
        for block in function.blocks
        for instruction in block.instructions
    )


def _computes(function: Function) -> bool:
    """Return true if a function has loops or several bit operations, unlike a mere accessor."""
    return _bit_operations(function) >= _MIN_HEADER_OPERATIONS or bool(loops(function))


def _is_header_library(function: Function) -> bool:
    """Return true for functions of slowpath's headers that can be examined.

    False for functions whose work a fixed-function engine of the SmartNIC does, and for support
    code.
    """
    ours = is_ours(_header(function)) and not function.own
    return ours and not function.engine and not function.name.startswith(SUPPORT)


def _header(function: Function) -> str:
    return function.line.file if function.line else ""


def _is_method(function: Function) -> bool:
    return any(
        one.described is not None and one.described.artificial for one in function.parameters
    )


def _structures_taken(function: Function) -> set[tuple[str, int]]:
    """Return the structures to which the function's parameters point, as (name, size in bytes)."""
    described = [one.described for one in function.parameters]
    return {
        (one.pointee, one.size)
        for one in described
        if one is not None and one.size > _MAX_SCALAR_SIZE
    }
