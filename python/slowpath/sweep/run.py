"""Runs the command `slowpath sweep`."""

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from slowpath.bounds.options import check_not_a_program, check_page_file, read_option
from slowpath.core import codes, engine
from slowpath.core.errors import Coded, ExitCode, InputError, OptionError, UnavailableError, worst
from slowpath.core.formats import Reporter
from slowpath.core.inputs import read_program, write_error, write_text
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.pictures import check_picture
from slowpath.core.programs.sources import provenance
from slowpath.core.terminal import error, note
from slowpath.measure import disturbances
from slowpath.measure.sampling import UNMEASURED
from slowpath.sweep.definitions import SweepRequest, points, read_sweep_request
from slowpath.sweep.documents import Sweep, SweptProgram
from slowpath.sweep.sweeping import (
    LiveLine,
    Measuring,
    SweepRun,
    Swept,
    measuring,
    time_of,
    unmeasured,
)

_SECONDS = 20.0
"""Default time for measuring all programs together, in seconds."""


def sweep(args: Namespace, reporter: Reporter) -> ExitCode:
    """Run `slowpath sweep` and print its report. An error for one value does not end the sweep.

    Raises:
        OptionError: if an option is invalid.
        InputError: if the source or a file of an option cannot be read, clang is missing, or the
            plot cannot be drawn.
    """
    request = read_sweep_request(args)
    if args.plot is not None:
        _check_picture(args.plot, request.file)
    if args.html is not None:
        check_page_file(args.html, [request.file])
    with heeding_signals() as stopping, _opened(args, stopping) as (measured, unavailable):
        run = _Run(args.total_seconds, request, stopping, measured, unavailable)
        run.sweep()
    # In JSON, the document contains disturbances with their codes, so do not print them.
    json = reporter.format == "json"
    found = () if json else disturbances.warnings(run.document["disturbances"])
    reporter.write(run.document, warnings=found)
    code = run.code()
    if args.plot is not None:
        _draw(args.plot, request, run.document["results"])
    if args.html is not None:
        from slowpath.sweep.page import sweep_page

        write_text(args.html, sweep_page(run.document, request.definitions))
    return code


