"""LLVM's text for BPF as this machine runs it: helpers are functions, maps are what these know.

Nothing else changes, so that blocks are those whose instructions are counted for the card. Sources:
LLVM's language reference; llvm/docs/BPF (relocations are variables whose names say what they give).
"""

import re
from itertools import count

from slowpath.insights.blocks.exact.steps import USED
from slowpath.insights.blocks.plain.steps import MACHINE, for_here
from slowpath.insights.porting.xdp.helpers import name_of
from slowpath.insights.porting.xdp.jumps import TAIL_CALL, with_returns
from slowpath.insights.porting.xdp.maps import (
    ARRAY,
    BLOOM,
    HASH,
    KINDS,
    LPM,
    LRU,
    OF_MAPS,
    PORTS,
    QUEUE,
    SIZE,
    STACK,
    kinds_of,
)

_HELPER = re.compile(
    r"inttoptr \(i64 (\d+) to ptr\)\((ptr (?:\w+ |\w+\(\d+\) )*?@([\w.$-]+))?",
)
_BARRIER = re.compile(
    r'^( +(%\S+) = )(?:tail )?call (\w+) asm (?:sideeffect )?"", '
    r'"=r,0(?:,~\{\w+\})*"\(\w+ (%[\w.$-]+|-?\d+)\)(?: #\d+)?',
    re.MULTILINE,
)
_NOTHING = re.compile(
    r'^ +(?:tail )?call void asm sideeffect "", "[^"\n]*"\([^\n]*\n', re.MULTILINE
)
"""Barriers: what they name is not changed, as there is no instruction in them."""
_OFFSET = re.compile(
    r'^( +%\S+ = )load (i\d+), ptr @"llvm\.[\w.]+:\d+:(\d+)\$[\d:]*"(?:, align \d+)?',
    re.MULTILINE,
)
_MAP = re.compile(r'^(@\S+ = )([^\n]*?)(, section "\.?maps")', re.MULTILINE)
_WORDS = re.compile(r"\{ (i32 \d+(?:, i32 \d+){4})")
"""What `struct bpf_map_def` says of a map: `maps.py` reads it again in the module that runs."""
_STATIC = re.compile(
    r"(?:tail )?call void asm sideeffect "
    r'"r1 = \$0\\0A\\09r2 = \$1\\0A\\09r3 = \$2\\0A\\09call 12", "r,r,i,[^"]*"\('
)
"""`bpf_tail_call_static` of libbpf's bpf_helpers.h."""
_BY_KEY, _QUEUES = frozenset({HASH, ARRAY, LRU, LPM, PORTS}), frozenset({QUEUE, STACK})
_OF = {
    1: _BY_KEY | {*OF_MAPS},
    **dict.fromkeys((2, 3, 195), _BY_KEY),
    **dict.fromkeys((87, 89), _QUEUES | {BLOOM}),
    88: _QUEUES,
    164: frozenset({HASH, ARRAY, LRU}),
}
"""By helper whose first argument is a map, of which maps it is here."""


def ported(text: str) -> str:
    """A module for BPF, after its passes, as the functions of `headers/nic/xdp.c` go with it."""
    kinds = kinds_of(text)
    text = MACHINE.sub("", for_here(USED.sub("", text)))
    number = count()
    text = _STATIC.sub(
        lambda _: f"%slowpath.jump.{next(number)} = call i64 inttoptr (i64 {TAIL_CALL} to ptr)(",
        text,
    )
    text = with_returns(text)
    text = _NOTHING.sub("", _BARRIER.sub(r"\1freeze \3 \4", text))
    text = _OFFSET.sub(r"\1add \2 0, \3", text)
    called = dict[str, None]()

    def helper(one: re.Match[str]) -> str:
        name = _called(int(one[1]), kinds.get(one[3] or ""), one[3] or "")
        called[name] = None
        return f'@"{name}"({one[2] or ""}'

    text = _HELPER.sub(helper, text)
    text = _MAP.sub(_described, text)
    return text + "".join(f'declare i64 @"{name}"(...)\n' for name in called)


def _described(one: re.Match[str]) -> str:
    """A map with room for what helpers are told of it; the object says what it holds."""
    words = _WORDS.search(one[2])
    if words is None:
        return f"{one[1]}global [{SIZE} x i8] zeroinitializer{one[3]}"
    rest = f"[{SIZE - 20} x i8]"
    kind = f"{{ {'i32, ' * 5}{rest} }}"
    return f"{one[1]}global {kind} {{ {words[1]}, {rest} zeroinitializer }}{one[3]}"


def _called(number: int, kind: int | None, map_: str) -> str:
    """The function that a helper is; one that is not there says what is missing."""
    name = name_of(number)
    if number in _OF and kind is not None and KINDS.get(kind) not in _OF[number]:
        return f"{name} of a map of type {kind} ({map_})"
    return name
