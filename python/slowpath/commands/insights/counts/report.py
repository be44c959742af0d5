"""Counts as text and CSV."""

from collections.abc import Iterator

from slowpath.cli.printable import csv_line, one_line
from slowpath.cli.terminal import Line
from slowpath.commands.insights.numbers import number
from slowpath.insights.porting.documents import CountsReport
from slowpath.report.grid import grid

_RESULTS = 8
"""Values that a function returned, the most frequent first; the others are one."""

COLUMNS = (
    "kind",
    "name",
    "member",
    "file",
    "line",
    "runs",
    "per_packet",
    "instructions",
    "size_bytes",
    "reads",
    "writes",
    "entries",
)


def counts_csv(report: CountsReport) -> Iterator[str]:
    """A line for each function, block, structure and member, and for accesses to all else."""
    packets = report["traffic"]["packets"]
    yield csv_line(COLUMNS)
    for function in report["functions"]:
        named = (function["function"], None, function["file"], function["line"])
        calls = function["calls"]
        yield csv_line(("function", *named, calls, round(calls / packets, 6), *[None] * 5))
    for block in report["blocks"]:
        named = (block["function"], None, block["file"], block["line"])
        runs = (block["runs"], block["per_packet"], block["instructions"])
        yield csv_line(("block", *named, *runs, *[None] * 4))
    for call in report["calls"]:
        named = (call["function"], None, call["file"], call["line"])
        runs = (call["calls"], round(call["calls"] / packets, 6), call["instructions"])
        yield csv_line(("call", *named, *runs, *[None] * 4))
    for one in report["structures"]:
        place = (one["file"], one["line"], *[None] * 3)
        touched = (one["size_bytes"], one["reads"], one["writes"])
        yield csv_line(("structure", one["structure"], None, *place, *touched, one["entries"]))
        for member in one["members"]:
            touched = (member["size_bytes"], member["reads"], member["writes"])
            yield csv_line(("member", one["structure"], member["member"], *place, *touched, None))
    for other in report["elsewhere"]:
        counted = (other["reads"], other["writes"], None)
        yield csv_line(("elsewhere", other["what"], *[None] * 7, *counted))


def counts_text(report: CountsReport) -> Iterator[Line]:
    """Structures, members of tables, blocks and what was called, for each packet."""
    packets = report["traffic"]["packets"]
    what = f"{report['entry']} over {packets:,} packet{'s'[: packets != 1]} of"
    yield Line(one_line(f"{report['file']}: {what} {report['traffic']['file']}"), "bold")
    yield Line("")
    for part in (_structures, _members, _blocks, _support, _calls):
        lines = list(part(report, packets))
        yield from [*lines, Line("")] if lines else ()
    yield Line(one_line(_fate(report)))


def _structures(report: CountsReport, packets: int) -> Iterator[Line]:
    columns = ("structure", "where", "bytes", "reads", "writes", "entries", "written")
    rows = [
        (
            one["structure"],
            _where(one["file"], one["line"]),
            f"{one['size_bytes']:,}",
            _each(one["reads"], packets),
            _each(one["writes"], packets),
            f"{one['entries']:,}" if one["entries"] else "",
            f"{one['entries_written']:,}" if one["entries"] else "",
        )
        for one in report["structures"]
    ]
    rows += [
        (
            *(f"({one['what']})", "", ""),
            *(_each(one["reads"], packets), _each(one["writes"], packets), "", ""),
        )
        for one in report["elsewhere"]
    ]
    yield from grid(columns, rows, right=columns[2:])


def _members(report: CountsReport, packets: int) -> Iterator[Line]:
    rows = [
        (
            one["structure"],
            member["member"],
            f"{member['size_bytes']:,}" if member["size_bytes"] else "",
            _each(member["reads"], packets),
            _each(member["writes"], packets),
        )
        for one in report["structures"]
        if len(one["members"]) > 1
        for member in one["members"]
    ]
    if rows:
        columns = ("structure", "member", "bytes", "reads", "writes")
        yield from grid(columns, rows, right=columns[2:])


def _blocks(report: CountsReport, _packets: int) -> Iterator[Line]:
    own = [one for one in report["blocks"] if not one["support"]]
    columns = ("block", "where", "instructions", "runs", "for each packet")
    rows = [
        (
            f"{one['function']} #{one['number']}",
            _where(one["file"], one["line"]),
            str(one["instructions"]),
            f"{one['runs']:,}",
            number(one["per_packet"]),
        )
        for one in own
    ]
    yield from grid(columns, rows, right=columns[2:])


def _support(report: CountsReport, packets: int) -> Iterator[Line]:
    """What the headers did for the function."""
    called = [one for one in report["functions"] if one["support"]]
    if not called:
        return
    columns = ("called of the headers", "calls", "blocks", "instructions")
    rows = []
    for one in called:
        inside = [block for block in report["blocks"] if block["symbol"] == one["symbol"]]
        rows.append(
            (
                one["function"],
                _each(one["calls"], packets),
                _each(sum(block["runs"] for block in inside), packets),
                _each(sum(block["runs"] * block["instructions"] for block in inside), packets),
            )
        )
    yield from grid(columns, rows, right=columns[1:])


def _calls(report: CountsReport, packets: int) -> Iterator[Line]:
    """Yield a line for each place that calls a function which others call, too."""
    columns = ("called in several lines", "where", "calls", "instructions")
    rows = [
        (
            one["function"],
            _where(one["file"], one["line"]),
            _each(one["calls"], packets),
            _each(one["instructions"], packets),
        )
        for one in sorted(report["calls"], key=lambda one: one["function"])
    ]
    if rows:
        yield from grid(columns, rows, right=columns[2:])


def _fate(report: CountsReport) -> str:
    fate = report["fate"]
    said = [f"{one['packets']:,} to output {one['output']}" for one in fate["outputs"]]
    often = sorted(fate["results"], key=lambda one: -one["packets"])
    said += [
        f"{one['packets']:,} returned {one.get('action', one['result'])}"
        for one in often[:_RESULTS]
    ]
    others = sum(one["packets"] for one in often[_RESULTS:])
    if others:
        said.append(f"{others:,} returned one of {len(often) - _RESULTS:,} other values")
    said_of = {"killed": "killed", "made": "made by it", "kept": "kept", "waiting": "waiting"}
    for key, what in said_of.items():
        count = fate[key]  # type: ignore[literal-required]
        said += [f"{count:,} {what}"] if count else []
    return f"Packets: {', '.join(said) or 'nothing is known of where they went'}."


def _each(count: int, packets: int) -> str:
    return number(round(count / packets, 4))


def _where(file: str, line: int) -> str:
    return f"{file.rpartition('/')[2]}:{line}" if line else ""
