"""Outcomes of analyses: exit codes, and messages about failures on standard error.

The commands themselves report the results.
"""

from collections.abc import Callable
from typing import NamedTuple

from slowpath.bounds.plan import Plan, Request, Task
from slowpath.core.errors import ExitCode
from slowpath.core.schema.derived import refusal_text
from slowpath.core.schema.results import Detail, Failure, Result
from slowpath.core.terminal import error, note


class Analysed(NamedTuple):
    """A program and its result."""

    task: Task
    result: Result
    text: str  # the result as JSON
    detail: Detail


def note_remarks(plan: Plan) -> None:
    """Print to standard error which programs are skipped, or analysed as XDP."""
    for file, remark in plan.remarks:
        note(f"note: {file}: {remark}")


def code_of(failure: Failure) -> ExitCode:
    """Return the exit code for a program that could not be analysed."""
    codes = {"option": ExitCode.USAGE, "stopped": ExitCode.UNDECIDED}
    return codes.get(failure["kind"], ExitCode.INPUT)


class Unmatched:
    """Limits of `--unroll` for source lines that no program contains."""

    def __init__(self) -> None:
        self._pieces: set[str] | None = None

    def add(self, analysed: Analysed) -> None:
        """Record the limits that a program has no code for."""
        pieces = set(analysed.detail["unmatched"])
        if analysed.result["error"] is not None and not pieces:
            return  # the analysis may have failed before this check
        self._pieces = pieces if self._pieces is None else self._pieces & pieces

    def complain(self) -> ExitCode:
        """Report limits that no program has code for; return the exit code."""
        for piece in sorted(self._pieces or ()):
            error(f"--unroll {piece}", "no program that was analysed has code at this line")
        return ExitCode.USAGE if self._pieces else ExitCode.FINE


class Complaints:
    """Messages on standard error about programs that could not be analysed."""

    def __init__(
        self, request: Request, unmatched: Unmatched, say: Callable[[str, str], None] = error
    ) -> None:
        """Prepare; `say` prints file and message, and `unmatched` gets every program."""
        self._request = request
        self._unmatched = unmatched
        self._say = say
        self._said = set[tuple[str, str]]()

    def add(self, analysed: Analysed) -> ExitCode:
        """Report the failure of a program, if any, and return the exit code of its analysis.

        If several programs fail for the same reason, such as an option's file, it is reported once.
        """
        self._unmatched.add(analysed)
        failure = analysed.detail["failure"]
        if failure is None:
            return ExitCode.FINE
        self._say_once(analysed, failure)
        return code_of(failure)

    def _say_once(self, analysed: Analysed, failure: Failure) -> None:
        complaint = self._blamed(analysed.task, failure)
        if complaint in self._said:
            return
        self._said.add(complaint)
        self._say(*complaint)
        name = "" if analysed.task.program is None else f"{analysed.task.program.name}: "
        for refusal in (analysed.result["refusals"] or [])[1:]:
            note(f"note: {analysed.task.file}: {name}also {refusal_text(refusal)}")

    def _blamed(self, task: Task, failure: Failure) -> tuple[str, str]:
        """Return the file that caused the failure, and the message."""
        if failure["option"] is not None:
            name = self._request.option_files[failure["option"]]
            line = "" if failure["line"] is None else f":{failure['line']}"
            return name, f"{name}{line}: {failure['what']}"
        if task.program is None:
            return task.file, failure["what"]
        return task.file, f"{task.program.name}: {failure['what']}"
