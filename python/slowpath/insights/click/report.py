"""Prints the report on a Click configuration as text or CSV."""

from collections.abc import Iterator, Sequence

from slowpath.core.printable import csv_line, one_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.quantities import number
from slowpath.core.terminal import Line, first_few, grid
from slowpath.insights.advice.report import advice_lines, wrapped
from slowpath.insights.click.documents import GraphElement, GraphMissing, GraphReport

_COLUMNS = (
    *("name", "kind", "file", "line", "source", "role", "reason", "packets", "dropped"),
    *("waiting", "instructions_per_packet", "state_reads_per_packet", "state_writes_per_packet"),
    *("packet_reads_per_packet", "packet_writes_per_packet", "state_bytes"),
)
TITLES = ("element", "class", "packets", "instructions", "reads", "writes", "state bytes")
"""Titles of the table of elements; the last five are for numbers."""
_FEW = 8


def graph_csv(report: GraphReport) -> Iterator[str]:
    """Yield the lines of a CSV report: a header, and a line for each element."""
    yield csv_line(_COLUMNS)
    for one in report["elements"]:
        row = [one[key] for key in _COLUMNS[:-1]]  # type: ignore[literal-required]
        yield csv_line((*row, state_bytes(one)))


def graph_text(report: GraphReport) -> Iterator[Line]:
    """Yield a text report: elements, missing elements, advice, notes and assumptions."""
    yield Line(one_line(headline(report)), "bold")
    yield Line("")
    yield from grid(TITLES, rows(report), right=TITLES[2:])
    if report["missing"]:
        yield Line("")
        yield Line("Elements that do not run:", "bold")
        for one in report["missing"]:
            yield from wrapped(missing_text(one), "  - ", "    ")
    for rank, each in enumerate(report["advice"], 1):
        yield Line("")
        yield from advice_lines(rank, each["given"])
        if each["elements"]:
            yield from wrapped(f"Elements: {first_few(each['elements'], _FEW)}", "   ", "   ")
    notes = notes_of(report)
    if notes:
        yield Line("")
        yield Line("Notes:", "bold")
        for note in notes:
            yield from wrapped(note, "  - ", "    ")
    if report["assumptions"]:
        yield Line("")
        yield from wrapped(assumptions_text(report), "", "")
    yield from provenance_lines(report)


def headline(report: GraphReport) -> str:
    """Return a line with the configuration, its elements and the traffic."""
    count = len(report["elements"])
    text = f"{report['file']}: {count} element{'s' if count != 1 else ''}"
    traffic = report["traffic"]
    if traffic is None:
        return f"{text}; no packet ran"
    files = dict.fromkeys(one["file"] for one in traffic["sources"])
    return f"{text}, {traffic['packets']:,} packets of {', '.join(files)}"


def rows(report: GraphReport) -> list[tuple[str, ...]]:
    """Return a row for each element with packets or code, and a row with the sums."""
    found: list[tuple[str, ...]] = [
        (
            one["name"],
            one["kind"],
            f"{one['packets']:,}",
            "does not run" if one["role"] == "missing" else _shown(one["instructions_per_packet"]),
            _shown(one["state_reads_per_packet"]),
            _shown(one["state_writes_per_packet"]),
            f"{state_bytes(one):,}" if one["structures"] else "",
        )
        for one in report["elements"]
        if one["packets"] or one["role"] in ("code", "missing")
    ]
    traffic = report["traffic"]
    if traffic is None:
        return found
    whole = "all" if traffic["complete"] else "all that run"
    sums = (
        traffic["instructions_per_packet"],
        traffic["state_reads_per_packet"],
        traffic["state_writes_per_packet"],
    )
    shown = [number(one) for one in sums]
    return [*found, (whole, "", f"{traffic['packets']:,}", *shown, f"{traffic['state_bytes']:,}")]


def state_bytes(one: GraphElement) -> int:
    """Return the size of the state of an element that packets accessed, in bytes."""
    return sum(each["size_bytes"] for each in one["structures"])


def missing_text(one: GraphMissing) -> str:
    """Return a line on a missing element: the reason, lost packets, and elements behind it."""
    text = f"{one['element']} ({one['kind']}): {one['reason']}"
    if one["packets"]:
        text += f"; {one['packets']:,} packets are lost there"
    if one["behind"]:
        text += f"; without counts behind it: {first_few(one['behind'], _FEW)}"
    return text


def notes_of(report: GraphReport) -> list[str]:
    """Return the notes of the report and of its elements; equal notes are one."""
    found = dict[str, list[str]]()
    for one in report["elements"]:
        for note in one["notes"]:
            found.setdefault(note, []).append(one["name"])
    of_elements = [f"{first_few(names, 3)}: {note}" for note, names in found.items()]
    full = [
        f"{one['name']} dropped {one['dropped']:,} packets"
        for one in report["elements"]
        if one["dropped"]
    ]
    return [*report["notes"], *full, *of_elements]


def assumptions_text(report: GraphReport) -> str:
    """Return sentences about the assumptions behind the numbers."""
    return (
        f"Numbers are per packet of the traffic, and rely on: {'; '.join(report['assumptions'])}."
    )


def _shown(value: float | None) -> str:
    return "" if value is None else number(round(value, 4))


def reasons(report: GraphReport) -> Sequence[str]:
    """Return a line on each missing element."""
    return [missing_text(one) for one in report["missing"]]
