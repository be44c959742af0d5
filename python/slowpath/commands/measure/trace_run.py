"""`--pcap` and `--plot`: whether they make sense, and what is said when a trace does not run."""

from collections.abc import Sequence
from pathlib import PurePath

from slowpath.analysis.plan import Request
from slowpath.cli.errors import OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.terminal import error, note
from slowpath.measurements.documents import MeasuredProgram
from slowpath.measurements.trace.documents import MeasuredTrace
from slowpath.report.picture import check_picture


def check_trace_options(
    pcap: str | None, plot: str | None, request: Request, *, live: bool
) -> None:
    """Finds out before the work whether it can be done.

    Raises:
        OptionError: when an option makes no sense with the others.
        UnavailableError: when there is nothing to draw with.
    """
    if plot is not None:
        if pcap is None:
            raise OptionError("--plot", "there are no packets to draw; name a trace with --pcap")
        check_picture(plot)
    if pcap is not None:
        if live:
            raise OptionError("--pcap", "packets of a trace run without --mode live")
        if len(request.files) == 2:  # noqa: PLR2004
            raise OptionError(
                "--pcap", "two files are compared, and a trace runs through one; name one"
            )


def complain_of_trace(record: MeasuredProgram, trace: MeasuredTrace, *, stopped: bool) -> ExitCode:
    """Says on standard error why a trace, or a part of it, did not run."""
    code = ExitCode.FINE
    if trace["error"] is not None and record["error"] is None:
        rest = "" if trace["count"] == 0 else f"; {trace['count']:,} packets were read before"
        error(trace["file"], f"{trace['error']}{rest}")
        code = ExitCode.UNDECIDED if stopped else ExitCode.INPUT
    if trace["disagreements"]:
        error(
            record["file"],
            f"{record['program']}: kernel and interpreter disagree on {trace['disagreements']:,} "
            "packets of the trace; this is a defect of slowpath, please report it",
        )
        note(f"note: {record['file']}: --format json has all that it takes to report it")
        code = ExitCode.INPUT
    return code


def draw_traces(file: str, records: Sequence[MeasuredProgram]) -> ExitCode:
    """Draws what was measured of traces, if there is anything."""
    from slowpath.measurements.trace.plot import draw

    traces = [(record, record["trace"]) for record in records]
    curves = [
        (f"{PurePath(record['file']).name}: {record['program']}", trace)
        for record, trace in traces
        if trace is not None and trace["mix"] is not None
    ]
    if not curves:
        error(file, "nothing was measured of the trace that could be drawn")
        return ExitCode.INPUT
    try:
        draw(file, curves)
    except OSError as problem:
        error(file, f"cannot be written: {problem.strerror}")
        return ExitCode.INPUT
    return ExitCode.FINE
