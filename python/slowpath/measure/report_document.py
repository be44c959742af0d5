"""Formats measurements as text and CSV: live packets, traces, pipelines, and complete documents."""

from collections.abc import Iterator, Sequence

from slowpath.core.errors import with_code
from slowpath.core.formats import coded
from slowpath.core.printable import csv_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.terminal import Line, grid
from slowpath.measure.conclusions import initial_maps, untimed_packets
from slowpath.measure.documents import (
    LivePath,
    MeasureDocument,
    MeasuredPath,
    MeasuredProgram,
    MeasuredTrace,
    TracePath,
)
from slowpath.measure.environment import Environment
from slowpath.measure.pipeline_documents import MeasuredPipeline, PipelinesDocument, TimedPath
from slowpath.measure.report import (
    comparison_csv,
    comparison_report,
    csv_report,
    errors_of,
    label,
    sections,
    text_report,
    why_not,
)
from slowpath.measure.settings import Settings

LIVE_COLUMNS = (
    "path",
    "action",
    "program ns",
    "spread",
    "baseline ns",
    "Mpps",
    "dropping",
    "lost",
)
LIVE_RIGHT = {"program ns", "spread", "baseline ns", "Mpps", "dropping", "lost"}
_HEAD = ("rank", "instructions", "action", "packet")
_LIVE = (
    "program_ns", "program_spread_ns", "low_ns", "high_ns", "run_ns", "baseline_ns",
    "baseline_action", "receiver_pps", "receiver_drop_pps", "batch", "frames", "arrived", "lost",
)  # fmt: skip


def live_text_report(
    records: Sequence[MeasuredProgram], where: Environment, *, verbose: bool
) -> Iterator[Line | str]:
    """Yield the lines of a text report about programs that were measured on live packets."""
    return sections(records, where, lambda each: _live_program(each, verbose=verbose))


def _live_program(record: MeasuredProgram, *, verbose: bool) -> Iterator[Line | str]:
    known = [(path, path["live"]) for path in record["paths"] if path["live"] is not None]
    if not known:
        yield Line(f"{label(record)}: not measured", "bold")
        yield from errors_of(record)
        return
    found = f"{record['found']}" if record["complete"] else f"{record['found']} found so far"
    batch = known[0][1]["batch"]
    paths = f"{len(known)} of {found} paths, live packets, {batch} at a time"
    yield Line(f"{label(record)}: {paths}", "bold")
    rows = [live_cells(path, live) for path, live in known]
    yield from grid(LIVE_COLUMNS, rows, right=LIVE_RIGHT)
    yield ""
    yield (
        "  program ns: time beyond the baseline, a minimal program with the same action. Mpps: "
        "millions of packets a second that a virtual Ethernet device of this machine receives, "
        "with "
        "the program in its driver and with one that drops all. This includes sending, but no "
        "network card, so it is not the rate of a card."
    )
    yield (
        f"  {record['loads']:,} loads, {record['samples']:,} samples, "
        f"{record['discarded'] / max(record['samples'], 1):.0%} of them disturbed, "
        f"measured for {record['seconds']:.1f} s."
    )
    if record["conclusion"] is not None:
        yield Line(f"  {record['conclusion']}", "bold")
    yield from errors_of(record)
    for warning in coded(record["warnings"], record["warning_codes"]):
        yield Line(with_code(f"  warning: {warning}", warning.code), "yellow")
    for path, live in known:
        for note in live["notes"] if verbose else ():
            yield f"  path {path['rank']}: {note}"


def live_cells(path: MeasuredPath, live: LivePath) -> list[str]:
    """Return the cells of a path measured on live packets, for a table with `LIVE_COLUMNS`."""
    return [
        str(path["rank"]),
        live["baseline_action"],
        f"{live['program_ns']:.1f}",
        f"± {live['program_spread_ns']:.1f}",
        f"{live['baseline_ns']:.1f}",
        _millions(live["receiver_pps"]),
        _millions(live["receiver_drop_pps"]),
        f"{live['lost']:,}",
    ]


def _millions(rate: float | None) -> str:
    return "-" if rate is None else f"{rate / 1e6:.3f}"


def live_csv_report(records: Sequence[MeasuredProgram]) -> Iterator[str]:
    """Yield the lines of a CSV report about live packets: a header and a row for each path.

    A program without paths has one row with its error.
    """
    yield csv_line(("file", "section", "program", *_HEAD, *_LIVE, "error"))
    for record in records:
        names = [record["file"], record["section"], record["program"]]
        for path in record["paths"]:
            head = [path[name] for name in _HEAD]  # type: ignore[literal-required]
            live = path["live"]
            values = [None if live is None else live[name] for name in _LIVE]  # type: ignore[literal-required]
            error = why_not(record, path, measured=live is not None)
            yield csv_line([*names, *head, *values, error])
        if not record["paths"]:
            yield csv_line([*names, *[None] * (len(_HEAD) + len(_LIVE)), record["error"]])


