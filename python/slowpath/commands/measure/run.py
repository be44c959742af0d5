"""The command `slowpath measure`: paths are found, prepared and measured, and reported."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from slowpath import engine
from slowpath.analysis.analyst import Audience
from slowpath.analysis.outcomes import Analysed, Complaints, Unmatched, note_remarks
from slowpath.analysis.plan import Request
from slowpath.analysis.session import Session
from slowpath.cli.errors import InputError, OptionError
from slowpath.cli.exit_codes import ExitCode, worst
from slowpath.cli.printable import json_line
from slowpath.cli.terminal import error, note, out, out_lines
from slowpath.commands.measure.comparison_report import comparison_report
from slowpath.commands.measure.gate import Gate, decide
from slowpath.commands.measure.live_line import LiveLine
from slowpath.commands.measure.live_report import live_csv_report, live_text_report
from slowpath.commands.measure.report import csv_report, text_report
from slowpath.commands.measure.trace_report import trace_csv, trace_report
from slowpath.commands.measure.trace_run import check_trace_options, complain_of_trace, draw_traces
from slowpath.measurements import disturbances, environment
from slowpath.measurements.cold import Told, last_level, measure_cold
from slowpath.measurements.comparison import (
    FEWEST_LOADS,
    compare,
    pair_programs,
    same_packet,
)
from slowpath.measurements.documents import ComparedVersions, MeasuredProgram
from slowpath.measurements.environment import Environment
from slowpath.measurements.live import measure_program_live
from slowpath.measurements.machine.files import Files
from slowpath.measurements.machine.processor import processor
from slowpath.measurements.paths import slowest, slowest_to_fastest
from slowpath.measurements.programs import (
    Choose,
    PreparedProgram,
    add_breakdown,
    measure_together,
    prepare_program,
)
from slowpath.measurements.timing.sampling import Progress, Quota
from slowpath.measurements.traces import AskedTrace, PreparedTrace, finish_trace, prepare_trace
from slowpath.work.stopping import Stopping, heeding_signals

_VERSIONS = ("old", "new")
_STRETCHES = 2.5
"""Seconds to find out where the time goes."""


class Settings(NamedTuple):
    """How to measure, and how to tell."""

    between: bool  # the slowest, the fastest and some between, not the slowest so many
    precision: float  # half the intervals, as a share of the times
    seconds: float
    cpu: int | None
    form: str
    verbose: bool
    gates: Sequence[Gate] = ()
    live: int | None = None  # how many live packets at a time; None: test runs
    pcap: str | None = None  # a trace to run
    plot: str | None = None  # a file for a picture of it
    cache: str = "both"  # `hot`, `cold`, or `both`: cold where it differs
    stretches: bool = True  # whether to say where the time goes


def measure(request: Request, settings: Settings) -> ExitCode:
    """Measures every program; a failure does not stop the rest.

    Raises:
        OptionError: when an option makes no sense for what the files are.
        UnavailableError: when this kernel measures nothing for us.
    """
    if settings.gates and len(request.files) != len(_VERSIONS):
        raise OptionError("--fail-on", "there is nothing to compare; name two files, old and new")
    if settings.gates and settings.live is not None:
        raise OptionError("--fail-on", "versions are compared without --mode live")
    check_trace_options(settings.pcap, settings.plot, request, live=settings.live is not None)
    kernel = engine.open_kernel()
    session = Session(request)
    note_remarks(session.plan)
    with heeding_signals() as stopping:
        station = engine.open_station(kernel, _cpu(settings.cpu))
        return _Run(request, settings, station, stopping).all_of(session, request.files)


def _cpu(asked: int | None) -> int:
    """The CPU to measure on.

    Raises:
        OptionError: when this process may not run there.
    """
    allowed = os.sched_getaffinity(0)
    if asked is None:
        return max(allowed)
    if asked not in allowed:
        listed = ", ".join(map(str, sorted(allowed)))
        raise OptionError("--cpu", f"this process may not run on CPU {asked}, but on {listed}")
    return asked


class _Run:
    def __init__(
        self, request: Request, settings: Settings, station: engine.Station, stopping: Stopping
    ) -> None:
        self._settings = settings
        self._maps = request.options.maps
        self._station = station
        self._stopping = stopping
        self._unmatched = Unmatched()
        self._complaints = Complaints(request, self._unmatched)
        self._codes: list[ExitCode] = []

    def all_of(self, session: Session, files: Sequence[str]) -> ExitCode:
        """Measures all programs of a session, each by itself or two versions in turns; reports."""
        watch = environment.begin(_watched(self._station), thread=self._station.thread)
        analyses = session.analyse(Audience(self._stopping))
        comparison: list[ComparedVersions] | None = None
        if len(files) == len(_VERSIONS) and self._settings.live is None:
            records, comparison = self._versions(list(analyses), files)
        else:
            records = [self._one(analysed) for analysed in analyses]
        self._report(records, comparison, watch.end())
        self._codes.append(self._unmatched.complain())
        return worst(self._codes)

    def _one(self, analysed: Analysed) -> MeasuredProgram:
        with LiveLine(analysed.task.label, self._settings.seconds) as line:
            program = self._prepared(analysed, line)
            trace = self._traced(analysed, program, line)
            try:
                self._measure(program, trace, line)
            except InputError as problem:
                program.record["error"] = problem.reason
        self._complain(analysed, program)
        return program.record

    def _measure(
        self, program: PreparedProgram, trace: PreparedTrace | None, line: LiveLine
    ) -> None:
        quota, batch = self._quota(), self._settings.live
        if batch is not None:
            measure_program_live(self._station, program, batch, quota, self._go_on(line))
            return
        extra = [] if trace is None else trace.cases
        together = measure_together(self._station, [program], quota, self._go_on(line), extra)
        if trace is not None:
            finish_trace(trace, program, together)
        self._cold(program, line)
        self._take_apart(program, line)

    def _traced(
        self, analysed: Analysed, program: PreparedProgram, line: LiveLine
    ) -> PreparedTrace | None:
        """The packets of `--pcap`, run through a program."""
        if self._settings.pcap is None:
            return None

        def going(doing: str) -> bool:
            line.show(doing)
            return not self._stopping.asked

        asked = AskedTrace(self._settings.pcap, self._maps)
        trace = prepare_trace(self._station, analysed, asked, program, going)
        program.record["trace"] = trace.record
        return trace

    def _cold(self, program: PreparedProgram, line: LiveLine) -> None:
        if self._settings.cache == "hot" or self._stopping.asked:
            return
        caches = processor(Files(), _watched(self._station))["caches"]
        told = Told(self._going(line), self._go_on(line))
        measure_cold(self._station, program, last_level(caches), self._quota(), told)

    def _take_apart(self, program: PreparedProgram, line: LiveLine) -> None:
        if not self._settings.stretches or self._stopping.asked:
            return
        line.show("looking where the time goes")
        seconds = min(_STRETCHES, self._settings.seconds)
        quota = self._quota()._replace(precision=0.0, seconds=seconds)
        add_breakdown(self._station, program, quota, self._go_on(line))

    def _prepared(self, analysed: Analysed, line: LiveLine) -> PreparedProgram:
        self._codes.append(self._complaints.add(analysed))
        return prepare_program(
            self._station, analysed, self._choose(), self._going(line), self._maps
        )

    def _versions(
        self, analyses: list[Analysed], files: Sequence[str]
    ) -> tuple[list[MeasuredProgram], list[ComparedVersions]]:
        """What both files have, in turns where they have the same program."""
        first = [each for each in analyses if each.task.file == files[0]]
        old = first[: len(first) // 2] if files[0] == files[1] else first
        new = analyses[len(old) :]
        records, comparison = list[MeasuredProgram](), list[ComparedVersions]()
        for pair in pair_programs(old, new):
            if pair.old is None or pair.new is None:
                alone = [old[pair.old]] if pair.old is not None else []
                alone += [new[pair.new]] if pair.new is not None else []
                records += [self._one(analysed) for analysed in alone]
                continue
            both = old[pair.old], new[pair.new]
            with LiveLine(both[1].task.label, self._settings.seconds) as line:
                programs = self._prepared(both[0], line), self._prepared(both[1], line)
                try:
                    same = same_packet(self._station, programs[0], both[1], self._maps)
                    quota = self._quota()._replace(fewest_loads=FEWEST_LOADS)
                    compared = compare(self._station, programs, same, quota, self._go_on(line))
                    comparison.append(compared)
                    self._hold(compared)
                except InputError as problem:
                    programs[0].record["error"] = programs[1].record["error"] = problem.reason
            for analysed, program in zip(both, programs, strict=True):
                self._complain(analysed, program)
                records.append(program.record)
        return records, comparison

    def _hold(self, compared: ComparedVersions) -> None:
        """What `--fail-on` says of a comparison."""
        for gate in self._settings.gates:
            decision = decide(gate, compared["paths"][0])
            self._codes.append(decision.code)
            if decision.reason is not None:
                error(compared["new"], decision.reason)

    def _complain(self, analysed: Analysed, program: PreparedProgram) -> None:
        record = program.record
        if analysed.result["error"] is not None:
            return  # said already
        if record["error"] is not None:
            error(record["file"], f"{record['program']}: {record['error']}")
            asked = self._stopping.asked
            self._codes.append(ExitCode.UNDECIDED if asked else ExitCode.INPUT)
        if record["trace"] is not None:
            stopped = self._stopping.asked
            self._codes.append(complain_of_trace(record, record["trace"], stopped=stopped))
        for path in record["paths"]:
            if path["report"] is not None:
                what = f"{record['program']}, path {path['rank']}: {path['error']}"
                error(record["file"], what)
                note(f"note: {record['file']}: --format json has all that it takes to report it")
                self._codes.append(ExitCode.INPUT)

    def _choose(self) -> Choose:
        if self._settings.between and self._settings.pcap is not None:
            return lambda paths: slowest(paths, 1)
        if self._settings.between:
            return slowest_to_fastest
        return lambda paths: slowest(paths, len(paths))

    def _quota(self) -> Quota:
        return Quota(self._settings.precision, self._settings.seconds)

    def _going(self, line: LiveLine) -> Callable[[int, int], bool]:
        def going(done: int, count: int) -> bool:
            line.show(f"preparing path {done + 1} of {count}")
            return not self._stopping.asked

        return going

    def _go_on(self, line: LiveLine) -> Callable[[Progress], bool]:
        def go_on(progress: Progress) -> bool:
            line.show_progress(progress)
            return not self._stopping.asked

        return go_on

    def _csv(self, records: Sequence[MeasuredProgram]) -> Iterator[str]:
        if self._settings.pcap is not None:
            return trace_csv(records)
        return csv_report(records) if self._settings.live is None else live_csv_report(records)

    def _report(
        self,
        records: Sequence[MeasuredProgram],
        comparison: Sequence[ComparedVersions] | None,
        where: Environment,
    ) -> None:
        disturbed = disturbances.of(where)
        if self._settings.plot is not None:
            self._codes.append(draw_traces(self._settings.plot, records))
        if self._settings.form == "json":
            document = {
                "slowpath": engine.version(),
                "environment": where,
                "disturbances": disturbed,
                "results": records,
                "comparison": comparison,
            }
            out(json_line(document))
            return
        if self._settings.form == "csv":
            out_lines(self._csv(records))
            return
        verbose = self._settings.verbose
        if self._settings.live is not None:
            out_lines(live_text_report(records, where, verbose=verbose))
        else:
            cold = self._settings.cache == "cold"
            out_lines(text_report(records, where, verbose=verbose, cold=cold))
        out_lines(trace_report(records))
        out_lines(comparison_report(comparison or ()))
        for each in disturbed:
            if each["severity"] == "warning" or self._settings.verbose:
                note(f"{each['severity']}: {each['what']} {each['advice']}")


def _watched(station: engine.Station) -> int:
    return max(os.sched_getaffinity(0)) if station.cpu is None else station.cpu
