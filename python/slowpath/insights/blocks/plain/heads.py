"""The blocks of a program that are in front of the function's own: what its parameters are.

The packet begins and ends where the context says; what Click keeps of a packet is on the stack;
the object of a method is the only element of an array map; further pointers are to variables.
"""

import re
from collections.abc import Iterator, Sequence

from slowpath.insights.blocks.plain.framework import RECEIVE, RECEIVE_MBUF
from slowpath.insights.preparation.entry import Entry, Role
from slowpath.insights.preparation.given import Given

APART = "slowpath."
"""What the names of blocks begin with that are not the function's."""
_STATE = "slowpath_state"
_LENT = "slowpath_given_"
_LARGEST = 1 << 24
"""Bytes of an element that are looked at, however large it is."""
_WORD, _WHOLE = 4, 64
_LEAST = 1
"""Bytes of a packet; a function that looks whether there are more has its branches."""
_ENDS = f"""\
  %{APART}first = load i32, ptr %{APART}context, align 4
  %{APART}second = getelementptr i8, ptr %{APART}context, i64 4
  %{APART}last = load i32, ptr %{APART}second, align 4
  %{APART}begins = zext i32 %{APART}first to i64
  %{APART}ends = zext i32 %{APART}last to i64
  %{APART}data = inttoptr i64 %{APART}begins to ptr
  %{APART}end = inttoptr i64 %{APART}ends to ptr
  %{APART}least = getelementptr i8, ptr %{APART}data, i64 {_LEAST}
  %{APART}short = icmp ugt ptr %{APART}least, %{APART}end"""


PULLED = f"%{APART}packet"
"""What is kept of a packet that a function fetches."""


def head(entry: Entry, names: Sequence[str], packet: int, begin: str, result: str) -> Iterator[str]:
    """The lines in front of the block that a function begins with.

    `names` are those of its parameters, `packet` is how many bytes are kept of one (0: nothing is),
    and `result` is the type of what it returns.
    """
    named = dict(zip(entry.roles, names, strict=True))
    kept = named.get("packet") or named.get("mbuf") or (PULLED if packet else None)
    yield from _ENDS.splitlines()
    if kept is not None:
        yield f"  {kept} = alloca [{packet} x i8], align 8"
    if "element" in entry.roles:
        yield f"  %{APART}key = alloca i32, align 4"
        yield f"  store i32 0, ptr %{APART}key, align 4"
    lent = {one.place: one for one in entry.given}
    parameters = zip(entry.roles, entry.function.parameters, names, strict=True)
    for at, (role, one, name) in enumerate(parameters):
        if at in lent:
            yield f"  {name} = getelementptr i8, ptr {_lent(lent[at])}, i64 0"
        else:
            yield from _given(role, name, one.bits)
    if "burst" in named:
        yield f"  {named['burst']} = alloca ptr, align 8"
        yield f"  store ptr {kept}, ptr {named['burst']}, align 8"
    if kept is not None:
        given = f"ptr {kept}, ptr %{APART}data, ptr %{APART}end"
        yield f"  call void @{RECEIVE_MBUF if entry.dpdk else RECEIVE}({given})"
    yield f"  br i1 %{APART}short, label %{APART}none, label %{begin}"
    yield f"{APART}none:"
    yield f"  {returned(result)}"


def _lent(one: Given) -> str:
    """The variable that a further pointer is to."""
    if one.type is None:
        return "null"
    return f'@"{one.variables[0]}"' if one.variables else f"@{_LENT}{one.place}"


def further(entry: Entry) -> Iterator[str]:
    """Variables for further pointers to what the module has none of."""
    for one in entry.given:
        if one.type is not None and not one.variables:
            kind = f"[{one.type.size} x i8]"
            yield f"@{_LENT}{one.place} = dso_local global {kind} zeroinitializer, align 16"


def state(entry: Entry, size: int) -> Iterator[str]:
    """The map for the object of a method, which has so many bytes; nothing where there is none."""
    if "element" not in entry.roles:
        return
    size = max(_WORD, min(size, _LARGEST)) // _WORD * _WORD
    values = f"{{ i32 2, i32 4, i32 {size}, i32 1, i32 0 }}"
    kinds = "{ i32, i32, i32, i32, i32 }"
    yield f'@{_STATE} = dso_local global {kinds} {values}, section "maps", align 4'


def returned(kind: str) -> str:
    """What ends a function of some type, whatever it returns."""
    if kind == "void":
        return "ret void"
    if kind == "ptr":
        return "ret ptr null"
    return f"ret {kind} {0 if re.fullmatch(r'i[0-9]+', kind) else 'zeroinitializer'}"


def _given(role: Role, name: str, bits: int) -> Iterator[str]:
    """What a parameter is."""
    match role:
        case "bytes":
            yield f"  {name} = getelementptr i8, ptr %{APART}data, i64 0"
        case "end":
            yield f"  {name} = getelementptr i8, ptr %{APART}end, i64 0"
        case "time":  # which is any number
            yield f"  {name} = sub i64 %{APART}ends, %{APART}begins"
        case "length":
            yield f"  %{APART}length = sub i64 %{APART}ends, %{APART}begins"
            if bits == _WHOLE:
                yield f"  {name} = add i64 %{APART}length, 0"
            else:
                yield f"  {name} = trunc i64 %{APART}length to i{bits}"
        case "port":
            yield f"  {name} = add i{bits} 0, 0"
        case "one":
            yield f"  {name} = add i{bits} 0, 1"
        case "element":
            given = f"(ptr @{_STATE}, ptr %{APART}key)"
            yield f"  {name} = call ptr inttoptr (i64 1 to ptr){given}"
