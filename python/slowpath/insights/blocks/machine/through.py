"""What is known in the functions of a program, through calls."""

from collections.abc import Mapping

from slowpath.insights.blocks.machine.assembler import Assembled
from slowpath.insights.blocks.machine.values import Given, State, Value, before

_ROUNDS = 4
"""Calls in calls that arguments and results are followed through."""


def reached(functions: Mapping[str, Assembled], entry: str) -> dict[str, Assembled]:
    """A function, and all that it calls."""
    found, left = dict[str, Assembled](), [entry]
    while left:
        name = left.pop(0)
        if name in functions and name not in found:
            found[name] = functions[name]
            left += [one.name for one in functions[name].instructions if one.kind == "call"]
    return found


def traced(
    functions: Mapping[str, Assembled], entry: str, given: Given
) -> dict[str, list[State | None]]:
    """What is known before each instruction of each function, from those that call it."""
    arguments = {entry: given.arguments}
    results = dict(given.results)
    states = dict[str, list[State | None]]()
    for _ in range(_ROUNDS):
        known = dict(arguments), dict(results)
        for name, function in functions.items():
            if name not in arguments:
                states[name] = [None] * len(function.instructions)
                continue
            told = Given(arguments[name], given.symbols, results)
            states[name] = before(function, told)
            for one, state in zip(function.instructions, states[name], strict=True):
                if state is None:
                    continue
                if one.kind == "call" and one.name in functions:
                    passed = tuple(map(_outside, state.registers[1:6]))
                    arguments[one.name] = _both(arguments.get(one.name), passed)
                elif one.kind == "exit":
                    [results[name]] = _both(
                        (results[name],) if name in results else None,
                        (_outside(state.registers[0]),),
                    )
        if known == (arguments, results):
            break
    return states


def _outside(value: Value) -> Value:
    """A value in another function."""
    if value.kind == "stack":
        return Value("stack", "caller", None)
    if value.kind in ("packet", "element"):
        return value._replace(origin="passed", offset=0)
    return value


def _both(known: tuple[Value, ...] | None, new: tuple[Value, ...]) -> tuple[Value, ...]:
    if known is None:
        return new
    return tuple(
        a if a == b else Value(a.kind, a.origin) if a.kind == b.kind else _mixed(a, b)
        for a, b in zip(known, new, strict=True)
    )


def _mixed(one: Value, other: Value) -> Value:
    for null, pointer in ((one, other), (other, one)):
        if null.kind == "number" and null.offset == 0:
            return pointer
    return Value("unknown")