_SHOWN = 31
"""Maximum number of paths that the table of a trace shows."""
TRACE_COLUMNS = (
    "path", "packets", "share", "instructions", "action", "ns/packet", "spread", "first", "",
)  # fmt: skip
TRACE_RIGHT = {"path", "packets", "share", "instructions", "ns/packet", "spread", "first"}
_CSV = (
    "file", "section", "program", "trace", "number", "path", "rank", "packets", "share",
    "instructions", "action", "first", "measured_packet", "measured_ns", "spread_ns", "low_ns",
    "high_ns", "program_ns", "runs", "arrangement", "drained", "error",
)  # fmt: skip


def trace_report(records: Sequence[MeasuredProgram]) -> Iterator[Line | str]:
    """Yield a table of paths and a conclusion for each program with a trace, as text.

    Programs without a trace are skipped.
    """
    for record in records:
        trace = record["trace"]
        if trace is not None and trace["count"]:
            yield ""
            yield from _trace(record, trace)


def _trace(record: MeasuredProgram, trace: MeasuredTrace) -> Iterator[Line | str]:
    so_far = "" if trace["complete"] else " read so far"
    paths, shown = trace["paths"], shown_paths(trace)
    yield Line(
        f"{trace['file']} through {record['program']}: {trace['count']:,} packets{so_far}, "
        f"{len(paths)} paths",
        "bold",
    )
    maps = initial_maps(trace)
    if maps is not None:
        yield f"  {maps}"
    rows = [trace_cells(path, trace) for path in shown]
    yield from grid(TRACE_COLUMNS, rows, right=TRACE_RIGHT)
    if len(paths) > len(shown):
        rest = sum(path["packets"] for path in paths) - sum(path["packets"] for path in shown)
        yield f"  {len(paths) - len(shown)} more paths have {rest:,} packets."
    yield ""
    mix = trace["mix"]
    if mix is not None:
        low, high = mix["low_ns"], mix["high_ns"]
        interval = "" if low is None or high is None else f" ({low:.1f} to {high:.1f})"
        rate = mix["packetrate_pps"] / 1e6
        yield f"  mean: {mix['mean_ns']:.1f} ns{interval}, {rate:.2f} Mpps on one core"
    if trace["conclusion"] is not None:
        yield Line(f"  {trace['conclusion']}", "bold")
    for path in paths:
        if path["error"] is not None:
            yield f"  path {path['number']} was not timed: {path['error']}"
    warnings = coded(trace["warnings"], trace["warning_codes"])
    for warning in (*warnings, untimed_packets(trace)):
        if warning is not None:
            yield Line(with_code(f"  warning: {warning}", warning.code), "yellow")


def shown_paths(trace: MeasuredTrace) -> list[TracePath]:
    """Return the paths of a trace that reports show: the most frequent, and the slowest."""
    shown, slowest = trace["paths"][:_SHOWN], trace["slowest"]
    if slowest is not None and slowest["path"] > _SHOWN:
        return [*shown, trace["paths"][slowest["path"] - 1]]
    return shown


def trace_cells(path: TracePath, trace: MeasuredTrace) -> list[str]:
    """Return the cells of a path that packets of a trace take, for a table with `TRACE_COLUMNS`."""
    value, spread = path["measured_ns"], path["spread_ns"]
    slowest = trace["slowest"]
    marks = [] if path["rank"] is None else [f"the analysis has it as path {path['rank']}"]
    if slowest is not None and slowest["path"] == path["number"] and len(trace["paths"]) > 1:
        marks.insert(0, "most instructions")
    return [
        str(path["number"]),
        f"{path['packets']:,}",
        f"{path['share']:.2%}",
        str(path["instructions"]),
        path["action"],
        "" if value is None else f"{value:.1f}",
        "" if not value or spread is None else f"± {spread:.1f} ({spread / value:.1%})",
        f"{path['first']:,}",
        ", ".join(marks),
    ]


def trace_csv(records: Sequence[MeasuredProgram]) -> Iterator[str]:
    """Yield the lines of a CSV report about traces: a header and a row for each path.

    A program without paths has one row with its error.
    """
    yield csv_line(_CSV)
    for record in records:
        trace = record["trace"]
        name = None if trace is None else trace["file"]
        head = [record["file"], record["section"], record["program"], name]
        paths = [] if trace is None else trace["paths"]
        for path in paths:
            yield csv_line([*head, *(path[key] for key in _CSV[len(head) :])])  # type: ignore[literal-required]
        if not paths:
            why = record["error"] if trace is None else trace["error"] or record["error"]
            yield csv_line([*head, *[None] * (len(_CSV) - len(head) - 1), why])


def document_text(document: MeasureDocument, settings: Settings, _old: str) -> Iterator[Line | str]:
    """Yield the lines of the text report on a document: its programs, traces and comparison."""
    records, where, verbose = document["results"], document["environment"], settings.verbose
    if settings.live is not None:
        yield from live_text_report(records, where, verbose=verbose)
    else:
        yield from text_report(records, where, verbose=verbose, cold=settings.cache == "cold")
    yield from trace_report(records)
    yield from comparison_report(document["comparison"] or ())
    yield from provenance_lines(document)


