"""Checks the options of `slowpath measure`, and evaluates the conditions of `--fail-on` (gates)."""

import os
import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from slowpath.bounds.options import check_page_file
from slowpath.bounds.plan import Request
from slowpath.core import codes
from slowpath.core.engine import kernel
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import Reporter, ReportFile
from slowpath.core.pictures import check_picture
from slowpath.core.terminal import complain, error
from slowpath.measure.documents import ComparedPath, MeasuredProgram, MeasuredTrace


def check_trace_options(
    pcap: str | None, plot: str | None, request: Request, *, live: bool
) -> None:
    """Check the options `--pcap` and `--plot` before the measurement starts.

    `live` is true if packets are live (`--mode live`).

    Raises:
        OptionError: if an option contradicts another one.
        UnavailableError: if plotting is not available.
    """
    if plot is not None:
        if pcap is None:
            raise OptionError(
                codes.OPTION_NEEDS_OPTION,
                "--plot",
                "the option plots the packets of a trace; name a trace with --pcap",
            )
        check_picture(plot)
    if pcap is not None:
        if live:
            raise OptionError(codes.CONFLICTING_OPTIONS, "--pcap", "conflicts with --mode live")
        if len(request.files) == 2:  # noqa: PLR2004
            raise OptionError(
                codes.CONFLICTING_OPTIONS, "--pcap", "a trace runs through one file; name only one"
            )


def complain_of_trace(record: MeasuredProgram, trace: MeasuredTrace, *, stopped: bool) -> ExitCode:
    """Print errors about packets of a trace that did not run as expected, and return the exit code.

    `stopped` is true if the user interrupted the measurement.
    """
    code = ExitCode.FINE
    if trace["error"] is not None and record["error"] is None:
        rest = "" if trace["count"] == 0 else f"; {trace['count']:,} packets before it were read"
        error(trace["code"], trace["file"], f"{trace['error']}{rest}")
        code = ExitCode.UNDECIDED if stopped else ExitCode.INPUT
    if trace["disagreements"]:
        error(
            codes.MODEL_AND_KERNEL_DIFFER,
            record["file"],
            f"{record['program']}: kernel and interpreter disagree on {trace['disagreements']:,} "
            "packets of the trace; this is a defect of slowpath, please report it",
        )
        complain(f"note: {record['file']}: --format json has all data for a report of this defect")
        code = ExitCode.INPUT
    return code


def draw_traces(file: str, records: Sequence[MeasuredProgram]) -> ExitCode:
    """Plot the measured traces to `file` and return the exit code.

    If no trace was measured, print an error instead.
    """
    from slowpath.measure.traces import draw

    traces = [(record, record["trace"]) for record in records]
    curves = [
        (f"{PurePath(record['file']).name}: {record['program']}", trace)
        for record, trace in traces
        if trace is not None and trace["mix"] is not None
    ]
    if not curves:
        error(
            codes.TRACE_WITHOUT_PACKETS,
            file,
            "cannot be plotted: no packet of the trace was measured",
        )
        return ExitCode.INPUT
    try:
        draw(file, curves)
    except OSError as problem:
        error(codes.CANNOT_WRITE, file, f"cannot be written: {problem.strerror}")
        return ExitCode.INPUT
    return ExitCode.FINE


_CONDITION = re.compile(r"\s*ratio\s*(>=?)\s*(\d+(?:\.\d*)?|\.\d+)\s*")


class Gate(NamedTuple):
    """A limit on the ratio of new to old time, which `--fail-on` sets."""

    text: str  # text of the option
    limit: float
    inclusive: bool  # true: a ratio equal to the limit fails too


class Decision(NamedTuple):
    """Result of comparing a measured ratio with a gate of `--fail-on`."""

    code: ExitCode
    reason: str | None  # None: the gate passes


