"""Rewrites LLVM IR for BPF so that it runs on the host.

A successful `bpf_tail_call` in a program never returns. In a function that a program calls, the
target replaces only this function, and the caller gets the target's result. A function with tail
calls is therefore called through a wrapper, which marks where to continue.

Other instructions stay unchanged, so the blocks equal those that are counted for the card.

Sources: `___BPF_FUNC_MAPPER` in include/uapi/linux/bpf.h; Documentation/bpf;
arch/x86/net/bpf_jit_comp.c; LLVM's language reference; llvm/docs/BPF (relocations are variables
whose names state their values).
"""

import re
from collections.abc import Iterator
from itertools import count

from slowpath.core.engine.objects import HELPER_NUMBERS, HELPERS
from slowpath.insights.source.bpf_steps import TARGET_ATTRIBUTES, USED, for_host
from slowpath.insights.source.framework import HEADERS
from slowpath.insights.source.modules import bracketed_prefix, split_at_commas
from slowpath.insights.trace.xdp_maps import (
    ARRAY,
    BLOOM,
    DESCRIPTOR_BYTES,
    HASH,
    KINDS,
    LPM,
    LRU,
    OF_MAPS,
    PORTS,
    QUEUE,
    STACK,
    kinds_of,
)


def name_of(number: int) -> str:
    """Return the name of a helper by its number."""
    return HELPERS.get(number) or f"helper {number} of the kernel"


def known() -> str:
    """Return the names of the supported helpers, for error messages."""
    text = (HEADERS / "nic" / "xdp.c").read_text()
    defined = {*re.findall(r"^WORK [^(\n]*\b(bpf_\w+)\(", text, re.MULTILINE)}
    return ", ".join(one.removeprefix("bpf_") for one in HELPER_NUMBERS if one in defined)


TAIL_CALL = HELPER_NUMBERS["bpf_tail_call"]
"""Number of the helper `bpf_tail_call`."""
_CALLS = f"inttoptr (i64 {TAIL_CALL} to ptr)("
_BODY = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r'^define [^@\n]*@("[^"]*"|[\w.$-]+)\(')
_DEFINITION = "define "
_RANGE = re.compile(r"\brange\([^()]*\) ")
"""Attribute with the range of a function's results.

It is removed, because the target of a tail call can return other values.
"""
_LINKAGE = frozenset({"internal", "private", "dso_local", "hidden", "weak", "linkonce_odr"})
_BACK = 1024
"""Bytes reserved for a `struct back` (`source/headers/nic/xdp.c`)."""
_DECLARATIONS = """
declare void @slowpath_xdp_enter(ptr)
declare void @slowpath_xdp_leave(ptr)
declare i32 @slowpath_xdp_follow()
declare i32 @slowpath_xdp_mark(ptr) returns_twice
"""


def with_returns(text: str) -> str:
    """Make tail calls in functions return to their callers, as in the kernel.

    The result is the module's text with a wrapper around each function that makes tail calls.
    """
    heads = dict(_with_tail_calls(text))
    if not heads:
        return text
    names = "|".join(re.escape(name) for name in heads)
    used = re.compile(rf"^define [^\n]*$|@({names})(?![\w.$-])", re.MULTILINE)
    text = used.sub(lambda one: one[0] if one[1] is None else _wrapper_name(one[1]), text)
    return text + _DECLARATIONS + "".join(_wrapper(name, head) for name, head in heads.items())


