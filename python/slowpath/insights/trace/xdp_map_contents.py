"""Fills the BPF maps of an XDP program with their initial content before a run.

The content comes from the option `--maps` and from the object file of the program.
"""

import ctypes
import struct
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import count, cycle, islice
from typing import NamedTuple, NoReturn

from slowpath.core import codes
from slowpath.core.engine import MapsFile, objects
from slowpath.core.errors import InputError
from slowpath.insights.source.entry import choose_entry
from slowpath.insights.source.functions import Function
from slowpath.insights.trace.xdp_maps import (
    ARRAY,
    ARRAY_OF_MAPS,
    BLOOM,
    HASH,
    LPM,
    LRU,
    OF_MAPS,
    PORTS,
    PROGRAMS,
    QUEUE,
    RING,
    STACK,
    Store,
    Table,
    table_of,
)

_FILLED = (HASH, ARRAY, PROGRAMS, LRU, LPM, PORTS, QUEUE, STACK, BLOOM, *OF_MAPS)
_INNER = ".inner"
"""Suffix to the name of a map of maps, for the entry with the content of the inner maps."""
Entries = list[dict[str, str | int]]
"""Entries in the format of witnesses.

Each has a `key` with a `value`, `program` or `map`; or the number of synthetic entries (`others`).
"""


class InitialContent(NamedTuple):
    """Files from which the initial content of BPF maps is read: object file and `--maps`."""

    object: bytes = b""
    """The object file; empty if clang cannot make one, or if no map needs it."""
    lacking: str = ""
    """The reason why clang cannot make the object; empty if it can."""
    maps: MapsFile | None = None
    """File of `--maps`."""


NOTHING = InitialContent()
"""No initial content: maps are empty, and there are no program arrays or maps of maps."""


class Contents(NamedTuple):
    """The content of a source's BPF maps before the first packet."""

    entries: Mapping[str, Entries]
    """Entries by name of the map."""
    file: str | None
    """File of `--maps`; None if only the object defines content."""


def tail_call_targets(file: str, start: InitialContent) -> frozenset[str]:
    """Return the symbols of the programs in program arrays, which tail calls can reach.

    `file` names the source, and `start` has the files with the content of maps.

    Raises:
        InputError: when the content of maps cannot be read, or does not fit them.
    """
    if not start.object:
        return frozenset()
    found = objects.run_maps(file, objects.read_object(file, start.object), start.maps)
    return frozenset(
        str(one["program"]) for each in found.values() for one in each if "program" in one
    )


def contents_of(file: str, start: InitialContent, tables: Sequence[Table]) -> Contents:
    """Read the initial content of the maps in `tables` from the files in `start`.

    `file` names the source.

    Raises:
        InputError: when the content cannot be read, does not fit the maps, or is for a map that
            cannot be filled.
    """
    maps_file = None if start.maps is None else start.maps.name
    if maps_file is None and not any(one.kind in (PROGRAMS, *OF_MAPS) for one in tables):
        return Contents({}, None)
    if not start.object:
        reason = (
            "clang cannot compile the source for BPF, so the possible content of its maps is "
            "unknown"
        )
        raise InputError(codes.MAP_CONTENT_UNUSABLE, file, f"{reason}: {start.lacking}")
    found = objects.run_maps(file, objects.read_object(file, start.object), start.maps)
    kinds = {one.map.name: one.kind for one in tables}
    entries = dict[str, Entries]()
    for name, each in found.items():
        outer = name.removesuffix(_INNER)
        if not each:
            continue
        if outer != name and kinds.get(outer) in OF_MAPS:
            for one in each:
                within = {key: value for key, value in one.items() if key != "map"}
                entries.setdefault(str(one["map"]), []).append(within)
        elif kinds.get(name) in _FILLED:
            entries.setdefault(name, []).extend(each)
        else:
            why = "variables get their values from the source"
            if name in kinds:
                why = "slowpath cannot fill maps of this type"
            raise InputError(
                codes.MAP_CONTENT_UNUSABLE,
                maps_file or file,
                f"map {name}: {why}; leave this map out of the file",
            )
    return Contents(entries, maps_file)


