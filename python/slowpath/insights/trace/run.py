"""Runs the command `slowpath insights counts`."""

import json
from argparse import Namespace
from collections.abc import Iterator

from slowpath.core import codes
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.formats import Reporter
from slowpath.core.inputs import check_output, write_text
from slowpath.core.jobs import heeding_signals
from slowpath.core.printable import csv_line, one_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.quantities import number
from slowpath.core.terminal import Line, grid
from slowpath.insights.options import read_maps, read_work, run_settings
from slowpath.insights.output import MEANS
from slowpath.insights.source.unit import require_llvmlite, require_numpy
from slowpath.insights.trace.documents import CountsReport


def run(options: Namespace, reporter: Reporter) -> ExitCode:
    """Run the function over the trace of packets, and print the report.

    Raises:
        InputError: when a file cannot be read, compiled or used, or the function does not end.
        OptionError: when an option is invalid.
        StoppedError: when the time is too short for a result.
        UnavailableError: when llvmlite or numpy is missing.
    """
    require_llvmlite()
    require_numpy()
    _check(options)
    maps = read_maps(options)
    work = read_work(options, runs=True)
    from slowpath.insights.trace import RunLimits
    from slowpath.insights.trace.running import run_source

    setting = run_settings(options, maps)
    allowed = RunLimits(work.seconds, work.memory)
    with heeding_signals() as stopping:
        found = run_source(work.source, options.pcap, setting, allowed, stopping)
    if options.placement_out is not None:
        _write(options.placement_out, found.placement)
    unwritten = list[str]()
    if options.coalescing_out is not None:
        if found.coalescing is None:
            unwritten = [
                (
                    "the function has fewer than two variables, so "
                    f"{options.coalescing_out} is not written"
                )
            ]
        else:
            _write(options.coalescing_out, found.coalescing)
    report = found.report
    texts = (*unwritten, *report["notes"])
    warnings = [Coded(codes.TRACE_REMARK, f"{options.file}: {text}") for text in texts]
    reporter.write(report, warnings=warnings)
    return ExitCode.FINE


def _check(options: Namespace) -> None:
    """Check that output files do not replace input files or each other.

    Raises:
        OptionError: when an output file would replace another file.
    """
    outputs = {"--placement-out": options.placement_out, "--coalescing-out": options.coalescing_out}
    for name, file in outputs.items():
        inputs = (options.file, options.pcap, options.maps)
        check_output(name, file, [one for one in inputs if one is not None])
    if options.placement_out is not None and options.placement_out == options.coalescing_out:
        raise OptionError(
            codes.OUTPUT_IS_INPUT,
            "--coalescing-out",
            f"the file {options.coalescing_out} is also that of --placement-out; name another one",
        )


def _write(file: str, problem: dict[str, object]) -> None:
    write_text(file, f"{json.dumps(problem, indent=1)}\n")


_RESULTS = 8
"""Number of the most frequent results that the report lists; it only counts the others."""

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
    """Yield CSV lines for functions, blocks, calls, structures, members, and other memory."""
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
    """Yield tables of structures, members, blocks and calls, with counts per packet."""
    packets = report["traffic"]["packets"]
    what = f"{report['entry']} over {packets:,} packet{'s'[: packets != 1]} of"
    yield Line(one_line(f"{report['file']}: {what} {report['traffic']['file']}"), "bold")
    yield Line("")
    for part in (_structures, _members, _blocks, _support, _calls):
        lines = list(part(report, packets))
        yield from [*lines, Line("")] if lines else ()
    yield Line(one_line(_fate(report)))
    yield Line(MEANS)
    yield from provenance_lines(report)


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
    """Yield a table of the functions of slowpath's headers that ran; nothing if none ran."""
    called = [one for one in report["functions"] if one["support"]]
    if not called:
        return
    columns = ("function of the headers of slowpath", "calls", "blocks", "instructions")
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
    """Yield a table of calls, for functions that the source calls in several lines."""
    columns = ("function called in several lines", "where", "calls", "instructions")
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
    parts = [f"{one['packets']:,} to output {one['output']}" for one in fate["outputs"]]
    results = sorted(fate["results"], key=lambda one: -one["packets"])
    parts += [
        f"{one['packets']:,} returned {one.get('action', one['result'])}"
        for one in results[:_RESULTS]
    ]
    others = sum(one["packets"] for one in results[_RESULTS:])
    if others:
        parts.append(f"{others:,} returned one of {len(results) - _RESULTS:,} other values")
    words = {"killed": "killed", "made": "created", "kept": "kept", "waiting": "waiting"}
    for key, word in words.items():
        count = fate[key]  # type: ignore[literal-required]
        parts += [f"{count:,} {word}"] if count else []
    return f"Packets: {', '.join(parts) or 'destinations unknown'}."


def _each(count: int, packets: int) -> str:
    """Format a count, divided by the number of packets."""
    return number(round(count / packets, 4))


def _where(file: str, line: int) -> str:
    return f"{file.rpartition('/')[2]}:{line}" if line else ""
