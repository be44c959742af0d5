"""Shows the map content of a witness as entries of P4 tables.

`crates/p4/src/xdp/layout.rs` describes the maps of a table.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.engine.p4 import Action, Key, Number, Table
from slowpath.core.schema.results import MapContent

_ANY = "--"
"""Text of a byte of any value."""
_WORD = 4
"""Bytes of a number at the start of keys and values."""


class _Element(NamedTuple):
    """An element of a map, in hexadecimal text; without a value, the map has no such element."""

    key: str
    value: str | None


def table_entries(
    tables: Sequence[Table], maps: Mapping[str, Sequence[MapContent]]
) -> dict[str, list[str]]:
    """Return the content of maps of tables as entries, by map; other maps have no entries."""
    found = dict[str, list[str]]()
    for name, content in maps.items():
        elements = _elements(content)
        profile = next((one for one in tables if _members(one) == name), None)
        if elements is not None and profile is not None:
            found[name] = [_member(profile, one) for one in elements]
            continue
        table = next((one for one in tables if name.removeprefix(one["map"]) in _ENDS), None)
        if elements is None or table is None or not name.startswith(table["map"]):
            continue
        end = name.removeprefix(table["map"])
        masks = _elements(maps.get(f"{table['map']}_masks", ())) or []
        found[name] = _folded([_entry(table, end, one, masks) for one in elements])
    return found


_NUMBERED = re.compile(r"(?P<table>\S+) entry (?P<number>\d+): (?P<rest>.*)")


def _folded(entries: list[str]) -> list[str]:
    """Return entries with one line for equal ones that stand in an array one after the other."""
    folded = list[str]()
    runs = list[tuple[str, int, int, str]]()  # table, first and last number, and the rest
    for entry in entries:
        found = _NUMBERED.fullmatch(entry)
        if found is None:
            folded.append(entry)
            continue
        table, number, rest = found["table"], int(found["number"]), found["rest"]
        if runs and runs[-1] == (table, runs[-1][1], number - 1, rest):
            runs[-1] = (table, runs[-1][1], number, rest)
        else:
            runs.append((table, number, number, rest))
    for table, first, last, rest in runs:
        place = f"entry {first}" if first == last else f"entries {first} to {last}"
        folded.append(f"{table} {place}: {rest}")
    return folded


_ENDS = ("", "_default", "_masks")


def _elements(content: Sequence[MapContent]) -> list[_Element] | None:
    """Return the elements of a map; None if their form is another one."""
    found = list[_Element]()
    for one in content:
        key, value = one.get("key"), one.get("value")
        if not isinstance(key, str) or not (isinstance(value, str) or value is None):
            return None
        found.append(_Element(key, value))
    return found


def _entry(table: Table, end: str, element: _Element, masks: Sequence[_Element]) -> str:
    name, (key, value) = table["name"], element
    if end == "_default":
        is_unset = value is not None and _number(value, 0, _WORD) == 0
        action = "any action" if value is None else _action(table, value)
        return f"{name} default -> {'that of the program' if is_unset else action}"
    form = table["maps"] if isinstance(table["maps"], str) else next(iter(table["maps"]))
    if end == "_masks":
        return f"{name} masks {_number(key, 0, _WORD)}: {_masks(table, value)}"
    if form == "Scan":
        return _scanned(table, element)
    if form == "TupleSpace":
        number = _number(key, 0, _WORD)
        mask = next((one.value for one in masks if _number(one.key, 0, _WORD) == number), None)
        keys = [_masked(one, key, mask) for one in table["keys"]]
    else:
        keys = list(_keys(table, key, is_trie=form == "Trie"))
    if value is None:
        return f"{name} {', '.join(keys)} -> no entry"
    return f"{name} {', '.join(keys)}{_priority(table, value)} -> {_chosen(table, value)}"


def _members(table: Table) -> str | None:
    """Return the map with the members of a table's action profile."""
    return None if table["members"] is None else table["members"]["map"]


def _member(table: Table, element: _Element) -> str:
    name = "" if table["members"] is None else table["members"]["name"]
    action = "none" if element.value is None else _action(table, element.value)
    return f"{name} member {_number(element.key, 0, _WORD)} -> {action}"