def inner_tables(file: str, contents: Contents, tables: Sequence[Table]) -> list[Table]:
    """Return the memory layouts (tables) of inner maps that only the file of `--maps` defines.

    An inner map is an element of a map of maps.

    Raises:
        InputError: when the source does not describe the inner maps of a map of maps.
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
                why = f"the source lacks the definition of {name}; add __array(values, ...)"
                raise InputError(
                    codes.MAP_CONTENT_UNUSABLE, contents.file or file, f"map {outer}: {why}"
                )
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


_INNER_KINDS = (HASH, ARRAY, LRU, LPM, PORTS, QUEUE, STACK, RING, BLOOM)
"""Supported kinds of inner maps."""
_MAX_ENTRIES = 1 << 22
"""Maximum number of initial entries of a map, because each entry needs a call of a helper."""
_OTHER, _MIXED = 0x3A5C_9E17_0000_0000, 0x5A
"""Patterns of synthetic keys and values, as in `slowpath measure`."""
_REDIRECTED = (14, 16, 25)
"""Types of maps that contain devices or CPUs (`enum bpf_map_type`)."""
_ANY_SIZE = 1 << 12
"""Flag of inner arrays whose number of elements may differ (`BPF_F_INNER_MAP`)."""
_WORD = 8
_LENGTH = 4
"""Bytes at the start of a trie's key that contain the prefix length."""
_PORT = 4
"""Bytes at the start of a value that contain the port number; the port's program follows."""


