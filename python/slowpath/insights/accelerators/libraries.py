"""Functions of the headers that come along, where a source calls them.

A source calls a library in lines of its own; what the library's function is made of is no line of
the source. So each use has the line of the innermost code that is the source's, and the functions
of the headers from there on inwards. Debug information says this of what was inlined, too.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.insights.porting.instrumentation.operands import called
from slowpath.insights.preparation.framework import is_support
from slowpath.insights.preparation.functions import Function, Instruction
from slowpath.insights.preparation.metadata import Metadata

_DEEPEST = 64
"""Scopes, and calls around an instruction; no more are followed."""


class Use(NamedTuple):
    """Instructions of a block that are of others: of the headers, or of what was inlined there."""

    within: tuple[str, ...]
    """Symbols of functions that were inlined around the source's own line, outermost first."""
    symbols: tuple[str, ...]
    """Symbols of the headers' functions, from the one that the source names on inwards; empty:
    the instructions are the source's own."""
    name: str
    """How the source calls the first of these."""
    file: str
    """Where the source has that."""
    line: int
    """The same."""
    caller: str
    """The symbol of the function that has the block."""
    block: int
    """Its number there."""
    calls: bool
    """Whether these are calls of the last of `symbols`; else they are its code."""
    instructions: int
    """So many."""


class _Frame(NamedTuple):
    """A function whose code an instruction is."""

    symbol: str
    name: str
    file: str
    line: int  # that the instruction stands in, or from which the frame inside of it is called
    support: bool


def uses(functions: Mapping[str, Function], metadata: Metadata, names: Iterable[str]) -> list[Use]:
    """What functions of a source, by symbols, have of the headers and of what was inlined."""
    known = dict[int, list[_Frame]]()
    found = Counter[Use]()
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


def told(use: Use, proved: Collection[str]) -> str | None:
    """The function of the headers of which a use is said: the outermost that is proved."""
    return next((one for one in use.symbols if one in proved), None)


def _use(
    functions: Mapping[str, Function],
    frames: Sequence[_Frame],
    one: Instruction,
    place: tuple[str, int],
) -> Use | None:
    """What an instruction is a use of; None: it is only the function's own."""
    own = next((at for at, frame in enumerate(frames) if not frame.support), None)
    if own is None:
        return None
    symbols = [frame.symbol for frame in reversed(frames[:own])]
    within = [frame.symbol for frame in reversed(frames[own:])][1:]
    name = frames[own - 1].name if own else ""
    target = called(one.text) if one.opcode in ("call", "invoke") else None
    calls = False
    if target is not None and target in functions and functions[target].supports:
        calls = True
        symbols.append(target)
        name = name or functions[target].shown
    if not symbols and not within:
        return None
    line = (frames[own].file, frames[own].line)
    return Use(tuple(within), tuple(symbols), name, *line, *place, calls, 0)


def _frames(metadata: Metadata, location: int) -> list[_Frame]:
    """The functions whose code an instruction is, the innermost first; none where a line lacks."""
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
    """The function that a scope is in."""
    for _ in range(_DEEPEST):
        node = metadata.node(scope)
        if node is None or scope is None:
            return
        if node.kind == "DISubprogram":
            yield scope
            return
        scope = node.reference("scope")
