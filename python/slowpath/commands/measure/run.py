"""The command `slowpath measure`: paths are found, prepared and measured, and reported."""

from collections.abc import Sequence

from slowpath.analysis.analyst import Audience
from slowpath.analysis.outcomes import Analysed, note_remarks
from slowpath.analysis.plan import Request
from slowpath.analysis.session import Session
from slowpath.cli.errors import InputError
from slowpath.cli.exit_codes import ExitCode, worst
from slowpath.commands.measure.live_line import LiveLine
from slowpath.commands.measure.measuring import Measuring
from slowpath.commands.measure.reporting import Found, report
from slowpath.commands.measure.settings import (
    VERSIONS,
    Settings,
    check,
    watched_cpu,
)
from slowpath.commands.measure.versions_run import VersionsRun
from slowpath.engine.kernel import stations
from slowpath.experiments.testbeds.cpus import chosen_cpu
from slowpath.measurements.cold import last_level, measure_cold
from slowpath.measurements.documents import MeasuredProgram
from slowpath.measurements.live import measure_program_live
from slowpath.measurements.machine.files import Files
from slowpath.measurements.machine.processor import processor
from slowpath.measurements.programs import PreparedProgram, add_breakdown, measure_together
from slowpath.measurements.timing.sampling import Told
from slowpath.measurements.traces import AskedTrace, PreparedTrace, finish_trace, prepare_trace
from slowpath.work.stopping import heeding_signals

_STRETCHES = 2.5
"""Seconds to find out where the time goes."""


def measure(request: Request, settings: Settings) -> ExitCode:
    """Measures every program; a failure does not stop the rest.

    Raises:
        OptionError: when an option makes no sense for what the files are.
        UnavailableError: when this kernel measures nothing for us.
    """
    check(settings, request)
    kernel = stations.open_kernel()
    session = Session(request)
    note_remarks(session.plan)
    with heeding_signals() as stopping:
        station = stations.open_station(kernel, chosen_cpu(settings.cpu))
        measuring = Measuring(request, settings, station, stopping)
        with stopping.calling(station.stop):
            return _Run(measuring).all_of(session, request.files)


class _Run:
    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring
        self._settings = measuring.settings
        self._station = measuring.station
        self._stopping = measuring.stopping

    def all_of(self, session: Session, files: Sequence[str]) -> ExitCode:
        """Measures all programs of a session, each by itself or two versions in turns; reports."""
        measuring = self._measuring
        analyses = session.analyse(Audience(self._stopping))
        if len(files) == len(VERSIONS) and self._settings.live is None:
            versions = VersionsRun(measuring, self._one)
            versions.all_of(list(analyses), files)
            found = Found(files, versions.records, versions.comparison, measuring.environment())
        else:
            found = Found(
                files, [self._one(analysed) for analysed in analyses], None, measuring.environment()
            )
        measuring.codes.append(report(found, self._settings))
        measuring.codes.append(measuring.unmatched.complain())
        return worst(measuring.codes)

    def _one(self, analysed: Analysed) -> MeasuredProgram:
        with LiveLine(analysed.task.label, self._settings.seconds) as line:
            program = self._measuring.prepared(analysed, line)
            trace = self._traced(analysed, program, line)
            try:
                with self._measuring.watch.resumed():
                    self._measure(program, trace, line)
            except InputError as problem:
                program.record["error"] = problem.reason
        self._measuring.complain(analysed, program)
        return program.record

    def _measure(
        self, program: PreparedProgram, trace: PreparedTrace | None, line: LiveLine
    ) -> None:
        quota, batch = self._measuring.quota, self._settings.live
        go_on = self._measuring.go_on(line)
        if batch is not None:
            told = Told(self._measuring.going(line), go_on)
            measure_program_live(self._station, program, batch, quota, told)
            return
        extra = [] if trace is None else trace.cases
        together = measure_together(self._station, [program], quota, go_on, extra)
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

        asked = AskedTrace(self._settings.pcap, self._measuring.maps)
        trace = prepare_trace(self._station, analysed, asked, program, going)
        program.record["trace"] = trace.record
        return trace

    def _cold(self, program: PreparedProgram, line: LiveLine) -> None:
        if self._settings.cache == "hot" or self._stopping.asked:
            return
        caches = processor(Files(), watched_cpu(self._station))["caches"]
        told = Told(self._measuring.going(line), self._measuring.go_on(line))
        measure_cold(self._station, program, last_level(caches), self._measuring.quota, told)

    def _take_apart(self, program: PreparedProgram, line: LiveLine) -> None:
        if not self._settings.stretches or self._stopping.asked:
            return
        line.show("looking where the time goes")
        seconds = min(_STRETCHES, self._settings.seconds)
        quota = self._measuring.quota._replace(precision=0.0, seconds=seconds)
        add_breakdown(self._station, program, quota, self._measuring.go_on(line))
