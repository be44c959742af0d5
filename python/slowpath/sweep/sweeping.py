"""Compiles a program with each combination of macro values, analyses it, and times it.

An error for one combination is recorded, and the sweep continues. The slowest paths of all programs
are loaded into the kernel together and timed in turns, so that disturbances of the machine affect
all of them alike.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.outcomes import Analysed, Unmatched, code_of, note_remarks
from slowpath.bounds.plan import Plan, Request
from slowpath.bounds.progress import Watch
from slowpath.core import terminal
from slowpath.core.engine import kernel
from slowpath.core.errors import Coded, ExitCode, OptionError
from slowpath.core.jobs import Stopping
from slowpath.core.schema.derived import estimate_notes, is_count, reservation
from slowpath.core.schema.results import Result
from slowpath.measure import environment
from slowpath.measure.bench import PaceMeter
from slowpath.measure.environment import Environment
from slowpath.measure.machine import chosen_cpu
from slowpath.measure.programs import PreparedProgram, measure_together, prepare_program, slowest
from slowpath.measure.sampling import UNMEASURED, Progress, StopCriteria
from slowpath.sweep.definitions import Point, SweepRequest, flags, words
from slowpath.sweep.documents import SweptProgram, SweptResult, SweptTime

_PRECISION = 0.01
"""Half width of the intervals, as a share of the time, at which measuring ends early."""
Say = Callable[[str], None]
"""Function that shows a text about the progress to the user."""


class Measuring:
    """An open measurement of programs in the kernel; the function `measuring` opens it."""

    def __init__(self, station: kernel.Station, cpu: int, stopping: Stopping) -> None:
        self._station, self._cpu, self._stopping = station, cpu, stopping
        self._pace = kernel.load_pace(station)

    def prepare(self, analysed: Analysed, maps: str | None) -> PreparedProgram:
        """Run the slowest path of an analysed program once, and prepare it for timing.

        `maps` is the argument of `--maps`.
        """
        return prepare_program(
            self._station, analysed, lambda paths: slowest(paths, 1), self._going, maps
        )

    def _going(self, _done: int, _count: int) -> bool:
        return not self._stopping.asked

    def measure(
        self, programs: Sequence[PreparedProgram], seconds: float, say: Say
    ) -> Environment | None:
        """Measure all programs together for at most `seconds`, and return the environment.

        The times are stored in the records of the programs. `say` shows progress.

        Raises:
            InputError: if the kernel no longer accepts a path.
        """
        if not any(program.cases for program in programs) or self._stopping.asked:
            return None
        pace = PaceMeter(lambda runs: kernel.pace(self._station, self._pace, runs))

        def proceed(progress: Progress) -> bool:
            widest = "" if progress.widest is None else f", ± {progress.widest:.1%} at worst"
            say(f"measuring for {progress.seconds:.0f} of at most {seconds:g} s{widest}")
            pace.read()
            return not self._stopping.asked

        watch = environment.begin(self._cpu, thread=self._station.thread)
        measure_together(self._station, programs, StopCriteria(_PRECISION, seconds), proceed)
        return watch.end(pace.speed())


@contextmanager
def measuring(cpu: int | None, stopping: Stopping) -> Iterator[Measuring]:
    """Open a measurement on a CPU; None: the last CPU that this process may use.

    Raises:
        OptionError: if this process may not run on the CPU.
        UnavailableError: if this process cannot measure in this kernel.
    """
    chosen = chosen_cpu(cpu)
    station = kernel.open_station(kernel.open_kernel(), chosen)
    with stopping.calling(station.stop):
        yield Measuring(station, chosen, stopping)


def unmeasured(reason: str, code: str | None) -> SweptTime:
    """Return the record of a program that was not measured.

    `code` is the error code of the reason.
    """
    nothing = dict.fromkeys(("ns", "low_ns", "high_ns", "program_ns", "instructions"))
    return {**nothing, "error": str(reason), "code": code}  # type: ignore[typeddict-item]


def time_of(program: PreparedProgram) -> SweptTime:
    """Return the record of a program's measured time, or of the reason why it is missing."""
    record = program.record
    path = record["paths"][0] if record["paths"] else None
    if path is None or path["measured_ns"] is None:
        failed = record if path is None or path["error"] is None else path
        if failed["error"] is None:
            return unmeasured(UNMEASURED, UNMEASURED.code)
        return unmeasured(failed["error"], failed["code"])
    return {
        "ns": path["measured_ns"],
        "low_ns": path["low_ns"],
        "high_ns": path["high_ns"],
        "program_ns": path["program_ns"],
        "instructions": path["instructions"],
        "error": None,
        "code": None,
    }


