"""The command `slowpath sweep`."""

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from slowpath.bounds.options import check_not_a_program, read_option
from slowpath.core import engine
from slowpath.core.errors import ExitCode, InputError, OptionError, UnavailableError, worst
from slowpath.core.formats import Reporter
from slowpath.core.inputs import read_program, write_error
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.pictures import check_picture
from slowpath.core.programs.sources import provenance
from slowpath.core.terminal import error, note
from slowpath.measure import disturbances
from slowpath.measure.environment import Environment
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
"""Default time to measure all programs together, in seconds."""


def sweep(given: Namespace, reporter: Reporter) -> ExitCode:
    """Sweep and report; an error for one value does not stop the others.

    Raises:
        OptionError: if an option makes no sense.
        InputError: if the source or a file of an option cannot be read, clang is missing, or the
            plot cannot be drawn.
    """
    asked = read_sweep_request(given)
    if given.plot is not None:
        _check_picture(given.plot, asked.file)
    with heeding_signals() as stopping, _opened(given, stopping) as (measured, why):
        found = _Run(given, asked, stopping, measured, why).all_of()
    reporter.write(found.document)
    if reporter.form == "table":
        disturbances.complain(found.document["disturbances"])
    code = found.code()
    if given.plot is not None:
        _draw(given.plot, asked, found.document["programs"])
    return code


class _Run:
    def __init__(
        self,
        given: Namespace,
        asked: SweepRequest,
        stopping: Stopping,
        measured: Measuring | None,
        why: str | None,
    ) -> None:
        self._given, self._asked, self._stopping = given, asked, stopping
        self._measuring, self._why = measured, why
        self._points = list(points(asked.definitions))
        self._codes: list[ExitCode] = [] if why is None else [ExitCode.INPUT]
        self.document: Sweep = {
            "slowpath": engine.version(),
            **provenance(compiled=True),
            "file": asked.file,
            "definitions": [
                {"name": one.name, "values": list(one.values)} for one in asked.definitions
            ],
            "complete": False,
            "programs": [],
            "environment": None,
            "disturbances": [],
        }

    def all_of(self) -> "_Run":
        """Run the sweep and return self."""
        with LiveLine(len(self._points)) as line:
            sweeping = SweepRun(self._asked, self._stopping, line, self._measuring)
            found = list(self._swept(sweeping))
            self._measure(found, line)
        self.document["programs"] = [one.record for one in found]
        if sweeping.refusal and not any(one.record["program"] for one in found):
            raise sweeping.refusal
        self._codes += [*sweeping.codes, sweeping.unmatched.complain()]
        return self

    def _swept(self, sweeping: SweepRun) -> Iterator[Swept]:
        for done, point in enumerate(self._points):
            yield from sweeping.programs(done, point)
            if self._stopping.asked:
                note(f"note: interrupted at value {done + 1} of {len(self._points)}")
                self._codes.append(ExitCode.UNDECIDED)
                return
        self.document["complete"] = True

    def _measure(self, found: Sequence[Swept], line: LiveLine) -> None:
        """Measure the prepared programs, and store the times in their records."""
        if self._why is not None:
            for one in found:
                one.record["measured"] = unmeasured(self._why)
        if self._measuring is None:
            return
        prepared = [one.prepared for one in found if one.prepared is not None]
        try:
            where = self._measuring.measure(prepared, self._given.seconds or _SECONDS, line.show)
            self._note(where)
        except InputError as problem:
            error(problem.file, problem.reason)
            self._codes.append(ExitCode.INPUT)
        for one in found:
            if one.prepared is not None:
                one.record["measured"] = time_of(one.prepared)
            elif one.record["measured"] is None:
                one.record["measured"] = unmeasured("interrupted before it was measured")
        self._count(found)

    def _note(self, where: Environment | None) -> None:
        self.document["environment"] = where
        self.document["disturbances"] = [] if where is None else disturbances.of(where)

    def _count(self, found: Sequence[Swept]) -> None:
        """Add the exit code of the measurements."""
        asked = self._stopping.asked
        if any(one.record["measured"] and one.record["measured"]["error"] for one in found):
            self._codes.append(ExitCode.UNDECIDED if asked else ExitCode.INPUT)

    def code(self) -> ExitCode:
        """Return the exit code; print how many values failed, since rows have the reasons."""
        programs = self.document["programs"]
        for number, request in enumerate(self._asked.requests):
            failed = [one for one in programs if one["results"][number]["error"] is not None]
            if failed:
                target = request.target.name
                what = f"{len(failed)} of {len(programs)} programs not analysed on {target}"
                error(self._asked.file, what)
        for name in _without_effect(self.document):
            if not re.search(rf"\b{name}\b".encode(), read_program(self._asked.file)):
                note(f"note: {name} changes nothing, and {self._asked.file} has no such word")
        return worst(self._codes)


def _without_effect(document: Sweep) -> Iterator[str]:
    """Yield definitions that never change a result, for any value of the others."""
    for definition in document["definitions"]:
        name, seen = definition["name"], dict[str, list[object]]()
        for program in document["programs"]:
            others = {key: one for key, one in program["values"].items() if key != name}
            seen.setdefault(repr((others, program["program"])), []).append(program["results"])
        known = [results for results in seen.values() if len(results) > 1]
        if known and all(one == results[0] for results in known for one in results):
            yield name


@contextmanager
def _opened(given: Namespace, stopping: Stopping) -> Iterator[tuple[Measuring | None, str | None]]:
    """Open the measurement if requested; else yield the reason why it is unavailable."""
    if not given.measure:
        for name, value in (("--cpu", given.cpu), ("--seconds", given.seconds)):
            if value is not None:
                raise OptionError(name, "nothing is measured without --measure")
        yield None, None
        return
    opened, why = None, None
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(measuring(given.cpu, stopping))
        except UnavailableError as reason:
            error(reason.file, reason.reason)
            why = reason.reason
        yield opened, why


def _check_picture(file: str, source: str) -> None:
    """Check before the work that the plot can be drawn.

    Raises:
        OptionError: if the file is not a picture file.
        UnavailableError: if matplotlib is not installed.
    """
    check_picture(file)
    read_option("--plot", lambda path: check_not_a_program(path, [source]), file)


def _draw(file: str, asked: SweepRequest, programs: Sequence[SweptProgram]) -> None:
    from slowpath.sweep.report import draw

    try:
        draw(file, asked.definitions, programs)
    except OSError as problem:
        raise write_error(file, problem) from None
