"""Where a source calls functions of the headers that are proved, and of which it is told."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from slowpath.insights.accelerators.documents import Called
from slowpath.insights.accelerators.libraries import Use, told
from slowpath.insights.preparation.calls import only_through
from slowpath.insights.preparation.functions import Function


def places(functions: Mapping[str, Function], uses: Sequence[Use], symbol: str) -> list[Called]:
    """The lines of a source that call a function of the headers, in order."""
    return _lines(functions, [use for use in uses if symbol in use.symbols])


def settled(
    functions: Mapping[str, Function],
    uses: Sequence[Use],
    proved: Mapping[str, str | None],
    headers: Collection[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is to be said otherwise of proved functions of headers, once all of them are known.

    `proved` are symbols, with what each is a part of. Where a function of the source that calls one
    is proved itself, an engine does that; where one of the headers calls another, the engine does
    the one that the source calls.
    """
    those = [name for name in proved if name in headers]
    calls = {name: one.calls for name, one in functions.items()}
    inside = dict[str, str]()
    for name, part in proved.items():
        if name not in those and part is None:
            inside.update(dict.fromkeys(only_through(calls, name), name))
    for name in those:
        mine = [use for use in uses if name in use.symbols]
        free = list[Use]()
        outer = ""
        for use in mine:
            whole = told(use, those)
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


def _lines(functions: Mapping[str, Function], uses: Sequence[Use]) -> list[Called]:
    """Each line once, with all that is called there."""
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