class LiveLine(terminal.LiveLine):
    """Line on the terminal that shows the progress of a sweep."""

    def __init__(self, count: int) -> None:
        """Create the line for a sweep of `count` combinations of values."""
        super().__init__()
        self._count = count
        self._started = time.monotonic()

    def place(self, done: int) -> str:
        """Format the progress after `done` combinations: `3 of 20`, with the time left."""
        return f"{done + 1} of {self._count}{self._left(done)}"

    def show(self, text: str) -> None:
        """Show `text`, the current step of the work, in place of the previous text."""
        self.draw(text)

    def _left(self, done: int) -> str:
        if not done:
            return ""
        each = (time.monotonic() - self._started) / done
        return f", {terminal.about_left(each * (self._count - done))}"


class Swept(NamedTuple):
    """A program for one combination of values: its record, and itself ready for timing.

    `prepared` is None if it is not measured.
    """

    record: SweptProgram
    prepared: PreparedProgram | None


class SweepRun:
    """Compiles and analyses the programs of a sweep, and collects the exit codes."""

    def __init__(
        self, request: SweepRequest, stopping: Stopping, line: LiveLine, measuring: Measuring | None
    ) -> None:
        """Prepare the sweep; programs are compiled later."""
        self._request, self._stopping, self._line = request, stopping, line
        self._measuring = measuring
        self._remarks = set[tuple[str, str]]()
        self._place = ""  # number of the value and the values themselves, for progress lines
        self.unmatched = Unmatched()
        self.codes: list[ExitCode] = []
        self.refusal: OptionError | None = None  # the selection matches no program for some value

    def programs(self, done: int, point: Point) -> Iterator[Swept]:
        """Yield the programs for a combination of values.

        `done` is the number of earlier combinations. If the user interrupts the sweep, programs
        without any result are omitted.
        """
        self._place = f"{self._line.place(done)}, {words(point)}"
        self._line.show(f"{self._place}: compiling")
        try:
            plan, found = self._found(point)
        except KeyboardInterrupt:  # clang was running and handles signals itself
            if self._stopping.asked:
                raise  # second interrupt
            self._stopping.ask()
            return
        except OptionError as refusal:
            if refusal.option not in {"--section", "--prog-name"}:
                raise
            self.refusal = refusal
            self.codes.append(ExitCode.INPUT)
            yield Swept(self._unknown_program(point, refusal.coded), None)
            return
        prepared = list(self._prepared(point, plan))
        for number, task in enumerate(plan.tasks):
            results = [one[number] for one in found]
            self._count(results)
            if self._stopping.asked and not any(r.result["guarantee"] for r in results):
                return
            program = task.program
            record: SweptProgram = {
                "values": dict(point),
                "section": None if program is None else program.section,
                "program": None if program is None else program.name,
                "results": [swept_result(each.result) for each in results],
                "measured": None,
            }
            yield Swept(record, prepared[number] if prepared else None)

    def _found(self, point: Point) -> tuple[Plan, list[list[Analysed]]]:
        """Compile the programs for a combination of values, and analyse them for each target.

        Return the programs, and their results for each target.
        """
        plan: Plan | None = None
        found = []
        for request in self._request.requests:
            session = Session(self._defined(request, point), plan)
            if plan is None:
                self._remark(session.plan)
            plan = session.plan
            found.append(list(session.analyse(self._context(request))))
        assert plan is not None  # noqa: S101 - there is a target
        return plan, found

    def _defined(self, request: Request, point: Point) -> Request:
        clang = request.clang
        return request._replace(clang=clang._replace(flags=(*clang.flags, *flags(point))))

    def _context(self, request: Request) -> RunContext:
        subject = f"{self._place} on {request.target.name}"
        return RunContext(
            self._stopping, lambda _label, metric, seconds: Watch(subject, metric, seconds)
        )

    def _prepared(self, point: Point, plan: Plan) -> Iterator[PreparedProgram]:
        """Yield the programs for a combination of values, prepared for timing."""
        if self._measuring is None or self._stopping.asked:
            return
        request = self._request.counting
        session = Session(self._defined(request, point), plan)
        for analysed in session.analyse(self._context(request)):
            self._line.show(f"{self._place}: preparing to measure")
            yield self._measuring.prepare(analysed, request.options.maps)

    def _count(self, results: list[Analysed]) -> None:
        for each in results:
            self.unmatched.add(each)
            failure = each.detail["failure"]
            if failure is not None:
                self.codes.append(code_of(failure))

    def _remark(self, plan: Plan) -> None:
        """Print the remarks on compiled programs that were not printed for earlier values."""
        new = [remark for remark in plan.remarks if remark not in self._remarks]
        self._remarks.update(new)
        note_remarks(plan._replace(remarks=new))

    def _unknown_program(self, point: Point, reason: Coded) -> SweptProgram:
        """Return the record for a combination of values without a program.

        `reason` is the error.
        """
        requests = self._request.requests
        known = [unknown(one.target.name, one.metric, reason, reason.code) for one in requests]
        timed = None if self._measuring is None else unmeasured(reason, reason.code)
        head = {"values": dict(point), "section": None, "program": None}
        return {**head, "results": known, "measured": timed}  # type: ignore[typeddict-item]


