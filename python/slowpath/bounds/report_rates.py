"""Formats guaranteed rates: a report for one program, a table for several, or one line.

The guarantee is a minimum of the metric, a bit rate or a packet rate. The report prints the other
rate of the same path, too; other paths can have a lower one.
"""

from collections.abc import Iterable, Iterator, Sequence

from slowpath.bounds.report_path import (
    LABEL,
    all_paths,
    assumption_lines,
    count_of,
    detail_line,
    exactness,
    format_ns,
    format_ranges,
    labelled,
    path_title,
    source_lines,
    style_of,
    witness_lines,
)
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import (
    condition,
    counted,
    is_capped,
    is_count,
    is_found,
    metric_rate,
    metric_words,
    own_rate,
    program_label,
    rate_metric,
)
from slowpath.core.schema.rates import Metric, format_improvement, format_packetrate, format_rate
from slowpath.core.schema.results import Bound, Detail, PathDetail, PathResult, Result
from slowpath.core.terminal import Line


def full_report(result: Result, detail: Detail, *, verbose: bool) -> Iterator[Line]:
    """Yield the lines of the report on one program; none if it could not be analysed."""
    guarantee, naive = result["guarantee"], result["naive"]
    if guarantee is None or naive is None:
        return
    yield title_line(result)
    yield Line("")
    yield from guarantee_lines(result, guarantee)
    yield bottleneck_line(result, guarantee)
    yield from _naive(rate_metric(result), guarantee, naive)
    yield Line("")
    yield from _components(guarantee, result["paths"])
    metric = rate_metric(result)
    yield from all_paths(
        result,
        detail,
        _path,
        lambda path: format_rate(metric_rate(path, metric), metric),
        verbose=verbose,
    )


def title_line(result: Result) -> Line:
    """Return the title line of a report: program, target and number of cores."""
    cores = count_of(result["cores"] or 0, "core")
    return Line(f"{one_line(program_label(result))} on {result['target']}, {cores}", "bold")


def guarantee_lines(result: Result, guarantee: Bound) -> Iterator[Line]:
    """Yield the guaranteed rate, the other rate (bits or packets) of its path, and assumptions."""
    metric = rate_metric(result)
    other: Metric = "packetrate" if metric == "bitrate" else "bitrate"
    rate = format_rate(metric_rate(guarantee, metric), metric)
    if is_found(guarantee):
        yield labelled("guaranteed", f"{rate} ({exactness(result)})", style_of(guarantee))
        where = "on the slowest path"
    else:
        reason = f"a lower bound; the search stopped: {guarantee['stopped']}"
        yield labelled("guaranteed", f"at least {rate} ({reason})", "bold yellow")
        where = "on the path that sets this bound"
    if is_found(guarantee) and result["paths"]:
        where += f", packets of {result['paths'][0]['min_packet_size']} bytes"
    if not is_found(guarantee) and result["paths"]:
        reached = format_rate(metric_rate(result["paths"][0], metric), metric)
        yield labelled("", f"at most {reached}: a known packet is this slow")
    yield labelled("", f"{format_rate(metric_rate(guarantee, other), other)} {where}")
    yield from interleaved_lines(result)
    yield from assumption_lines(result)


def interleaved_lines(result: Result) -> Iterator[Line]:
    """Yield the rate that holds even if other cores write to shared maps; nothing if unknown."""
    bound = result.get("interleaved")
    if bound is not None:
        metric = rate_metric(result)
        stopped = bound["stopped"]
        text = "" if stopped is None else f" (a lower bound; the search stopped: {stopped})"
        rate = format_rate(metric_rate(bound, metric), metric)
        yield labelled("any cores", f"{rate} while other cores write to these maps{text}")


def bottleneck_line(result: Result, guarantee: Bound) -> Line:
    """Return the line that names the bottleneck: a component of the device, or a fixed limit."""
    text, own = guarantee["bottleneck"] or "none", own_rate(result)
    if is_capped(result) and own is not None:
        rate = format_rate(own, rate_metric(result))
        text += f", a fixed limit of the device; the program by itself allows {rate}"
    return labelled("bottleneck", text)


def _naive(metric: Metric, guarantee: Bound, naive: Bound) -> Iterator[Line]:
    rate, base = metric_rate(guarantee, metric), metric_rate(naive, metric)
    gain = format_improvement(rate, base)
    if gain != "none":
        note = f"the search raised it by {gain.removeprefix('+')}"
    elif guarantee["exact"]:
        note = "the search proved that it is exact"
    elif is_found(guarantee):
        note = "the search did not raise it"
    else:
        note = "the search has not raised it yet"
    yield labelled("naive bound", f"{format_rate(base, metric)} ({naive['bottleneck']}); {note}")


def _components(guarantee: Bound, paths: list[PathResult]) -> Iterator[Line]:
    cost = paths[0]["cost"] if is_found(guarantee) and paths else {}
    rows = [("component", "predicted", "cost on the slowest path" if cost else "")]
    for name, rate in sorted((guarantee["components"] or {}).items(), key=_slowest_first):
        cycles = f"{format_cycles(cost[name])} cycles" if name in cost else ""
        rows.append((name, "no limit" if rate is None else format_packetrate(rate), cycles))
    for name, rate_text, cycles in rows:
        mark = "<- bottleneck" if name == guarantee["bottleneck"] else ""
        yield Line(
            f"{name:<{LABEL}}{rate_text:>10}   {' '.join(filter(None, (cycles, mark)))}".rstrip()
        )


def _slowest_first(component: tuple[str, float | None]) -> tuple[bool, float, str]:
    name, rate = component
    return rate is None, rate or 0.0, name


