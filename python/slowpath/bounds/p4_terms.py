"""Adds to results of P4 programs: witnesses in P4 terms, warnings, and limits of tables."""

from collections.abc import Callable, Iterator, Sequence

from slowpath.bounds.outcomes import Analysed
from slowpath.bounds.p4_entries import table_entries
from slowpath.core.codes import Code
from slowpath.core.engine.p4 import Content, Fault, Field, Header, P4Program, TableRun, Walk
from slowpath.core.errors import with_code
from slowpath.core.printable import json_line
from slowpath.core.programs.packet import wire_bytes, witness_bytes
from slowpath.core.schema.results import (
    Bound,
    P4Field,
    P4Header,
    P4Table,
    P4Witness,
    Result,
    Witness,
)

_PORT = "ingress_ifindex"
_BYTE = 8


def in_p4_terms(analysed: Analysed) -> Analysed:
    """Return the result of a P4 program with witnesses in P4 terms; others stay unchanged."""
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
    """Return a warning about the program in `file`, with its place and its code."""
    return with_code(warning.message(file), Code(warning.code))


def add_conditions(result: Result, conditions: Sequence[str]) -> None:
    """Add conditions of the translation: the guarantee is exact only if they hold."""
    bounds: list[Bound | None] = [result["guarantee"], result.get("interleaved")]
    if not conditions or bounds[0] is None:
        return
    known = result["assumptions"]
    known += [one for one in conditions if one not in known]
    for bound in bounds:
        if bound is not None and bound["verdict"] == "exact":
            bound["verdict"], bound["exact"] = "conditional", False


def _views(program: P4Program, witnesses: Sequence[Witness]) -> Iterator[P4Witness | None]:
    """Yield the run of the program on each packet.

    Bytes of any value are zeros. A field is shown as arbitrary only if the parser does the same for
    ones in place of these zeros.
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
    """Return the content of maps of a witness, with zeros for bytes of any value, then `given`."""
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
    """Return the bits of a field, with zeros for arbitrary ones, and a mask of the others."""
    first, end = field["at"], field["at"] + field["bits"]
    part = packet[first // _BYTE : -(-end // _BYTE)]
    value = int.from_bytes(bytes(byte or 0 for byte in part), "big")
    mask = int.from_bytes(bytes(0 if byte is None else 0xFF for byte in part), "big")
    down, ones = -end % _BYTE, (1 << field["bits"]) - 1
    return value >> down & ones, mask >> down & ones


# --- text -----------------------------------------------------------------------------------------


def parser_text(view: P4Witness) -> str:
    """Return the states that the parser visits, with its error."""
    error = "" if view["error"] is None else f" ({view['error']})"
    return ", ".join(view["parser"]) + error


def table_text(run: P4Table) -> str:
    """Return a table with its result and its action."""
    action = f", {run['action']}" if run["action"] else ""
    return f"{run['table']}: {'hit' if run['hit'] else 'miss'}{action}"


def header_lines(header: P4Header) -> Iterator[str]:
    """Yield a line for each field whose value counts, and one line for all others."""
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
