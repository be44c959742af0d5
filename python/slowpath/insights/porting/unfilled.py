"""State that a run read and that held only zeros, because no set-up code filled it."""

import ctypes
from collections.abc import Callable, Iterator, Mapping

from slowpath.cli.lists import first_few
from slowpath.insights.porting.instrumentation.instrumenting import Stated
from slowpath.insights.porting.memory import Memory
from slowpath.insights.porting.recording import Tally
from slowpath.insights.preparation.functions import Function

_FEW = 6
_REMEDY = "--setup FUNCTION fills it, or a constructor: __attribute__((constructor)), RTE_INIT"


def unfilled(
    memory: Memory,
    tally: Tally,
    stated: Stated,
    functions: Mapping[str, Function],
    address: Callable[[str], int],
) -> list[str]:
    """Return a note on the variables that were read, that no code wrote, and that are zero.

    `address` returns the address of a variable by its symbol.
    """
    found = dict[str, int]()
    for structure, start in _zero(memory, tally, stated):
        one = memory.structures[structure]
        line = f" ({one.line.file}:{one.line.line})" if one.line else ""
        found[f"{one.name}{line}"] = start
    if not found:
        return []
    ran = {stated.blocks[at].function for at, runs in enumerate(tally.runs) if runs}
    naming = [
        one.shown
        for name, one in functions.items()
        if name not in ran and not one.supports
        if any(address(symbol) in found.values() for symbol in one.globals)
    ]
    which = first_few(list(found), _FEW)
    idle = f"; these functions did not run: {first_few(naming, _FEW)}" if naming else ""
    return [f"state that was read and never filled held zeros: {which}{idle}; {_REMEDY}"]


def _zero(memory: Memory, tally: Tally, stated: Stated) -> Iterator[tuple[int, int]]:
    """Yield number and address of each structure that was read only and holds zeros."""
    kinds = dict[int, set[str]]()
    for site, part, _ in tally.touches:
        kinds.setdefault(tally.parts[part].structure, set()).add(stated.sites[site].kind)
    for area in memory.areas:
        if kinds.get(area.structure) != {"read"} or memory.structures[area.structure].owner:
            continue
        if not any(ctypes.string_at(area.start, area.size)):
            yield area.structure, area.start
