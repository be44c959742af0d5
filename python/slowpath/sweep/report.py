"""Formats sweeps as text and CSV, and plots them.

The x-axis of a plot is the first macro. A plot has a panel for each unit, and a line for each
target, program and combination of values of the other macros.
"""

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from slowpath.bounds.report_rates import Notes, notes_of
from slowpath.core.pictures import picture, plain
from slowpath.core.printable import csv_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.schema.derived import counted, metric_words
from slowpath.core.schema.rates import as_metric, format_rate
from slowpath.core.terminal import Line, grid
from slowpath.sweep.definitions import Definition
from slowpath.sweep.documents import Sweep, SweptProgram, SweptResult, SweptTime

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_EXACT = {"exact": "yes", "conditional": "if", "bound": "no"}
_MEASURED = "measured ns"
MEASURED = "measured in this kernel"
"""Label of the curve of measured times in plots."""
_RESULT = ("target", "metric", "packetrate_pps", "bitrate_bps")
_REST = ("verdict", "bottleneck", "stopped", "error")
_TIME = ("ns", "low_ns", "high_ns", "program_ns")
_ESTIMATED = ("warm ns", "cold ns")
_WARM = ("warm_ns", "warm_low_ns", "warm_high_ns")
_COLD = ("cold_ns", "cold_low_ns", "cold_high_ns")
ESTIMATE = ("warm_ns", *_COLD, *_WARM[1:])
"""CSV columns with a target's estimated times and the ends of their intervals; also the keys in
results.
"""


def text_report(sweep: Sweep) -> Iterator[Line]:
    """Yield the lines of a text report: a row for each program, with the results for all targets.

    If a result is missing, the row has the reason.
    """
    yield from _table(sweep)
    yield from provenance_lines(sweep)


class Cells(NamedTuple):
    """The table of a sweep with one row for each program, for text and HTML."""

    columns: list[str]
    right: set[str]  # columns of numbers
    rows: list[list[str]]
    notes: list[str]  # below the table


def _table(sweep: Sweep) -> Iterator[Line]:
    cells = table_cells(sweep)
    if cells.rows:
        yield from grid(cells.columns, cells.rows, right=cells.right, margin="")
    for note in cells.notes:
        yield Line(note)


def table_cells(sweep: Sweep) -> Cells:
    """Return the table of a sweep: the results of each program for all targets.

    If a result is missing, the row has the reason.
    """
    programs = sweep["results"]
    if not programs:
        return Cells([], set(), [], [])
    notes = Notes()
    several = len({one["program"] for one in programs if one["program"] is not None}) > 1
    names = [one["name"] for one in sweep["definitions"]]
    first = programs[0]
    estimating = {
        result["target"]
        for program in programs
        for result in program["results"]
        if result["cold_ns"] is not None
    }
    columns = [*names, *(["program"] if several else []), *_columns(first, estimating), ""]
    right = {*names, _MEASURED, *_ESTIMATED, *(_heading(one) for one in first["results"])}
    rows = [_row(one, names, notes, estimating, several=several) for one in programs]
    return Cells(columns, right, rows, list(notes_of(notes.texts)))


def _heading(result: SweptResult) -> str:
    """Return the heading of the column with the guarantees for a target."""
    rate = as_metric(result["metric"])
    return result["target"] + ("" if rate else f" {metric_words(result['metric'])}")


def _columns(program: SweptProgram, estimating: Set[str]) -> Iterator[str]:
    for result in program["results"]:
        yield _heading(result)
        yield "exact"
        if result["target"] in estimating:
            yield from _ESTIMATED
        if as_metric(result["metric"]) is not None:
            yield "bottleneck"
    if program["measured"] is not None:
        yield _MEASURED


def _row(
    program: SweptProgram,
    names: Sequence[str],
    notes: Notes,
    estimating: Set[str],
    *,
    several: bool,
) -> list[str]:
    cells = [program["values"][name] for name in names]
    if several:
        cells.append(program["program"] or "")
    for result in program["results"]:
        cells += _cells(result, estimating)
    measured = program["measured"]
    if measured is not None:
        cells.append(_time(measured))
    assumptions = (text for result in program["results"] for text in result["assumptions"])
    remarks = [*_remarks(program), *notes.marks(assumptions)]
    return [*cells, "; ".join(remarks)]


