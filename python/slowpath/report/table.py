"""The compact table for several programs: one aligned row each, written as results arrive."""

from collections.abc import Sequence

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.schema.derived import is_capped, metric_rate, own_rate, rate_metric
from slowpath.schema.rates import Metric, format_improvement, format_rate
from slowpath.schema.results import Bound, Result
from slowpath.schema.wording import condition, program_label

_WIDTHS = (11, 11, 5, 10, 11, 11, 8)


def label_width(labels: Sequence[str]) -> int:
    """The width of the first column."""
    return max(len("program"), *(len(one_line(label)) for label in labels))


def failed_row(result: Result, labels: Sequence[str]) -> Line:
    """The row of a program that could not be analysed, in any table."""
    label = one_line(program_label(result))
    return Line(f"{label:<{label_width(labels)}}  not analysed", "red")


def exact_cell(guarantee: Bound) -> str:
    """Whether a guarantee is exact: `if` leads to the notes whose numbers end the row."""
    return {"exact": "yes", "conditional": "if", "bound": "no"}[guarantee["verdict"] or "bound"]


def notes_of(assumptions: Sequence[str]) -> list[str]:
    """The assumptions that numbers at the ends of rows refer to."""
    return [f"[{i}] if {condition(text)}" for i, text in enumerate(assumptions, start=1)]


class CompactTable:
    """Rows of equal layout; remarks of any length end a row, assumptions become notes below."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._file_width = label_width(labels)
        self._notes: list[str] = []
        self._capped: set[str] = set()

    def header(self, result: Result) -> Line:
        """The names of the columns, as the metric of this result and those that follow has them."""
        metric = rate_metric(result)
        other = "packet rate" if metric == "bitrate" else "bit rate"
        names = ("guaranteed", other, "exact", "bottleneck", "uncapped", "naive", "improved")
        return Line(self._row("file", names), "bold")

    def row(self, result: Result) -> Line:
        """The row of a program."""
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
        marks = sorted({self._note(text) for text in result["assumptions"]})
        remarks = [f"stopped: {guarantee['stopped']}"] if guarantee["stopped"] else []
        remarks += [f"[{','.join(map(str, marks))}]"] if marks else []
        return Line(self._row(file, cells, *remarks))

    def notes(self) -> list[Line]:
        """What columns and the marks at the ends of rows mean, where that needs to be said."""
        notes = notes_of(self._notes)
        if self._capped:
            limits = ", ".join(sorted(self._capped))
            notes.append(f"uncapped: what the program by itself allows, without {limits}")
        return [Line(note) for note in notes]

    def _row(self, file: str, cells: Sequence[str], *remarks: str) -> str:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
        return "  ".join([f"{file:<{self._file_width}}", *padded, *remarks]).rstrip()

    def _note(self, assumption: str) -> int:
        text = one_line(assumption)
        if text not in self._notes:
            self._notes.append(text)
        return self._notes.index(text) + 1
