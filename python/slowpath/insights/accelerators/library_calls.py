"""Calls of library functions that the headers define.

The body of a library function has no line in the source. So each use gets the line of the innermost
code of the source, and the functions of the headers from there inwards. Debug information has both
for inlined code too.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.insights.accelerators.documents import Called
from slowpath.insights.source.calls import dominated_by
from slowpath.insights.source.framework import is_support
from slowpath.insights.source.functions import Function, Instruction
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.operands import callee_of

_DEEPEST = 64
"""Limit on scopes, and on calls around an instruction."""


class LibraryUse(NamedTuple):
    """Instructions of a block that come from the headers, or from functions inlined there."""

    within: tuple[str, ...]
    """Symbols of functions that were inlined around the source's line, outermost first."""
    symbols: tuple[str, ...]
    """Symbols of the headers' functions, from the one that the source names inwards; empty: the
    instructions belong to the source."""
    name: str
    """Name of the first of these in the source."""
    file: str
    """File of the source's line."""
    line: int
    """The source's line."""
    caller: str
    """Symbol of the function that contains the block."""
    block: int
    """Number of the block in that function."""
    calls: bool
    """True if these instructions call the last of `symbols`; false if they are its code."""
    instructions: int
    """Number of instructions."""


class _Frame(NamedTuple):
    """A function that an instruction belongs to, directly or by inlining."""

    symbol: str
    name: str
    file: str
    line: int  # of the instruction, or of the call of the next inner frame
    support: bool


def uses(
    functions: Mapping[str, Function], metadata: Metadata, names: Iterable[str]
) -> list[LibraryUse]:
    """Return the uses of headers and inlined functions in the functions `names`."""
    known = dict[int, list[_Frame]]()
    found = Counter[LibraryUse]()
    for name in names:
        for number, block in enumerate(functions[name].blocks):
            for one in block.instructions:
                if one.place is None:
                    continue
                if one.place not in known:
                    known[one.place] = _frames(metadata, one.place)
                use = _use(functions, known[one.place], one, (name, number))
                if use is not None:
                    found[use] += 1
    return [one._replace(instructions=count) for one, count in found.items()]


def credited_function(use: LibraryUse, proved: Collection[str]) -> str | None:
    """Return the header function that a use is credited to: the outermost that is proved."""
    return next((one for one in use.symbols if one in proved), None)


def _use(
    functions: Mapping[str, Function],
    frames: Sequence[_Frame],
    one: Instruction,
    place: tuple[str, int],
) -> LibraryUse | None:
    """Return the use of an instruction; None if it belongs only to the function itself."""
    own = next((at for at, frame in enumerate(frames) if not frame.support), None)
    if own is None:
        return None
    symbols = [frame.symbol for frame in reversed(frames[:own])]
    within = [frame.symbol for frame in reversed(frames[own:])][1:]
    name = frames[own - 1].name if own else ""
    target = callee_of(one.text) if one.opcode in ("call", "invoke") else None
    calls = False
    if target is not None and target in functions and functions[target].supports:
        calls = True
        symbols.append(target)
        name = name or functions[target].shown
    if not symbols and not within:
        return None
    line = (frames[own].file, frames[own].line)
    return LibraryUse(tuple(within), tuple(symbols), name, *line, *place, calls, 0)


def _frames(metadata: Metadata, location: int) -> list[_Frame]:
    """Return the functions that an instruction belongs to, innermost first; none without lines."""
    found, at = list[_Frame](), metadata.node(location)
    for _ in range(_DEEPEST):
        if at is None:
            break
        scope = at.reference("scope")
        inside = next(_subprograms(metadata, scope), None)
        node = metadata.node(inside)
        if node is None or inside is None or not at.number("line"):
            return []
        symbol = node.text("linkageName") or node.text("name")
        file = metadata.file(scope)
        support = is_support(symbol, metadata.file(inside), own=metadata.is_own(inside))
        name = metadata.qualified(inside)
        found.append(_Frame(symbol, name, file, at.number("line"), support))
        at = metadata.node(at.reference("inlinedAt"))
    return found


def _subprograms(metadata: Metadata, scope: int | None) -> Iterator[int]:
    """Yield the function that contains a scope."""
    for _ in range(_DEEPEST):
        node = metadata.node(scope)
        if node is None or scope is None:
            return
        if node.kind == "DISubprogram":
            yield scope
            return
        scope = node.reference("scope")


def places(
    functions: Mapping[str, Function], uses: Sequence[LibraryUse], symbol: str
) -> list[Called]:
    """Return the lines of a source that call a function of the headers, in order."""
    return _lines(functions, [use for use in uses if symbol in use.symbols])


def settled(
    functions: Mapping[str, Function],
    uses: Sequence[LibraryUse],
    proved: Mapping[str, str | None],
    headers: Collection[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield changes to the findings of header functions, once all proofs are known.

    `proved` has, by symbol, the function that the symbol is a part of. If the source's function
    that calls a header function is proved itself, an engine does the source's function. If a header
    function calls another, the engine does the one that the source calls.
    """
    those = [name for name in proved if name in headers]
    calls = {name: one.calls for name, one in functions.items()}
    inside = dict[str, str]()
    for name, part in proved.items():
        if name not in those and part is None:
            inside.update(dict.fromkeys(dominated_by(calls, name), name))
    for name in those:
        mine = [use for use in uses if name in use.symbols]
        free = list[LibraryUse]()
        outer = ""
        for use in mine:
            whole = credited_function(use, those)
            around = next((inside[one] for one in (use.caller, *use.within) if one in inside), None)
            if around is None and whole == name:
                free.append(use)
            else:
                outer = around or whole or ""
        if free:
            lines = _lines(functions, free)
            yield name, {"calls": lines, "file": lines[0]["file"], "line": lines[0]["line"]}
        elif outer:
            yield name, {"part_of": functions[outer].shown}


def _lines(functions: Mapping[str, Function], uses: Sequence[LibraryUse]) -> list[Called]:
    """Return each line once, with all functions that it calls."""
    found = dict[tuple[str, int], Called]()
    names = dict[tuple[str, int], dict[str, None]]()
    for use in sorted(uses, key=lambda one: (one.file, one.line)):
        symbol = use.within[-1] if use.within else use.caller
        caller = functions[symbol if symbol in functions else use.caller].shown
        place = use.file, use.line
        names.setdefault(place, {})[use.name] = None
        called = " and ".join(names[place])
        first = found.setdefault(
            place, {"name": called, "caller": caller, "file": use.file, "line": use.line}
        )
        first["name"] = called
    return list(found.values())