class Filling:
    """Fills BPF maps with their initial content."""

    def __init__(
        self,
        file: str,
        contents: Contents,
        store: Store,
        functions: Mapping[str, Function],
        address: Callable[[str], int],
    ) -> None:
        """Fill program arrays, and check the content of the other maps.

        `store` has the memory of the maps. `address` returns the address of a symbol, or 0.

        Raises:
            InputError: when a map cannot have its content or so many synthetic entries.
        """
        self._file, self._contents, self._store = file, contents, store
        self._functions, self._address = functions, address
        self._tables = [
            one
            for one in store.tables
            if one.map.name in contents.entries and store.at.get(one.map.name)
        ]
        for table in self._tables:
            if table.kind == PROGRAMS:
                self._programs(table)
            elif reason := _wrong(table, contents.entries[table.map.name]):
                self._refuse(table, reason)
        self._slots = {one.map.name: self._maps(one) for one in self._tables if one.kind in OF_MAPS}

    @property
    def held(self) -> frozenset[str]:
        """The names of the maps that have initial content."""
        return frozenset(self._contents.entries)

    def fill(self) -> list[str]:
        """Fill all maps except program arrays, by calling kernel helpers of slowpath's headers.

        Return notes for the user on the content.
        """
        maps_file, notes = self._contents.file, list[str]()
        totals = (ctypes.c_uint64 * 2).from_address(self._address("slowpath_xdp_totals"))
        if maps_file is not None:
            held = [f"{name} {_size(each):,}" for name, each in self._contents.entries.items()]
            listed = ", ".join(held) or "none"
            notes.append(f"maps have entries at the start: {listed} (from {maps_file})")
        for table in self._tables:
            if table.kind == PROGRAMS:
                continue
            lost = self._fill(table) + totals[1]
            totals[0] = totals[1] = 0
            if lost:
                entries = f"{lost:,} entr{'y' if lost == 1 else 'ies'}"
                what = f"{entries} of {maps_file or self._file} for {table.map.name}"
                notes.append(f"{what} found no slot or lost it, because max_entries is too small")
        return notes

    def _fill(self, table: Table) -> int:
        """Fill a map; return the number of entries for which the map has no free slot."""
        name = table.map.name
        map_, entries = self._store.at[name], self._contents.entries[name]
        if table.kind in OF_MAPS:
            slots = self._slots[name].items()
            return sum(self._put(table, key, struct.pack("<Q", one)) < 0 for key, one in slots)
        if table.kind in (QUEUE, STACK, BLOOM):
            push = self._helper("bpf_map_push_elem", 1)
            values = list(_queued(table, entries))
            values = values[::-1] if table.kind == STACK else values
            return sum(push(map_, value, 0) < 0 for value in values)
        elements = list(_elements(table, entries))
        if table.kind not in (LPM, PORTS):
            update = self._helper("bpf_map_update_elem", 2)
            return sum(update(map_, *one, 0) < 0 for one in elements)
        add = self._helper("slowpath_xdp_add", 2)
        alike = {_looked_for(table, key): (key, value) for key, value in elements}
        return sum(add(map_, *one, 0) < 0 for one in alike.values())

    def _put(self, table: Table, key: bytes, map_: bytes) -> int:
        """Put an inner map into a map of maps; return a negative number if no slot is free.

        `map_` consists of 8 bytes: the address of the description of the inner map.
        """
        if table.kind == ARRAY_OF_MAPS:
            self._store.write(table, int.from_bytes(key, "little") * table.stride, map_)
            return 0
        at = self._store.at[table.map.name]
        return self._helper("bpf_map_update_elem", 2)(at, key, map_, 0)

    def _maps(self, table: Table) -> dict[bytes, int]:
        """Return the content of a map of maps.

        It maps keys to the addresses of the inner maps' descriptions.
        """
        tables, found = {one.map.name: one for one in self._store.tables}, dict[bytes, int]()
        for one in self._contents.entries[table.map.name]:
            key, inner = bytes.fromhex(str(one["key"])), tables.get(str(one["map"]))
            at = None if inner is None else self._store.at.get(inner.map.name)
            reason = f"it holds {one['map']}, but the source does not define such a map"
            if inner is not None and at is not None:
                reason = _wrong_within(table, key, inner)
                found[key] = at
            if reason:
                self._refuse(table, reason)
        if len(found) > table.map.entries:
            self._refuse(table, f"{len(found)} inner maps exceed max_entries, {table.map.entries}")
        return found

    def _refuse(self, table: Table, reason: str) -> NoReturn:
        """Raise an error that states why the map of a table cannot have its content."""
        where = table.map.line
        place = f"{where.file}:{where.line}: " if where and self._contents.file is None else ""
        named = self._contents.file or self._file
        raise InputError(
            codes.MAP_CONTENT_UNUSABLE, named, f"{place}map {table.map.name}: {reason}"
        )

    def _helper(self, name: str, pointers: int) -> Callable[..., int]:
        """Return a kernel helper of slowpath's headers as a Python callable.

        Its arguments are a map, `pointers` byte strings, and flags. `name` is the name of the
        helper.
        """
        kinds = (ctypes.c_uint64, *[ctypes.c_char_p] * pointers, ctypes.c_uint64)
        return ctypes.CFUNCTYPE(ctypes.c_long, *kinds)(self._address(name))

    def _programs(self, table: Table) -> None:
        """Write the addresses of the programs in a program array to its table."""
        for one in self._contents.entries[table.map.name]:
            (index,) = struct.unpack("<I", bytes.fromhex(str(one["key"])))
            program = choose_entry(self._file, self._functions, str(one["program"]))
            if not program.xdp or index >= table.map.entries:
                why = "is not an XDP program"
                if program.xdp:
                    why = f"is in slot {index}, beyond max_entries ({table.map.entries})"
                reason = f"map {table.map.name}: {program.function.shown} {why}"
                raise InputError(
                    codes.MAP_CONTENT_UNUSABLE,
                    self._contents.file or self._file,
                    f"{reason}; leave it out of the file",
                )
            address = struct.pack("<Q", self._address(program.function.name))
            self._store.write(table, index * table.stride, address)


def _wrong(table: Table, entries: Entries) -> str | None:
    """Return the reason why a map cannot have these initial entries; None if it can."""
    if _size(entries) > _MAX_ENTRIES:
        return f"a map can have at most {_MAX_ENTRIES:,} entries here; reduce `others`"
    if table.kind in (QUEUE, STACK):
        return None
    what, size = (
        ("values", table.map.value_size) if table.kind == BLOOM else ("keys", table.map.key)
    )
    if _size(entries) > 1 << 8 * min(size, _WORD):
        return f"{size} bytes do not have so many different {what}"
    if table.kind == LPM and (reason := _too_long(table, entries)):
        return reason
    values = [bytes.fromhex(str(one["value"])) for one in entries if "value" in one]
    if table.map.kind in _REDIRECTED and any(any(one[_PORT:]) for one in values):
        return "programs on devices and CPUs do not run here; leave them out"
    return None


