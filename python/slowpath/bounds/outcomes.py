"""Chooses the exit code after analyses, and prints failures on standard error."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.bounds.plan import Plan, Request, Task
from slowpath.core import codes
from slowpath.core.engine.analyses import Outcome
from slowpath.core.errors import ExitCode, with_code
from slowpath.core.schema.derived import refusal_text
from slowpath.core.schema.results import Detail, Failure, Result
from slowpath.core.terminal import complain, error, note


class Analysed(NamedTuple):
    """A program, with the result of its analysis."""

    task: Task
    result: Result
    text: str  # the result as JSON
    detail: Detail
    certificate: str | None = None  # claims and proofs as JSON; None: not requested, or none
    no_certificate: str | None = None  # reason why a requested certificate was not made


def analysed_by(task: Task, outcome: Outcome) -> Analysed:
    """Return the program of a task with its result."""
    certificate = (outcome.certificate, outcome.no_certificate)
    return Analysed(task, outcome.result, outcome.text, outcome.detail, *certificate)


def note_remarks(*plans: Plan) -> list[str]:
    """Print remarks about skipped programs, or programs analysed as XDP, to standard error.

    Plans for several targets can have equal remarks, which are printed once. Return the printed
    notes for the key `notes` of JSON documents.
    """
    remarks = dict.fromkeys(one for plan in plans for one in plan.remarks)
    return [note_on(file, remark) for file, remark in remarks]


def note_on(subject: str, text: str) -> str:
    """Print a note on a file or program to standard error, and return it.

    Callers store the notes under the key `notes` of JSON documents.
    """
    told = f"{subject}: {text}"
    note(f"note: {told}")
    return told


def code_of(failure: Failure) -> ExitCode:
    """Return the exit code for a program that could not be analysed."""
    codes = {"option": ExitCode.USAGE, "stopped": ExitCode.UNDECIDED}
    return codes.get(failure["kind"], ExitCode.INPUT)


Say = Callable[[str | None, str, str], None]
"""A function that prints a message; its arguments are a code, a file and the message."""


class Unmatched:
    """Collects the loop limits of `--unroll` that name a line at which no program has code."""

    def __init__(self) -> None:
        self._pieces: set[str] | None = None  # None: no program yet

    def add(self, analysed: Analysed) -> None:
        """Remove the loop limits that apply to a program."""
        pieces = set(analysed.detail["unmatched"])
        if analysed.result["error"] is not None and not pieces:
            return  # the analysis may have failed before this check
        self._pieces = pieces if self._pieces is None else self._pieces & pieces

    def complain(self) -> ExitCode:
        """Report the loop limits that apply to no program.

        Return the exit code for wrong usage if there are some, else that for success.
        """
        for piece in sorted(self._pieces or ()):
            error(
                codes.NO_LOOP_THERE,
                f"--unroll {piece}",
                ("no analysed program has code at this line; name a line that slowpath prints"),
            )
        return ExitCode.USAGE if self._pieces else ExitCode.FINE


class Complaints:
    """Prints messages on standard error about programs that could not be analysed."""

    def __init__(self, request: Request, unmatched: Unmatched, say: Say = error) -> None:
        """Create an instance.

        Args:
            request: the request whose programs are analysed.
            unmatched: records every program, to find loop limits that apply to none.
            say: prints a message; its arguments are a code, a file and the message.
        """
        self._request = request
        self._unmatched = unmatched
        self._say = say
        self._reported = set[tuple[str, str, str]]()

    def add(self, analysed: Analysed) -> ExitCode:
        """Report the failure of a program, if any, and return the exit code of its analysis.

        If one cause affects several programs, such as a fault in an option's file, it is reported
        once.
        """
        self._unmatched.add(analysed)
        failure = analysed.detail["failure"]
        if failure is None:
            return ExitCode.FINE
        complaint = self._complaint(analysed.task, failure)
        if complaint not in self._reported:
            self._reported.add(complaint)
            self._say(*complaint)
            name = "" if analysed.task.program is None else f"{analysed.task.program.name}: "
            for refusal in (analysed.result["refusals"] or [])[1:]:
                also = f"note: {analysed.task.file}: {name}also {refusal_text(refusal)}"
                complain(with_code(also, refusal["code"]))
        return code_of(failure)

    def _complaint(self, task: Task, failure: Failure) -> tuple[str, str, str]:
        """Return the code of a failure, the file that caused it, and the message."""
        if failure["option"] is not None:
            name = self._request.option_files[failure["option"]]
            line = "" if failure["line"] is None else f":{failure['line']}"
            return failure["code"], name, f"{name}{line}: {failure['what']}"
        if task.program is None:
            return failure["code"], task.file, failure["what"]
        return failure["code"], task.file, f"{task.program.name}: {failure['what']}"


class ComplaintsByTarget:
    """Prints messages about programs that are analysed for one or several targets.

    `Complaints` does the same for one target.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        unmatched: Unmatched,
        say: Say = error,
        *,
        several: bool,
    ) -> None:
        """Create an instance for `requests`, one for each target.

        With `several`, messages about programs name the target. `unmatched` and `say` are as in
        `Complaints`.
        """
        reported = set[str]()
        self._of_files = Complaints(requests[0], unmatched, say)
        self._of_programs = [
            Complaints(one, unmatched, _sayer(one.target.name, reported, say) if several else say)
            for one in requests
        ]

    def add(self, at: int, analysed: Analysed) -> ExitCode:
        """Report the failure of a program, if any, and return the exit code of its analysis.

        `at` is the index of the request. An unreadable file fails on all targets, and is reported
        once.
        """
        complaints = self._of_programs[at] if analysed.task.error is None else self._of_files
        return complaints.add(analysed)


def _sayer(target: str, reported: set[str], say: Say) -> Say:
    """Return a function that prints failures with the name of the target.

    Errors in files of options are the same for all targets, so they are printed once and without a
    target; `reported` has those printed before.
    """

    def say_on(code: str | None, file: str, what: str) -> None:
        if not what.startswith(f"{file}:"):
            say(code, file, f"on {target}: {what}")
        elif what not in reported:
            reported.add(what)
            say(code, file, what)

    return say_on
