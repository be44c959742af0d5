"""What registers and stack variables of a function hold: kinds of pointers, constants, bounds.

A forward analysis over the instructions of BPF. Where ways meet, a pointer into the packet gets an
origin of its own: what is told apart later is only whether two have the same value on a way that
nothing jumps into, as in the code generator.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Literal, NamedTuple

from slowpath.insights.blocks.machine.assembler import Assembled
from slowpath.insights.blocks.machine.instructions import Instruction

Pointee = Literal[
    "number",
    "unknown",
    "context",
    "packet",
    "end",
    "map",
    "element",
    "global",
    "table",
    "stack",
    "returned",
    "inner",
    "field",
]
"""What a value is. `context`: what a program is called with, which has pointers into the packet;
`end`: the packet's end; `element`: state that is reached through pointers; `global`: a variable of
the module, or state that the card does not reach; `table`: one that nobody writes; `returned` and
`inner`: numbers that are state where they are used as pointers, because helpers of the kernel
return them, or state has them; `field`: one that is the packet then, as the context has it in a
field that the card has not; `unknown`: a pointer of which nothing is known, or several kinds."""

FRAME = 10
_REACHED: dict[Pointee, Pointee] = {"inner": "global", "field": "returned"}
NUMERIC = frozenset({"number", "unknown", "returned", "inner", "field"})
"""Values that may be numbers."""
_STATE = frozenset({"element", "global", "table", "returned"})
_PLACED = frozenset({"element", "stack"})
"""What is reached at constant places only."""
_LOOK_UP = "1"
_NUMBERS = frozenset(["2", "3", "4", "5", "7", "8", "23", "25", "28", "44", "51", "54", "65", "69"])
"""Helpers of the kernel that return numbers, times, errors and verdicts."""
_ALL = (1 << 64) - 1
_WORD = (1 << 32) - 1
_WIDENED = 4
"""Rounds after which bounds that still grow are given up."""
_APART = 1 << 16
"""Between the places that a function was passed pointers to: more than a frame has."""


class Value(NamedTuple):
    """What a register holds."""

    kind: Pointee = "number"
    origin: object = None  # of a pointer: what it is counted from
    offset: int | None = None  # from there, in bytes; of a number: which it is
    high: int = _ALL  # of a number: the largest it can be
    varies: bool = False  # of an element and the stack: whether a variable was added

    @property
    def reaches(self) -> Pointee:
        """What an access through it is to, as far as the card knows."""
        if self.varies and self.kind == "element":
            return "global"
        return _REACHED.get(self.kind, self.kind)

    @property
    def holds(self) -> Pointee:
        """What an access through it is to."""
        return "packet" if self.kind == "field" else self.reaches


NUMBER = Value()


def number(high: int) -> Value:
    """A number of which the largest value is known."""
    return Value(high=high)


def constant(value: int) -> Value:
    """A number that is known."""
    return Value("number", None, value & _ALL, value & _ALL)


class Context(NamedTuple):
    """What an XDP program is called with: where in it the packet begins and ends, in bytes."""

    data: int = 0
    end: int = 4  # programs that are moved at load time (CO-RE) may have other places


class Passed(NamedTuple):
    """What a pointer into a caller's frame is counted from: where a register points to at first."""

    register: int


class State(NamedTuple):
    """What is known before an instruction."""

    registers: tuple[Value, ...]  # r0 to r10
    stack: tuple[tuple[int, Value], ...]  # by place, whole doublewords


class Given(NamedTuple):
    """What a function is analysed with."""

    arguments: tuple[Value, ...]  # r1 to r5
    symbols: Mapping[str, Pointee]  # what names of the module are
    results: Mapping[str, Value]  # what functions of the module return
    stack: tuple[tuple[int, Value], ...] = ()  # what is in the frames of callers, by place
    left: Mapping[str, Mapping[int, Value | None]] = MappingProxyType({})
    """By function of the module, what it has put into frames of callers; None: nobody knows."""


def place(pointer: Value, offset: int = 0) -> int | None:
    """Where in the stack something behind a pointer is; None: nobody knows, or it is elsewhere.

    Places in the function's own frame are counted from its address; those behind a register that it
    was passed are far above them.
    """
    if pointer.kind != "stack" or pointer.offset is None:
        return None
    if isinstance(pointer.origin, Passed):
        return pointer.origin.register * _APART + pointer.offset + offset
    return pointer.offset + offset if pointer.origin == "frame" else None