def _wrong_within(table: Table, key: bytes, inner: Table) -> str:
    """Return the reason why the kernel would reject `inner` as the inner map at this key.

    `table` is the map of maps. The text is empty if the kernel accepts the inner map.
    """
    name, definition = inner.map.name, table.map.inner
    if inner.kind not in _INNER_KINDS:
        return f"it holds {name}; inner maps of type {inner.map.kind} are not supported"
    if (
        table.kind == ARRAY_OF_MAPS
        and (index := int.from_bytes(key, "little")) >= table.map.entries
    ):
        return f"{name} is in slot {index}, beyond max_entries ({table.map.entries})"
    if definition is None:
        return ""
    compared = {
        "type": (inner.map.kind, definition.kind),
        "size of keys": (inner.map.key, definition.key),
        "size of values": (inner.map.value_size, definition.value_size),
        "map_flags": (inner.map.flags, definition.flags),
    }
    if definition.kind == ARRAY and not definition.flags & _ANY_SIZE:
        compared["max_entries"] = (inner.map.entries, definition.entries)
    for what, (own, defined) in compared.items():
        if own != defined:
            return f"it holds {name}: {what} is {own}, but {defined} in the definition"
    return ""


def _too_long(table: Table, entries: Entries) -> str | None:
    """Return an error text if an entry's prefix is longer than the addresses of the trie.

    Return None if all prefixes fit.
    """
    limit = 8 * (table.map.key - _LENGTH)
    for number, one in enumerate(entries, 1):
        if "key" in one and (bits := _prefix(bytes.fromhex(str(one["key"])))) > limit:
            return f"entry {number}: the prefix has {bits:,} bits, but addresses have {limit} bits"
    return None


def _size(entries: Entries) -> int:
    """Return the number of entries; the item `others` stands for so many synthetic entries."""
    return sum(int(one.get("others", 1)) for one in entries)


def _queued(table: Table, entries: Entries) -> Iterator[bytes]:
    """Yield the initial values of a queue, stack or bloom filter.

    Values of queues and stacks are in the order of removal. Synthetic values come last; those of a
    bloom filter differ from each other.
    """
    values = [bytes.fromhex(str(one["value"])) for one in entries if "value" in one]
    others = sum(int(one.get("others", 0)) for one in entries)
    yield from values
    if table.kind == BLOOM:
        yield from _synthetic({*values}, others, table.map.value_size)
    else:
        yield from [_synthetic_value(table)] * others


def _elements(table: Table, entries: Entries) -> Iterator[tuple[bytes, bytes]]:
    """Yield the key and the value of each initial entry of a map, synthetic entries last."""
    known = set[bytes]()
    for one in entries:
        if "value" in one:
            key = bytes.fromhex(str(one["key"]))
            known.add(key)
            yield key, bytes.fromhex(str(one["value"]))
    others = sum(int(one.get("others", 0)) for one in entries)
    value = _synthetic_value(table)
    yield from ((key, value) for key in _synthetic(known, others, table.map.key))


def _synthetic(known: Container[bytes], others: int, size: int) -> Iterator[bytes]:
    """Yield `others` different synthetic keys of `size` bytes, none of which is in `known`."""
    every = (made_up(number, size) for number in count())
    return islice((one for one in every if one not in known), others)


def made_up(number: int, size: int) -> bytes:
    """Return the synthetic key with this number; it has `size` bytes."""
    word = (_OTHER | number).to_bytes(_WORD, "little")
    if size < _WORD:
        word = bytes(byte ^ _MIXED for byte in word)
    return bytes(islice(cycle(word), size))


def _synthetic_value(table: Table) -> bytes:
    return bytes([_MIXED]) * table.map.value_size


def _looked_for(table: Table, key: bytes) -> bytes:
    """Return the part of a key by which a lookup finds an entry.

    For a trie, this is the prefix length and the prefix; for other maps, the whole key.
    """
    if table.kind != LPM:
        return key
    length, address = key[:_LENGTH], key[_LENGTH:]
    prefix = int.from_bytes(address, "big") >> 8 * len(address) - _prefix(key)
    return length + prefix.to_bytes(len(address), "big")


def _prefix(key: bytes) -> int:
    """Return the prefix length in bits at the start of a trie's key."""
    return int.from_bytes(key[:_LENGTH], "little")
