"""Runs the command `slowpath measure`."""

from collections.abc import Callable, Sequence

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.outcomes import Analysed, Complaints, Unmatched, note_remarks
from slowpath.bounds.plan import Request
from slowpath.core import codes, engine, terminal
from slowpath.core.engine import kernel
from slowpath.core.engine.kernel import open_kernel, open_station
from slowpath.core.engine.objects import check_capture
from slowpath.core.errors import ExitCode, InputError, worst
from slowpath.core.inputs import write_text
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.programs.sources import is_source, provenance
from slowpath.core.terminal import complain, error
from slowpath.measure import disturbances, environment
from slowpath.measure.bench import PaceMeter
from slowpath.measure.cold import last_level, measure_cold
from slowpath.measure.comparison import (
    FEWEST_LOADS,
    compare,
    pair_programs,
    same_packet,
    until_decided,
)
from slowpath.measure.documents import ComparedVersions, MeasureDocument, MeasuredProgram, fail
from slowpath.measure.environment import Environment
from slowpath.measure.live import measure_program_live
from slowpath.measure.machine import Files, chosen_cpu, processor
from slowpath.measure.programs import (
    Choose,
    PreparedProgram,
    add_breakdown,
    measure_together,
    prepare_program,
    slowest,
    slowest_to_fastest,
)
from slowpath.measure.sampling import Progress, ProgressCallbacks, StopCriteria
from slowpath.measure.settings import (
    VERSIONS,
    Settings,
    check,
    complain_of_trace,
    decide,
    draw_traces,
    is_decided,
    watched_cpu,
)
from slowpath.measure.traces import PreparedTrace, TraceRequest, finish_trace, prepare_trace


class LiveLine(terminal.LiveLine):
    """Line on the terminal that shows the progress of the measurement of a program."""

    def __init__(self, subject: str, seconds: float) -> None:
        """Create the line for program `subject`, whose measurement takes at most `seconds`."""
        super().__init__()
        self._subject = subject
        self._seconds = seconds

    def show(self, text: str) -> None:
        """Show `text`, the current step of the work, in place of the previous text."""
        self.draw(f"{self._subject}: {text}")

    def show_progress(self, progress: Progress) -> None:
        """Show the elapsed time, the number of loads and the precision reached so far."""
        sure = "" if progress.widest is None else f", ± {progress.widest:.1%} at worst"
        self.show(
            f"measured for {progress.seconds:.1f} s (--seconds {self._seconds:g}), loaded "
            f"{progress.loads} times{sure}"
        )


class Measuring:
    """State that measurements of several programs share: settings, timing thread, exit codes."""

    def __init__(
        self, request: Request, settings: Settings, station: kernel.Station, stopping: Stopping
    ) -> None:
        """Prepare the measurement.

        The environment (machine and disturbances) is recorded only while something is measured.
        """
        self.watch = environment.begin(watched_cpu(station), thread=station.thread)
        self.watch.pause()
        self.settings = settings
        self.maps = request.options.maps
        self.station = station
        self.stopping = stopping
        self.codes: list[ExitCode] = []
        self.unmatched = Unmatched()
        self._complaints = Complaints(request, self.unmatched)
        pace = kernel.load_pace(station)
        self._pace = PaceMeter(lambda runs: kernel.pace(station, pace, runs))

    @property
    def quota(self) -> StopCriteria:
        """Precision and time limit at which the measurement of a program ends."""
        return StopCriteria(self.settings.precision, self.settings.seconds)

    def prepare(self, analysed: Analysed, line: LiveLine) -> PreparedProgram:
        """Run the chosen paths of a program once, and prepare them for timing."""
        self.codes.append(self._complaints.add(analysed))
        choose, going = self._choose(), self.going(line)
        return prepare_program(self.station, analysed, choose, going, self.maps)

    def _choose(self) -> Choose:
        if self.settings.between and self.settings.pcap is not None:
            return lambda paths: slowest(paths, 1)
        if self.settings.between:
            return slowest_to_fastest
        return lambda paths: slowest(paths, len(paths))

    def going(self, line: LiveLine) -> Callable[[int, int], bool]:
        """Return a callback for `prepare_program`, which shows the path that is being prepared.

        The callback returns false if the user asked to stop.
        """

        def going(done: int, count: int) -> bool:
            line.show(f"preparing path {done + 1} of {count}")
            return not self.stopping.asked

        return going

    def go_on(self, line: LiveLine) -> Callable[[Progress], bool]:
        """Return a callback for the timing, which shows the progress and measures the CPU's speed.

        The callback returns false if the user asked to stop.
        """

        def go_on(progress: Progress) -> bool:
            line.show_progress(progress)
            if not self.stopping.asked:
                self._pace.read()
            return not self.stopping.asked

        return go_on

    def environment(self) -> Environment:
        """Return the record of the machine and its disturbances so far, with the CPU's speed."""
        return self.watch.end(self._pace.speed())

    def complain(self, analysed: Analysed, program: PreparedProgram) -> None:
        """Print to standard error why a program or its paths were not measured."""
        record = program.record
        if analysed.result["error"] is not None:
            return  # already reported
        trace = record["trace"]
        if record["error"] is not None:
            error(record["code"], record["file"], f"{record['program']}: {record['error']}")
            self.codes.append(ExitCode.UNDECIDED if self.stopping.asked else ExitCode.INPUT)
        if trace is not None:
            self.codes.append(complain_of_trace(record, trace, stopped=self.stopping.asked))
            if trace["mix"] is not None:
                # Paths of the trace were measured. The path from the analysis is only for
                # comparison, and the report has the reason why it was not measured.
                return
        for path in record["paths"]:
            if path["report"] is not None:
                what = f"{record['program']}, path {path['rank']}: {path['error']}"
                self.disagree(record["file"], what)

    def disagree(self, file: str, what: str) -> None:
        """Print the error that kernel and interpreter differ on a path of a program in `file`.

        `what` describes the difference.
        """
        error(codes.MODEL_AND_KERNEL_DIFFER, file, what)
        complain(f"note: {file}: --format json has all data for a report of this defect")
        self.codes.append(ExitCode.INPUT)