def document_csv(document: MeasureDocument, settings: Settings, old: str) -> Iterator[str]:
    """Return the lines of the CSV report on a document.

    The report is about one thing: the comparison with file `old` if there is one, else the trace,
    else the paths.
    """
    records = document["results"]
    if document["comparison"] is not None:
        return comparison_csv(document["comparison"], records, old)
    if settings.pcap is not None:
        return trace_csv(records)
    return csv_report(records) if settings.live is None else live_csv_report(records)


_PIPELINE_COLUMNS = (
    "path", "instructions", "lookups", "ns/packet", "spread", "pipeline ns", "estimated", "Mpps",
    "",
)  # fmt: skip
_PIPELINE_RIGHT = set(_PIPELINE_COLUMNS[:-1])
_MOST_RANKS = 8  # maximum number of paths in a line about a reason
_PIPELINE_CSV = (
    "rank", "instructions", "lookups", "measured_ns", "spread_ns", "low_ns", "high_ns",
    "baseline_ns", "program_ns", "estimated_ns", "packetrate_pps", "builds", "port", "packet",
    "output",
)  # fmt: skip


def pipelines_text(document: PipelinesDocument) -> Iterator[Line | str]:
    """Yield the lines of a text report: a table of paths for each pipeline, and its explanation."""
    for number, record in enumerate(document["results"]):
        if number:
            yield ""
        yield from _pipeline(record, document["dpdk"])


def _pipeline(record: MeasuredPipeline, version: str) -> Iterator[Line | str]:
    timed = [path for path in record["paths"] if path["measured_ns"] is not None]
    if not timed:
        yield Line(f"{record['file']}: not measured", "bold")
        yield f"  {record['error']}"
        return
    found = f"{record['found']}" if record["complete"] else f"{record['found']} found so far"
    yield Line(
        f"{record['file']}: {len(timed)} of {found} paths, in the interpreter of DPDK {version}",
        "bold",
    )
    yield from grid(
        _PIPELINE_COLUMNS, [_pipeline_cells(path) for path in timed], right=_PIPELINE_RIGHT
    )
    yield ""
    bases = sorted({path["baseline_ns"] for path in timed if path["baseline_ns"] is not None})
    if bases:
        yield (
            f"  pipeline ns: time beyond a pipeline that only receives and sends "
            f"({', '.join(f'{base:.1f} ns' for base in bases)}). Ports are in memory, so no "
            "network card is included."
        )
    if any(path["estimate"] is not None for path in timed):
        yield (
            "  estimated: the estimate of pipeline ns for few entries, from measurements on the "
            "machine that slowpath bound names."
        )
    yield (
        "  Tables have only the entries that the path needs, and one more if it needs none. Each "
        "time is that of undisturbed "
        f"batches, as a mean over {max(path['builds'] for path in timed)} builds of the pipeline."
    )
    if not record["precise"]:
        yield "  Some intervals are wider than --precision; measure for longer with --seconds."
    reasons = dict[str, list[str]]()
    for path in record["paths"]:
        if path["error"] is not None:
            reasons.setdefault(path["error"], []).append(str(path["rank"]))
    for reason, ranks in reasons.items():
        shown = ", ".join(ranks[:_MOST_RANKS]) + (", ..." if len(ranks) > _MOST_RANKS else "")
        verb = "was" if len(ranks) == 1 else "were"
        yield f"  path{'s'[: len(ranks) > 1]} {shown} {verb} not measured: {reason}"


def _pipeline_cells(path: TimedPath) -> list[str]:
    value, spread = path["measured_ns"] or 0.0, path["spread_ns"] or 0.0
    beyond, rate = path["program_ns"], path["packetrate_pps"]
    output = path["output"]
    return [
        str(path["rank"]),
        str(path["instructions"]),
        str(path["lookups"]),
        f"{value:.1f}",
        f"± {spread:.1f}",
        "-" if beyond is None else f"{beyond:.1f}",
        "-" if path["estimate"] is None else f"{path['estimate']['warm']['ns']:.0f}",
        "-" if rate is None else f"{rate / 1e6:.2f}",
        "dropped" if output is None else f"{len(output) // 2} bytes sent",
    ]


def pipelines_csv(document: PipelinesDocument) -> Iterator[str]:
    """Yield the lines of a CSV report about pipelines: a header and a row for each path.

    A pipeline without paths has one row with its error.
    """
    yield csv_line(("file", "program", *_PIPELINE_CSV, "error"))
    for record in document["results"]:
        names = [record["file"], record["program"]]
        for path in record["paths"]:
            time = None if path["estimate"] is None else path["estimate"]["warm"]["ns"]
            cells = {**path, "estimated_ns": time}
            values = [cells[name] for name in _PIPELINE_CSV]
            yield csv_line([*names, *values, path["error"]])
        if not record["paths"]:
            yield csv_line([*names, *[None] * len(_PIPELINE_CSV), record["error"]])