class _Run:
    """A run of `slowpath sweep`, which collects the document and the exit codes."""

    def __init__(
        self,
        seconds: float | None,
        request: SweepRequest,
        stopping: Stopping,
        measured: Measuring | None,
        unavailable: Coded | None,
    ) -> None:
        """Prepare the sweep.

        Args:
            seconds: time limit for measuring all programs; None: default.
            request: programs, targets and options.
            stopping: requests to stop, such as Ctrl-C.
            measured: opened measurement; None if nothing is measured.
            unavailable: reason why a requested measurement is impossible, else None.
        """
        self._seconds, self._request, self._stopping = seconds or _SECONDS, request, stopping
        self._measuring, self._unavailable = measured, unavailable
        self._points = list(points(request.definitions))
        self._codes: list[ExitCode] = [] if unavailable is None else [ExitCode.INPUT]
        self.document: Sweep = {
            **engine.head("sweep", "sweep"),
            **provenance(compiled=True),
            "file": request.file,
            "definitions": [
                {"name": one.name, "values": list(one.values)} for one in request.definitions
            ],
            "complete": False,
            "results": [],
            "environment": None,
            "disturbances": [],
        }

    def sweep(self) -> None:
        """Compile, analyse and, if requested, measure the programs for all values."""
        with LiveLine(len(self._points)) as line:
            sweeping = SweepRun(self._request, self._stopping, line, self._measuring)
            found = list(self._swept(sweeping))
            self._measure(found, line)
        self.document["results"] = [one.record for one in found]
        if sweeping.refusal and not any(one.record["program"] for one in found):
            raise sweeping.refusal
        self._codes += [*sweeping.codes, sweeping.unmatched.complain()]

    def _swept(self, sweeping: SweepRun) -> Iterator[Swept]:
        for done, point in enumerate(self._points):
            yield from sweeping.programs(done, point)
            if self._stopping.asked:
                note(f"note: interrupted at value {done + 1} of {len(self._points)}")
                self._codes.append(ExitCode.UNDECIDED)
                return
        self.document["complete"] = True

    def _measure(self, found: Sequence[Swept], line: LiveLine) -> None:
        """Measure the prepared programs, and store their times in the document."""
        if self._unavailable is not None:
            for one in found:
                one.record["measured"] = unmeasured(self._unavailable, self._unavailable.code)
        if self._measuring is None:
            return
        prepared = [one.prepared for one in found if one.prepared is not None]
        try:
            environment = self._measuring.measure(prepared, self._seconds, line.show)
            self.document["environment"] = environment
            if environment is not None:
                self.document["disturbances"] = disturbances.of(environment)
        except InputError as problem:
            error(problem.code, problem.file, problem.reason)
            self._codes.append(ExitCode.INPUT)
        for one in found:
            if one.prepared is not None:
                one.record["measured"] = time_of(one.prepared)
            elif one.record["measured"] is None:
                one.record["measured"] = unmeasured(UNMEASURED, UNMEASURED.code)
        if any(one.record["measured"] and one.record["measured"]["error"] for one in found):
            stopped = self._stopping.asked
            self._codes.append(ExitCode.UNDECIDED if stopped else ExitCode.INPUT)

    def code(self) -> ExitCode:
        """Return the exit code, and print the number of programs that failed on each target.

        The report has the reasons.
        """
        programs = self.document["results"]
        for number, request in enumerate(self._request.requests):
            failed = [one for one in programs if one["results"][number]["error"] is not None]
            if failed:
                target = request.target.name
                what = f"{len(failed)} of {len(programs)} programs not analysed on {target}"
                error(codes.NOT_ANALYSED, self._request.file, what)
        for name in _without_effect(self.document):
            if not re.search(rf"\b{name}\b".encode(), read_program(self._request.file)):
                note(
                    f"note: {name} has no effect, because {self._request.file} does not contain "
                    "this name"
                )
        return worst(self._codes)


def _without_effect(document: Sweep) -> Iterator[str]:
    """Yield the names of macros whose values never change a result."""
    for definition in document["definitions"]:
        name, seen = definition["name"], dict[str, list[object]]()
        for program in document["results"]:
            others = {key: one for key, one in program["values"].items() if key != name}
            seen.setdefault(repr((others, program["program"])), []).append(program["results"])
        known = [results for results in seen.values() if len(results) > 1]
        if known and all(one == results[0] for results in known for one in results):
            yield name


@contextmanager
def _opened(args: Namespace, stopping: Stopping) -> Iterator[tuple[Measuring | None, Coded | None]]:
    """Open the measurement if `--measure` is given.

    Yield the measurement and the reason why it is unavailable; each is None if it does not apply.
    """
    if not args.measure:
        for name, value in (("--cpu", args.cpu), ("--total-seconds", args.total_seconds)):
            if value is not None:
                raise OptionError(codes.OPTION_NEEDS_OPTION, name, "needs --measure")
        yield None, None
        return
    opened, unavailable = None, None
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(measuring(args.cpu, stopping))
        except UnavailableError as problem:
            error(problem.code, problem.file, problem.reason)
            unavailable = problem.coded
        yield opened, unavailable


def _check_picture(file: str, source: str) -> None:
    """Check that the plot can be drawn to `file`, before the sweep starts.

    `source` is the program, which must not be overwritten.

    Raises:
        OptionError: if the file is not a picture file.
        UnavailableError: if matplotlib is not installed.
    """
    check_picture(file)
    read_option("--plot", lambda path: check_not_a_program(path, [source]), file)


def _draw(file: str, request: SweepRequest, programs: Sequence[SweptProgram]) -> None:
    from slowpath.sweep.report import draw

    try:
        draw(file, request.definitions, programs)
    except OSError as problem:
        raise write_error(file, problem) from None
