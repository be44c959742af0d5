"""Formats the results of the test bed `load` as text and CSV."""

from collections.abc import Iterator

from slowpath.calibrate.load.documents import LoadDocument, LoadedProgram, OfferedRate
from slowpath.core.printable import csv_line
from slowpath.core.terminal import Line, grid

_COLUMNS = ("offered", "kpps", "received", "loss", "p50", "p90", "p99", "p99.9", "lost at")
_RIGHT = _COLUMNS[1:-1]
PLACES = {
    "queue": "queue of the program",
    "program": "program",
    "return_queue": "queue of the receiver",
    "unmarked": "mark",
    "unexplained": "unknown place",
}
"""Descriptions of the places where packets get lost, by the key of their number in results."""
_LARGE = 100.0


def load_text(document: LoadDocument) -> Iterator[Line | str]:
    """Yield the lines of a text report: a table for each program, and the conditions."""
    for program in document["programs"]:
        yield Line(title(program), "bold")
        yield from _program(program, document["tolerance"])
        yield ""
    yield (
        f"Latencies in µs, from sending to return. {place_text(document)}; CPU "
        f"{document['sender_cpu']} sends and receives, CPU {document['program_cpu']} runs the "
        "program."
    )
    yield from document["notes"]
    yield f"Programs: {document['directory']}"


def place_text(document: LoadDocument) -> str:
    """Return a text on where programs run: XDP in the driver or the kernel, or DPDK."""
    place = document["attachment"]
    return "SWX in DPDK" if place == "dpdk-swx" else f"XDP {place}"


def title(program: LoadedProgram) -> str:
    """Return the title of a program: experiment, value of the parameter, and packet size."""
    at = f"{program['parameter']} = {program['value']:,}"
    return f"{program['experiment']}, {at}, packets of {program['bytes']:,} bytes"


def highest_text(program: LoadedProgram, tolerance: float) -> str | None:
    """Return a sentence about the highest rate without loss; None if it is unknown."""
    highest = program["highest_pps"]
    if not highest:
        return None
    words = f"Highest rate with at most {100 * tolerance:.4g} % lost: {kilo(highest)} kpps"
    limit = ", limited by the sender" if program["limit"] == "sender" else ""
    return f"{words}{limit} ({program['trials']} trials)."


def _program(program: LoadedProgram, tolerance: float) -> Iterator[Line | str]:
    sentence = highest_text(program, tolerance)
    if sentence is not None:
        yield sentence
    if program["reason"] is not None:
        yield f"Not measured: {program['reason']}."
    rates = all_rates(program)
    if rates:
        yield from grid(_COLUMNS, [_row(one) for one in rates], right=_RIGHT)


def all_rates(program: LoadedProgram) -> list[OfferedRate]:
    """Return the results of a program for all offered rates; full speed comes last."""
    return [*program["rates"], *([] if program["full"] is None else [program["full"]])]


def _row(one: OfferedRate) -> list[str]:
    latency = one["latency"]
    quantiles = (
        [""] * 4
        if latency is None
        else [micro(latency[key]) for key in ("p50", "p90", "p99", "p999")]
    )
    return [
        share_text(one),
        kilo(one["offered_pps"]),
        kilo(one["received_pps"]),
        f"{one['loss']:.3%}",
        *quantiles,
        lost_at(one),
    ]


def share_text(one: OfferedRate) -> str:
    """Format an offered rate as a percentage of the highest rate without loss."""
    return "all" if one["share"] is None else f"{one['share']:.4%}".rstrip("0%").rstrip(".") + "%"


def kilo(rate: float) -> str:
    """Format a rate (packets per second) in thousands of packets per second."""
    return f"{rate / 1e3:,.1f}"


def micro(latency: float) -> str:
    """Format a latency in microseconds, with one decimal below 100."""
    return f"{latency:,.0f}" if latency >= _LARGE else f"{latency:.1f}"


def lost_at(one: OfferedRate) -> str:
    """Return a text with the places where packets got lost, and the number of packets for each."""
    packets = one["packets"]
    places = [f"{PLACES[key]} {packets[key]:,}" for key in PLACES if packets[key]]  # type: ignore[literal-required]
    if packets["late"]:
        places.append(f"not sent {packets['late']:,}")
    return ", ".join(places)


_HEAD = (
    "experiment",
    "parameter",
    "value",
    "bytes",
    "highest_pps",
    "limit",
    "share",
    "requested_pps",
    "offered_pps",
    "received_pps",
    "loss",
)
_FATES = ("due", "late", "sent", "received", *PLACES)
_LATENCIES = ("least", "p50", "p90", "p99", "p999", "most")


def load_csv(document: LoadDocument) -> Iterator[str]:
    """Yield the lines of a CSV report: one for each program and offered rate."""
    yield csv_line((*_HEAD, *_FATES, *(f"{name}_us" for name in _LATENCIES)))
    for program in document["programs"]:
        for one in all_rates(program):
            yield rate_csv(program, one)


def rate_csv(program: LoadedProgram, one: OfferedRate) -> str:
    """Return the CSV line for a program at one offered rate."""
    latency = one["latency"]
    values = {**program, **one}
    return csv_line(
        [
            *(values[name] for name in _HEAD),
            *(one["packets"][name] for name in _FATES),  # type: ignore[literal-required]
            *(None if latency is None else latency[name] for name in _LATENCIES),  # type: ignore[literal-required]
        ]
    )