def swept_result(result: Result) -> SweptResult:
    """Convert the result of an analysis to the record for a sweep."""
    guarantee = result["guarantee"]
    known = unknown(result["target"], result["metric"], _reasons(result), result["code"])
    if guarantee is None:
        return known
    rates = not is_count(result)
    known["packetrate_pps"] = guarantee["packetrate_pps"] if rates else None
    known["bitrate_bps"] = guarantee["bitrate_bps"] if rates else None
    known["counts"] = guarantee["counts"]
    known["verdict"], known["stopped"] = guarantee["verdict"], guarantee["stopped"]
    known["bottleneck"] = guarantee["bottleneck"]
    known["assumptions"] = list(result["assumptions"])
    estimate, notes = result["estimate"], estimate_notes(result)
    if estimate is None:
        known["stopped"] = known["stopped"] or next((f"estimates: {text}" for text in notes), None)
    else:
        known["stopped"] = known["stopped"] or estimate["stopped"]
        known["assumptions"] += [reservation(text) for text in notes]
        known["warm_ns"], known["cold_ns"] = estimate["warm"]["ns"], estimate["cold"]["ns"]
        known["warm_low_ns"] = estimate["warm"]["low_ns"]
        known["warm_high_ns"] = estimate["warm"]["high_ns"]
        known["cold_low_ns"] = estimate["cold"]["low_ns"]
        known["cold_high_ns"] = estimate["cold"]["high_ns"]
    return known


def unknown(target: str, metric: str, reason: str | None, code: str | None) -> SweptResult:
    """Return the record of a missing result for a target.

    `code` is the error code of the reason.
    """
    return {
        "target": target,
        "metric": metric,
        "packetrate_pps": None,
        "bitrate_bps": None,
        "counts": None,
        "verdict": None,
        "bottleneck": None,
        "stopped": None,
        "assumptions": [],
        "warm_ns": None,
        "warm_low_ns": None,
        "warm_high_ns": None,
        "cold_ns": None,
        "cold_low_ns": None,
        "cold_high_ns": None,
        "error": reason,
        "code": code,
    }


def _reasons(result: Result) -> str | None:
    """Return the first error of a result, and the number of others; None without errors."""
    more = len(result["refusals"] or []) - 1
    if result["error"] is None or more < 1:
        return result["error"]
    return f"{result['error']} (and {more} more reason{'s'[: more > 1]})"
