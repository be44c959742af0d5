"""Gets the results of OLD and NEW, from saved files or new analyses, and pairs their programs."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from os.path import normpath
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from slowpath.bounds.analyst import RunContext, Session, sessions_of
from slowpath.bounds.default_target import default_remark, default_target
from slowpath.bounds.multi_target import by_target, read_requests
from slowpath.bounds.options import WrittenOptions
from slowpath.bounds.outcomes import Analysed, ComplaintsByTarget, Unmatched, note_on, note_remarks
from slowpath.bounds.plan import Request
from slowpath.core import codes
from slowpath.core.engine import targets
from slowpath.core.engine.cache import Cache
from slowpath.core.errors import ExitCode, InputError, OptionError, with_code
from slowpath.core.inputs import NO_SUCH_FILE, program_files, read_program, result_files
from slowpath.core.jobs import Stopping
from slowpath.core.programs.selection import no_match
from slowpath.core.schema.derived import program_label
from slowpath.core.schema.results import Result, Verdict
from slowpath.core.schema.validation import ShapeError, check_shape, schema
from slowpath.core.terminal import error, note

if TYPE_CHECKING:
    from slowpath.core.jobs.pool import Pool


def looks_saved(data: bytes) -> bool:
    """Return true if the content of a file looks like saved results (JSON), not like a program."""
    return data.lstrip()[:1] in (b"{", b"[")


def read_saved(file: str, data: bytes) -> list[Result]:
    """Read the results of `slowpath bound` from `data`, the content of `file`.

    Raises:
        InputError: if the data is not output of `slowpath bound`.
    """
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise InputError(codes.NOT_JSON, file, f"is not JSON: {problem}") from None
    results = document.get("results") if isinstance(document, dict) else None
    other = _other_command(document)
    if other is not None:
        raise InputError(
            codes.WRONG_DOCUMENT,
            file,
            f"is output of slowpath {other}; diff reads only output of slowpath bound",
        )
    if not isinstance(results, list) or not results:
        raise InputError(
            codes.WRONG_DOCUMENT,
            file,
            "is not output of slowpath bound --format json: it lacks results",
        )
    for result in results:
        _drop_old_estimates(result)
    try:
        bound = schema("bound")
        check_shape(results, bound["properties"]["results"], bound["$defs"], "results")
    except ShapeError as problem:
        raise InputError(
            codes.WRONG_DOCUMENT, file, f"is not output of slowpath bound --format json: {problem}"
        ) from None
    for result in results:
        _fill_in(result)
    return results


def _drop_old_estimates(result: object) -> None:
    """Remove the estimated times of versions before 0.2 from a saved result, and add a note.

    Such a time includes the loop of test runs, so it cannot be compared.
    """
    if not isinstance(result, dict):
        return
    found = result.get("estimate")
    if not isinstance(found, dict) or "warm" in found or "ns" not in found:
        return
    result["estimate"] = None
    note = "estimates: missing, because an older version wrote these results; save them again"
    if isinstance(result.get("notes"), list):
        result["notes"].append(note)
    paths = result.get("paths")
    for path in paths if isinstance(paths, list) else []:
        if isinstance(path, dict):
            path["estimate"] = None


def _other_command(document: object) -> str | None:
    """Return the command that wrote a saved document; None if it was `slowpath bound`.

    Documents of older versions have no schema; they count as output of `bound`.
    """
    found = document.get("schema") if isinstance(document, dict) else None
    if found is None or str(found).partition("/")[0] == "bound":
        return None
    return str(document.get("command"))  # type: ignore[attr-defined]


def _fill_in(result: Result) -> None:
    """Add the verdicts that saved results of older versions lack, and correct their key `exact`.

    In older versions, `exact` was true even for guarantees that depend on assumptions.
    """
    if result["guarantee"] is not None and result["guarantee"]["verdict"] is None:
        found = result["guarantee"]["exact"]
        verdict: Verdict = (
            "bound" if not found else "conditional" if result["assumptions"] else "exact"
        )
        result["guarantee"]["verdict"] = verdict
        result["guarantee"]["exact"] = verdict == "exact"
    if result["naive"] is not None and result["naive"]["verdict"] is None:
        result["naive"]["verdict"] = "bound"


class Pair(NamedTuple):
    """The old and the new result of a program; None if OLD or NEW lacks the program."""

    old: Result | None
    new: Result | None

    @property
    def present(self) -> Result:
        """The new result of the program; the old one if NEW lacks the program."""
        result = self.old if self.new is None else self.new
        if result is None:
            raise ValueError("a pair has a program")
        return result

    @property
    def measured(self) -> Result:
        """The result with a guarantee, the new one if both have one; `present` if none has."""
        known = (result for result in (self.new, self.old) if result is not None)
        return next((result for result in known if result["guarantee"] is not None), self.present)

    @property
    def same_machine(self) -> bool:
        """True if both times were estimated for the same machine and with the same settings.

        Otherwise, the difference may not come from the programs. Targets with the same name can
        describe different machines, because `slowpath calibrate` keeps the name of the target.
        """
        old, new = (None if side is None else side["estimate"] for side in self)
        if old is None or new is None:
            return False
        keys = ("machine", "date", "foreign_cpu")
        same = all(old[key] == new[key] for key in keys)  # type: ignore[literal-required]
        return same and old["cold"]["entries"] == new["cold"]["entries"]

    @property
    def names(self) -> list[str]:
        """Names of the program: one, or the old and the new one if they differ."""
        return list(dict.fromkeys(result["program"] for result in self if result is not None))

    @property
    def name(self) -> str:
        """Name of the program; `OLD -> NEW` if the names differ."""
        return " -> ".join(self.names)

    @property
    def label(self) -> str:
        """Name of the program for messages: with its file, or `OLD -> NEW` if the names differ."""
        return program_label(self.present) if len(self.names) == 1 else self.name


_KEYS: tuple[Callable[[Result], Hashable], ...] = (
    lambda result: (normpath(result["file"]), result["section"], result["program"]),
    lambda result: (PurePath(result["file"]).name, result["section"], result["program"]),
    lambda result: (result["section"], result["program"]),
    lambda result: result["program"],
)
"""Keys by which old and new versions of a program are matched, the most specific one first."""


def match_programs(old: Sequence[Result], new: Sequence[Result]) -> list[Pair]:
    """Pair the old and the new results of each program.

    Programs are matched by path, section and name; then by file name, section and name; then by
    section and name; then by name alone. If OLD and NEW have one program each, these are a pair
    whatever their names. Programs without a partner form a pair with None. Pairs are in the order
    of `old`; programs only in `new` follow. If OLD or NEW has results for several targets, each
    target has its own pairs.

    Raises:
        InputError: if the results of a pair are for different targets, metrics or numbers of cores.
    """
    names = [dict.fromkeys(result["target"] for result in side) for side in (old, new)]
    if max(map(len, names)) <= 1:
        return _match_programs(old, new)
    sides = [
        [[result for result in side if result["target"] == name] for side in (old, new)]
        for name in dict.fromkeys((*names[0], *names[1]))
    ]
    return [pair for one, other in sides for pair in _match_programs(one, other)]


def _match_programs(old: Sequence[Result], new: Sequence[Result]) -> list[Pair]:
    """Pair the old and the new results of each program on one target; see `match_programs`."""
    partners = dict[int, int]()
    if len(old) == len(new) == 1:
        partners[0] = 0
    for key in _KEYS:
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
    """Pair the programs without a partner that have a unique `key` in both `old` and `new`.

    `partners` has the index of the new version for the index of an old program; new pairs are
    added.
    """
    taken = set(partners.values())
    left = {at: key(result) for at, result in enumerate(old) if at not in partners}
    right = {at: key(result) for at, result in enumerate(new) if at not in taken}
    times = Counter(left.values()), Counter(right.values())
    places = {name: at for at, name in right.items()}
    for at, name in left.items():
        if times[0][name] == times[1][name] == 1:
            partners[at] = places[name]


def _check_comparable(pair: Pair) -> None:
    old, new = pair
    if old is None or new is None or old["guarantee"] is None or new["guarantee"] is None:
        return
    settings = [(_setting(old), old), (_setting(new), new)]
    if settings[0][0] != settings[1][0]:
        raise InputError(
            codes.FILES_DO_NOT_MATCH,
            new["file"],
            f"{pair.name}: the new program was analysed for {settings[1][0]}, the old one for "
            f"{settings[0][0]}; analyse both with the same --target, --metric and --cores",
        )


def _setting(result: Result) -> str:
    cores = "" if result["cores"] is None else f", {result['cores']} cores"
    return f"target {result['target']}, metric {result['metric']}{cores}"


SELECTING = frozenset({"--section", "--prog-name"})
"""Options that select programs of a file."""


class DiffInputs(NamedTuple):
    """The files OLD and NEW, and the options of their analysis as the user typed them."""

    old: str | None  # None: NEW has no counterpart in the folder OLD
    new: str | None
    written: WrittenOptions
    cache: Cache | None = None  # kept results of earlier analyses
    outside: frozenset[str] = frozenset()  # options from settings, which may have no effect


class Side(NamedTuple):
    """The results of one of the compared files, OLD or NEW."""

    file: str | None  # None: missing
    saved: bool  # read from a file, not analysed now
    targets: Mapping[str, tuple[str, targets.Target]]  # by name, as the user named it; analysed now
    results: list[Result]
    codes: list[ExitCode]  # exit code of each analysis
    undecided: list[Result]  # programs whose analysis stopped before any bound was known
    unread: str | None = None  # saved file with unknown programs


class Opened(NamedTuple):
    """One of the files OLD and NEW before its analysis: saved results, or programs to analyse."""

    file: str
    results: list[Result] | None  # saved results; None: to be analysed
    names: list[str]  # the targets as the user named them
    requests: list[Request]  # one for each target
    sessions: list[Session]  # for programs to analyse, one for each target
    problem: OptionError | None  # reason why no program was selected

    @property
    def tasks(self) -> int:
        """Number of analyses: one for each program on each target."""
        return sum(len(session.plan.tasks) for session in self.sessions)


class OpenedSides(NamedTuple):
    """Both files OLD and NEW before their analysis; None: missing."""

    old: Opened | None
    new: Opened | None


Analyses = Callable[[Opened], Iterator[tuple[int, Analysed]]]
"""Function that analyses the programs of a file; it yields each result with the index of its
request.
"""


def load_sides(sides: DiffInputs, stopping: Stopping) -> tuple[Side, Side]:
    """Get the results of OLD and of NEW: read saved ones, or analyse programs.

    Raises:
        OptionError: if an option makes no sense for the files.
        InputError: if a file, or a file that an option names, cannot be read.
    """
    return results_of(open_sides(sides), analyses_here(stopping))


def open_sides(sides: DiffInputs) -> OpenedSides:
    """Read OLD and NEW, and select their programs.

    Raises:
        OptionError: if an option makes no sense for the files.
        InputError: if a file, or a file that an option names, cannot be read.
    """
    contents = {name: _content(name) for name in (sides.old, sides.new) if name is not None}
    written = sides.written
    if all(content.saved for content in contents.values()):
        _refuse_options(written, sides.outside)
        written = written._replace(require=None, accept_assumptions=False)
    if written.target is None:
        written = written._replace(target=_target(contents.values()))
    opened = {
        name: _open(name, content, written, sides.cache) for name, content in contents.items()
    }
    problems = [side.problem for side in opened.values() if side.problem is not None]
    if len(problems) == len(opened):
        raise problems[0]
    return OpenedSides(opened.get(sides.old or ""), opened.get(sides.new or ""))


def analyses_here(stopping: Stopping) -> Analyses:
    """Return a function that analyses programs one after the other, in this process."""

    def analysed(opened: Opened) -> Iterator[tuple[int, Analysed]]:
        for at, session in enumerate(opened.sessions):
            for each in session.analyse(RunContext(stopping)):
                yield at, each

    return analysed


def analyses_in(pool: "Pool", files: Sequence[Opened], stopping: Stopping) -> Analyses:
    """Return a function that analyses programs in a pool of processes.

    It must be called for all `files` in their order.
    """
    from slowpath.bounds.bulk import analyse_all

    parts = [part for one in files for part in zip(one.requests, one.sessions, strict=False)]
    first, before = dict[int, int](), 0
    for one in files:
        first[id(one)], before = before, before + len(one.sessions)
    found = iter(analyse_all(parts, pool, stopping, 0) if parts else ())

    def analysed(opened: Opened) -> Iterator[tuple[int, Analysed]]:
        for part, each in islice(found, opened.tasks):
            yield part - first[id(opened)], each

    return analysed


def results_of(sides: OpenedSides, analyses: Analyses) -> tuple[Side, Side]:
    """Return the results of OLD and of NEW: saved ones, or those of the analyses, which run now."""
    unmatched = Unmatched()
    old = _load(sides.old, _remark, unmatched, analyses)
    new = _load(sides.new, error, unmatched, analyses)
    if unmatched.complain() is not ExitCode.FINE:
        new.codes.append(ExitCode.USAGE)
    # Programs that could not be analysed in OLD must not fail the check of the change.
    forgiven: list[ExitCode] = [code for code in old.codes if code is not ExitCode.INPUT]
    return old._replace(codes=forgiven), new


class _Content(NamedTuple):
    """The content of OLD or NEW: the names of its files, and saved results if it has these."""

    files: list[str]
    saved: list[Result]  # empty: the files are programs
    folder: bool


def _content(name: str) -> _Content:
    """Read OLD or NEW, a file or a folder.

    A folder stands for the programs below it; without programs, for the saved results in it.

    Raises:
        InputError: if a file cannot be read, or the folder has neither.
    """
    if not Path(name).is_dir():
        data = _read(name)
        return _Content([name], read_saved(name, data) if looks_saved(data) else [], folder=False)
    programs = program_files(name)
    if programs:
        return _Content(programs, [], folder=True)
    files = result_files(name)
    if not files:
        raise InputError(
            codes.FOLDER_WITHOUT_FILES, name, "has neither programs nor results (*.json)"
        )
    saved = [result for file in files for result in read_saved(file, _read(file))]
    return _Content(files, saved, folder=True)


def _target(contents: Collection[_Content]) -> str:
    """Return the default targets: those of saved results, or else the default for the files.

    If the type of some files determines the target of others, print a note to standard error.
    """
    names = dict.fromkeys(result["target"] for content in contents for result in content.saved)
    if names and names.keys() <= set(targets.target_names()):
        return ",".join(names)
    files = [file for content in contents for file in content.files]
    remark = default_remark(files)
    if remark is not None:
        note_on(*remark)
    return default_target(files)


def _read(file: str) -> bytes:
    """Read the file OLD or NEW.

    Raises:
        InputError: if the file cannot be read or is empty, as after a run that failed to save
            results.
    """
    data = read_program(file)
    if not data.strip():
        raise InputError(
            codes.FILE_EMPTY,
            file,
            "is empty; pass a program, or output of slowpath bound --format json",
        )
    return data


def _open(file: str, content: _Content, written: WrittenOptions, cache: Cache | None) -> Opened:
    requests = read_requests(content.files, written, cache)
    names = [one.target or "" for one in by_target(written)]
    if content.saved:
        chosen = [
            result
            for result in content.saved
            if written.selection.matches(result["section"] or "", result["program"])
        ]
        problem = no_match(written.selection) if written.selection and not chosen else None
        return Opened(file, chosen, names, requests, [], problem)
    try:
        sessions = sessions_of(requests)
    except OptionError as problem:
        if problem.option not in SELECTING:
            raise
        return Opened(file, None, names, requests, [], problem)
    for task in sessions[0].plan.tasks:
        if task.error is not None and not content.folder:
            raise InputError(task.error.code, task.file, task.error)
    return Opened(file, None, names, requests, sessions, None)


Say = Callable[[str | None, str, str], None]
"""Function that reports why a program has no guarantee: error code, file and reason."""


def _load(opened: Opened | None, say: Say, unmatched: Unmatched, analyses: Analyses) -> Side:
    """Return the results of OLD or NEW: saved ones, or those of the analyses, which run now.

    `say` reports programs without a guarantee.
    """
    if opened is None:
        return Side(None, True, {}, [], [], [])
    targets_now = {
        request.target.name: (name, request.target)
        for name, request in zip(opened.names, opened.requests, strict=True)
    }
    side = Side(opened.file, opened.results is not None, targets_now, [], [], [])
    for result in opened.results or []:
        if result["error"] is not None:
            say(result["code"], opened.file, f"{program_label(result)}: {result['error']}")
        if result["program"]:
            side.results.append(result)
        elif result["error"] != NO_SUCH_FILE:  # a missing file has no programs
            side = side._replace(unread=result["file"])
        side.codes.append(ExitCode.FINE if result["error"] is None else ExitCode.INPUT)
    note_remarks(*(session.plan for session in opened.sessions))
    several = len(opened.requests) > 1
    complaints = ComplaintsByTarget(opened.requests, unmatched, say, several=several)
    for at, analysed in analyses(opened):
        side.codes.append(complaints.add(at, analysed))
        side.results.append(analysed.result)
        if side.codes[-1] is ExitCode.UNDECIDED:
            side.undecided.append(analysed.result)
    return side


def _remark(code: str | None, file: str, message: str) -> None:
    note(with_code(f"note: {file}: {message}", code))


_OF_RESULTS = frozenset({"selection", "require", "accept_assumptions"})
"""Names of the options that also make sense for saved results."""


def _refuse_options(written: WrittenOptions, outside: frozenset[str]) -> None:
    """Reject options of the analysis, which have no effect on saved results.

    Options in `outside`, which are from settings and not from the command line, are ignored.

    Raises:
        OptionError: if there is one; it has the name of the first.
    """
    for name, (value, default) in zip(
        written._fields, zip(written, WrittenOptions(), strict=True), strict=True
    ):
        if name not in _OF_RESULTS and name not in outside and value != default:
            raise OptionError(
                codes.OPTION_WITHOUT_EFFECT,
                f"--{name.replace('_', '-')}",
                "has no effect, because OLD and NEW are saved results; omit it",
            )
