"""Functions from which programs are called last: what comes back, comes back to their callers.

In a program, a call of `bpf_tail_call` that finds another one never returns. In a function that a
program calls, the other takes the place of the function alone, and what it returns is what the
caller gets. So each such function is called by way of another one, which says where to go on.
Sources: Documentation/bpf; arch/x86/net/bpf_jit_comp.c. LLVM's language reference.
"""

import re
from collections.abc import Iterator

from slowpath.insights.preparation.brackets import enclosed, separated

TAIL_CALL = 12
"""The helper's number."""
_CALLS = f"inttoptr (i64 {TAIL_CALL} to ptr)("
_BODY = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r'^define [^@\n]*@("[^"]*"|[\w.$-]+)\(')
_DEFINITION = "define "
_RANGE = re.compile(r"\brange\([^()]*\) ")
"""What a function returns by itself; not what a program does in its place."""
_LINKAGE = frozenset({"internal", "private", "dso_local", "hidden", "weak", "linkonce_odr"})
_BACK = 1024
"""Bytes that `struct back` of `headers/nic/xdp.c` has room in."""
_HERE = """
declare void @slowpath_xdp_enter(ptr)
declare void @slowpath_xdp_leave(ptr)
declare i32 @slowpath_xdp_follow()
declare i32 @slowpath_xdp_mark(ptr) returns_twice
"""


def with_returns(text: str) -> str:
    """A module in which programs that functions call last come back to who called the function."""
    heads = dict(_calling(text))
    if not heads:
        return text
    names = "|".join(re.escape(name) for name in heads)
    used = re.compile(rf"^define [^\n]*$|@({names})(?![\w.$-])", re.MULTILINE)
    text = used.sub(lambda one: one[0] if one[1] is None else _by_way_of(one[1]), text)
    return text + _HERE + "".join(_way(name, head) for name, head in heads.items())


def _calling(text: str) -> Iterator[tuple[str, str]]:
    """Functions that are no programs, and call some last: names and heads."""
    for body in _BODY.findall(text):
        head = body.partition("\n")[0]
        name = _HEAD.match(head)
        if name is not None and _CALLS in body and ' section "' not in head:
            yield name[1], head


def _by_way_of(name: str) -> str:
    return f'@"slowpath_xdp_return to {name.strip(chr(34))}"'


def _way(name: str, head: str) -> str:
    """The function that is called instead of one."""
    before, _, rest = _RANGE.sub("", head).partition(f"@{name}(")
    words = [one for one in before.removeprefix(_DEFINITION).split() if one not in _LINKAGE]
    taken = enclosed(f"({rest}")
    kind = words[-1]
    result = "" if kind == "void" else "%own = "
    own = "ret void" if kind == "void" else f"ret {kind} %own"
    return f"""
define internal {" ".join(words)} {_by_way_of(name)}{taken} noinline {{
  %slowpath.back = alloca [{_BACK} x i8], align 16
  call void @slowpath_xdp_enter(ptr %slowpath.back)
  %slowpath.again = call i32 @slowpath_xdp_mark(ptr %slowpath.back) returns_twice
  %slowpath.jumped = icmp ne i32 %slowpath.again, 0
  br i1 %slowpath.jumped, label %slowpath.next, label %slowpath.first
slowpath.first:
  {result}call {" ".join(words)} @{name}({", ".join(separated(taken[1:-1]))})
  call void @slowpath_xdp_leave(ptr %slowpath.back)
  {own}
slowpath.next:
  %slowpath.given = call i32 @slowpath_xdp_follow()
  call void @slowpath_xdp_leave(ptr %slowpath.back)
{_given(kind)}
}}
"""


def _given(kind: str) -> str:
    """What a program returned, as its caller takes it: the lower bits of a register."""
    if kind == "void":
        return "  ret void"
    if kind == "i32":
        return "  ret i32 %slowpath.given"
    cast = "zext" if int(kind[1:]) > 32 else "trunc"  # noqa: PLR2004 - a register
    as_taken = f"  %slowpath.taken = {cast} i32 %slowpath.given to {kind}\n"
    return f"{as_taken}  ret {kind} %slowpath.taken"
