"""A diagnosis as a picture: the curve of the sweep, coloured by bottleneck, with its intervals."""

from textwrap import fill

from slowpath.commands.contention.diagnose.report import ATTRIBUTES, heading, pieces
from slowpath.contention.diagnosis.documents import DiagnosedSweep, DiagnosisReport
from slowpath.report.picture import picture, plain

_WIDTH, _HEIGHT = 7.0, 4.0  # inches
_LETTERS = 90  # of a line above the picture
COLOURS = {"memory": "C0", "regex": "C1"}
"""By bottleneck."""
_WIDE = 20.0
"""Values that span more than this factor are drawn on a logarithmic axis."""


def draw(file: str, report: DiagnosisReport, sweep: DiagnosedSweep) -> None:
    """Writes the picture; it is SVG or PNG, by the end of the name. The same data, the same file.

    Raises:
        OSError: when the file cannot be written.
    """
    with picture(file, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_subplot()
        labelled = set[str]()
        for piece in pieces(sweep):
            kind = piece[0]["diagnosis"]["bottleneck"]
            x = [one["value"] for one in piece]
            found = [one["diagnosis"] for one in piece]
            label = f"{kind} is the bottleneck" if kind not in labelled else None
            labelled.add(kind)
            axes.plot(x, [one["throughput"] for one in found], color=COLOURS[kind], label=label)
            ends = [one["low"] for one in found], [one["high"] for one in found]
            axes.fill_between(x, *ends, color=COLOURS[kind], alpha=0.2, linewidth=0)
        for one in sweep["crossings"]:
            axes.axvline(one["at"], color="0.5", linestyle="--", linewidth=0.8)
        values = [one["value"] for one in sweep["points"]]
        if values[0] > 0 and values[-1] > _WIDE * values[0]:
            axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(ATTRIBUTES[sweep["attribute"]])
        confidence = f"{100 * report['confidence']:g} % intervals"
        axes.set_ylabel(plain(f"{report['unit'] or 'throughput'}, {confidence}"))
        axes.set_title(fill(plain(heading(report)), _LETTERS), fontsize="small")
        axes.legend()
        axes.grid(visible=True, alpha=0.3)
