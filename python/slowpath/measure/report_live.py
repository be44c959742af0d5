"""Text and CSV reports of measurements on live packets."""

from collections.abc import Iterator, Sequence

from slowpath.core.printable import csv_line
from slowpath.core.terminal import Line, grid
from slowpath.measure.documents import LivePath, MeasuredPath, MeasuredProgram
from slowpath.measure.environment import Environment
from slowpath.measure.report import errors_of, why_not

_COLUMNS = ("path", "action", "program ns", "spread", "baseline ns", "Mpps", "dropping", "lost")
_RIGHT = {"program ns", "spread", "baseline ns", "Mpps", "dropping", "lost"}
_HEAD = ("rank", "instructions", "action", "packet")
_LIVE = (
    "program_ns", "program_spread_ns", "low_ns", "high_ns", "run_ns", "baseline_ns",
    "baseline_action", "receiver_pps", "receiver_drop_pps", "batch", "frames", "arrived", "lost",
)  # fmt: skip


def live_text_report(
    records: Sequence[MeasuredProgram], where: Environment, *, verbose: bool
) -> Iterator[Line | str]:
    """Yield a table and a conclusion for each program."""
    for number, record in enumerate(records):
        if number:
            yield ""
        yield from _program(record, verbose=verbose)
    cpu = where["processor"]["cpu"]
    model = where["processor"]["model"] or "a CPU of unknown model"
    yield ""
    yield Line(f"measured on CPU {cpu} ({model}), Linux {where['kernel']['release']}", "dim")


def _program(record: MeasuredProgram, *, verbose: bool) -> Iterator[Line | str]:
    named = record["file"] if record["program"] is None else f"{record['file']}:{record['program']}"
    known = [(path, path["live"]) for path in record["paths"] if path["live"] is not None]
    if not known:
        yield Line(f"{named}: not measured", "bold")
        yield from errors_of(record)
        return
    found = f"{record['found']}" if record["complete"] else f"{record['found']} found so far"
    batch = known[0][1]["batch"]
    heading = f"{named}: {len(known)} of {found} paths, live packets, {batch} at a time"
    yield Line(heading, "bold")
    rows = [_row(path, live) for path, live in known]
    yield from grid(_COLUMNS, rows, right=_RIGHT)
    yield ""
    yield (
        "  program ns: beyond a minimal program of the same action, the baseline. Mpps: million "
        "packets a second that a virtual Ethernet device of this machine receives with the program "
        "in its driver, and with one that drops all; sending them is part of it, and no network "
        "card is: it is not a card's rate."
    )
    yield (
        f"  {record['loads']:,} loads, {record['samples']:,} samples, "
        f"{record['discarded'] / max(record['samples'], 1):.0%} of them disturbed, "
        f"{record['seconds']:.1f} s."
    )
    if record["conclusion"] is not None:
        yield Line(f"  {record['conclusion']}", "bold")
    yield from errors_of(record)
    for warning in record["warnings"]:
        yield Line(f"  warning: {warning}", "yellow")
    for path, live in known:
        for note in live["notes"] if verbose else ():
            yield f"  path {path['rank']}: {note}"


def _row(path: MeasuredPath, live: LivePath) -> list[str]:
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
    """Yield a header and a row for each path, or one with the error of a program without any."""
    yield csv_line(("file", "section", "program", *_HEAD, *_LIVE, "error"))
    for record in records:
        names = [record["file"], record["section"], record["program"]]
        for path in record["paths"]:
            head = [path[name] for name in _HEAD]  # type: ignore[literal-required]
            live = path["live"]
            told = [None if live is None else live[name] for name in _LIVE]  # type: ignore[literal-required]
            error = why_not(record, path, measured=live is not None)
            yield csv_line([*names, *head, *told, error])
        if not record["paths"]:
            yield csv_line([*names, *[None] * (len(_HEAD) + len(_LIVE)), record["error"]])
