"""Writes the parts of HTML pages about the machine of a measurement and its disturbances."""

from collections.abc import Iterator

from slowpath.core.html import Column, Html, element, facts, problem, table
from slowpath.measure.disturbances import Disturbance, code_of
from slowpath.measure.environment import Environment

COLUMNS = [Column("what"), Column("value")]
"""Columns of a table that shows the rows of `record_rows`."""


def machine_facts(record: Environment) -> Html:
    """Return processor, kernel, clock, memory and caches of the machine as an HTML list."""
    kernel, processor, host = record["kernel"], record["processor"], record["host"]
    pace = record["pace"]
    return facts(
        ("processor", f"{processor['model'] or 'of unknown model'}, CPU {processor['cpu']}"),
        ("kernel", f"Linux {kernel['release'] or 'of unknown release'}"),
        ("clock", None if pace is None else f"{pace['clock_hz'] / 1e9:.2f} GHz"),
        ("virtual machine", _virtual(record)),
        ("memory", None if host["memory_bytes"] is None else _bytes(host["memory_bytes"])),
        ("caches", ", ".join(_caches(record)) or None),
    )


def disturbance(one: Disturbance, count: str = "") -> Html:
    """Return a disturbance with its remedy as HTML. A note is less prominent than a warning.

    `count` is a text that is appended, such as a number of occurrences.
    """
    kind = "warn" if one["severity"] == "warning" else "small soft"
    return problem(f"{one['what']} {one['advice']}{count}", code_of(one), kind)


def complete_record(parts: object) -> Html:
    """Return a collapsed HTML table of all values in a record, which readers can expand."""
    inside = table(COLUMNS, record_rows(parts))
    return element("details", element("summary", "Complete record"), inside)


def record_rows(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield all values in a nested record as pairs of name and text.

    Names of inner values contain those of the outer records, as in `run.time.user`. `name` is the
    name of `value` itself.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from record_rows(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for number, inner in enumerate(value, 1):
            yield from record_rows(inner, f"{name} {number}")
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
