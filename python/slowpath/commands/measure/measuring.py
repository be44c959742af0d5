"""What measuring one program and two versions have in common: preparing, going on, complaining."""

from collections.abc import Callable

from slowpath.analysis.outcomes import Analysed, Complaints, Unmatched
from slowpath.analysis.plan import Request
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.terminal import error, note
from slowpath.commands.measure.live_line import LiveLine
from slowpath.commands.measure.settings import Settings, watched_cpu
from slowpath.commands.measure.trace_run import complain_of_trace
from slowpath.engine.kernel import probes, stations
from slowpath.measurements import environment
from slowpath.measurements.environment import Environment
from slowpath.measurements.paths import slowest, slowest_to_fastest
from slowpath.measurements.programs import Choose, PreparedProgram, prepare_program
from slowpath.measurements.timing.pace import PaceMeter
from slowpath.measurements.timing.sampling import Progress, Quota
from slowpath.work.stopping import Stopping


class Measuring:
    """Programs on their way through a measurement, and what the exit code says of them by now."""

    def __init__(
        self, request: Request, settings: Settings, station: stations.Station, stopping: Stopping
    ) -> None:
        """Nothing is measured yet; the machine is watched only while something is."""
        self.watch = environment.begin(watched_cpu(station), thread=station.thread)
        self.watch.pause()
        self.settings = settings
        self.maps = request.options.maps
        self.station = station
        self.stopping = stopping
        self.codes: list[ExitCode] = []
        self.unmatched = Unmatched()
        self._complaints = Complaints(request, self.unmatched)
        pace = probes.load_pace(station)
        self._pace = PaceMeter(lambda runs: probes.pace(station, pace, runs))

    @property
    def quota(self) -> Quota:
        """How long to measure a program."""
        return Quota(self.settings.precision, self.settings.seconds)

    def prepared(self, analysed: Analysed, line: LiveLine) -> PreparedProgram:
        """A program whose paths ran once."""
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
        """Shows which path is being prepared, and says whether to go on."""

        def going(done: int, count: int) -> bool:
            line.show(f"preparing path {done + 1} of {count}")
            return not self.stopping.asked

        return going

    def go_on(self, line: LiveLine) -> Callable[[Progress], bool]:
        """Shows how far a measurement is, and says whether to go on."""

        def go_on(progress: Progress) -> bool:
            line.show_progress(progress)
            self._pace.read()
            return not self.stopping.asked

        return go_on

    def environment(self) -> Environment:
        """Where it was measured, and how fast the CPU was meanwhile."""
        return self.watch.end(self._pace.paced())

    def complain(self, analysed: Analysed, program: PreparedProgram) -> None:
        """Says on standard error what was not measured, and why."""
        record = program.record
        if analysed.result["error"] is not None:
            return  # said already
        trace = record["trace"]
        if record["error"] is not None:
            error(record["file"], f"{record['program']}: {record['error']}")
            asked = self.stopping.asked
            self.codes.append(ExitCode.UNDECIDED if asked else ExitCode.INPUT)
        if trace is not None:
            self.codes.append(complain_of_trace(record, trace, stopped=self.stopping.asked))
            if trace["mix"] is not None:
                # Packets were measured: the path of the analysis is only there to compare with, and
                # the report says why that was not measured.
                return
        for path in record["paths"]:
            if path["report"] is not None:
                what = f"{record['program']}, path {path['rank']}: {path['error']}"
                self.disagree(record["file"], what)

    def disagree(self, file: str, what: str) -> None:
        """Says that kernel and interpreter disagree on a path."""
        error(file, what)
        note(f"note: {file}: --format json has all that it takes to report it")
        self.codes.append(ExitCode.INPUT)