class VersionsRun:
    """Measures the programs of an old and a new file, and compares them."""

    def __init__(self, measuring: Measuring, alone: Callable[[Analysed], MeasuredProgram]) -> None:
        """Prepare the run. `alone` measures a program that only one of the two files has."""
        self._measuring = measuring
        self._alone = alone
        self.records: list[MeasuredProgram] = []
        self.comparison: list[ComparedVersions] = []

    def all_of(self, analyses: Sequence[Analysed], files: Sequence[str]) -> None:
        """Measure the analysed programs of the old and the new file, `files`, and compare them.

        A program in both files is measured in turns with its other version.
        """
        first = [each for each in analyses if each.task.file == files[0]]
        old = first[: len(first) // 2] if files[0] == files[1] else first
        new = analyses[len(old) :]
        for pair in pair_programs(old, new):
            if pair.old is not None and pair.new is not None:
                self._both(old[pair.old], new[pair.new])
            elif pair.old is not None:
                self._only(old[pair.old], files[1])
            elif pair.new is not None:
                self._only(new[pair.new], files[0])
        if self._measuring.settings.gates and not self.records:
            self._miss(files[1], "has no program to compare")

    def _only(self, analysed: Analysed, other: str) -> None:
        """Measure a program that the file `other` lacks."""
        record = self._alone(analysed)
        self.records.append(record)
        if self._measuring.settings.gates and analysed.result["error"] is None:
            self._miss(
                record["file"], f"{record['program']}: {other} lacks a program with this name"
            )

    def _miss(self, file: str, what: str) -> None:
        gates = self._measuring.settings.gates
        error(codes.FAILED_GATE, file, f"{what}, and --fail-on {gates[0].text!r} needs it")
        self._measuring.codes.append(ExitCode.FAILED)

    def _both(self, old: Analysed, new: Analysed) -> None:
        measuring = self._measuring
        with LiveLine(new.task.label, measuring.settings.seconds) as line:
            programs = measuring.prepare(old, line), measuring.prepare(new, line)
            try:
                same = same_packet(measuring.station, programs[0], new, measuring.maps)
                quota, gates = measuring.quota, measuring.settings.gates
                quota = quota._replace(fewest_loads=FEWEST_LOADS)
                if gates:
                    quota = until_decided(quota, programs, lambda row: is_decided(gates, row))
                going = measuring.go_on(line)
                with measuring.watch.resumed():
                    compared = compare(measuring.station, programs, same, quota, going)
                self.comparison.append(compared)
                self._check(compared)
            except InputError as problem:
                fail(programs[0].record, problem.coded)
                fail(programs[1].record, problem.coded)
        for analysed, program in zip((old, new), programs, strict=True):
            measuring.complain(analysed, program)
            self.records.append(program.record)

    def _check(self, compared: ComparedVersions) -> None:
        """Report an error for each failed condition of `--fail-on`.

        Also report paths on which kernel and interpreter behave differently.
        """
        for row in compared["paths"]:
            if row["report"] is not None:
                what = f"{row['path']}: {row['error']}"
                self._measuring.disagree(compared["new"], what)
        for gate in self._measuring.settings.gates:
            decision = decide(gate, compared["paths"][0])
            stopped = self._measuring.stopping.asked and compared["paths"][0]["ratio"] is None
            self._measuring.codes.append(ExitCode.UNDECIDED if stopped else decision.code)
            if decision.reason is not None:
                failed = decision.code is ExitCode.FAILED
                code = codes.FAILED_GATE if failed else codes.UNDECIDED_GATE
                error(code, compared["new"], decision.reason)


_STRETCHES = 2.5
"""Time limit for measuring the parts (stretches) of the slowest path, in seconds."""


def measure(request: Request, settings: Settings) -> ExitCode:
    """Measure every program of the request and print the report.

    An error in one program does not stop the others.

    Raises:
        InputError: if the file of `--pcap` is not a capture file.
        OptionError: if an option is invalid for the files.
        UnavailableError: if this process cannot measure in this kernel.
    """
    check(settings, request)
    if settings.pcap is not None:
        check_capture(settings.pcap)  # a measurement takes seconds, and would then lack the trace
    kernel = open_kernel()
    session = Session(request)
    note_remarks(session.plan)
    with heeding_signals() as stopping:
        station = open_station(kernel, chosen_cpu(settings.cpu))
        measuring = Measuring(request, settings, station, stopping)
        with stopping.calling(station.stop):
            return _Run(measuring).all_of(session, request.files)


def _save_page(file: str, document: MeasureDocument, settings: Settings) -> None:
    from slowpath.measure.page import measure_page

    write_text(file, measure_page(document, cold=settings.cache == "cold"))


class _Run:
    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring
        self._settings = measuring.settings
        self._station = measuring.station
        self._stopping = measuring.stopping

    def all_of(self, session: Session, files: Sequence[str]) -> ExitCode:
        """Measure all programs and print the report.

        If the user gave two files, their programs are measured in turns, as old and new versions.
        """
        measuring, settings = self._measuring, self._settings
        analyses = session.analyse(RunContext(self._stopping))
        comparison: list[ComparedVersions] | None = None
        if len(files) == len(VERSIONS) and settings.live is None:
            versions = VersionsRun(measuring, self._one)
            versions.all_of(list(analyses), files)
            records, comparison = versions.records, versions.comparison
        else:
            records = [self._one(analysed) for analysed in analyses]
        environment = measuring.environment()
        if settings.plot is not None:
            measuring.codes.append(draw_traces(settings.plot, records))
        document: MeasureDocument = {
            **engine.head("measure", "measure"),
            **provenance(compiled=any(is_source(file) for file in files)),
            "environment": environment,
            "disturbances": disturbances.of(environment),
            "results": records,
            "comparison": comparison,
        }
        # In JSON, the document contains disturbances with their codes, so do not print them.
        json = settings.report.format == "json"
        found = () if json else disturbances.warnings(document["disturbances"])
        if settings.html is not None:
            _save_page(settings.html, document, settings)
        for one in settings.files:
            one.write(document, settings, files[0])
        settings.report.write(document, settings, files[0], warnings=found)
        if settings.verbose and settings.report.for_people:
            disturbances.print_notes(document["disturbances"])
        measuring.codes.append(measuring.unmatched.complain())
        return worst(measuring.codes)

    def _one(self, analysed: Analysed) -> MeasuredProgram:
        with LiveLine(analysed.task.label, self._settings.seconds) as line:
            program = self._measuring.prepare(analysed, line)
            trace = self._run_trace(analysed, program, line)
            try:
                with self._measuring.watch.resumed():
                    self._measure(program, trace, line)
            except InputError as problem:
                fail(program.record, problem.coded)
        self._measuring.complain(analysed, program)
        return program.record

    def _measure(
        self, program: PreparedProgram, trace: PreparedTrace | None, line: LiveLine
    ) -> None:
        quota, batch = self._measuring.quota, self._settings.live
        go_on = self._measuring.go_on(line)
        if batch is not None:
            callbacks = ProgressCallbacks(self._measuring.going(line), go_on)
            measure_program_live(self._station, program, batch, quota, callbacks)
            return
        extra = [] if trace is None else trace.cases
        together = measure_together(self._station, [program], quota, go_on, extra)
        if trace is not None:
            finish_trace(trace, program, together)
        self._measure_cold(program, line)
        self._break_down(program, line)

    def _run_trace(
        self, analysed: Analysed, program: PreparedProgram, line: LiveLine
    ) -> PreparedTrace | None:
        """Run the packets of `--pcap` through a program and return the trace.

        None without this option.
        """
        if self._settings.pcap is None:
            return None

        def going(work: str) -> bool:
            line.show(work)
            return not self._stopping.asked

        request = TraceRequest(self._settings.pcap, self._measuring.maps)
        trace = prepare_trace(self._station, analysed, request, program, going)
        program.record["trace"] = trace.record
        return trace

    def _measure_cold(self, program: PreparedProgram, line: LiveLine) -> None:
        if self._settings.cache == "hot" or self._stopping.asked:
            return
        caches = processor(Files(), watched_cpu(self._station))["caches"]
        callbacks = ProgressCallbacks(self._measuring.going(line), self._measuring.go_on(line))
        measure_cold(self._station, program, last_level(caches), self._measuring.quota, callbacks)

    def _break_down(self, program: PreparedProgram, line: LiveLine) -> None:
        if not self._settings.stretches or self._stopping.asked:
            return
        line.show("breaking down the time")
        seconds = min(_STRETCHES, self._settings.seconds)
        quota = self._measuring.quota._replace(precision=0.0, seconds=seconds)
        add_breakdown(self._station, program, quota, self._measuring.go_on(line))