def parse_gate(text: str) -> Gate:
    """Parse the condition of `--fail-on`: `ratio > NUMBER` or `ratio >= NUMBER`.

    Raises:
        ValueError: if the text has another form.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a condition; write for example 'ratio > 1.05'")
    return Gate(text, float(found[2]), found[1] == ">=")


def is_decided(gates: Sequence[Gate], row: ComparedPath) -> bool:
    """Return true if the measured ratio decides all gates of `--fail-on`."""
    return all(decide(gate, row).code is not ExitCode.UNDECIDED for gate in gates)


def decide(gate: Gate, row: ComparedPath) -> Decision:
    """Decide by the confidence interval whether the ratio of the slowest paths passes the gate."""
    value, low, high = row["ratio"], row["low"], row["high"]
    if value is None or low is None or high is None:
        reason = f"the slowest paths could not be compared, but --fail-on {gate.text!r} needs this"
        return Decision(ExitCode.FAILED, reason)
    measured = f"the ratio is {value:.3f} (95 % interval {low:.3f} to {high:.3f})"
    if low > gate.limit or (gate.inclusive and low == gate.limit):
        reason = f"{measured}, but --fail-on {gate.text!r} forbids this"
        return Decision(ExitCode.FAILED, reason)
    if high < gate.limit or (not gate.inclusive and high == gate.limit):
        return Decision(ExitCode.FINE, None)
    reason = (
        f"{measured}, so --fail-on {gate.text!r} is undecided; measure for longer (--seconds) or "
        "on a quieter machine"
    )
    return Decision(ExitCode.UNDECIDED, reason)


VERSIONS = ("old", "new")


class Settings(NamedTuple):
    """Options of a measurement and of its report."""

    between: bool  # true: paths between the slowest and the fastest; false: the slowest paths only
    precision: float  # maximum half width of intervals, relative to the times
    seconds: float  # time limit for each program
    cpu: int | None  # number of the CPU; None: the last allowed CPU
    report: Reporter
    verbose: bool
    gates: Sequence[Gate] = ()
    live: int | None = None  # number of live packets at a time; None: test runs
    pcap: str | None = None  # trace to run
    plot: str | None = None  # file for a plot of the trace
    cache: str = "both"  # `hot`, `cold`, or `both` (cold times only if they differ)
    stretches: bool = True  # divide the time of the slowest path
    files: Sequence[ReportFile] = ()  # further reports
    html: str | None = None  # file for the page


def check(settings: Settings, request: Request) -> None:
    """Check the options before the measurement starts.

    Raises:
        OptionError: if an option is invalid for the files, or contradicts another one.
    """
    if settings.gates and len(request.files) != len(VERSIONS):
        raise OptionError(
            codes.OPTION_NEEDS_OPTION,
            "--fail-on",
            "the option compares two files; name an old and a new one",
        )
    if settings.gates and settings.live is not None:
        raise OptionError(codes.CONFLICTING_OPTIONS, "--fail-on", "conflicts with --mode live")
    if settings.cache == "cold" and settings.live is not None:
        raise OptionError(
            codes.CONFLICTING_OPTIONS,
            "--cache",
            "live packets are measured only with hot caches; omit this option",
        )
    if settings.cache == "cold" and len(request.files) == len(VERSIONS):
        raise OptionError(
            codes.CONFLICTING_OPTIONS,
            "--cache",
            "two versions are compared only with hot caches; omit this option, or name one file",
        )
    check_trace_options(settings.pcap, settings.plot, request, live=settings.live is not None)
    if settings.html is not None:
        check_page_file(settings.html, request.files)


TEST_BEDS = ("linux-xdp", "dpdk-swx")


def check_test_bed(name: str | None) -> None:
    """Check the argument of `--testbed`; None stands for the default test bed.

    Raises:
        OptionError: if the test bed cannot measure programs.
    """
    if name is not None and name not in TEST_BEDS:
        raise OptionError(
            codes.UNKNOWN_NAME,
            "--testbed",
            f"{name!r} does not measure programs; choose {' or '.join(TEST_BEDS)}",
        )


def check_pipeline_options(options: Namespace, formats: Sequence[str]) -> None:
    """Check the options of a measurement of pipelines (.spec files), whose reports have `formats`.

    Raises:
        OptionError: if an option applies only to BPF programs.
    """
    given = {
        "--mode": options.mode == "live",
        "--cache": options.cache == "cold",
        "--pcap": options.pcap is not None,
        "--html": options.html is not None,
        "--fail-on": bool(options.fail_on),
        "--receive": options.receive is not None,
    }
    for option, is_given in given.items():
        if is_given:
            raise OptionError(
                codes.CONFLICTING_OPTIONS, option, "does not apply to pipelines (.spec files)"
            )
    if isinstance(options.format, str) and options.format not in formats:
        allowed = f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise OptionError(
            codes.CONFLICTING_OPTIONS, "--format", f"reports of pipelines are {allowed}"
        )


def watched_cpu(station: kernel.Station) -> int:
    """Return the number of the CPU whose environment is recorded.

    This is the CPU of the timing thread, or the last CPU that this process may use.
    """
    return max(os.sched_getaffinity(0)) if station.cpu is None else station.cpu
