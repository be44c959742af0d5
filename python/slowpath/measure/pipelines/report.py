"""Prints measurements of pipelines as text and CSV."""

from collections.abc import Iterator

from slowpath.core.printable import csv_line
from slowpath.core.terminal import Line, grid
from slowpath.measure.pipelines.documents import MeasuredPipeline, PipelinesDocument, TimedPath

_COLUMNS = (
    "path", "instructions", "lookups", "ns/packet", "spread", "pipeline ns", "estimated", "Mpps",
    "",
)  # fmt: skip
_RIGHT = set(_COLUMNS[:-1])
_RANKS = 8  # maximum number of paths in a line about a reason
_CSV = (
    "rank", "instructions", "lookups", "measured_ns", "spread_ns", "low_ns", "high_ns",
    "baseline_ns", "program_ns", "estimated_ns", "packetrate_pps", "builds", "port", "packet",
    "output",
)  # fmt: skip


def pipelines_text(document: PipelinesDocument) -> Iterator[Line | str]:
    """Yield a table of paths for each pipeline, and the meaning of its columns."""
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
    yield from grid(_COLUMNS, [_cells(path) for path in timed], right=_RIGHT)
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
        shown = ", ".join(ranks[:_RANKS]) + (", ..." if len(ranks) > _RANKS else "")
        verb = "was" if len(ranks) == 1 else "were"
        yield f"  path{'s'[: len(ranks) > 1]} {shown} {verb} not measured: {reason}"


def _cells(path: TimedPath) -> list[str]:
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
    """Yield a header and a row for each path; pipelines without paths have a row with the error."""
    yield csv_line(("file", "program", *_CSV, "error"))
    for record in document["results"]:
        names = [record["file"], record["program"]]
        for path in record["paths"]:
            time = None if path["estimate"] is None else path["estimate"]["warm"]["ns"]
            cells = {**path, "estimated_ns": time}
            values = [cells[name] for name in _CSV]
            yield csv_line([*names, *values, path["error"]])
        if not record["paths"]:
            yield csv_line([*names, *[None] * len(_CSV), record["error"]])
