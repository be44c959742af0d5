"""What addresses are: state, a packet, what is kept beside packets, local variables, or unknown."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from slowpath.insights.preparation.framework import ELEMENT, SUPPORT
from slowpath.insights.preparation.layouts import Type, Variable
from slowpath.insights.preparation.metadata import Line

Sort = Literal["state", "packet", "metadata", "local", "constant", "other"]
"""`metadata` is what a card keeps beside a packet (where its headers begin, annotations), and what
the run counts; `constant` is what compilers make (texts, tables of jumps); `other` is what was
allocated, or is unknown."""

_PACKETS = ("slowpath_click_bytes", "slowpath_dpdk_bytes")
_BESIDE = (*SUPPORT, "_ZN7Element", "slowpath.")
_MADE = ("_ZTV", "_ZTT", "_ZTI", "_ZTS", ".str", "switch.table", ".crctable", "__const.", "llvm.")


class Structure(NamedTuple):
    """Something that a card keeps from packet to packet."""

    name: str
    type: Type | None  # None: nothing says what is in it
    size: int  # bytes
    line: Line | None
    owner: str  # the element that it is a member of; empty: it is a variable of its own


class Area(NamedTuple):
    """A stretch of memory that is one thing."""

    start: int
    size: int
    sort: Sort
    structure: int  # of state, its number; else -1


class Memory(NamedTuple):
    """Everything that has a name, in the order of addresses."""

    areas: list[Area]
    structures: list[Structure]


def survey(
    symbols: Sequence[tuple[str, int, int, Variable | None]], others: Sequence[Area]
) -> Memory:
    """What there is: of each variable its symbol, address, bytes and layout; and other areas.

    Each member of an element is a structure, since each may be in another memory.
    """
    areas, structures = list(others), list[Structure]()

    def add(structure: Structure, start: int) -> None:
        areas.append(Area(start, structure.size, "state", len(structures)))
        structures.append(structure)

    for symbol, start, size, variable in symbols:
        if symbol in _PACKETS:
            areas.append(Area(start, size, "packet", -1))
        elif symbol.startswith(_BESIDE):
            areas.append(Area(start, size, "metadata", -1))
        elif symbol.startswith(_MADE):
            areas.append(Area(start, size, "constant", -1))
        elif symbol.startswith(ELEMENT) and variable is not None:
            owner = symbol.removeprefix(ELEMENT)
            for field in variable.type.fields:
                at = start + field.offset
                if field.name.startswith("_vptr"):
                    areas.append(Area(at, field.type.size, "metadata", -1))
                    continue
                named = f"{owner}::{field.name}"
                add(Structure(named, field.type, field.type.size, field.line, owner), at)
        elif variable is None:
            add(Structure(symbol, None, size, None, ""), start)
        else:
            whole = variable.type.size == size  # else LLVM has split it: this is a part
            name = variable.name if whole else f"{variable.name} ({symbol})"
            kind = variable.type if whole else None
            add(Structure(name, kind, size, variable.line, ""), start)
    shared, seen = Counter(one.name for one in structures), Counter[str]()
    for at, one in enumerate(structures):
        if shared[one.name] > 1:  # as static variables of two functions
            seen[one.name] += 1
            structures[at] = one._replace(name=f"{one.name} #{seen[one.name]}")
    areas.sort()
    return Memory(areas, structures)
