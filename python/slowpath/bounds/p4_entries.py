"""Shows the map content of a witness as entries of P4 tables."""

from collections.abc import Iterator

from slowpath.core.engine.p4 import Action, Key, Number, Table, tables_of
from slowpath.core.schema.results import MapContent

_ANY = "--"
"""Text of a byte of any value."""


def table_entry(file: str, name: str, content: MapContent) -> str | None:
    """Return map content as an entry of a table; None for other content and other maps.

    Args:
        file: The P4 program.
        name: Name of the map.
        content: An element of the map.
    """
    key, value = content.get("key"), content.get("value")
    if not isinstance(key, str) or not (isinstance(value, str) or value is None):
        return None
    for table in tables_of(file):
        if name == f"{table['map']}_default" and value is not None:
            return f"{table['name']} default -> {_action(table, value)}"
        if name == table["map"] and table["maps"] in ("Hash", "Trie"):
            keys = ", ".join(_keys(table, key))
            found = "no entry" if value is None else _entry(table, value)
            return f"{table['name']} {keys} -> {found}"
        members = table["members"]
        if members is not None and name == members["map"] and value is not None:
            number = _number(key, 0, 4, "little")
            return f"{members['name']} member {number} -> {_action(table, value)}"
    return None


def _entry(table: Table, value: str) -> str:
    """Return the action of an entry, or the member or group that it names."""
    if table["members"] is None:
        return _action(table, value)
    number = _number(value, 0, 4, "little")
    kind = "group" if table["members"]["groups"] else "member"
    return f"{kind} {'any' if number is None else number}"


def _keys(table: Table, key: str) -> Iterator[str]:
    is_trie = table["maps"] == "Trie"
    order = "big" if is_trie else "little"
    length = _number(key, 0, 4, "little")
    before = sum(8 * one["number"]["size"] for one in table["keys"] if one["kind"] != "Lpm")
    for one in table["keys"]:
        yield _key(one, key, order, None if length is None else max(length - before, 0))


def _key(one: Key, key: str, order: str, prefix: int | None) -> str:
    number = one["number"]
    value = _number(key, number["offset"], number["size"], order)
    if value is not None and order == "big":
        value >>= 8 * number["size"] - number["width"]
    text = f"{number['name']} = {_text(value, number)}"
    return f"{text}/{prefix}" if one["kind"] == "Lpm" else text


def _action(table: Table, value: str) -> str:
    number = _number(value, 0, 4, "little")
    action = next((one for one in table["actions"] if one["id"] == number), None)
    if action is not None:
        return _call(action, value)
    return "the default action of the program" if number == 0 else "no action of the table"


def _call(action: Action, value: str) -> str:
    given = (
        f"{one['name']} = {_text(_number(value, one['offset'], one['size'], 'little'), one)}"
        for one in action["params"]
    )
    return f"{action['name']}({', '.join(given)})"


def _text(value: int | None, number: Number) -> str:
    return "any" if value is None else f"{value & ((1 << number['width']) - 1):#x}"


def _number(text: str, offset: int, size: int, order: str) -> int | None:
    """Return a number in hexadecimal text; None if all its bytes are arbitrary.

    Other arbitrary bytes count as zero.
    """
    bytes_ = [text[2 * at : 2 * at + 2] for at in range(offset, offset + size)]
    if all(byte == _ANY for byte in bytes_):
        return None
    known = bytes(0 if byte in (_ANY, "") else int(byte, 16) for byte in bytes_)
    return int.from_bytes(known, "big" if order == "big" else "little")
