"""BPF instructions as tokens.

Words are what generators of code for 32-bit cards look at: widths, classes of constants by what it
takes to make them, whether zeros are needed above a result, what is accessed and where. A model
(`learnt/tree.py`) has what each takes; of what it has not seen it knows the first words.
"""

from collections.abc import Mapping
from typing import NamedTuple

from slowpath.insights.blocks.machine.classes import (
    BYTE,
    HALF,
    WORD,
    branch,
    copy,
    factor,
    made,
    near,
    operand,
    share,
)
from slowpath.insights.blocks.machine.frames import (
    Frame,
    access,
    call,
    elsewhere,
    frame,
    is_before,
    touched,
)
from slowpath.insights.blocks.machine.instructions import Assembled, Instruction
from slowpath.insights.blocks.machine.interprocedural import reached, traced
from slowpath.insights.blocks.machine.packets import packets
from slowpath.insights.blocks.machine.values import FRAME, Context, Given, State, Value
from slowpath.insights.blocks.machine.widths import needed

_SHIFTS = frozenset({"<<", ">>", "s>>"})
_FACTORS = frozenset({"*", "/", "%", "s/", "s%"})
_SAVES_CONTEXT = ("move", 6, 1, 64)
"""What programs begin with, which is left out: the context's address means nothing on the card."""
_BITS = 32


class Described(NamedTuple):
    """An instruction in words."""

    block: str
    words: tuple[str, ...]
    pieces: int  # instructions of the card that follow from lengths alone
    pointee: str  # what it accesses; empty: nothing


def described(
    functions: Mapping[str, Assembled], entry: str, given: Given
) -> dict[str, list[Described]]:
    """By function, the instructions of an entry and of all that it calls, in order."""
    inside = reached(functions, entry)
    states = traced(inside, entry, given)
    zeros = needed(inside, states, entry)
    called = {name: touched(one, states[name]) for name, one in inside.items()}
    frames = {
        name: frame(one, states[name], main=name == entry, called=called)
        for name, one in inside.items()
    }
    return {
        name: _Describer(one, states[name], zeros[name], frames, (name, entry)).all()
        for name, one in inside.items()
    }