def _chosen(table: Table, value: str) -> str:
    """Return the action of an entry, or the member or group that it names."""
    if table["members"] is None:
        return _action(table, value)
    number = _number(value, 0, _WORD)
    kind = "group" if table["members"]["groups"] else "member"
    return f"{kind} {'any' if number is None else number}"


def _keys(table: Table, key: str, *, is_trie: bool) -> Iterator[str]:
    length = _number(key, 0, _WORD)
    before = sum(8 * one["number"]["size"] for one in table["keys"] if one["kind"] != "Lpm")
    for one in table["keys"]:
        number = one["number"]
        value = _number(key, number["offset"], number["size"], is_big=is_trie)
        if value is not None and is_trie:
            value >>= 8 * number["size"] - number["width"]
        text = f"{number['name']} = {_text(value, number)}"
        if one["kind"] == "Lpm":
            text += f"/{'any' if length is None else max(length - before, 0)}"
        yield text


def _masks(table: Table, value: str | None) -> str:
    if value is None or _number(value, 0, _WORD) == 0:
        return "none"
    numbers = [one["number"] for one in table["keys"]]
    return ", ".join(f"{one['name']} &&& {_text(_part(value, one), one)}" for one in numbers)


def _masked(one: Key, key: str, mask: str | None) -> str:
    number = one["number"]
    value = _text(_part(key, number), number)
    ones = (1 << number["width"]) - 1
    bits = ones if mask is None else _part(mask, number)
    if one["kind"] == "Exact" or bits == ones:
        return f"{number['name']} = {value}"
    if bits == 0:
        return f"{number['name']} = *"
    return f"{number['name']} = {value} &&& {_text(bits, number)}"


def _scanned(table: Table, element: _Element) -> str:
    """Return an element of an array of entries, which are compared in order."""
    form, value = table["maps"], element.value
    name = f"{table['name']} entry {_number(element.key, 0, _WORD)}:"
    if not isinstance(form, dict) or value is None or _number(value, 0, _WORD) == 0:
        return f"{name} none"
    layout = form["Scan"]
    keys = list[str]()
    for one in table["keys"]:
        number = one["number"]
        later: Number = {**number, "offset": number["offset"] + layout["second"]}
        first, second = (_text(_part(value, part), number) for part in (number, later))
        joined = {"Exact": first, "Range": f"{first}..{second}"}
        keys.append(f"{number['name']} = {joined.get(one['kind'], f'{first} &&& {second}')}")
    return f"{name} {', '.join(keys)} -> {_chosen(table, value[2 * layout['value'] :])}"


def _priority(table: Table, value: str) -> str:
    if table["priority"] is None:
        return ""
    priority = _number(value, table["priority"], _WORD)
    return "" if priority is None else f" priority {priority}"


def _action(table: Table, value: str) -> str:
    number = _number(value, 0, _WORD)
    if number is None:
        return "any action"
    actions = table["actions"]
    # The translation compares no number for the last action.
    last = actions[-1] if actions and actions[-1]["in_entries"] else None
    action = next((one for one in actions if one["id"] == number), last)
    if action is not None:
        return _call(action, value)
    return "another action of the table"


def _call(action: Action, value: str) -> str:
    given = (f"{one['name']} = {_text(_part(value, one), one)}" for one in action["params"])
    return f"{action['name']}({', '.join(given)})"


def _text(value: int | None, number: Number) -> str:
    return "any" if value is None else f"{value & ((1 << number['width']) - 1):#x}"


def _part(text: str, number: Number) -> int | None:
    return _number(text, number["offset"], number["size"])


def _number(text: str, offset: int, size: int, *, is_big: bool = False) -> int | None:
    """Return a number in hexadecimal text; None if all its bytes are arbitrary.

    Other arbitrary bytes count as zero.
    """
    bytes_ = [text[2 * at : 2 * at + 2] for at in range(offset, offset + size)]
    if all(byte == _ANY for byte in bytes_):
        return None
    known = bytes(0 if byte in (_ANY, "") else int(byte, 16) for byte in bytes_)
    return int.from_bytes(known, "big" if is_big else "little")
