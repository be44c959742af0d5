"""The two sides of a comparison: programs that are analysed now, or results that were saved."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.analysis.analyst import Audience
from slowpath.analysis.defaults import default_target
from slowpath.analysis.options import WrittenOptions, read_request
from slowpath.analysis.outcomes import Complaints, Unmatched, note_remarks
from slowpath.analysis.plan import Request
from slowpath.analysis.session import Session
from slowpath.cli.errors import InputError, OptionError
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.inputs import NO_SUCH_FILE, read_program
from slowpath.cli.terminal import error, note
from slowpath.engine import targets
from slowpath.programs.selection import no_match
from slowpath.schema.results import Result
from slowpath.schema.saved import looks_saved, read_saved
from slowpath.schema.wording import program_label
from slowpath.work.stopping import Stopping, heeding_signals


class Sides(NamedTuple):
    """What is to be compared, and the options of analyses as typed."""

    old: str
    new: str
    written: WrittenOptions


class Side(NamedTuple):
    """The results of one side."""

    file: str
    saved: bool  # read from a file, not analysed now
    target: targets.Target  # of what is analysed
    results: list[Result]
    codes: list[ExitCode]  # what the exit code says of analyses
    undecided: list[Result]  # programs whose analysis was stopped before there was a bound
    unread: str | None = None  # a saved file that was there and whose programs are not known


class _Opened(NamedTuple):
    """A side before anything is analysed: saved results, or programs to analyse."""

    file: str
    results: list[Result] | None  # saved ones
    request: Request
    session: Session | None  # of programs that are to be analysed
    problem: OptionError | None  # why no program of it is meant


def load_sides(sides: Sides) -> tuple[Side, Side]:
    """Reads or analyses both.

    Raises:
        OptionError: when an option makes no sense for the files.
        InputError: when a file, or one that an option names, cannot be read.
    """
    files = (sides.old, sides.new)
    contents = [_read(file) for file in files]
    if all(map(looks_saved, contents)):
        _refuse_options(sides.written)
    written = sides.written
    if written.target is None:
        written = written._replace(target=_target(files, contents))
    opened = [_open(*side, written) for side in zip(files, contents, strict=True)]
    problems = [side.problem for side in opened if side.problem is not None]
    if len(problems) == len(opened):
        raise problems[0]
    unmatched = Unmatched()
    with heeding_signals() as stopping:
        old = _load(opened[0], _remark, unmatched, stopping)
        new = _load(opened[1], error, unmatched, stopping)
    if unmatched.complain() is not ExitCode.FINE:
        new.codes.append(ExitCode.USAGE)
    # What could not be analysed before is no fault of the change.
    forgiven: list[ExitCode] = [code for code in old.codes if code is not ExitCode.INPUT]
    return old._replace(codes=forgiven), new


def _target(files: Sequence[str], contents: Sequence[bytes]) -> str:
    """The target where none is named: that of the saved results, else the default of both files."""
    saved = [pair for pair in zip(files, contents, strict=True) if looks_saved(pair[1])]
    names = {result["target"] for pair in saved for result in read_saved(*pair)}
    if len(names) == 1 and names <= set(targets.target_names()):
        return names.pop()
    return default_target(files)


def _read(file: str) -> bytes:
    """The content of a side.

    Raises:
        InputError: when it cannot be read, or there is none, as after a run that failed to save it.
    """
    data = read_program(file)
    if not data.strip():
        raise InputError(file, "is empty: neither a program nor output of bound --format json")
    return data


def _open(file: str, data: bytes, written: WrittenOptions) -> _Opened:
    request = read_request([file], written)
    if looks_saved(data):
        chosen = [
            result
            for result in read_saved(file, data)
            if written.selection.matches(result["section"] or "", result["program"])
        ]
        problem = no_match(written.selection) if written.selection and not chosen else None
        return _Opened(file, chosen, request, None, problem)
    try:
        session = Session(request)
    except OptionError as problem:
        if problem.option not in {"--section", "--prog-name"}:
            raise
        return _Opened(file, None, request, None, problem)
    for task in session.plan.tasks:
        if task.error is not None:
            raise InputError(task.file, task.error)
    return _Opened(file, None, request, session, None)


Say = Callable[[str, str], None]
"""Says of a file that a program of it has no guarantee, and why."""


def _load(opened: _Opened, say: Say, unmatched: Unmatched, stopping: Stopping) -> Side:
    """The results."""
    side = Side(opened.file, opened.results is not None, opened.request.target, [], [], [])
    for result in opened.results or []:
        if result["error"] is not None:
            say(opened.file, f"{program_label(result)}: {result['error']}")
        if result["program"]:
            side.results.append(result)
        elif result["error"] != NO_SUCH_FILE:  # else there were no programs
            side = side._replace(unread=result["file"])
        side.codes.append(ExitCode.FINE if result["error"] is None else ExitCode.INPUT)
    if opened.session is None:
        return side
    note_remarks(opened.session.plan)
    complaints = Complaints(opened.request, unmatched, say)
    for analysed in opened.session.analyse(Audience(stopping)):
        side.codes.append(complaints.add(analysed))
        side.results.append(analysed.result)
        if side.codes[-1] is ExitCode.UNDECIDED:
            side.undecided.append(analysed.result)
    return side


def _remark(file: str, message: str) -> None:
    note(f"note: {file}: {message}")


def _refuse_options(written: WrittenOptions) -> None:
    """Options of analyses mean nothing where nothing is analysed.

    Raises:
        OptionError: naming the first one.
    """
    for name, (value, default) in zip(
        written._fields, zip(written, WrittenOptions(), strict=True), strict=True
    ):
        if name != "selection" and value != default:
            raise OptionError(
                f"--{name.replace('_', '-')}",
                "OLD and NEW are saved results, nothing is analysed",
            )
