"""Finds the lines of the user's source that use library functions of slowpath's headers.

A library function has no line in the user's source. So its use is reported at the line that calls
it, directly or through other header functions. Debug information has this line even for inlined
code.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.insights.accelerators.documents import Called
from slowpath.insights.source.calls import dominated_by
from slowpath.insights.source.functions import Function, Instruction
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.modules import callee_of
from slowpath.insights.source.sources import is_support

_MAX_NESTING = 64
"""Maximum nesting of scopes, and of inlined calls."""


class LibraryUse(NamedTuple):
    """A use of library functions of slowpath's headers, by the instructions of one basic block.

    The instructions either call the library function or are its inlined code.
    """

    within: tuple[str, ...]
    """Symbols of inlined functions that contain the source line, outermost first."""
    symbols: tuple[str, ...]
    """Symbols of header functions, from the one that the source line calls to the innermost; empty
    if the instructions belong to the source."""
    name: str
    """Name of the first of `symbols` in the source."""
    file: str
    """Name of the file with the source line."""
    line: int
    """Number of the source line."""
    caller: str
    """Symbol of the function that contains the block."""
    block: int
    """Index of the block in `caller`."""
    calls: bool
    """True if the instructions call the last of `symbols`; false if they are its inlined code."""
    instructions: int
    """Number of instructions."""


class _Frame(NamedTuple):
    """A function in the inlining stack of an instruction."""

    symbol: str
    name: str
    file: str
    line: int  # of the instruction, or of the call to the next inner frame
    support: bool


def uses(
    functions: Mapping[str, Function], metadata: Metadata, names: Iterable[str]
) -> list[LibraryUse]:
    """Find all uses of header functions, and of inlined functions, in the functions `names`.

    `metadata` is the module's debug information, from which the source lines are read.
    """
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
    """Return the outermost header function of a use that an accelerator could replace.

    Only the functions in `proved` count. Return None if `use` contains none of them.
    """
    return next((one for one in use.symbols if one in proved), None)


def _use(
    functions: Mapping[str, Function],
    frames: Sequence[_Frame],
    one: Instruction,
    place: tuple[str, int],
) -> LibraryUse | None:
    """Return the use of a header function to which the instruction `one` belongs.

    Return None if the instruction is the function's own code. `frames` is the inlining stack of the
    instruction; `place` is the name of its function and the index of its basic block.
    """
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
    """Return the inlining stack of an instruction with the debug location `location`.

    The innermost function comes first. Return an empty list if debug information is incomplete.
    """
    found, at = list[_Frame](), metadata.node(location)
    for _ in range(_MAX_NESTING):
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
    """Yield the metadata number of the function that contains a scope of debug information.

    Yield nothing if there is no such function.
    """
    for _ in range(_MAX_NESTING):
        node = metadata.node(scope)
        if node is None or scope is None:
            return
        if node.kind == "DISubprogram":
            yield scope
            return
        scope = node.reference("scope")


def call_lines(
    functions: Mapping[str, Function], uses: Sequence[LibraryUse], symbol: str
) -> list[Called]:
    """Return the lines of the source that call the header function `symbol`, in order.

    `uses` are all uses of header functions in the module.
    """
    return _lines(functions, [use for use in uses if symbol in use.symbols])


def final_changes(
    functions: Mapping[str, Function],
    uses: Sequence[LibraryUse],
    proved: Mapping[str, str | None],
    headers: Collection[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield corrections to findings on header functions, once all proofs are known.

    If a function that calls a header function is proved, the accelerator replaces the caller. The
    header function then counts as a part of its caller.

    `proved` maps the symbol of each proved function to the proved function that contains its work,
    or to None. `headers` are the symbols of examined header functions. A correction is the symbol
    of a header function, and the changed keys of its finding with their new values.
    """
    proved_headers = [name for name in proved if name in headers]
    calls = {name: one.calls for name, one in functions.items()}
    inside = dict[str, str]()
    for name, part in proved.items():
        if name not in proved_headers and part is None:
            inside.update(dict.fromkeys(dominated_by(calls, name), name))
    for name in proved_headers:
        independent = list[LibraryUse]()
        outer = ""
        for use in uses:
            if name not in use.symbols:
                continue
            credited = credited_function(use, proved_headers)
            caller = next((inside[one] for one in (use.caller, *use.within) if one in inside), None)
            if caller is None and credited == name:
                independent.append(use)
            else:
                outer = caller or credited or ""
        if independent:
            lines = _lines(functions, independent)
            yield name, {"calls": lines, "file": lines[0]["file"], "line": lines[0]["line"]}
        elif outer:
            yield name, {"part_of": functions[outer].shown}


def _lines(functions: Mapping[str, Function], uses: Sequence[LibraryUse]) -> list[Called]:
    """Return each source line in `uses` once, with the names of the library functions it calls."""
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