def _cells(result: SweptResult, estimating: Set[str]) -> Iterator[str]:
    """Yield the table cells of a program for one target: guarantee, certainty, and estimated times.

    `estimating` are the targets with estimated times.
    """
    verdict, metric = result["verdict"], result["metric"]
    yield "not analysed" if verdict is None else guaranteed_text(result)
    yield "" if verdict is None else _EXACT[verdict]
    if result["target"] in estimating:
        for time in (result["warm_ns"], result["cold_ns"]):
            yield "" if time is None else f"{time:.0f}"
    if as_metric(metric) is not None:
        yield result["bottleneck"] or ""


def guaranteed(result: SweptResult) -> float | None:
    """Return the guaranteed value of a result, in its metric; None without a guarantee."""
    if result["verdict"] is None:
        return None
    if as_metric(result["metric"]) is None:
        return counted(result["counts"] or {}, result["metric"])[1]
    return result["packetrate_pps" if result["metric"] == "packetrate" else "bitrate_bps"]


def guaranteed_text(result: SweptResult) -> str:
    """Format the guaranteed value of a result; the text is empty without one."""
    value, rate = guaranteed(result), as_metric(result["metric"])
    if value is None:
        return ""
    return f"{int(value):,}" if rate is None else format_rate(value, rate)


def _time(measured: SweptTime) -> str:
    value, low, high = measured["ns"], measured["low_ns"], measured["high_ns"]
    if value is None:
        return "-"
    either = "" if low is None or high is None else f" ± {(high - low) / 2:.1f}"
    return f"{value:.1f}{either}"


def _remarks(program: SweptProgram) -> Iterator[str]:
    """Yield the reasons why results of a program are missing; each reason is yielded once."""
    results, measured = program["results"], program["measured"]
    errors = {one["error"] for one in results}
    if len(errors) == 1 and None not in errors:
        yield f"{results[0]['error']}"
    else:
        for one in results:
            if one["error"] is not None:
                yield f"{one['target']}: {one['error']}"
    for one in results:
        if one["stopped"] is not None:
            yield f"{one['target']} stopped: {one['stopped']}"
    if measured is not None and measured["error"] is not None and measured["error"] not in errors:
        yield f"not measured: {measured['error']}"


def csv_report(sweep: Sweep) -> Iterator[str]:
    """Yield the lines of a CSV report: one for each program and target.

    Measured times do not depend on the target, so they are repeated.
    """
    names = [one["name"] for one in sweep["definitions"]]
    counts = dict.fromkeys(
        name
        for program in sweep["results"]
        for result in program["results"]
        for name in result["counts"] or ()
    )
    columns = ["program", *_RESULT, *(_identifier(name) for name in counts), *_REST]
    columns += [f"measured_{name}" for name in (*_TIME, "error")]
    columns += ESTIMATE
    yield csv_line([*(f"D_{name}" if name in columns else name for name in names), *columns])
    for program in sweep["results"]:
        head = [*(number_or_text(program["values"][name]) for name in names), program["program"]]
        timed = program["measured"]
        times = [None] * (len(_TIME) + 1)
        if timed is not None:
            times = [timed[name] for name in (*_TIME, "error")]  # type: ignore[literal-required]
        for result in program["results"]:
            own = [result[name] for name in _RESULT]  # type: ignore[literal-required]
            rest = [result[name] for name in _REST]  # type: ignore[literal-required]
            numbers = [(result["counts"] or {}).get(name) for name in counts]
            estimate = [result[name] for name in ESTIMATE]  # type: ignore[literal-required]
            yield csv_line([*head, *own, *numbers, *rest, *times, *estimate])


def _identifier(name: str) -> str:
    return name.replace(" ", "_")