def passed(at: int) -> tuple[int, int]:
    """The register that a place is behind, and how far; register 0: it is in the own frame."""
    register = (at + _APART // 2) // _APART
    return register, at - register * _APART


def before(function: Assembled, given: Given) -> list[State | None]:
    """What is known before each instruction; None where it is not reached."""
    found: list[State | None] = [None] * len(function.instructions)
    if not found:
        return found
    registers = (NUMBER, *given.arguments[:5])
    registers += (NUMBER,) * (FRAME - len(registers)) + (Value("stack", "frame", 0),)
    targets, rounds = function.targets(), [0] * len(found)
    found[0] = State(registers, given.stack)
    left = [0]
    while left:
        at = heappop(left)
        state = found[at]
        assert state is not None  # noqa: S101 - only reached ones are put there
        for goal, after in _after(function, at, state, given):
            known, joined = found[goal], after
            if known is not None and goal in targets:
                rounds[goal] += 1
                joined = _join(known, after, goal, widen=rounds[goal] > _WIDENED)
            if joined != known:
                found[goal] = joined
                heappush(left, goal)
    return found


def _join(one: State, other: State, where: int, *, widen: bool) -> State:
    registers = tuple(
        a if a == b else _joined(a, b, (where, at), widen=widen)
        for at, (a, b) in enumerate(zip(one.registers, other.registers, strict=True))
    )
    there = dict(other.stack)
    stack = tuple(
        (at, a if a == there[at] else _joined(a, there[at], (where, "stack", at), widen=widen))
        for at, a in one.stack
        if at in there
    )
    return State(registers, stack)


def _joined(one: Value, other: Value, where: object, *, widen: bool) -> Value:
    if one.kind == other.kind == "number":
        high = max(one.high, other.high)
        if widen and high > one.high:
            high = _WORD if high <= _WORD else _ALL
        return number(high)
    for null, pointer in ((one, other), (other, one)):
        if null.kind == "number" and null.offset == 0:
            return pointer
    if one.kind != other.kind:
        return Value("unknown")
    if one.kind == "packet":
        return Value("packet", where, 0)
    varies = one.varies or other.varies or (widen and one.offset != other.offset)
    origin = one.origin if one.origin == other.origin else where
    return Value(one.kind, origin, varies=varies)


def _after(function: Assembled, at: int, state: State, given: Given) -> list[tuple[int, State]]:
    """What is known where an instruction leads to."""
    one = function.instructions[at]
    goals = function.successors(at)
    if one.kind == "branch":
        return [(goal, _decided(one, state, taken=goal != at + 1)) for goal in goals]
    if one.kind in ("jump", "exit"):
        return [(goal, state) for goal in goals]
    after = _executed(one, at, state, given)
    return [(goal, after) for goal in goals]


def _decided(one: Instruction, state: State, *, taken: bool) -> State:
    """What a comparison with a constant tells of a number."""
    target, limit = one.target, one.immediate
    if target is None or limit is None or limit < 0:
        return state
    known = state.registers[target]
    op = one.op if taken else _OPPOSITE.get(one.op, "")
    if op == "==" and (known.kind == "number" or limit == 0):
        return _with(state, target, constant(limit))
    if known.kind != "number" or known.offset is not None:
        return state
    if op in ("<", "<="):
        high = min(known.high, max(0, limit - (op == "<")))
        if one.bits == 64 or known.high <= _WORD:  # noqa: PLR2004
            return _with(state, target, number(high))
    return state


_OPPOSITE = {"!=": "==", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}


def _with(state: State, register: int, value: Value) -> State:
    registers = list(state.registers)
    registers[register] = value
    return state._replace(registers=tuple(registers))


def _executed(one: Instruction, at: int, state: State, given: Given) -> State:
    match one.kind:
        case "call":
            return _called(one, at, state, given)
        case "store":
            return _stored(one, state)
    if one.target is None:
        return state
    return _with(state, one.target, _computed(one, at, state, given))


def _called(one: Instruction, at: int, state: State, given: Given) -> State:
    registers = list(state.registers)
    result = Value("returned" if one.name.isdigit() and one.name not in _NUMBERS else "number")
    if one.name == _LOOK_UP:
        key = registers[2]
        known = key.kind == "stack" and key.offset is not None and key.offset % 4 == 0
        result = Value("element" if known else "global", ("call", at), 0)
    elif one.name in given.results:
        result = given.results[one.name]
        if isinstance(result.origin, Passed) and result.offset is not None:
            result = _moved_by(registers[result.origin.register], result.offset)
        elif result.kind in ("packet", "element"):
            result = result._replace(origin=("call", at))
    for left, value in given.left.get(one.name, {}).items():
        register, distance = passed(left)
        where = place(registers[register], distance)
        if where is not None:
            state = _put(state, where, 8, value)
    registers[:6] = [result] + [NUMBER] * 5
    return state._replace(registers=tuple(registers))


def _moved_by(pointer: Value, distance: int) -> Value:
    """A pointer so many bytes further on."""
    known = pointer.offset is not None
    return pointer._replace(offset=(pointer.offset or 0) + distance) if known else pointer


def _stored(one: Instruction, state: State) -> State:
    base = state.registers[one.base]
    if base.kind != "stack":
        return state
    where = place(base, one.offset)
    if where is None:
        return state._replace(stack=())
    whole = one.bits == 64 and one.source is not None  # noqa: PLR2004
    return _put(state, where, one.bits // 8, state.registers[one.source or 0] if whole else None)


def _put(state: State, where: int, size: int, value: Value | None) -> State:
    """What is known after bytes of the stack were written; None: not what they are now."""
    kept = [(at, one) for at, one in state.stack if at + 8 <= where or where + size <= at]
    if value is not None:
        kept.append((where, value))
    return state._replace(stack=tuple(sorted(kept, key=lambda each: each[0])))


def _computed(one: Instruction, at: int, state: State, given: Given) -> Value:
    match one.kind:
        case "load":
            return _loaded(one, state)
        case "wide" | "move":
            return _moved(one, state, given)
        case "swap":
            return number((1 << one.bits) - 1)
        case "alu":
            return _arithmetic(one, at, state.registers)
    return NUMBER if one.bits == 64 else number(_WORD)  # noqa: PLR2004


def _moved(one: Instruction, state: State, given: Given) -> Value:
    if one.kind == "wide" and one.immediate is None:
        return Value(given.symbols.get(one.name, "global"), one.name, 0)
    value = constant(one.immediate) if one.immediate is not None else NUMBER
    if one.source is not None:
        value = state.registers[one.source]
    return value if one.bits == 64 else _narrowed(value)  # noqa: PLR2004


def _narrowed(value: Value) -> Value:
    if value.kind != "number":
        return number(_WORD)
    if value.offset is not None:
        return constant(value.offset & _WORD)
    return number(min(value.high, _WORD))


def _loaded(one: Instruction, state: State) -> Value:
    base = state.registers[one.base]
    high = (1 << one.bits) - 1
    whole = one.bits == 64  # noqa: PLR2004
    if base.kind == "context":
        where = (base.offset or 0) + one.offset
        if not isinstance(base.origin, Context):
            return Value("packet", ("context", where), 0) if whole else number(high)
        if where == base.origin.end:
            return Value("end", "end", 0)
        known = where == base.origin.data
        return Value("packet", "data", 0) if known else Value("field", high=high)
    if base.kind == "stack" and whole:
        at = place(base, one.offset)
        return NUMBER if at is None else dict(state.stack).get(at, NUMBER)
    if whole and base.reaches in _STATE:
        return Value("inner")
    return number(high)


def _arithmetic(one: Instruction, at: int, registers: tuple[Value, ...]) -> Value:
    left = registers[one.target or 0]
    right = constant(one.immediate) if one.immediate is not None else NUMBER
    if one.source is not None:
        right = registers[one.source]
    if one.bits == 32:  # noqa: PLR2004
        return _bounded(one, _narrowed(left), _narrowed(right), _WORD)
    pointer, other = (left, right) if _points(left) else (right, left)
    if _points(pointer):
        if one.op not in ("+", "-") or (one.op == "-" and (_points(right) or pointer is right)):
            return NUMBER
        if _points(other):
            return NUMBER
        if other.offset is None or pointer.offset is None:
            # One of several that moves on, as in a loop, is at a variable place, too.
            varies = pointer.kind in _PLACED
            start = 0 if pointer.kind == "packet" else None
            origin = pointer.origin if pointer.kind == "stack" else (at, "moved")
            return Value(pointer.kind, origin, start, varies=varies)
        by = other.offset - (1 << 64) if other.offset >> 63 else other.offset
        return _moved_by(pointer, by if one.op == "+" else -by)
    return _bounded(one, left, right, _ALL)


def _points(value: Value) -> bool:
    return value.kind not in NUMERIC


def _bounded(one: Instruction, left: Value, right: Value, most: int) -> Value:
    """The result of arithmetic on numbers."""
    a, b = left.offset, right.offset
    bits = 64 if most == _ALL else 32
    if one.op in ("+", "-") and (left.kind, right.kind) != ("number", "number"):
        return Value(left.kind if left.kind != "number" else right.kind)
    if a is not None and b is not None and one.op in _CONSTANTS:
        return constant(_CONSTANTS[one.op](a, b, bits) & most)
    high = most
    match one.op:
        case "&":
            high = min(left.high, right.high)
        case "|" | "^":
            high = (1 << max(left.high.bit_length(), right.high.bit_length())) - 1
        case "+":
            high = left.high + right.high
        case "*":
            high = left.high * right.high
        case "<<" if b is not None:
            high = left.high << (b & (bits - 1))
        case ">>":
            high = left.high >> (b & (bits - 1)) if b is not None else left.high
        case "/":
            high = left.high // b if b else left.high
        case "%":
            high = min(left.high, b - 1) if b else left.high
    return number(min(high, most))


_CONSTANTS: dict[str, Callable[[int, int, int], int]] = {
    "+": lambda a, b, _: a + b,
    "-": lambda a, b, _: a - b,
    "*": lambda a, b, _: a * b,
    "&": lambda a, b, _: a & b,
    "|": lambda a, b, _: a | b,
    "^": lambda a, b, _: a ^ b,
    "<<": lambda a, b, bits: a << (b & (bits - 1)),
    ">>": lambda a, b, bits: a >> (b & (bits - 1)),
}
