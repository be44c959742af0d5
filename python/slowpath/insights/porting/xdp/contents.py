"""What maps hold before the first packet: as `--maps` and the object have it, read for tables."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.engine import objects
from slowpath.engine.errors import MapsFile
from slowpath.insights.porting.xdp.maps import (
    ARRAY,
    BLOOM,
    HASH,
    LPM,
    LRU,
    OF_MAPS,
    PORTS,
    PROGRAMS,
    QUEUE,
    STACK,
    Table,
    table_of,
)

_FILLED = (HASH, ARRAY, PROGRAMS, LRU, LPM, PORTS, QUEUE, STACK, BLOOM, *OF_MAPS)
_INNER = ".inner"
"""Behind the name of a map of maps: what the maps in it hold."""
Entries = list[dict[str, str | int]]
"""As witnesses have them: `key` and `value`, `program` or `map`, or `others`."""


class Start(NamedTuple):
    """What maps hold when the first packet comes, as it is given."""

    object: bytes = b""
    """The program as the kernel would load it; empty: clang makes none, or nobody needs it."""
    lacking: str = ""
    """Why clang makes none."""
    maps: MapsFile | None = None


NOTHING = Start()
"""Maps are empty, and there are no program arrays or maps of maps."""


class Contents(NamedTuple):
    """The same, read for the tables that there are."""

    entries: Mapping[str, Entries]
    """By name of a map."""
    given: str | None
    """The file that says so; None: only the object does."""


def called_last(file: str, start: Start) -> frozenset[str]:
    """Programs that arrays of programs hold to begin with, by symbol; `file` names the source.

    Raises:
        InputError: when what maps hold cannot be read, or does not fit them.
    """
    if not start.object:
        return frozenset()
    found = objects.run_maps(file, objects.read_object(file, start.object), start.maps)
    return frozenset(
        str(one["program"]) for each in found.values() for one in each if "program" in one
    )


def contents_of(file: str, start: Start, tables: Sequence[Table]) -> Contents:
    """Reads what maps hold; `file` names the source.

    Raises:
        InputError: when it cannot be read, does not fit the maps, or is of what does not run here.
    """
    given = None if start.maps is None else start.maps.name
    if given is None and not any(one.kind in (PROGRAMS, *OF_MAPS) for one in tables):
        return Contents({}, None)
    if not start.object:
        reason = "clang makes no code for BPF of it, so nobody knows what its maps can hold"
        raise InputError(file, f"{reason}: {start.lacking}")
    found = objects.run_maps(file, objects.read_object(file, start.object), start.maps)
    kinds = {one.map.name: one.kind for one in tables}
    entries = dict[str, Entries]()
    for name, each in found.items():
        outer = name.removesuffix(_INNER)
        if not each:
            continue
        if outer != name and kinds.get(outer) in OF_MAPS:
            for one in each:
                within = {key: said for key, said in one.items() if key != "map"}
                entries.setdefault(str(one["map"]), []).append(within)
        elif kinds.get(name) in _FILLED:
            entries.setdefault(name, []).extend(each)
        else:
            why = "variables begin as the source has them"
            if name in kinds:
                why = "maps of this type are empty here"
            raise InputError(given or file, f"map {name}: {why}; leave it out")
    return Contents(entries, given)


def made_tables(file: str, contents: Contents, tables: Sequence[Table]) -> list[Table]:
    """The tables of maps that only `--maps` has, in maps of maps.

    Raises:
        InputError: when nothing says what one of them is like.
    """
    known, made = {one.map.name for one in tables}, list[Table]()
    for table in tables:
        if table.kind not in OF_MAPS:
            continue
        outer = table.map.name
        for one in contents.entries.get(outer, ()):
            name = str(one["map"])
            if name in known:
                continue
            inner = table.map.inner
            if inner is None:
                why = f"nothing says what {name} is like (__array(values, ...))"
                raise InputError(contents.given or file, f"map {outer}: {why}")
            sizes = [
                int(each["max_entries"])
                for each in contents.entries.get(name, ())
                if "max_entries" in each
            ]
            size = sizes[0] if sizes else inner.entries
            made.append(
                table_of(file, inner._replace(name=name, entries=size, line=table.map.line))
            )
            known.add(name)
    return made
