"""The two sides of a comparison, and the pairs of programs in it."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from slowpath.bound.analyst import RunContext, Session
from slowpath.bound.default_target import default_target
from slowpath.bound.options import WrittenOptions, read_request
from slowpath.bound.outcomes import Complaints, Unmatched, note_remarks
from slowpath.bound.plan import Request
from slowpath.core.engine import targets
from slowpath.core.errors import ExitCode, InputError, OptionError
from slowpath.core.inputs import NO_SUCH_FILE, read_program
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.programs.selection import no_match
from slowpath.core.schema.derived import program_label
from slowpath.core.schema.results import Result
from slowpath.core.schema.saved import looks_saved, read_saved
from slowpath.core.terminal import error, note


class Pair(NamedTuple):
    """A program before and after a change; None where a side does not have it."""

    old: Result | None
    new: Result | None

    @property
    def present(self) -> Result:
        """The newer one of those that there are."""
        result = self.old if self.new is None else self.new
        if result is None:
            raise ValueError("a pair has a program")
        return result

    @property
    def measured(self) -> Result:
        """The newer one of those with a guarantee, if there is any."""
        known = (result for result in (self.new, self.old) if result is not None)
        return next((result for result in known if result["guarantee"] is not None), self.present)

    @property
    def same_machine(self) -> bool:
        """Whether both sides were estimated alike, so that a difference is the programs' own.

        A target of the same name may be of another machine: what `slowpath calibrate` keeps.
        """
        old, new = (None if side is None else side["estimate"] for side in self)
        if old is None or new is None:
            return False
        return all(old[key] == new[key] for key in ("machine", "date", "entries"))

    @property
    def names(self) -> list[str]:
        """What the program is called: one name, or the old and the new one."""
        return list(dict.fromkeys(result["program"] for result in self if result is not None))

    @property
    def name(self) -> str:
        """The program's name, or both where they differ."""
        return " -> ".join(self.names)

    @property
    def label(self) -> str:
        """The program for messages, with its file if it has one name."""
        return program_label(self.present) if len(self.names) == 1 else self.name


def match_programs(old: Sequence[Result], new: Sequence[Result]) -> list[Pair]:
    """Pairs of the same file and program name, then of the same program name.

    What is left has no partner. If either side is one program, these are a pair whatever they are
    called. In the order of `old`, then those that only `new` has.

    Raises:
        InputError: when a pair was not analysed for the same target, metric and cores.
    """
    partners = dict[int, int]()
    if len(old) == len(new) == 1:
        partners[0] = 0
    for key in (_file_and_program, _section_and_program, _program):
        _match(old, new, key, partners)
    pairs = [
        Pair(result, new[partners[at]] if at in partners else None) for at, result in enumerate(old)
    ]
    taken = set(partners.values())
    pairs += [Pair(None, result) for at, result in enumerate(new) if at not in taken]
    for pair in pairs:
        _check_comparable(pair)
    return pairs


def _match(
    old: Sequence[Result],
    new: Sequence[Result],
    key: Callable[[Result], Hashable],
    partners: dict[int, int],
) -> None:
    """Pairs those without a partner whose key only one on each side has."""
    taken = set(partners.values())
    left = {at: key(result) for at, result in enumerate(old) if at not in partners}
    right = {at: key(result) for at, result in enumerate(new) if at not in taken}
    times = Counter(left.values()), Counter(right.values())
    places = {name: at for at, name in right.items()}
    for at, name in left.items():
        if times[0][name] == times[1][name] == 1:
            partners[at] = places[name]


def _file_and_program(result: Result) -> Hashable:
    return PurePath(result["file"]).name, result["section"], result["program"]


def _section_and_program(result: Result) -> Hashable:
    return result["section"], result["program"]


def _program(result: Result) -> Hashable:
    return result["program"]


def _check_comparable(pair: Pair) -> None:
    old, new = pair
    if old is None or new is None or old["guarantee"] is None or new["guarantee"] is None:
        return
    settings = [(_setting(old), old), (_setting(new), new)]
    if settings[0][0] != settings[1][0]:
        raise InputError(
            new["file"],
            f"{pair.name}: analysed for {settings[1][0]}, the old one for {settings[0][0]}; "
            "analyse both with the same --target, --metric and --cores",
        )


def _setting(result: Result) -> str:
    cores = "" if result["cores"] is None else f", {result['cores']} cores"
    return f"target {result['target']}, metric {result['metric']}{cores}"


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
    for analysed in opened.session.analyse(RunContext(stopping)):
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
