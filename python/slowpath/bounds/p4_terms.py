"""Describes results for P4 programs and DPDK pipelines in the terms of these languages.

The analysis works on the compiled program, with maps and bytes. This module turns them into parser
states, headers, and table entries. `crates/p4/src/xdp/layout.rs` describes the maps of a table.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.bounds.outcomes import Analysed
from slowpath.core.codes import Code
from slowpath.core.engine.p4 import (
    Action,
    Content,
    Fault,
    Field,
    Header,
    Key,
    Number,
    P4Program,
    Table,
    TableRun,
    Walk,
)
from slowpath.core.errors import with_code
from slowpath.core.printable import json_line
from slowpath.core.programs.packet import wire_bytes, witness_bytes
from slowpath.core.schema.results import (
    Bound,
    MapContent,
    Named,
    P4Field,
    P4Header,
    P4Table,
    P4Witness,
    PipelineField,
    PipelineLookup,
    Result,
    Surroundings,
    Unknown,
    Witness,
)

_PORT = "ingress_ifindex"
_BYTE = 8


def in_p4_terms(analysed: Analysed) -> Analysed:
    """Return the result of a P4 program with packets and map content in P4 terms.

    Results of other programs stay unchanged.
    """
    program, result = analysed.task.p4, analysed.result
    add_conditions(result, analysed.task.conditions)
    if program is None:
        return analysed._replace(text=json_line(result)) if analysed.task.conditions else analysed
    if result["notes"] is not None:
        result["notes"] += (warning_text(one, result["file"]) for one in program.warnings)
    witnesses = [path["witness"] for path in result["paths"]]
    for witness, view in zip(witnesses, _views(program, witnesses), strict=True):
        if view is not None:
            witness["p4"] = view
    return analysed._replace(text=json_line(result))


def warning_text(warning: Fault, file: str) -> str:
    """Return the text of a warning about the program in `file`, with its line and code."""
    return with_code(warning.message(file), Code(warning.code))


def add_conditions(result: Result, conditions: Sequence[str]) -> None:
    """Add conditions of the translation from P4 to a result.

    A guarantee that was exact becomes conditional.
    """
    bounds: list[Bound | None] = [result["guarantee"], result.get("interleaved")]
    if not conditions or bounds[0] is None:
        return
    known = result["assumptions"]
    known += [one for one in conditions if one not in known]
    for bound in bounds:
        if bound is not None and bound["verdict"] == "exact":
            bound["verdict"], bound["exact"] = "conditional", False


def _views(program: P4Program, witnesses: Sequence[Witness]) -> Iterator[P4Witness | None]:
    """Yield for each witness the run of the P4 program on its packet; None if it cannot be run.

    Arbitrary bytes of the packet are zeros in this run. A field is shown as arbitrary only if the
    parser visits the same states with ones in place of these zeros.
    """
    packets = list[tuple[bytes, int, Content]]()
    for witness in witnesses:
        ones = bytes(0xFF if byte is None else byte for byte in witness_bytes(witness))
        port, content = _port(witness), _content(witness, program.given or {})
        packets += [(wire_bytes(witness), port, content), (ones, port, content)]
    walks = program.walks(packets)
    for at, witness in enumerate(witnesses):
        zeros, other = walks[2 * at : 2 * at + 2]
        if zeros is None:
            yield None
            continue
        is_open = other is not None and _parsed(zeros) == _parsed(other)
        view = _view(witness, zeros, is_open=is_open)
        if program.given is None:
            view["tables"], view["unknown"] = [], "the content of --maps is not in P4 terms"
        view["entries"] = table_entries(program.tables, witness["maps"])
        yield view


def _parsed(walk: Walk) -> tuple[list[str], list[Header], str | None]:
    return walk["states"], walk["headers"], walk["error"]


def _content(witness: Witness, given: Content) -> Content:
    """Return the map content of a witness, with arbitrary bytes as zeros.

    `given` is the content of `--maps`; it supplies the keys that the witness lacks.
    """
    found = dict[str, list[tuple[bytes, bytes | None]]]()
    for name, content in witness["maps"].items():
        for one in content:
            key, value = one.get("key"), one.get("value")
            if isinstance(key, str) and (isinstance(value, str) or value is None):
                found.setdefault(name, []).append(
                    (_zeroed(key), None if value is None else _zeroed(value))
                )
    for name, elements in given.items():
        known = found.setdefault(name, [])
        keys = {key for key, _ in known}
        known += [one for one in elements if one[0] not in keys]
    return found


def _zeroed(text: str) -> bytes:
    return bytes.fromhex(text.replace("--", "00"))


def _port(witness: Witness) -> int:
    given = witness["environment"] or []
    ports = (one["value"] for one in given if "name" in one and one["name"] == _PORT)
    return next(ports, 1)


def _view(witness: Witness, walk: Walk, *, is_open: bool) -> P4Witness:
    packet = witness_bytes(witness)
    headers: list[P4Header] = [
        {
            "name": header["name"],
            "fields": [_field(packet, one, is_open=is_open) for one in header["fields"]],
        }
        for header in walk["headers"]
    ]
    unknown = walk["unknown"]
    return {
        "parser": walk["states"],
        "error": walk["error"],
        "unknown": None if unknown is None else f"line {unknown[0]}: {unknown[1]}",
        "headers": headers,
        "tables": [_table(one) for one in walk["tables"]],
        "entries": {},
    }


def _table(run: TableRun) -> P4Table:
    args = ", ".join(f"{name} = {value}" for name, value in run["args"])
    action = f"{run['action']}({args})" if run["action"] else None
    return {"table": run["table"], "hit": run["hit"], "action": action}


def _field(packet: Sequence[int | None], field: Field, *, is_open: bool) -> P4Field:
    value, mask = _bits(packet, field)
    known: P4Field = {"name": field["name"], "bits": field["bits"], "value": f"{value:#x}"}
    ones = (1 << field["bits"]) - 1
    if mask == ones or not is_open:
        return known
    if not mask:
        known["value"] = None
    else:
        known["mask"] = f"{mask:#x}"
    return known


def _bits(packet: Sequence[int | None], field: Field) -> tuple[int, int]:
    """Return the value of a field, and a mask of its known bits.

    Bits that the packet leaves arbitrary are zero in both.
    """
    first, end = field["at"], field["at"] + field["bits"]
    part = packet[first // _BYTE : -(-end // _BYTE)]
    value = int.from_bytes(bytes(byte or 0 for byte in part), "big")
    mask = int.from_bytes(bytes(0 if byte is None else 0xFF for byte in part), "big")
    down, ones = -end % _BYTE, (1 << field["bits"]) - 1
    return value >> down & ones, mask >> down & ones


# --- text -----------------------------------------------------------------------------------------


def parser_text(view: P4Witness) -> str:
    """Format the states that the parser visits, and its error if it rejects the packet."""
    error = "" if view["error"] is None else f" ({view['error']})"
    return ", ".join(view["parser"]) + error


def table_text(run: P4Table) -> str:
    """Describe a table lookup: hit or miss, and the executed action."""
    action = f", {run['action']}" if run["action"] else ""
    return f"{run['table']}: {'hit' if run['hit'] else 'miss'}{action}"


def header_lines(header: P4Header) -> Iterator[str]:
    """Yield a line for each header field whose value matters, and one line for all other fields."""
    others = list[str]()
    for field in header["fields"]:
        if field["value"] is None:
            others.append(field["name"])
        elif not field["name"]:
            yield f"{header['name']}({field['bits']}) skips {field['value']}"
        else:
            yield f"{header['name']}.{field['name']} = {field_text(field)}"
    if others == [""]:
        yield f"{header['name']}({header['fields'][0]['bits']}) skips any bits"
    elif others:
        yield f"{header['name']}: any {', '.join(others)}"


_ADDRESSES = ("addr", "source", "destination", "src", "dst", "ip")
_IPV4, _MAC, _IPV6 = 32, 48, 128


def field_text(field: P4Field) -> str:
    """Return the value of a field: an address if its width and name suggest one, or a number."""
    if field["value"] is None:
        return "any"
    value, bits = int(field["value"], 16), field["bits"]
    if "mask" in field:
        return f"{field['value']} &&& {field['mask']}"
    form = _FORMS.get(bits)
    name = field["name"].lower()
    if form is None or not any(word in name for word in _ADDRESSES):
        return field["value"]
    return form(value)


def _mac(value: int) -> str:
    return value.to_bytes(6, "big").hex(":")


def _ip(value: int) -> str:
    from ipaddress import ip_address

    return str(ip_address(value))


def _ipv6(value: int) -> str:
    from ipaddress import IPv6Address

    return str(IPv6Address(value))


_FORMS: dict[int, Callable[[int], str]] = {_IPV4: _ip, _MAC: _mac, _IPV6: _ipv6}


# --- entries of tables ----------------------------------------------------------------------------


_ANY = "--"
"""Text that stands for an arbitrary byte."""
_WORD = 4
"""Number of bytes of the integer with which a key or a value begins."""


class _Element(NamedTuple):
    """An element of a map, as hexadecimal text.

    If `value` is None, the map must not contain the key.
    """

    key: str
    value: str | None


def table_entries(
    tables: Sequence[Table], maps: Mapping[str, Sequence[MapContent]]
) -> dict[str, list[str]]:
    """Convert the maps of a witness to P4 table entries, by map name.

    Maps that belong to no table are left out.
    """
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
    """Join consecutive array entries with equal content into one line each."""
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
    """Return the elements of a map; None if its content is not a list of keys and values."""
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
    """Return the map that holds the members of a table's action profile; None without a profile.

    Members are the actions, with data, that table entries can refer to.
    """
    return None if table["members"] is None else table["members"]["map"]


def _member(table: Table, element: _Element) -> str:
    name = "" if table["members"] is None else table["members"]["name"]
    action = "none" if element.value is None else _action(table, element.value)
    return f"{name} member {_number(element.key, 0, _WORD)} -> {action}"


def _chosen(table: Table, value: str) -> str:
    """Format the action of a table entry.

    With an action profile, format the number of the member or group instead.
    """
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
    """Describe one entry of a table that the program searches from its first entry to its last."""
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
    # The generated code does not compare the number of the last action.
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
    """Read a number from hexadecimal text at a byte offset; None if all its bytes are arbitrary.

    If only some bytes are arbitrary, they count as zero. Numbers are little-endian unless `is_big`.
    """
    bytes_ = [text[2 * at : 2 * at + 2] for at in range(offset, offset + size)]
    if all(byte == _ANY for byte in bytes_):
        return None
    known = bytes(0 if byte in (_ANY, "") else int(byte, 16) for byte in bytes_)
    return int.from_bytes(known, "big" if is_big else "little")


# --- pipelines ------------------------------------------------------------------------------------


def lookup_text(lookup: PipelineLookup) -> str:
    """Describe a table lookup of a pipeline: line, table, key, and the entry or default action."""
    parts = [f"line {lookup['line']}", lookup["table"], *_fields(lookup["key"])]
    result = "hit, action" if lookup["hit"] else "miss, default action"
    action = " ".join([lookup["action"], *_fields(lookup["data"])])
    return f"{' '.join(parts)}: {result} {action}"


def state_text(field: PipelineField) -> str:
    """Format a field or register with its value before the packet arrives."""
    return f"{field['field']} = {field['value']}"


def _fields(fields: Sequence[PipelineField]) -> list[str]:
    return [f"{one['field']}={'any' if one['arbitrary'] else one['value']}" for one in fields]


def other_requirements(witness: Witness) -> list[Named | Surroundings]:
    """Return the initial values that a path requires.

    Data of actions is left out for pipelines, because the lookups state it.
    """
    given = witness["environment"] or []
    if "pipeline" not in witness:
        return given
    return [
        one for one in given if "memory" not in one or not one["memory"].startswith("action data ")
    ]


def other_unknowns(witness: Witness) -> list[Unknown]:
    """Return the instruction results that a path requires.

    Results of table lookups are left out, because the lookups state them.
    """
    lines = {one["line"] for one in witness["pipeline"]["entries"]} if "pipeline" in witness else ()
    return [
        one for one in witness["unknowns"] if one["line"] not in lines or one["result"] != "outcome"
    ]
