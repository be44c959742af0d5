"""Writes the HTML page of `slowpath measure`: times of paths, their packets, and the machine.

The page consists of one article for each program, after the comparison of two versions if there is
one. It needs neither scripts nor other files.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import PurePath
from typing import NamedTuple

from slowpath.bounds.page_packet import field_cells, header_list, packet_table
from slowpath.core.formats import coded
from slowpath.core.html import (
    Column,
    Content,
    Html,
    element,
    facts,
    join,
    page,
    problem,
    table,
)
from slowpath.core.html.chart import Chart, Curve, Points, Strip, draw, draw_strips
from slowpath.core.html.explorer import (
    PATHS,
    card,
    hero,
    pairs,
    path_classes,
    several,
    style,
    switch,
    value,
)
from slowpath.core.programs.packet import Packet
from slowpath.core.programs.packet_fields import Field, header_fields
from slowpath.measure.conclusions import initial_maps, largest, untimed_packets, where
from slowpath.measure.disturbances import code_of
from slowpath.measure.documents import (
    Breakdown,
    ComparedPath,
    ComparedVersions,
    MeasureDocument,
    MeasuredPath,
    MeasuredProgram,
    MeasuredTrace,
)
from slowpath.measure.page_machine import complete_record, disturbance, machine_facts
from slowpath.measure.report import (
    COMPARISON_COLUMNS,
    COMPARISON_RIGHT,
    PATH_RIGHT,
    STRETCH_COLUMNS,
    STRETCH_RIGHT,
    cold_lines,
    comparison_cells,
    errors_of,
    later_lines,
    path_table,
    stretch_cells,
)
from slowpath.measure.report_document import (
    LIVE_COLUMNS,
    LIVE_RIGHT,
    TRACE_COLUMNS,
    TRACE_RIGHT,
    live_cells,
    shown_paths,
    trace_cells,
)
from slowpath.measure.traces import distribution

_STRIPS = 24
"""Maximum number of paths in the chart of times."""
_LARGEST = 3
"""Number of parts of the slowest path that the summary of a program names."""


class _Time(NamedTuple):
    """The measured time of a path, in nanoseconds per packet."""

    ns: float
    low: float | None  # ends of the 95 % interval; None: unknown
    high: float | None
    spread: float  # standard deviation between loads


def measure_page(document: MeasureDocument, *, cold: bool = False) -> str:
    """Return the HTML page of a measurement.

    If `cold` is true, the page shows times with cold caches even if they do not differ from those
    with hot caches.
    """
    records = document["results"]
    names = [_short(record) for record in records]
    title = f"Measured times of {', '.join(dict.fromkeys(names[:3]))}"
    title += " and others" if len(names) > 3 else ""  # noqa: PLR2004
    compared = document["comparison"] or []
    if compared:
        files = (PurePath(record["file"]).name for record in records)
        title = " \u2192 ".join(dict.fromkeys(files))
    alone = len(records) == 1 and not compared
    parts: list[Content] = []
    if not alone:
        parts.append(element("h1", title))
    parts += (_comparison(one) for one in compared)
    if len(records) > 1 and not compared:
        parts.append(_overview(records))
    articles = [
        _article(f"p{number}", record, document, "h1" if alone else "h2", cold=cold)
        for number, record in enumerate(records, 1)
    ]
    parts += articles if alone else [several(*articles)]
    parts.append(_conditions(document))
    compiler = f" Compiled by {document['compiler']}." if "compiler" in document else ""
    about = f"Written by slowpath {document['slowpath']}.{compiler} The page needs no network."
    return page(title, *parts, element("footer", about), broad=True, style=style())


def _short(record: MeasuredProgram) -> str:
    file = PurePath(record["file"]).name
    return f"{file}: {record['program']}" if record["program"] else file


def _text_table(
    columns: Sequence[str],
    right: Set[str],
    rows: Sequence[Sequence[Content]],
    narrow: Set[str] = frozenset(),
) -> Html:
    """Return an HTML table with the columns and rows of a table in a text report.

    Columns in `right` are aligned to the right. Narrow screens show only the columns in `narrow`.
    """
    known = [
        Column(name or "remark", name in right, wide=bool(narrow) and name not in narrow)
        for name in columns
    ]
    return table(known, rows, stack=not narrow)


# --- comparison of two versions ------------------------------------------------------------------


def _comparison(compared: ComparedVersions) -> Html:
    rows = compared["paths"]
    whole = f"{compared['old']} \u2192 {compared['new']}"
    programs = (compared[side].rpartition(":")[2] for side in ("old", "new"))
    errors = (
        problem(f"{row['path']} was not compared: {row['error']}", row["code"])
        for row in rows
        if row["error"] is not None
    )
    conclusion = compared["conclusion"]
    return element(
        "article",
        element("h2", " \u2192 ".join(dict.fromkeys(programs))),
        element("p", whole, class_="soft small"),
        hero(*map(_comparison_card, rows)),
        element(
            "section",
            element("h2", "Comparison"),
            None if conclusion is None else element("p", conclusion),
            *errors,
            _text_table(COMPARISON_COLUMNS, COMPARISON_RIGHT, list(map(comparison_cells, rows))),
            element("div", *_ratios(rows), class_="figures"),
        ),
    )


_KINDS = {
    "slowest": "Slowest path of each version",
    "same packet": "Same packet in both versions",
    "fastest": "Fastest path of each version",
}


def _comparison_card(row: ComparedPath) -> Html:
    title = _KINDS.get(row["path"], row["path"])
    if row["ratio"] is None:
        return card(title, value("not compared"), element("p", row["error"], class_="small"))
    change = row["ratio"] - 1
    words = f"{abs(change):.1%} {'more' if change > 0 else 'less'} time".replace("%", " %")
    known: list[tuple[str, Content]] = [
        ("new / old", f"{row['ratio']:.3f}"),
        ("95 % interval", _range(row["low"], row["high"], 3)),
        ("old", None if row["old_ns"] is None else f"{row['old_ns']:.1f} ns"),
        ("new", None if row["new_ns"] is None else f"{row['new_ns']:.1f} ns"),
    ]
    return card(title, value(words if row["significant"] else "no difference"), pairs(known))


def _ratios(rows: Sequence[ComparedPath]) -> Iterator[Html]:
    """Yield a figure of the ratios of new to old times, with their confidence intervals."""
    strips = [
        Strip(
            row["path"],
            f"{row['path']}: {row['ratio']:.3f}, {_range(row['low'], row['high'], 3)}",
            [],
            row["ratio"],
            row["low"],
            row["high"],
        )
        for row in rows
        if row["ratio"] is not None
    ]
    if strips:
        caption = "Ratios with 95 % intervals; the dashed line is equality"
        drawn = draw_strips(strips, "new time / old time (ratio)", "ratios of times", 1.0)
        yield element("figure", element("figcaption", caption), drawn)


def _range(low: float | None, high: float | None, digits: int) -> str | None:
    return None if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


# --- programs ------------------------------------------------------------------------------------


def _overview(records: Sequence[MeasuredProgram]) -> Html:
    columns = [
        Column("program"),
        Column("slowest path (ns)", number=True),
        Column("95 % interval (ns)", number=True),
        Column("fastest path (ns)", number=True),
    ]
    rows = list[list[Content]]()
    for number, record in enumerate(records, 1):
        times = [time for _, time in _timed(record)]
        row: list[Content] = [element("a", _short(record), href=f"#p{number}")]
        if times:
            slowest = times[0]
            interval = _range(slowest.low, slowest.high, 1) or ""
            row += [f"{slowest.ns:.1f}", interval, f"{times[-1].ns:.1f}"]
        else:
            row += ["not measured", "", ""]
        rows.append(row)
    made = table(columns, rows, stack=True)
    return element("section", element("h2", "Programs"), made, class_="overview")


def _timed(record: MeasuredProgram) -> list[tuple[MeasuredPath, _Time]]:
    """Return the measured paths of a program with their times, slowest first."""
    found = list[tuple[MeasuredPath, _Time]]()
    for path in record["paths"]:
        live = path["live"]
        if live is not None:
            ends = (live["low_ns"], live["high_ns"])
            found.append((path, _Time(live["program_ns"], *ends, live["program_spread_ns"])))
        elif path["measured_ns"] is not None:
            ends = (path["low_ns"], path["high_ns"])
            found.append((path, _Time(path["measured_ns"], *ends, path["spread_ns"] or 0.0)))
    return sorted(found, key=lambda one: -one[1].ns)


def _article(
    name: str, record: MeasuredProgram, document: MeasureDocument, heading: str, *, cold: bool
) -> Html:
    section = f", section {record['section']}" if record["section"] else ""
    words = f"{record['file']}{section}; {_mode(record)}"
    head = [
        element(heading, _short(record)),
        element("p", words, class_="soft small"),
    ]
    timed = _timed(record)
    if not timed and record["trace"] is None:
        reason = problem(f"Not measured: {record['error']}", record["code"])
        return element("article", *head, reason, *_problems(record), id=name)
    shown = timed[:PATHS]
    cards = [_time_card(record, shown), _conditions_card(document, record)]
    if shown:
        cards.insert(1, _packet_card(name, shown))
    labels = [f"{_rank(path)}: {time.ns:.1f} ns" for path, time in shown]
    more = len(timed) - len(shown)
    return element(
        "article",
        *head,
        hero(*cards),
        switch(name, labels, f"{more} more are in the table" if more else None)
        if len(shown) > 1
        else None,
        _times(record, timed, cold=cold),
        _breakdown(record["breakdown"]),
        None if record["trace"] is None else _trace(record["trace"]),
        _packets(name, shown),
        class_="single" if len(shown) == 1 else None,
        id=name,
    )


def _mode(record: MeasuredProgram) -> str:
    if record["mode"] == "live":
        return "live packets, time beyond a minimal program with the same action"
    return "test runs of the kernel with hot caches, without receiving and sending"


def _rank(path: MeasuredPath) -> str:
    return "path" if path["rank"] is None else f"path {path['rank']}"


# --- the first screen ----------------------------------------------------------------------------


def _time_card(record: MeasuredProgram, shown: Sequence[tuple[MeasuredPath, _Time]]) -> Html:
    if not shown:
        return card("Time", value("not measured"), element("p", record["error"], class_="small"))
    inside = list[Html]()
    for number, (path, time) in enumerate(shown, 1):
        kind = ", the slowest measured" if number == 1 else ""
        words = f"{time.ns:.1f} ns per packet"
        known: list[tuple[str, Content]] = [
            ("path", f"{_rank(path)}{kind}"),
            ("95 % interval", _unit(_range(time.low, time.high, 1))),
            ("estimate", _estimate(path)),
            ("instructions", _bound(record, path)),
            ("rate of one core", _rate(path)),
            ("cold caches", _cold(path)),
            ("mean of the trace", _mean(record["trace"]) if number == 1 else None),
            *_live_pairs(path),
        ]
        rows = [value(words), pairs(known)]
        if record["breakdown"] is not None and record["breakdown"]["rank"] == path["rank"]:
            rows += _hottest(record["breakdown"])
        inside.append(element("div", *rows, class_=path_classes(number)))
    return card("Measured time", *inside)


def _unit(text: str | None, unit: str = "ns") -> str | None:
    return None if text is None else f"{text} {unit}"


def _estimate(path: MeasuredPath) -> str | None:
    predicted, measured = path["predicted_ns"], path["measured_ns"]
    if predicted is None or not measured:
        return None
    return f"{predicted:.1f} ns ({100 * (predicted / measured - 1):+.0f} %)"


def _bound(record: MeasuredProgram, path: MeasuredPath) -> str:
    """Return the number of instructions on a path, and the bound for all paths, as a text."""
    count, ranks = path["instructions"], [one["rank"] for one in record["paths"]]
    if 1 not in ranks:
        return f"{count}"
    most = next(one["instructions"] for one in record["paths"] if one["rank"] == 1)
    kind = "bound" if record["complete"] else "most found"
    return f"{count} ({kind})" if count == most else f"{count} ({kind}: {most})"


def _rate(path: MeasuredPath) -> str | None:
    rate = path["packetrate_pps"]
    return None if rate is None else f"{rate / 1e6:.2f} Mpps"


def _cold(path: MeasuredPath) -> str | None:
    cold = path["cold"]
    if cold is None:
        return None
    differs = "" if cold["differs"] else ", as hot"
    return f"{cold['measured_ns']:.1f} ns{differs}"


def _mean(trace: MeasuredTrace | None) -> str | None:
    if trace is None or trace["mix"] is None:
        return None
    return f"{trace['mix']['mean_ns']:.1f} ns ({trace['count']:,} packets)"


def _live_pairs(path: MeasuredPath) -> Iterator[tuple[str, Content]]:
    live = path["live"]
    if live is None:
        return
    yield "minimal program", f"{live['baseline_ns']:.1f} ns ({live['baseline_action']})"
    if live["receiver_pps"] is not None:
        yield "received", f"{live['receiver_pps'] / 1e6:.3f} Mpps"
    if live["receiver_drop_pps"] is not None:
        yield "received if dropped", f"{live['receiver_drop_pps'] / 1e6:.3f} Mpps"


def _hottest(breakdown: Breakdown) -> Iterator[Html]:
    """Yield a line for each of the parts of a path that take most of its time."""
    for stretch in largest(breakdown)[:_LARGEST]:
        place, call = where(stretch), stretch["call"]
        name = ", ".join(filter(None, (call, place))) or f".{stretch['from_instruction']}"
        share = "" if stretch["share"] is None else f"{100 * stretch['share']:.0f} % "
        yield element("p", f"{share}{name}", class_="small")


def _packet_card(name: str, shown: Sequence[tuple[MeasuredPath, _Time]]) -> Html:
    inside = list[Html]()
    for number, (path, _) in enumerate(shown, 1):
        packet = _packet(path)
        ids = _field_ids(name, number, packet)
        rows = [value(f"{len(packet)} bytes"), header_list(packet, ids.get)]
        inside.append(element("div", *rows, class_=path_classes(number)))
    return card("Packet", *inside)


def _packet(path: MeasuredPath) -> Packet:
    return list(bytes.fromhex(path["packet"]))


def _field_ids(name: str, number: int, packet: Packet) -> Mapping[int, str]:
    fields = (field for _, known in header_fields(packet) for field in known)
    return {field.offset: f"{name}-k{number}-b{field.offset}" for field in fields}


def _conditions_card(document: MeasureDocument, record: MeasuredProgram) -> Html:
    found = [one for one in document["disturbances"] if one["severity"] == "warning"]
    warnings: list[tuple[str, str | None]] = [(one["what"], code_of(one)) for one in found]
    warnings += zip(record["warnings"], record["warning_codes"], strict=True)
    words = f"{len(warnings)} warning{'s'[: len(warnings) != 1]}" if warnings else "undisturbed"
    environment = document["environment"]
    kernel, processor = environment["kernel"], environment["processor"]
    jit = {0: "off", 1: "on", 2: "on, debugging"}.get(kernel["bpf"]["jit_enable"] or 0, "on")
    pace = environment["pace"]
    discarded = record["discarded"] / max(record["samples"], 1)
    known: list[tuple[str, Content]] = [
        ("CPU", f"{processor['model'] or 'of unknown model'}"),
        ("clock", None if pace is None else f"{pace['clock_hz'] / 1e9:.2f} GHz"),
        ("kernel", f"Linux {kernel['release'] or 'of unknown release'}"),
        ("JIT", None if kernel["bpf"]["jit_enable"] is None else jit),
        ("samples omitted", f"{100 * discarded:.0f} % of {record['samples']:,}"),
    ]
    link = element("p", element("a", "Conditions and notes", href="#conditions"), class_="small")
    texts = (problem(text, code, "small") for text, code in warnings)
    return card("Conditions", value(words), pairs(known), *texts, link)


# --- times ---------------------------------------------------------------------------------------


def _times(
    record: MeasuredProgram, timed: Sequence[tuple[MeasuredPath, _Time]], *, cold: bool
) -> Html | None:
    if not timed:
        return None
    paths = [path for path in record["paths"] if any(path is one for one, _ in timed)]
    live = [(path, path["live"]) for path in paths if path["live"] is not None]
    if live:
        rows = [live_cells(*one) for one in live]
        shown = _text_table(LIVE_COLUMNS, LIVE_RIGHT, rows, {"path", "action", "program ns"})
    else:
        columns, rows = path_table(paths, cold=cold)
        narrow = {"path", "instructions", "ns/packet", "predicted"}
        shown = _text_table(columns, PATH_RIGHT | {"cold ns"}, rows, narrow)
    remarks = [*later_lines(paths), *(cold_lines(paths) if not live else ())]
    return element(
        "section",
        element("h2", "Times of paths"),
        element(
            "div",
            _distribution(timed, live=bool(live)),
            element(
                "div",
                None if record["conclusion"] is None else element("p", record["conclusion"]),
                *_problems(record),
                *(element("p", text.strip(), class_="small soft") for text in remarks),
            ),
            class_="figures",
        ),
        shown,
    )


def _problems(record: MeasuredProgram) -> Iterator[Html]:
    """Yield the reasons why paths were not measured, and warnings about the program."""
    texts = (*errors_of(record), *coded(record["warnings"], record["warning_codes"]))
    yield from map(problem, texts)


def _distribution(timed: Sequence[tuple[MeasuredPath, _Time]], *, live: bool) -> Html:
    strips = [
        Strip(
            _rank(path),
            f"{_rank(path)}: {time.ns:.1f} ns, standard deviation {time.spread:.1f} ns",
            path["load_ns"],
            time.ns,
            time.low,
            time.high,
            None if live else path["predicted_ns"],
        )
        for path, time in timed[:_STRIPS]
    ]
    caption = "A point for each load of the program; the mean with its 95 % interval"
    if any(strip.reference is not None for strip in strips):
        caption += "; diamonds are estimates"
    axis = "nanoseconds per packet"
    drawn = draw_strips(strips, axis, "times of paths in nanoseconds per packet")
    return element("figure", element("figcaption", caption), drawn)


def _breakdown(breakdown: Breakdown | None) -> Html | None:
    if breakdown is None:
        return None
    title = element("h2", "Breakdown of the slowest path")
    if breakdown["error"] is not None:
        return element("section", title, element("p", f"No breakdown: {breakdown['error']}."))
    rows = list[list[Content]]()
    for stretch in breakdown["stretches"]:
        share, *cells, text = stretch_cells(stretch)
        heat = max(0.0, min(1.0, stretch["share"] or 0.0)) ** 0.5
        hot = element("span", share, class_="hot", style=f"--h: {100 * heat:.0f}%")
        code = element("code", stretch["text"].strip() if stretch["text"] else text, class_="line")
        rows.append([hot, *cells, code])
    words = (
        f"The {breakdown['program_ns'] or 0.0:.1f} ns beyond an empty program, by stretches of "
        "consecutive instructions in order of execution."
    )
    known = any(stretch["file"] is not None for stretch in breakdown["stretches"])
    columns, narrow = list(STRETCH_COLUMNS), {"share", "ns", "source"}
    if not known:
        columns, narrow = columns[:-2], {"share", "ns", "call"}
        rows = [row[:-2] for row in rows]
    made = _text_table(columns, STRETCH_RIGHT, rows, narrow)
    return element("section", title, element("p", words, class_="soft small"), made)


def _trace(trace: MeasuredTrace) -> Html:
    parts: list[Content] = [element("h2", f"Packets of {PurePath(trace['file']).name}")]
    so_far = "" if trace["complete"] else " read so far"
    mix = trace["mix"]
    known = facts(
        ("packets", f"{trace['count']:,}{so_far}"),
        ("paths", f"{len(trace['paths']):,}"),
        ("mean", None if mix is None else f"{mix['mean_ns']:.1f} ns"),
        ("95 % interval", None if mix is None else _unit(_range(mix["low_ns"], mix["high_ns"], 1))),
        ("rate of one core", None if mix is None else f"{mix['packetrate_pps'] / 1e6:.2f} Mpps"),
    )
    parts.append(known)
    parts += [element("p", text) for text in (initial_maps(trace), trace["conclusion"]) if text]
    steps = distribution(trace)
    if steps:
        parts.append(element("div", _trace_figure(trace, steps), class_="figures"))
    shown = shown_paths(trace)
    rows = [trace_cells(path, trace) for path in shown]
    narrow = {"path", "packets", "share", "ns/packet"}
    parts.append(_text_table(TRACE_COLUMNS, TRACE_RIGHT, rows, narrow))
    if len(trace["paths"]) > len(shown):
        parts.append(element("p", f"{len(trace['paths']) - len(shown):,} more paths are rarer."))
    if trace["error"] is not None:
        parts.append(problem(trace["error"], trace["code"]))
    parts += [
        problem(f"path {p['number']} was not timed: {p['error']}", p["code"])
        for p in trace["paths"]
        if p["error"]
    ]
    parts += map(problem, coded(trace["warnings"], trace["warning_codes"]))
    untimed = untimed_packets(trace)
    parts += [] if untimed is None else [problem(untimed)]
    return element("section", *parts)


def _trace_figure(trace: MeasuredTrace, steps: Sequence[tuple[float, float]]) -> Html:
    """Draw the distribution of the packets' times, and mark the time of the slowest path.

    `steps` has times in nanoseconds, each with the share of packets that take at most this time.
    """
    slowest = trace["slowest"]
    bound = None if slowest is None else slowest["bound_ns"]
    x, y = [0.0], [0.0]
    for time, share in steps:
        x += [time, time]
        y += [y[-1], 100 * share]
    x.append(max(x[-1], bound or 0.0) * 1.05)
    y.append(100.0)
    words = "share of packets by time"
    chart = Chart(
        "nanoseconds per packet",
        "packets (%)",
        Points([], [], [], [], []),
        [Curve(x, y, y, y, 0)],
        [] if bound is None else [bound],
        words,
    )
    caption = "Share of packets that take at most this time"
    caption += "" if bound is None else f"; the dashed line is the slowest path ({bound:.1f} ns)"
    return element("figure", element("figcaption", caption), draw(chart))


# --- packets and conditions ----------------------------------------------------------------------


def _packets(name: str, shown: Sequence[tuple[MeasuredPath, _Time]]) -> Html | None:
    if not shown:
        return None
    inside = list[Html]()
    for number, (path, _) in enumerate(shown, 1):
        packet = _packet(path)
        ids = _field_ids(name, number, packet)

        def row(field: Field, packet: Packet = packet, ids: Mapping[int, str] = ids) -> Html:
            return element("tr", *field_cells(field, packet), id=ids[field.offset])

        words = f"Packet of {_rank(path)}, {len(packet)} bytes, {path['action'] or 'no action'}."
        needs = [f"Results of {helper} were replaced." for helper in path["answered"]]
        inside.append(
            element(
                "div",
                element("p", " ".join([words, *needs]), class_="soft small"),
                packet_table(header_fields(packet), row),
                class_=path_classes(number),
            )
        )
    return element("section", element("h2", "Packet"), *inside)


def _conditions(document: MeasureDocument) -> Html:
    found = document["disturbances"]
    return element(
        "section",
        element("h2", "Conditions of the measurement"),
        machine_facts(document["environment"]),
        join(*map(disturbance, found)) if found else element("p", "No disturbance is known."),
        complete_record(document["environment"]),
        id="conditions",
    )
