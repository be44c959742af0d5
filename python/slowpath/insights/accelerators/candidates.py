"""Which functions are worth being run: those that compute, of the user's own."""

from collections.abc import Mapping

from slowpath.insights.accelerators.execution.externals import is_allowed
from slowpath.insights.accelerators.execution.native import callable_function
from slowpath.insights.preparation.calls import reached
from slowpath.insights.preparation.functions import Function
from slowpath.insights.preparation.graph import loops

_MIXING = frozenset({"xor", "shl", "lshr", "ashr", "mul", "and", "or", "urem", "srem"})
_MUCH = 12
"""Operations on bits of a function that is more than an access or a rotation."""
_SYSTEM = ("/usr/include/", "/usr/lib/")


def own(functions: Mapping[str, Function]) -> list[str]:
    """Functions that do not come from headers of the system."""
    return [
        name
        for name, one in functions.items()
        if one.own or one.line is None or not one.line.file.startswith(_SYSTEM)
    ]


def works(function: Function) -> bool:
    """Whether a function does arithmetic that takes time."""
    return bool(loops(function)) or any(
        instruction.opcode in _MIXING
        for block in function.blocks
        for instruction in block.instructions
    )


def toils(function: Function) -> bool:
    """Whether a function does so much that it is a part of its own of what it works for."""
    mixing = sum(
        instruction.opcode in _MIXING
        for block in function.blocks
        for instruction in block.instructions
    )
    return mixing >= _MUCH or (mixing > 0 and bool(loops(function)))


def why_not(functions: Mapping[str, Function], name: str) -> str | None:
    """Why a function cannot be run; None where it can."""
    function = functions[name]
    if function.variadic:
        return "takes any number of arguments"
    if not callable_function(function):
        return "takes or returns what is neither a number nor an address"
    for inner in sorted(reached(functions, name)):
        if functions[inner].assembly is not False:
            return f"{functions[inner].shown} has inline assembly"
    return None


def outside(functions: Mapping[str, Function], name: str, known: frozenset[str]) -> list[str]:
    """What a function may call that is not there: a run ends where it does."""
    called = {one for inner in reached(functions, name) for one in functions[inner].calls}
    return sorted(one for one in called - known if not is_allowed(one))
