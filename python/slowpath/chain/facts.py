"""Formats facts about packets as text, with their origins and the changes that they justify.

A fact is a property of all packets that reach a program in a chain, such as a protocol field.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from slowpath.chain.documents import ChainProgram, Fact
from slowpath.chain.report_types import CallResult, Dropped, LoopRounds, SourceLine
from slowpath.core.printable import one_line
from slowpath.core.programs.packet import find_headers

_SHOWN = 3  # maximum number of source lines shown per fact
_DIGITS = 32  # maximum number of hexadecimal digits shown of a value
ASSUMED = "assumed"
"""Text in place of source lines for facts that the user assumed (`--fact`)."""


def fact_text(fact: Fact) -> str:
    """Format a fact about packets, such as `bytes 12-13 = 86dd` or `60 to 1514 bytes`."""
    there = ", if the packet has these bytes" if fact.get("if_there") else ""
    return f"{_plain_text(fact)}{there}"


def _plain_text(fact: Fact) -> str:
    match fact["kind"]:
        case "length":
            return f"{fact['min']} to {fact['max']} bytes"
        case "headroom" | "metadata":
            least, most = fact["min"], fact["max"]
            room = "head room" if fact["kind"] == "headroom" else "metadata"
            return f"{room} of {least if least == most else f'{least} to {most}'} bytes"
        case "bytes":
            value = fact["value"]
            shown = value if len(value) <= _DIGITS else f"{value[: _DIGITS - 2]}.."
            return f"{range_text(fact['offset'], len(value) // 2)} = {shown}"
        case "bits":
            return f"byte {fact['offset']} & {fact['mask']} = {fact['value']}"
        case "values":
            values = ", ".join(fact["values"])
            return f"{range_text(fact['offset'], fact['bytes'])} in {{{values}}}"
        case "equal":
            first, second = (range_text(fact[at], fact["bytes"]) for at in ("offset", "other"))
            return f"{first} = {second}"


def range_text(first: int, length: int) -> str:
    """Format a range of packet bytes, such as `byte 23` or `bytes 12-13`."""
    return f"byte {first}" if length == 1 else f"bytes {first}-{first + length - 1}"


def headers_text(facts: Sequence[Fact]) -> str:
    """Return the protocol headers that the facts imply, such as `Ethernet at 0, IPv6 at 14`."""
    known = dict[int, int]()
    for fact in facts:
        if fact["kind"] == "bytes":
            known |= enumerate(bytes.fromhex(fact["value"]), fact["offset"])
        elif fact["kind"] == "bits":
            # Of partly known bytes, only the IP version matters, which is half a byte.
            known.setdefault(fact["offset"], int(fact["value"], 16))
    packet = [known.get(offset) for offset in range(max(known, default=-1) + 1)]
    return ", ".join(f"{header.name} at {header.offset}" for header in find_headers(packet))


def lines_text(lines: Sequence[SourceLine]) -> str:
    """Format source lines, such as `firewall.c:41, 52; 2 more`."""
    files = dict[str, list[str]]()
    for line in lines[:_SHOWN]:
        files.setdefault(Path(line["file"]).name, []).append(str(line["line"]))
    shown = "; ".join(f"{file}:{', '.join(numbers)}" for file, numbers in files.items())
    more = len(lines) - _SHOWN
    return one_line(f"{shown}; {more} more" if more > 0 else shown)


def decided_branches(dropped: Iterable[Dropped]) -> Iterator[Dropped]:
    """Yield the changes of a rewritten program that make a branch always taken or never taken.

    Of several changes with the same source line and outcome, only the first is yielded.
    """
    seen = set[tuple[str, int, str]]()
    for one in dropped:
        if not is_branch(one):
            continue
        line = one["line"]
        key = (line["file"], line["line"], one["change"]) if line else ("", one["slot"], "")
        if key not in seen:
            seen.add(key)
            yield one


def because(dropped: Dropped) -> str:
    """Return the packet bytes and other properties that justify a change: `bytes 12-13, 20.

    Length`.
    """
    ranges = list[str]()
    offsets = dropped["bytes"]
    start = 0
    for end, offset in enumerate(offsets, 1):
        if end < len(offsets) and offsets[end] == offset + 1:
            continue
        first = offsets[start]
        ranges.append(str(first) if first == offset else f"{first}-{offset}")
        start = end
    parts = [f"byte{'s' if len(offsets) > 1 else ''} {', '.join(ranges)}"] if ranges else []
    parts += ["length"] if dropped["length"] else []
    parts += ["room"] if dropped["room"] else []
    return "; ".join([*parts, *(f"map {one_line(name)}" for name in dropped["maps"])]) or "-"


def used(fact: Fact, dropped: Iterable[Dropped]) -> Iterator[Dropped]:
    """Yield the changes of a rewritten program that a fact justifies, alone or with other facts.

    `dropped` has all changes.
    """
    if fact["kind"] == "length":
        yield from (one for one in dropped if one["length"])
        return
    if fact["kind"] in {"headroom", "metadata"}:
        yield from (one for one in dropped if one["room"])
        return
    first, length = fact["offset"], fact.get("bytes", 1)
    if fact["kind"] == "bytes":
        length = len(fact["value"]) // 2
    offsets = set(range(first, first + length))
    if fact["kind"] == "equal":
        offsets |= set(range(fact["other"], fact["other"] + length))
    yield from (one for one in dropped if not offsets.isdisjoint(one["bytes"]))


def is_branch(dropped: Dropped) -> bool:
    """Return true if a change makes a branch always taken or never taken."""
    return dropped["change"] in {"always taken", "never taken"}


def maps_text(names: Sequence[str]) -> str:
    """Format names of maps, such as `map rules` or `maps blocked, rules`."""
    return f"map{'s' if len(names) > 1 else ''} {', '.join(names)}"


def loop_text(loop: LoopRounds) -> str:
    """Describe how often a loop runs, as in `loop at a.c:12: begins exactly 3 times`."""
    line = loop["line"]
    where = lines_text([line]) if line else f"instruction {loop['slot']}"
    least, most = loop["least"], loop["most"]
    if least == most:
        often = "once" if most == 1 else f"{most} times"
        return f"loop at {where}: begins exactly {often}"
    return f"loop at {where}: begins {least} to {most} times"


def result_text(result: CallResult) -> str:
    """Describe the known result of a helper call, such as `map_lookup_elem at a.c:12 returns 0`."""
    line = result["line"]
    where = lines_text([line]) if line else f"instruction {result['slot']}"
    returns = result["returns"]
    what = "finds an entry" if returns is None else f"returns {returns}"
    return one_line(f"{result['helper']} at {where} {what}")


def arrivals_text(program: ChainProgram) -> str:
    """Describe the packets that arrive at a program, by the protocol headers that all have."""
    if not program["reached"]:
        return "no packet arrives"
    headers = headers_text(program["facts"])
    return f"packets: {headers}" if headers else "packets"
