"""Where a run was measured: the machine in short, what disturbed, and all that was recorded."""

from collections.abc import Iterator, Sequence

from slowpath.html.elements import Html, element, join, prose
from slowpath.html.page import facts
from slowpath.html.tables import Column, table
from slowpath.measurements import disturbances
from slowpath.measurements.disturbances import Disturbance
from slowpath.measurements.environment import Environment

_COLUMNS = [Column("what"), Column("value")]


def machine(records: Sequence[Sequence[Environment]]) -> Html | None:
    """The machine of a run, of which each experiment has a record for each of its blocks."""
    known = [blocks for blocks in records if blocks]
    if not known:
        return None
    first = known[0][0]
    kernel, processor, host = first["kernel"], first["processor"], first["host"]
    short = facts(
        ("processor", f"{processor['model'] or 'of unknown model'}, CPU {processor['cpu']}"),
        ("kernel", f"Linux {kernel['release'] or 'of unknown release'}"),
        ("clock", None if first["pace"] is None else f"{first['pace']['clock_hz'] / 1e9:.2f} GHz"),
        ("virtual machine", _virtual(first)),
        ("memory", None if host["memory_bytes"] is None else _bytes(host["memory_bytes"])),
        ("caches", ", ".join(_caches(first)) or None),
    )
    parts = {name: first[name] for name in ("kernel", "processor", "host")}
    return element("section", element("h2", "Machine"), short, *_told(known), _all(parts))


def during(blocks: Sequence[Environment]) -> Html | None:
    """What happened while one experiment was measured."""
    if not blocks:
        return None
    said = [_disturbance(one) for one in _of_blocks(blocks) if one["severity"] == "warning"]
    parts = [{name: block[name] for name in ("run", "pace")} for block in blocks]
    rows = _rows(parts, "block") if len(parts) > 1 else _rows(parts[0])
    inside = join(*said, table(_COLUMNS, rows))
    return element("details", element("summary", "The machine meanwhile"), inside)


def _of_blocks(blocks: Sequence[Environment]) -> list[Disturbance]:
    """What disturbed an experiment, each kind once."""
    return list({one["code"]: one for block in blocks for one in disturbances.of(block)}.values())


def _told(records: Sequence[Sequence[Environment]]) -> Iterator[Html]:
    """What disturbed the experiments, each kind once, with how many it was."""
    found = dict[str, list[Disturbance]]()
    for blocks in records:
        for one in _of_blocks(blocks):
            found.setdefault(one["code"], []).append(one)
    for same in sorted(found.values(), key=lambda some: some[0]["severity"] == "note"):
        of = f" ({len(same)} of {len(records)} experiments)" if len(records) > 1 else ""
        if same[0]["severity"] == "warning":
            yield _disturbance(same[0], of)
        else:
            yield element("p", prose(same[0]["what"]), class_="small soft")


def _disturbance(one: Disturbance, of: str = "") -> Html:
    return element("p", prose(f"{one['what']} {one['advice']}{of}"), class_="warn")


def _all(parts: object) -> Html:
    return element(
        "details", element("summary", "All that was recorded"), table(_COLUMNS, _rows(parts))
    )


def _rows(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a record, with the way to each."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _rows(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for number, inner in enumerate(value, 1):
            yield from _rows(inner, f"{name} {number}")
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value)) or "none"
    elif value is not None:
        words = {True: "yes", False: "no"}
        yield name, words[value] if isinstance(value, bool) else str(value)


def _virtual(record: Environment) -> str | None:
    host = record["host"]
    if host["virtual"] is None:
        return None
    return (host["hypervisor"] or "yes") if host["virtual"] else "no"


def _caches(record: Environment) -> Iterator[str]:
    for cache in record["processor"]["caches"]:
        if cache["kind"] != "Instruction" and cache["level"] and cache["bytes"]:
            yield f"L{cache['level']} {_bytes(cache['bytes'])}"


def _bytes(count: int) -> str:
    for name, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count} B"
