"""Generates random sequences of BPF instructions as inline assembly."""

import random
from collections.abc import Callable

from slowpath.calibrate.experiments.components import MIXES

VALUES = 5
"""Number of variables that the instructions compute with."""
_SLOTS = 32
"""Number of 8-byte slots in the packet and in the map's value. All accesses to one slot have the
same size, so that the core can forward a stored value to a later load."""
_SIZES = (("u64", 8), ("u32", 4), ("u16", 2), ("u8", 1))
_SUMS = ("+=", "-=", "^=", "|=", "&=")
_CONDITIONS = ("==", "!=", ">", "s<")


def mixture(mix: str, count: int) -> list[str]:
    """Return `count` random instructions as inline assembly in C.

    The same arguments yield the same instructions.
    """
    luck = random.Random(f"{mix} {count}")  # noqa: S311 - no secret
    kinds, shares = zip(*MIXES[mix].items(), strict=True)
    lines, left = list[str](), count
    while left > 0:
        kind = luck.choices(kinds, shares)[0]
        if kind == "branch" and left < 2:  # noqa: PLR2004 - a branch and the skipped addition
            kind = "move"
        lines.append(MAKERS[kind](luck))
        left -= 2 if kind == "branch" else 1
    return lines


def _two(luck: random.Random) -> tuple[int, int]:
    to, by = luck.sample(range(VALUES), 2)
    return to, by


def _sum(luck: random.Random) -> str:
    to, by = _two(luck)
    operation = luck.choice(_SUMS)
    if luck.random() < 0.5:  # noqa: PLR2004 - half have an immediate operand
        return _changed(f"%0 {operation} {luck.randrange(1, 1 << 12)}", to)
    return _changed(f"%0 {operation} %1", to, by)


def _shift(luck: random.Random) -> str:
    return _changed(f"%0 {luck.choice(('<<=', '>>='))} {luck.randrange(1, 8)}", _two(luck)[0])


def _move(luck: random.Random) -> str:
    to, by = _two(luck)
    return f'asm volatile("%0 = %1" : "=r"(value{to}) : "r"(value{by}));'


def _multiply(luck: random.Random) -> str:
    return _changed("%0 *= %1", *_two(luck))


def _swap(luck: random.Random) -> str:
    return _changed(f"%0 = be{luck.choice((16, 32))} %0", _two(luck)[0])


def _constant(luck: random.Random) -> str:
    text = f"%0 = {luck.getrandbits(62):#x} ll"
    return f'asm volatile("{text}" : "=r"(value{_two(luck)[0]}));'


def _branch(luck: random.Random) -> str:
    """Return a conditional jump that may skip an addition, as random inline assembly."""
    left, right = _two(luck)
    changed = luck.randrange(VALUES)
    compared = f"if %1 {luck.choice(_CONDITIONS)} %2 goto +1\\n\\t%0 += 3"
    inputs = f'"r"(value{left}), "r"(value{right})'
    return f'asm volatile("{compared}" : "+r"(value{changed}) : {inputs});'


def _load(luck: random.Random) -> str:
    return _loaded(luck, luck.choice(("packet", "packet", "state")))


def _reload(luck: random.Random) -> str:
    """Return a load from the map value, which an earlier store may have changed."""
    return _loaded(luck, "state")


def _loaded(luck: random.Random, where: str) -> str:
    size, at = _slot(luck)
    text = f"%0 = *({size} *)(%1 + {at})"
    return f'asm volatile("{text}" : "=r"(value{_two(luck)[0]}) : "r"({where}) : "memory");'


def _store(luck: random.Random) -> str:
    size, at = _slot(luck)
    text = f"*({size} *)(%0 + {at}) = %1"
    return f'asm volatile("{text}" : : "r"(state), "r"(value{_two(luck)[0]}) : "memory");'


def _slot(luck: random.Random) -> tuple[str, int]:
    number = luck.randrange(_SLOTS)
    return _SIZES[number % len(_SIZES)][0], 8 * number


def _changed(text: str, to: int, by: int | None = None) -> str:
    other = "" if by is None else f' : "r"(value{by})'
    return f'asm volatile("{text}" : "+r"(value{to}){other});'


MAKERS: dict[str, Callable[[random.Random], str]] = {
    "sum": _sum,
    "shift": _shift,
    "move": _move,
    "multiply": _multiply,
    "swap": _swap,
    "constant": _constant,
    "branch": _branch,
    "load": _load,
    "reload": _reload,
    "store": _store,
}
"""Functions that write one instruction, by the names in `MIXES`."""
