"""32-bit results that are read as 64 bits.

A backward analysis over all functions of a program; what counts as a read of 64 bits is as in the
kernel's verifier, which tells it to drivers of cards (`is_reg64`).
"""

from collections.abc import Mapping, Sequence

from slowpath.insights.blocks.machine.instructions import Assembled, Instruction
from slowpath.insights.blocks.machine.values import NUMERIC, Context, State, is_one_map, is_variable

_HELPERS = {"1": 2, "2": 4, "3": 2, "25": 5, "44": 2, "65": 2}
"""How many arguments helpers read that the card has; what it has not reads none."""
_ON_STACK = {"1": (2,), "2": (2, 3), "3": (2,)}
"""Arguments that have to be variables of the function, in whole words; the first is a map."""
_ACCEPTED = frozenset({"packet", "element", "stack", "context"})
"""What loads can be from."""
_PASSED = 0b111110
_KEPT = 0b1111000000
_WHOLE = 64


def arguments(one: Instruction, state: State | None) -> int:
    """How many arguments a call of a helper reads: none where the card refuses it."""
    variables = _ON_STACK.get(one.name, ())
    if variables and (state is None or not is_one_map(state.registers[1])):
        return 0
    if state is not None and not all(is_variable(state.registers[each]) for each in variables):
        return 0
    return _HELPERS.get(one.name, 0)


def refuses(load: Instruction, state: State) -> bool:
    """Whether the card refuses a load."""
    base = state.registers[load.base]
    if base.kind == "stack":
        return base.varies
    if isinstance(base.origin, Context):
        return (base.offset or 0) + load.offset not in base.origin
    return base.reaches not in _ACCEPTED


def needed(
    functions: Mapping[str, Assembled], states: Mapping[str, Sequence[State | None]], entry: str
) -> dict[str, set[int]]:
    """By function, the instructions whose result of 32 bits is read as 64."""
    entered = dict.fromkeys(functions, 0)
    returned = dict.fromkeys(functions, 0)
    returned[entry] = 1
    while True:
        found = dict[str, set[int]]()
        earlier = dict(entered), dict(returned)
        for name, function in functions.items():
            after = _live(function, states[name], entered, returned, name)
            found[name] = {
                at
                for at, one in enumerate(function.instructions)
                if _is_short(one, states[name][at])
                and one.target is not None
                and after[at] >> one.target & 1
            }
        if (entered, returned) == earlier:
            return found


def _live(
    function: Assembled,
    states: Sequence[State | None],
    entered: dict[str, int],
    returned: dict[str, int],
    name: str,
) -> list[int]:
    """Registers that are read as 64 bits behind each instruction, as bits."""
    count = len(function.instructions)
    after, before = [0] * count, [0] * count
    changed = True
    while changed:
        changed = False
        for at in range(count - 1, -1, -1):
            if states[at] is None:
                continue  # nothing leads there
            live = 0
            for goal in function.successors(at):
                live |= before[goal]
            one = function.instructions[at]
            after[at] = live
            if one.kind == "call" and one.name in entered:
                returned[one.name] |= live & 1
                live = live & _KEPT | entered[one.name] & _PASSED
            else:
                live = live & ~_writes(one) | _reads(one, states[at])
            if one.kind == "exit":
                live |= returned[name]
            if live != before[at]:
                before[at] = live
                changed = True
    if count:
        entered[name] |= before[0]
    return after


def _is_short(one: Instruction, state: State | None) -> bool:
    """Whether it makes a result of 32 bits."""
    if one.kind == "load":
        context = state is not None and state.registers[one.base].kind == "context"
        return one.bits < _WHOLE and not context
    return one.kind in ("alu", "move", "negate", "swap") and one.bits < _WHOLE


def _writes(one: Instruction) -> int:
    if one.kind == "call":
        return 1
    if one.target is None or one.kind == "branch":
        return 0
    return 1 << one.target


def _reads(one: Instruction, state: State | None) -> int:
    """Registers that are read as 64 bits."""
    whole = one.bits == _WHOLE
    source = 0 if one.source is None else 1 << one.source
    if one.kind == "call":
        return (1 << arguments(one, state) + 1) - 2
    if one.kind in ("load", "store", "atomic"):
        moved = whole or (one.kind == "store" and _is_pointer(one, state))
        return 1 << one.base | (source if moved else 0)
    if not whole or one.kind not in ("alu", "branch", "negate", "move", "swap"):
        return 0
    return source | (0 if one.kind == "move" else 1 << (one.target or 0))


def _is_pointer(one: Instruction, state: State | None) -> bool:
    """Whether a store moves 64 bits: pointers, and what stands in for stores that are refused."""
    if state is None or one.source is None:
        return False
    refused = state.registers[one.base].kind not in ("packet", "stack")
    return refused or state.registers[one.source].kind not in NUMERIC
