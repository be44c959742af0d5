"""The compact table for several programs: one aligned row each, written as results arrive."""

from collections.abc import Sequence

from slowpath.rates import format_improvement, format_rate
from slowpath.results import Result, metric_rate
from slowpath.terminal import Line, one_line

_WIDTHS = (11, 11, 15, 11, 11, 8)


class CompactTable:
    """Rows of equal layout; assumptions become numbered notes below."""

    def __init__(self, files: Sequence[str]) -> None:
        self._file_width = max((len(one_line(file)) for file in files), default=0)
        self._notes: list[str] = []

    def header(self, metric: str) -> Line:
        """The names of the columns."""
        other = "packet rate" if metric == "bitrate" else "bit rate"
        names = ("guaranteed", other, "exact", "bottleneck", "naive", "improved")
        return Line(self._row("file", names), "bold")

    def row(self, result: Result) -> Line:
        """The row of a program."""
        guarantee, naive, metric = result["guarantee"], result["naive"], result["metric"]
        file = one_line(result["file"])
        if guarantee is None or naive is None:
            return Line(self._row(file, ("-", "-", "not analysed", "-", "-", "-")), "red")
        rate, base = metric_rate(guarantee, metric), metric_rate(naive, metric)
        other = (
            format_rate(guarantee["packetrate_pps"], "packetrate")
            if metric == "bitrate"
            else format_rate(guarantee["bitrate_bps"], "bitrate")
        )
        cells = (
            format_rate(rate, metric),
            other,
            "yes" if guarantee["exact"] else f"no: {guarantee['stopped']}",
            guarantee["bottleneck"],
            format_rate(base, metric),
            format_improvement(rate, base),
        )
        marks = sorted({self._note(text) for text in result["assumptions"]})
        note = f"  [{','.join(map(str, marks))}]" if marks else ""
        return Line(self._row(file, cells) + note)

    def notes(self) -> list[Line]:
        """What the marks at the ends of rows mean."""
        return [Line(f"[{i}] assuming: {note}") for i, note in enumerate(self._notes, start=1)]

    def _row(self, file: str, cells: Sequence[str]) -> str:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
        return f"{file:<{self._file_width}}  {'  '.join(padded)}".rstrip()

    def _note(self, assumption: str) -> int:
        text = one_line(assumption)
        if text not in self._notes:
            self._notes.append(text)
        return self._notes.index(text) + 1
