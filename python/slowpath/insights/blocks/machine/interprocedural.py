"""Abstract values of all functions of a program, through calls.

Functions get what those that call them pass, and what is in their frames where that points to; they
leave a result, and what they put there.
"""

from collections.abc import Mapping
from typing import NamedTuple

from slowpath.insights.blocks.machine.instructions import Assembled
from slowpath.insights.blocks.machine.values import (
    NUMBER,
    WORD_BYTES,
    Given,
    Passed,
    State,
    Value,
    before,
    mixed,
    passed,
    place,
)

_ROUNDS = 32
"""Calls in calls that arguments, results and what is left are followed through, one each round; the
kernel has eight frames at most."""
_FRAME = 512
"""Bytes of a frame at most."""
_ARGUMENTS = range(1, 6)


def reached(functions: Mapping[str, Assembled], entry: str) -> dict[str, Assembled]:
    """A function, and all that it calls."""
    found, left = dict[str, Assembled](), [entry]
    while left:
        name = left.pop(0)
        if name in functions and name not in found:
            found[name] = functions[name]
            left += [one.name for one in functions[name].instructions if one.kind == "call"]
    return found


class _Known(NamedTuple):
    """What functions are called with, and leave."""

    arguments: dict[str, tuple[Value, ...]]
    stacks: dict[str, dict[int, Value]]
    results: dict[str, Value]
    left: dict[str, dict[int, Value | None]]


def traced(
    functions: Mapping[str, Assembled], entry: str, given: Given
) -> dict[str, list[State | None]]:
    """What is known before each instruction of each function, from those that call it."""
    begin = _Known({entry: given.arguments}, {entry: dict(given.stack)}, dict(given.results), {})
    known, states = begin, dict[str, list[State | None]]()
    for _ in range(_ROUNDS):
        found = _Known(dict(begin.arguments), {entry: dict(given.stack)}, dict(given.results), {})
        for name, function in functions.items():
            states[name] = [None] * len(function.instructions)
            if name in known.arguments:
                stack = tuple(sorted(known.stacks[name].items()))
                told = Given(known.arguments[name], given.symbols, known.results, stack, known.left)
                states[name] = before(function, told)
                _add(found, name, functions, states[name], dict(stack))
        if found == known:
            break
        known = found
    return states


def _add(
    found: _Known,
    name: str,
    functions: Mapping[str, Assembled],
    states: list[State | None],
    stack: dict[int, Value],
) -> None:
    """Adds what a function with this behind its arguments passes to others, and leaves."""
    for one, state in zip(functions[name].instructions, states, strict=True):
        if state is None:
            continue
        if one.kind == "call" and one.name in functions:
            given = tuple(_outside(state.registers[number], number) for number in _ARGUMENTS)
            found.arguments[one.name] = _both(found.arguments.get(one.name), given)
            handed, other = _handed(state), found.stacks.get(one.name)
            found.stacks[one.name] = handed if other is None else _common(handed, other)
        elif one.kind == "exit":
            result = (_outside(state.registers[0], 0, own=True),)
            old = (found.results[name],) if name in found.results else None
            [found.results[name]] = _both(old, result)
            left, before_ = _left(state, stack), found.left.get(name)
            found.left[name] = left if before_ is None else _either(left, before_)


def _outside(value: Value, where: object, *, own: bool = False) -> Value:
    """A value in another function, which it is passed in `where`; or which `own` has left."""
    if value.kind == "stack":
        if not own:
            start = Passed(where, _start(value)) if isinstance(where, int) else None
            return NUMBER if start is None else Value("stack", start, 0, varies=value.varies)
        return value if isinstance(value.origin, Passed) else Value("stack", "caller", None)
    if value.kind in ("packet", "element"):
        return value._replace(origin=("passed", where), offset=0)
    return value


def _start(pointer: Value) -> int | None:
    """How far from the address of its frame a pointer into the stack leads; None: nobody knows."""
    begin = pointer.origin.start if isinstance(pointer.origin, Passed) else 0
    return None if begin is None or pointer.offset is None else begin + pointer.offset


def _handed(state: State) -> dict[int, Value]:
    """By place in the function that is called, what is behind its arguments."""
    found = dict[int, Value]()
    for number in _ARGUMENTS:
        start = place(state.registers[number])
        behind = place(Value("stack", Passed(number), 0)) or 0
        if start is None:
            continue
        for at, value in state.stack:
            if 0 <= at - start < _FRAME and value.kind != "stack":
                found[behind + at - start] = _outside(value, behind + at - start)
    return found


def _left(state: State, stack: Mapping[int, Value]) -> dict[int, Value | None]:
    """By place behind its arguments, what a function has changed there."""
    now = dict(state.stack)
    changed = {at for at in {*now, *stack} if passed(at)[0] and now.get(at) != stack.get(at)}
    return {at: _outside(now[at], ("left", at), own=True) if at in now else None for at in changed}


def _common(one: dict[int, Value], other: dict[int, Value]) -> dict[int, Value]:
    """What is there whoever calls."""
    return {at: _alike(one[at], other[at]) for at in one.keys() & other.keys()}


def _either(
    one: dict[int, Value | None], other: dict[int, Value | None]
) -> dict[int, Value | None]:
    """What is left on either way out; what only one leaves is not known."""
    found: dict[int, Value | None] = dict.fromkeys({*one, *other})
    for at in one.keys() & other.keys():
        a, b = one[at], other[at]
        found[at] = None if a is None or b is None else _alike(a, b)
    return found


def _both(known: tuple[Value, ...] | None, new: tuple[Value, ...]) -> tuple[Value, ...]:
    if known is None:
        return new
    return tuple(_alike(a, b) for a, b in zip(known, new, strict=True))


def _alike(one: Value, other: Value) -> Value:
    if one == other:
        return one
    if one.kind == other.kind == "stack":
        return _in_frames(one, other)
    if one.kind == other.kind:
        if one.of != other.of:
            return Value("global", "several")
        origin = one.origin if one.origin == other.origin else ("several",)
        return Value(one.kind, origin, varies=one.varies or other.varies, of=one.of)
    for null, pointer in ((one, other), (other, one)):
        if null.kind == "number" and null.offset == 0:
            return pointer
    return mixed(one, other, "several")


def _in_frames(one: Value, other: Value) -> Value:
    """A pointer into one of two frames of callers, or to one of two places in them."""
    a, b = one.origin, other.origin
    varies = one.varies or other.varies
    if not isinstance(a, Passed) or not isinstance(b, Passed) or a.register != b.register:
        return Value("stack", a if a == b else "caller", varies=varies)
    if one.offset != other.offset:
        return Value("stack", Passed(a.register, None), varies=varies)
    if a.start is None or b.start is None:
        return Value("stack", Passed(a.register, None), one.offset, varies=varies)
    varies = varies or (a.start - b.start) % WORD_BYTES != 0
    return Value("stack", Passed(a.register, min(a.start, b.start)), one.offset, varies=varies)