def format_cycles(cycles: float) -> str:
    """Format cycles with at most two decimals."""
    return f"{cycles:.2f}".rstrip("0").rstrip(".")


def _path(result: Result, index: int, detail: PathDetail) -> Iterator[Line]:
    path, metric = result["paths"][index], rate_metric(result)
    title, rate = path_title(result, index), format_rate(metric_rate(path, metric), metric)
    yield Line(f"{title}: {rate} predicted, {path['bottleneck']} is its bottleneck", "bold")
    costs = (f"{name} {format_cycles(cycles)} cycles" for name, cycles in path["cost"].items())
    yield detail_line("cost", ", ".join(costs))
    yield detail_line("packets", f"of {path['min_packet_size']} bytes or more")
    if path["lines"]:
        yield from source_lines(path, detail)
    else:
        numbers = format_ranges(detail["ranges"])
        yield detail_line("instructions", f"{numbers}, exit {detail['exit']}")
    yield from witness_lines(path, result["kind"])


_WIDTHS = (11, 11, 5, 10, 11, 11, 8)


def label_width(labels: Sequence[str]) -> int:
    """Return the width of a table's first column, which has the names of programs."""
    return max(len("program"), *(len(one_line(label)) for label in labels))


def failed_row(result: Result, labels: Sequence[str]) -> Line:
    """Return the table row of a program that could not be analysed."""
    label = one_line(program_label(result))
    return Line(f"{label:<{label_width(labels)}}  not analysed", "red")


def exact_cell(guarantee: Bound) -> str:
    """Return the cell of the column `exact`: `yes`, `no`, or `if` for a conditional guarantee."""
    return {"exact": "yes", "conditional": "if", "bound": "no"}[guarantee["verdict"] or "bound"]


def notes_of(assumptions: Sequence[str]) -> list[str]:
    """Return the assumptions as numbered notes, such as `[1] if ...`."""
    return [f"[{i}] if {condition(text)}" for i, text in enumerate(assumptions, start=1)]


class Notes:
    """Numbered notes below a table; a row refers to its notes by a mark such as `[1,2]`."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def marks(self, texts: Iterable[str]) -> list[str]:
        """Add notes with these texts, and return a list with the mark for them, such as `[1,2]`.

        Known texts keep their numbers. Without texts, the list is empty.
        """
        lines = [one_line(text) for text in texts]
        self.texts += [line for line in dict.fromkeys(lines) if line not in self.texts]
        marks = sorted({self.texts.index(line) + 1 for line in lines})
        return [f"[{','.join(map(str, marks))}]"] if marks else []


class CompactTable:
    """A text table of rates with one row per program, and assumptions as notes below it."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._label_width = label_width(labels)
        self._notes = Notes()
        self._capped: set[str] = set()

    def header(self, result: Result) -> Line:
        """Return the header line, whose column names depend on the metric of a result."""
        metric = rate_metric(result)
        other = "packet rate" if metric == "bitrate" else "bit rate"
        names = ("guaranteed", other, "exact", "bottleneck", "uncapped", "naive", "improved")
        return Line(self._row("file", names), "bold")

    def row(self, result: Result) -> Line:
        """Return the table row of a program."""
        guarantee, naive, metric = result["guarantee"], result["naive"], rate_metric(result)
        file = one_line(program_label(result))
        if guarantee is None or naive is None:
            return failed_row(result, [file])
        other: Metric = "packetrate" if metric == "bitrate" else "bitrate"
        rate, base, own = metric_rate(guarantee, metric), metric_rate(naive, metric), None
        if is_capped(result):
            own = own_rate(result)
            self._capped.add(guarantee["bottleneck"] or "")
        cells = (
            format_rate(rate, metric),
            format_rate(metric_rate(guarantee, other), other),
            exact_cell(guarantee),
            guarantee["bottleneck"] or "",
            "-" if own is None else format_rate(own, metric),
            format_rate(base, metric),
            format_improvement(rate, base),
        )
        remarks = [f"stopped: {guarantee['stopped']}"] if guarantee["stopped"] else []
        remarks += self._notes.marks(result["assumptions"])
        return Line(self._row(file, cells, *remarks))

    def notes(self) -> list[Line]:
        """Return the lines below the table, which explain its marks and the column `uncapped`."""
        notes = notes_of(self._notes.texts)
        if self._capped:
            limits = ", ".join(sorted(self._capped))
            notes.append(
                f"uncapped: rate that the program itself allows, without the limit of {limits}"
            )
        return [Line(note) for note in notes]

    def _row(self, file: str, cells: Sequence[str], *remarks: str) -> str:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
        return "  ".join([f"{file:<{self._label_width}}", *padded, *remarks]).rstrip()


def brief(result: Result) -> str:
    """Format guarantee and estimate of a result in one line; without a guarantee, the error."""
    guarantee, estimate = result["guarantee"], result["estimate"]
    if guarantee is None:
        return result["error"] or "no guarantee"
    if is_count(result):
        _, count = counted(guarantee["counts"] or {}, result["metric"])
        text = f"at most {count:,} {metric_words(result['metric'])}"
    else:
        metric = rate_metric(result)
        text = f"at least {format_rate(metric_rate(guarantee, metric), metric)}"
    if not is_found(guarantee):
        text += f" (a bound; the search stopped: {guarantee['stopped']})"
    elif guarantee["exact"]:
        text += " (exact)"
    else:
        text += " (exact under assumptions)"
    if estimate is None:
        return text
    warm, cold = (format_ns(estimate[caches]["ns"]) for caches in ("warm", "cold"))
    times = f"{warm} in any caches" if warm == cold else f"{warm} in warm, {cold} in cold caches"
    return f"{text}, estimated {times}"
