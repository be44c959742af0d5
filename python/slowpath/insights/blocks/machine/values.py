"""Abstract values of registers and stack slots of a function.

A forward analysis over the instructions of BPF. Where ways meet, a pointer into the packet gets an
origin of its own: what is told apart later is only whether two have the same value on a way that
nothing jumps into, as in the code generator.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Literal, NamedTuple

from slowpath.insights.blocks.machine.instructions import Assembled, Instruction

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
_REACHED: dict[Pointee, Pointee] = {
    "inner": "global",
    **dict.fromkeys(("field", "end", "number", "unknown", "map"), "returned"),
}
_HELD: dict[Pointee, Pointee] = {
    **dict.fromkeys(("field", "end"), "packet"),
    **dict.fromkeys(("number", "unknown", "map"), "unknown"),
}
NUMERIC = frozenset({"number", "unknown", "returned", "inner", "field"})
"""Values that may be numbers."""
_STATE = frozenset({"element", "global", "table", "returned"})
_KEPT = frozenset({"element", "global", "table"})
_PLACED = frozenset({"element", "stack"})
"""What is reached at constant places only."""
WORD_BYTES = 4
"""Bytes that variables of the function are multiples of, as the card has them in words."""
_LONGEST = (1 << 16) - 1
"""More bytes than packets have."""
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
    origin: object = None  # of a pointer: what it is counted from; of a map: its name
    offset: int | None = None  # from there, in bytes; of a number: which it is
    high: int = _ALL  # of a number: the largest it can be
    varies: bool = False  # of an element and the stack: whether the card does not reach the place
    several: bool = False  # of the stack: one of several places, alike in words; the lowest is said
    of: str | None = None  # of an element: the map

    @property
    def reaches(self) -> Pointee:
        """What an access through it is to, as far as the card knows; `returned`: to nothing."""
        if self.varies and self.kind == "element":
            return "global"
        return _REACHED.get(self.kind, self.kind)

    @property
    def holds(self) -> Pointee:
        """What an access through it is to."""
        return _HELD.get(self.kind, self.reaches)


NUMBER = Value()
_BEGIN = Value("packet", "data", 0)
"""Where the packet begins."""


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
    start: int | None = 0  # how far from that frame's address this is, the lowest of all calls


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
    if pointer.kind != "stack" or pointer.offset is None or pointer.several:
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
        return mixed(one, other, where)
    return Value("packet", where, 0) if one.kind == "packet" else _alike(one, other, where, widen)


def _alike(one: Value, other: Value, where: object, widen: bool) -> Value:
    """One of two values of the same kind."""
    moves = widen and one.kind != "stack" and one.offset != other.offset
    varies = one.varies or other.varies or moves
    origin = one.origin if one.origin == other.origin else where
    if one.kind == "element" and one.of != other.of:
        return Value("global", where)  # of which map the card would have to know
    if one.kind == "stack" and origin != where and not varies:
        return either(one, other)
    return Value(one.kind, origin, varies=varies, of=one.of)


def mixed(one: Value, other: Value, where: object) -> Value:
    """One of two values of different kinds: state all the same, if both are."""
    return Value("global", where) if {one.kind, other.kind} <= _KEPT else Value("unknown")


def either(one: Value, other: Value) -> Value:
    """One of two places behind the same pointer into the stack.

    The card reaches it through the pointer, if bytes of both are alike in words.
    """
    if one.offset is None or other.offset is None:
        return Value("stack", one.origin)
    varies = (one.offset - other.offset) % WORD_BYTES != 0
    return one._replace(offset=min(one.offset, other.offset), several=True, varies=varies)


def _after(function: Assembled, at: int, state: State, given: Given) -> list[tuple[int, State]]:
    """What is known where an instruction leads to."""
    one = function.instructions[at]
    goals = function.successors(at)
    if one.kind == "branch":
        ways = [(goal, goal != at + 1) for goal in goals]
        may = [way for way in ways if _may_be(one, state.registers, taken=way[1])]
        return [
            (goal, _decided(one, state, taken=taken))
            for goal, taken in (may if len({*goals}) > 1 else ways)
        ]
    if one.kind in ("jump", "exit"):
        return [(goal, state) for goal in goals]
    after = _executed(one, at, state, given)
    return [(goal, after) for goal in goals]


def _may_be(one: Instruction, registers: tuple[Value, ...], *, taken: bool) -> bool:
    """Whether a comparison of numbers can come out so, as far as is known how large they are."""
    left = registers[one.target or 0]
    right = constant(one.immediate) if one.immediate is not None else registers[one.source or 0]
    if one.target is None or (left.kind, right.kind) != ("number", "number"):
        return True
    if one.bits == 32:  # noqa: PLR2004
        left, right = _narrowed(left), _narrowed(right)
    op = one.op if taken else _OPPOSITE.get(one.op, "")
    if op.startswith("s") and max(left.high, right.high) >> (one.bits - 1):
        return True  # one may be negative
    least, other = left.offset or 0, right.offset or 0
    outcomes = {
        "==": least <= right.high and other <= left.high,
        "!=": left.offset is None or left.offset != right.offset,
        ">": left.high > other,
        ">=": left.high >= other,
        "<": least < right.high,
        "<=": least <= right.high,
    }
    return outcomes.get(op.removeprefix("s"), True)


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


_OPPOSITE = dict(
    pair.split()
    for pair in (
        *("== !=", "!= ==", "> <=", ">= <", "< >=", "<= >"),
        *("s> s<=", "s>= s<", "s< s>=", "s<= s>"),
    )
)


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
        map_ = registers[1].origin
        known = is_one_map(registers[1]) and is_variable(registers[2])
        of = map_ if known and isinstance(map_, str) else None
        result = Value("element" if known else "global", ("call", at), 0, of=of)
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


def is_variable(pointer: Value) -> bool:
    """Whether helpers of the card take it as the address of a variable: of whole words."""
    known = pointer.kind == "stack" and not pointer.varies and pointer.offset is not None
    return known and (pointer.offset or 0) % WORD_BYTES == 0


def is_one_map(pointer: Value) -> bool:
    """Whether it is the same map on all ways."""
    return pointer.kind == "map" and isinstance(pointer.origin, str)


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
        return _BEGIN if where == base.origin.data else Value("field", high=high)
    if base.kind == "stack" and whole:
        at = place(base, one.offset)
        return NUMBER if at is None else dict(state.stack).get(at, NUMBER)
    if whole and base.holds in _STATE:
        return Value("inner")
    return number(high)


def _arithmetic(one: Instruction, at: int, registers: tuple[Value, ...]) -> Value:
    left = registers[one.target or 0]
    right = constant(one.immediate) if one.immediate is not None else NUMBER
    if one.source is not None:
        right = registers[one.source]
    if one.op == "-" and left.kind == "end" and right == _BEGIN:
        return number(_LONGEST)
    if one.bits == 32:  # noqa: PLR2004
        return _bounded(one, _narrowed(left), _narrowed(right), _WORD)
    pointer, other = (left, right) if _points(left) else (right, left)
    if _points(pointer):
        moves = one.op == "+" or (one.op == "-" and pointer is left)
        if not moves or _points(other):
            return NUMBER
        if other.offset is None or pointer.offset is None or pointer.several:
            # One of several that moves on, as in a loop, is at a variable place, too.
            varies = pointer.kind in _PLACED
            start = 0 if pointer.kind == "packet" else None
            origin = pointer.origin if pointer.kind == "stack" else (at, "moved")
            return Value(pointer.kind, origin, start, varies=varies, of=pointer.of)
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