def number_or_text(value: str) -> int | str:
    """Return a macro value as an integer if it is one, else as text, so that CSV has numbers."""
    try:
        return int(value)
    except ValueError:
        return value


_WIDTH, _HEIGHT = 7.0, 3.2  # inches, of each panel
_UNITS = {"packetrate": ("guaranteed Mpps", 1e6), "bitrate": ("guaranteed Gbit/s", 1e9)}
_MANY = 12
"""Number of text labels of values above which the labels are rotated."""


class Series(NamedTuple):
    """Results by the first macro's value, for one target, program, and values of other macros."""

    label: str
    values: dict[str, tuple[float, float, float]]  # value, low, high by value of the definition


def draw(file: str, definitions: Sequence[Definition], programs: Sequence[SweptProgram]) -> None:
    """Plot a sweep to a file; `definitions` are the swept macros.

    The format is SVG or PNG, by the suffix of the file name. The same data always gives the same
    file.

    Raises:
        OSError: if the file cannot be written.
    """
    found = panels(definitions, programs)
    with picture(file, _WIDTH, _HEIGHT * max(len(found), 1)) as figure:
        axes = figure.subplots(max(len(found), 1), sharex=True, squeeze=False)[:, 0]
        for one, (unit, lines) in zip(axes, found.items(), strict=False):
            _panel(one, definitions[0], lines)
            one.set_ylabel(unit)
        axes[-1].set_xlabel(definitions[0].name)


def panels(
    definitions: Sequence[Definition], programs: Sequence[SweptProgram]
) -> dict[str, list[Series]]:
    """Return the curves of a plot by unit; each unit has its own panel."""
    found: dict[str, dict[str, Series]] = {}
    several = len({one["program"] for one in programs if one["program"] is not None}) > 1
    first, others = definitions[0].name, [one.name for one in definitions[1:]]
    for program in programs:
        rest = [f"{name}={program['values'][name]}" for name in others]
        rest += [program["program"] or ""] if several else []
        for unit, label, value in _values(program):
            name = ", ".join([label, *rest])
            line = found.setdefault(unit, {}).setdefault(name, Series(name, {}))
            line.values[program["values"][first]] = value
    return {unit: list(some.values()) for unit, some in found.items()}


def _values(program: SweptProgram) -> Iterator[tuple[str, str, tuple[float, float, float]]]:
    """Yield the results of a program as unit, label, and value with both ends of its interval."""
    for result in program["results"]:
        value, rate = guaranteed(result), as_metric(result["metric"])
        if value is None:
            continue
        unit, scale = (metric_words(result["metric"]), 1) if rate is None else _UNITS[rate]
        yield unit, result["target"], (value / scale,) * 3
        if result["warm_ns"] is not None:
            for caches, names in (("warm", _WARM), ("cold", _COLD)):
                label = f"estimated by {result['target']}, {caches} caches"
                time = tuple(result[name] for name in names)  # type: ignore[literal-required]
                yield "ns", label, time
    measured = program["measured"]
    if measured is not None and measured["ns"] is not None:
        whole, program_ns = measured["ns"], measured["program_ns"] or 0.0
        ends = (measured["low_ns"], measured["high_ns"])
        low, high = (program_ns + (whole if end is None else end) - whole for end in ends)
        yield "ns", MEASURED, (program_ns, low, high)


def _panel(axes: "Axes", definition: Definition, lines: Sequence[Series]) -> None:
    places = definition.numbers or [float(at) for at in range(len(definition.values))]
    where = dict(zip(definition.values, places, strict=True))
    for line in lines:
        known = sorted((where[value], *ends) for value, ends in line.values.items())
        x, y, low, high = zip(*known, strict=True)
        (drawn,) = axes.plot(x, y, ".-", markersize=5, linewidth=1, label=plain(line.label))
        if low != high:
            axes.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2)
    if definition.numbers is None:
        axes.set_xticks(places, [plain(value) for value in definition.values])
        if len(places) > _MANY:
            axes.tick_params(axis="x", labelrotation=60)
    elif all(place.is_integer() for place in places):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    axes.legend()
    axes.grid(visible=True, alpha=0.3)