class _Describer:
    """Puts the instructions of a function into words."""

    def __init__(
        self,
        function: Assembled,
        states: list[State | None],
        zeros: set[int],
        frames: Mapping[str, Frame],
        named: tuple[str, str],
    ) -> None:
        """`named` are the function and the entry."""
        self._function, self._states, self._zeros = function, states, zeros
        self._frames, self._frame = frames, frames[named[0]]
        self._main = named[0] == named[1]
        self._packets = packets(function, states)

    def all(self) -> list[Described]:
        """All instructions."""
        found = []
        starts = self._main
        for at, one in enumerate(self._function.instructions):
            words = tuple(self._words(at, one))
            starts = starts and (one.kind, one.target, one.source, one.bits) == _SAVES_CONTEXT
            if starts:
                words = ("context",)
            pieces = self._pieces(at, one)
            if not at and not self._main:
                pieces += 1  # it keeps its return address
            block = self._function.blocks[at]
            found.append(Described(block, words, pieces, self._pointee(at, one)))
        return found

    def _pointee(self, at: int, one: Instruction) -> str:
        state = self._states[at]
        if one.kind not in ("load", "store", "atomic"):
            return ""
        return "unknown" if state is None else state.registers[one.base].holds

    def _pieces(self, at: int, one: Instruction) -> int:
        """Instructions of the card that follow from lengths and places."""
        state = self._states[at]
        if at in self._packets.copies:
            return -(-self._packets.copies[at].length // 4)
        if at in self._packets.skipped or state is None:
            return 0
        if one.kind == "call" and one.name in self._frames:
            return call(self._frame, self._frames[one.name])
        base = state.registers[one.base]
        if one.kind not in ("load", "store") or base.kind != "stack" or base.varies:
            return 0
        others = elsewhere(base, one)
        if any(is_before(place + self._frame.judged) for place in others):
            return 0  # refused
        place = (others[0] if others else (base.offset or 0) + one.offset) + self._frame.depth
        through = base.offset is None or base.several or base.origin != "frame"
        return access(one, place, through=through, zeros=at in self._zeros)

    def _zero(self, at: int) -> str:
        return "zeros" if at in self._zeros else "bare"

    def _words(self, at: int, one: Instruction) -> list[str]:
        state = self._states[at]
        if at in self._packets.skipped or state is None:
            return ["copied" if state is not None else "unreached"]
        match one.kind:
            case "alu":
                return self._arithmetic(at, one, state)
            case "load" | "store" | "atomic":
                return self._access(at, one, state)
            case "branch":
                return branch(one)
            case "jump" | "call" | "exit":
                return self._leaving(at, one)
        return self._moved(at, one)

    def _arithmetic(self, at: int, one: Instruction, state: State) -> list[str]:
        bits = str(one.bits)
        if one.op in _SHIFTS:
            return ["shift", one.op, bits, _amount(one, state), self._zero(at)]
        if one.op in _FACTORS:
            size, *how = _factors(one, state)
            return [one.op, size, bits, *how]
        op, value = one.op, one.immediate
        if op in ("+", "-"):
            op, value = "+", None if value is None else abs(value)
        return [op, bits, self._zero(at), *operand(value, one.bits)]

    def _moved(self, at: int, one: Instruction) -> list[str]:
        if one.kind == "move" and one.source == FRAME:
            return ["move", "frame", "far" if self._frame.depth > BYTE else "near"]
        if one.kind == "move":
            return ["move", *operand(one.immediate, one.bits, moved=True)]
        if one.kind == "negate":
            return ["negate", str(one.bits), self._zero(at)]
        if one.kind == "wide":
            return ["wide", *self._address(at, one)]
        return [one.kind, one.op if one.kind == "swap" else ""]

    def _leaving(self, at: int, one: Instruction) -> list[str]:
        if one.kind == "jump":
            goal = self._function.goal(at)
            return ["jump", "next" if goal == at + 1 else "away"]
        if one.kind == "exit":
            return ["exit", "main" if self._main else f"saves {self._frame.saves}"]
        return ["call", "own" if one.name in self._frames else "framework"]

    def _address(self, at: int, one: Instruction) -> list[str]:
        if one.immediate is None:
            after = next(iter(self._function.successors(at)), None)
            known = self._states[after] if after is not None else None
            return [known.registers[one.target or 0].kind if known else "global"]
        low, high = one.immediate & WORD, one.immediate >> 32 & WORD
        return ["number", "twice" if low == high else f"{made(low)} {made(high)}"]

    def _access(self, at: int, one: Instruction, state: State) -> list[str]:
        base, bits = state.registers[one.base], str(one.bits)
        if at in self._packets.copies:
            return ["copy", *copy(self._packets.copies[at], base, bits)]
        if one.kind == "atomic":
            how = f"{one.op}{' fetched' if one.fetches else ''}"
            where = base.reaches if base.reaches == "element" else "global"
            return ["atomic", where, how, bits, *_added(one, state)]
        if base.kind == "stack":
            return [one.kind, "stack"]
        if one.kind == "store":
            return ["store", base.reaches, bits, near(one.offset)]
        return ["load", base.reaches, *self._loaded(at, one, base)]

    def _loaded(self, at: int, one: Instruction, base: Value) -> list[str]:
        bits = str(one.bits)
        if base.kind == "packet":
            how = share(self._packets.shared.get(at), one)
            return [how[0], bits, how[1], self._zero(at), *how[2:]]
        if base.kind == "context":
            where = (base.offset or 0) + one.offset
            places = base.origin if isinstance(base.origin, Context) else Context(where)
            return ["0" if where == places.data else "4" if where == places.end else str(where)]
        return [bits, near(one.offset), self._zero(at), one.op or "plain"]


def _amount(one: Instruction, state: State) -> str:
    """How far is shifted."""
    value = one.immediate
    if value is None:
        known = state.registers[one.source or 0]
        value = known.offset if known.kind == "number" else None
        if value is None:
            return "by register, below a word" if known.high < _BITS else "by register"
    if value in (0, _BITS):
        return "by a word" if value else "by nothing"
    return "below a word" if value < _BITS else "above a word"


def _factors(one: Instruction, state: State) -> list[str]:
    """How large factors are; for divisors, which they are, too."""
    left = state.registers[one.target or 0]
    if one.immediate is None:
        right, how = state.registers[one.source or 0], "register"
    else:
        right, how = Value(high=one.immediate & WORD), factor(one.immediate)
        sign = "negative" if one.immediate < 0 else "positive"
        power = one.immediate.bit_count() == 1 and one.op == "/"
        how = f"{'power' if power else how} {sign}"
    most = max(left.high, right.high)
    size = "half" if most <= HALF else "word" if most <= WORD else "more"
    exact = [] if one.immediate is None or one.op != "/" else [str(one.immediate)]
    return [size, how, *exact]


def _added(one: Instruction, state: State) -> list[str]:
    """How large what is added to an element can be, and where it is."""
    value = state.registers[one.source or 0]
    if value.kind == "number" and value.offset is not None:
        size = "small" if value.offset <= HALF else "large"
    else:
        size = "small" if value.high <= HALF else "either"
    return [size, "0" if not one.offset else "small" if 0 < one.offset <= BYTE else "far"]