def _with_tail_calls(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and first line of each function with tail calls that is not itself a program."""
    for body in _BODY.findall(text):
        head = body.partition("\n")[0]
        name = _HEAD.match(head)
        if name is not None and _CALLS in body and ' section "' not in head:
            yield name[1], head


def _wrapper_name(name: str) -> str:
    return f'@"slowpath_xdp_return to {name.strip(chr(34))}"'


def _wrapper(name: str, head: str) -> str:
    """Return the wrapper of a function, given by its name and its first line."""
    before, _, rest = _RANGE.sub("", head).partition(f"@{name}(")
    words = [one for one in before.removeprefix(_DEFINITION).split() if one not in _LINKAGE]
    parameters = bracketed_prefix(f"({rest}")
    kind = words[-1]
    result = "" if kind == "void" else "%own = "
    own = "ret void" if kind == "void" else f"ret {kind} %own"
    return f"""
define internal {" ".join(words)} {_wrapper_name(name)}{parameters} noinline {{
  %slowpath.back = alloca [{_BACK} x i8], align 16
  call void @slowpath_xdp_enter(ptr %slowpath.back)
  %slowpath.again = call i32 @slowpath_xdp_mark(ptr %slowpath.back) returns_twice
  %slowpath.jumped = icmp ne i32 %slowpath.again, 0
  br i1 %slowpath.jumped, label %slowpath.next, label %slowpath.first
slowpath.first:
  {result}call {" ".join(words)} @{name}({", ".join(split_at_commas(parameters[1:-1]))})
  call void @slowpath_xdp_leave(ptr %slowpath.back)
  {own}
slowpath.next:
  %slowpath.given = call i32 @slowpath_xdp_follow()
  call void @slowpath_xdp_leave(ptr %slowpath.back)
{_converted_result(kind)}
}}
"""


def _converted_result(kind: str) -> str:
    """Return code that returns a program's 32-bit result, converted to the type `kind`."""
    if kind == "void":
        return "  ret void"
    if kind == "i32":
        return "  ret i32 %slowpath.given"
    cast = "zext" if int(kind[1:]) > 32 else "trunc"  # noqa: PLR2004 - a register
    as_taken = f"  %slowpath.taken = {cast} i32 %slowpath.given to {kind}\n"
    return f"{as_taken}  ret {kind} %slowpath.taken"


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
"""Barriers without an instruction, which do not change their operands."""
_OFFSET = re.compile(
    r'^( +%\S+ = )load (i\d+), ptr @"llvm\.[\w.]+:\d+:(\d+)\$[\d:]*"(?:, align \d+)?',
    re.MULTILINE,
)
_MAP = re.compile(r'^(@\S+ = )([^\n]*?)(, section "\.?maps")', re.MULTILINE)
_WORDS = re.compile(r"\{ (i32 \d+(?:, i32 \d+){4})")
"""Members of `struct bpf_map_def`, kept because `xdp_maps.py` reads them in the host's module."""
_STATIC = re.compile(
    r"(?:tail )?call void asm sideeffect "
    r'"r1 = \$0\\0A\\09r2 = \$1\\0A\\09r3 = \$2\\0A\\09'
    rf'call {TAIL_CALL}", "r,r,i,[^"]*"\('
)
"""Inline assembly of `bpf_tail_call_static` in libbpf's bpf_helpers.h."""
_BY_KEY, _QUEUES = frozenset({HASH, ARRAY, LRU, LPM, PORTS}), frozenset({QUEUE, STACK})
_SUPPORTED = {
    "bpf_map_lookup_elem": _BY_KEY | {*OF_MAPS},
    **{f"bpf_map_{what}_elem": _BY_KEY for what in ("update", "delete", "lookup_percpu")},
    **{f"bpf_map_{what}_elem": _QUEUES | {BLOOM} for what in ("push", "peek")},
    "bpf_map_pop_elem": _QUEUES,
    "bpf_for_each_map_elem": frozenset({HASH, ARRAY, LRU}),
}
"""Supported map types by helper, for helpers whose first argument is a map."""


def rewrite_for_host(text: str) -> str:
    """Rewrite an optimised BPF module for the host, to link with `source/headers/nic/xdp.c`."""
    kinds = kinds_of(text)
    text = TARGET_ATTRIBUTES.sub("", for_host(USED.sub("", text)))
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
    """Return the LLVM definition of a map, enlarged so that it has room for the map's description.

    Helpers read the description at the address of the map.
    """
    words = _WORDS.search(one[2])
    if words is None:
        return f"{one[1]}global [{DESCRIPTOR_BYTES} x i8] zeroinitializer{one[3]}"
    rest = f"[{DESCRIPTOR_BYTES - 20} x i8]"
    kind = f"{{ {'i32, ' * 5}{rest} }}"
    return f"{one[1]}global {kind} {{ {words[1]}, {rest} zeroinitializer }}{one[3]}"


def _called(number: int, kind: int | None, map_: str) -> str:
    """Return the name of a called helper, for error messages.

    For a map type that the helper does not support, the result also names the map and its type.
    """
    name = name_of(number)
    if name in _SUPPORTED and kind is not None and KINDS.get(kind) not in _SUPPORTED[name]:
        return f"{name} of a map of type {kind} ({map_})"
    return name
