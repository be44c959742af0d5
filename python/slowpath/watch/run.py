"""Runs the command `slowpath watch`: finds changed files, analyses them, and prints the changes.

Polling works on all file systems, needs no package, and takes microseconds for each file. The
content decides: a file with a new time stamp but the same content has not changed.
"""

import gc
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.configured import with_settings
from slowpath.bounds.outcomes import Analysed, ComplaintsByTarget, Unmatched
from slowpath.bounds.plan import Plan, Request, make_plan
from slowpath.bounds.progress import Watch, Watcher
from slowpath.bounds.report_path import exactness
from slowpath.bounds.report_rates import brief
from slowpath.bounds.run import check_requirement, requests_of
from slowpath.core import codes
from slowpath.core.command import Option
from slowpath.core.engine.analyses import Run
from slowpath.core.errors import ExitCode, InputError, OptionError
from slowpath.core.inputs import NO_SUCH_FILE, STANDARD_INPUT, expanded
from slowpath.core.jobs import Stopping, heeding_signals
from slowpath.core.printable import one_line
from slowpath.core.programs.headers import RecordingLoader
from slowpath.core.schema.derived import program_label, verdict_of
from slowpath.core.schema.results import Result
from slowpath.core.settings import find_settings
from slowpath.core.terminal import Line, error, note, out_lines
from slowpath.diff.changes import Row, also_changed, change_of, changed_lines, make_row
from slowpath.diff.pairs import Pair, match_programs
from slowpath.diff.report import Report, table

_CLOCK_TICK = 1.0
"""Seconds during which equal times of a file do not prove equal content, because two saves can
happen within one tick of a file system's clock."""
_COARSE = 0.01
"""Seconds by which file times on Linux can lag behind the clock: one tick of the kernel."""


class _Stamp(NamedTuple):
    """Metadata that differ after a file was saved: its time, size and inode."""

    modified: int  # nanoseconds
    size: int
    inode: int


class _State:
    """The content of a watched file at the last look, as a digest."""

    def __init__(self, file: str) -> None:
        self.stamp: _Stamp | None = None  # None: missing, or changed just now
        self.digest: bytes | None = None  # None: missing
        self.previous = _stamp(file)  # at the previous look
        self.read(file)

    def read(self, file: str) -> bool:
        """Read the file, and remember its content; return true if the content has changed."""
        before, stamp = self.digest, _stamp(file)
        self.digest = _digest(file)
        old = stamp is not None and time.time() - stamp.modified / 1e9 > _CLOCK_TICK
        self.stamp = stamp if old else None
        return self.digest != before


class WatchedFiles:
    """The files that are watched; `changed` returns those with new content."""

    def __init__(self) -> None:
        self._states = dict[str, _State]()

    def follow(self, files: Iterable[str], since: float | None = None) -> None:
        """Watch exactly these files from now on; those that are watched already keep their state.

        A new file that was modified after `since` (seconds, as `time.time`) counts as changed.
        """
        wanted = set(files)
        for file in self._states.keys() - wanted:
            del self._states[file]
        for file in wanted - self._states.keys():
            state = self._states[file] = _State(file)
            modified = None if state.previous is None else state.previous.modified / 1e9
            if since is not None and modified is not None and modified > since - _COARSE:
                state.digest, state.stamp = b"", None

    def changed(self) -> set[str]:
        """Return the files whose content has changed since it was last read.

        A file that is just being written is left out until two successive calls find it with the
        same metadata.
        """
        found = set[str]()
        for file, state in self._states.items():
            stamp = _stamp(file)
            settled, state.previous = stamp == state.previous, stamp
            is_known = stamp == state.stamp and stamp is not None
            if not is_known and settled and state.read(file):
                found.add(file)
        return found

    def pending(self) -> bool:
        """Return true if a file was written since the last call of `changed`."""
        return any(_stamp(file) != state.previous for file, state in self._states.items())


def _stamp(file: str) -> _Stamp | None:
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        return None
    return _Stamp(found.st_mtime_ns, found.st_size, found.st_ino)


def _digest(file: str) -> bytes | None:
    if not Path(file).is_file():  # a pipe could block forever
        return None
    try:
        return sha256(Path(file).read_bytes()).digest()
    except OSError:
        return None


_POLL_SECONDS = 0.1
_FOLDER_SECONDS = 1.0
"""Seconds between two searches of folders for new files."""


def watch(args: Namespace, options: Sequence[Option]) -> ExitCode:
    """Analyse programs, and again after each save, until a signal ends the command.

    Raises:
        OptionError: if an option is invalid at the start.
        InputError: if a file does not exist, or an option's file cannot be read, at the start.
    """
    for file in args.file:
        if file == STANDARD_INPUT:
            raise OptionError(
                codes.STANDARD_INPUT_REFUSED,
                "FILE",
                "standard input cannot be watched; name a file",
            )
        if not Path(file).exists():
            raise InputError(codes.NO_SUCH_FILE, file, NO_SUCH_FILE)
    with ExitStack() as stack:
        stopping = stack.enter_context(heeding_signals())
        folder = stack.enter_context(TemporaryDirectory(prefix="slowpath-"))
        with suppress(KeyboardInterrupt):  # a signal while clang runs, or a second one
            _Watching(args, options, RecordingLoader(folder), stopping).run()
    return ExitCode.FINE


_Results = dict[tuple[str, str], Result]
"""Results of a file, by target and name of the program."""


class _Watching:
    """State of the command: the watched files, and the last complete result of each program."""

    def __init__(
        self,
        args: Namespace,
        options: Sequence[Option],
        loader: RecordingLoader,
        stopping: Stopping,
    ) -> None:
        self._args, self._options = args, options
        self._loader = loader
        self._stopping = stopping
        self._watched = WatchedFiles()
        self._programs = list[str]()  # the watched programs, without headers and settings
        self._others = set[str]()  # files of options and settings, which affect all programs
        self._good = dict[str, _Results]()  # the last good results of each file
        self._noted = set[tuple[str, str]]()
        self._searched = 0.0

    def run(self) -> None:
        """Analyse all programs now, and changed ones after each save, until a stop request.

        Raises:
            OptionError: if an option is invalid at the start.
            InputError: if an option's file cannot be read at the start.
        """
        due = set(self._find_programs())
        self._watched.follow(due)
        # At the start, an invalid option ends the command; after a save, it does not.
        due = self._analyse(due, self._requests())
        while not self._stopping.asked:
            time.sleep(_POLL_SECONDS)
            due |= self._changed()
            if due and not self._watched.pending():
                try:
                    due = self._analyse(due, self._requests())
                except (OptionError, InputError) as problem:
                    _complain(problem)
                    due = set()

    def _find_programs(self) -> list[str]:
        self._searched = time.monotonic()
        self._programs = expanded(self._args.file)
        return self._programs

    def _requests(self) -> list[Request]:
        """Return the requests for all watched programs, with the present settings of the project.

        Raises:
            OptionError: if an option is invalid.
            InputError: if a settings file or an option's file cannot be read.
        """
        files = self._programs
        settings = find_settings(files[0])
        self._others = set() if settings is None else {settings}
        self._follow()
        args = with_settings(self._args, self._options, files)
        requests = requests_of(args, files)
        names = {name for one in requests for name in one.option_files.values()}
        names |= {one.btf for one in requests if one.btf is not None}
        self._others |= {name for name in names if Path(name).is_file()}
        return requests

    def _follow(self, since: float | None = None) -> None:
        headers = {name for names in self._loader.headers.values() for name in names}
        self._watched.follow({*self._programs, *self._others, *headers}, since)

    def _changed(self) -> set[str]:
        """Return the files of programs that saves have affected since the last call."""
        if time.monotonic() > self._searched + _FOLDER_SECONDS:
            before = set(self._programs)
            new = set(self._find_programs()) - before
            if new or len(before) != len(self._programs):
                for gone in before - set(self._programs):
                    self._good.pop(gone, None)
                    self._loader.headers.pop(gone, None)
                self._follow()
        else:
            new = set()
        changed = self._watched.changed()
        if changed & self._others:
            return set(self._programs)
        return new | {
            file
            for file in self._programs
            if file in changed or changed.intersection(self._loader.headers.get(file, ()))
        }

    def _analyse(self, due: set[str], requests: Sequence[Request]) -> set[str]:
        """Analyse the programs in the files `due`, and print the results.

        Return the files that are still to be analysed, because a save stopped the analysis.
        """
        started = time.time()
        files = [file for file in self._programs if file in due]
        requests = [one._replace(files=files) for one in requests]
        try:
            plan = make_plan(requests[0], self._loader)
        finally:
            self._follow(started)
        self._note(plan)
        analysed = list[tuple[int, Analysed]]()
        stopping = Stopping()
        with self._stopping.calling(stopping.ask):

            def watching(subject: str, metric: str, seconds: float | None) -> Watcher:
                return _SaveWatcher(Watch(subject, metric, seconds), self._watched, stopping)

            context = RunContext(stopping, watching)
            for at, request in enumerate(requests):
                session = Session(request, plan)
                analysed += ((at, each) for each in session.analyse(context))
        if self._stopping.asked:
            return set()
        if stopping.asked:  # by a save
            return set(files)
        self._report(files, analysed, requests)
        gc.collect()  # the command line turns automatic collections off, and this process stays
        return set()

    def _note(self, plan: Plan) -> None:
        """Print remarks about files, but each of them only once, not after every save."""
        for file, remark in plan.remarks:
            if (file, remark) not in self._noted:
                self._noted.add((file, remark))
                note(f"note: {file}: {remark}")

    def _report(
        self,
        files: Sequence[str],
        analysed: Sequence[tuple[int, Analysed]],
        requests: Sequence[Request],
    ) -> None:
        first = not self._good
        out_lines(_heading(files, first=first))
        several = len(requests) > 1
        unmatched = Unmatched()
        complaints = ComplaintsByTarget(requests, unmatched, several=several)
        for at, each in analysed:
            if complaints.add(at, each) is ExitCode.FINE:
                where = f" on {each.task.target}" if several else ""
                check_requirement(requests[at], each, f"{each.task.label}{where}", "bound")
        if len(files) == len(self._programs):
            unmatched.complain()
        old, fresh, kept = list[Result](), list[Result](), list[Result]()
        for file in files:
            own = [each.result for _, each in analysed if each.task.file == file]
            good = [result for result in own if result["guarantee"] is not None]
            before = self._good.get(file, {})
            failed = _failed(before, own)
            old += (result for key, result in before.items() if key not in failed)
            kept += (before[key] for key in failed)
            fresh += good
            retained = {key: before[key] for key in failed}
            self._good[file] = retained | {_key(result): result for result in good}
        out_lines(result_lines(fresh))
        if kept:
            out_lines([Line("results of earlier saves:"), *result_lines(kept)])
        if old:
            out_lines(self._changes(old, fresh))

    def _changes(self, old: Sequence[Result], new: Sequence[Result]) -> Iterator[Line]:
        try:
            pairs = match_programs(old, new)
        except InputError as problem:  # the settings chose another target or metric
            return iter([Line(str(problem))])
        return change_lines(pairs, self._args.lines)


class _SaveWatcher(Watcher):
    """Shows the progress of an analysis, and stops it when a file is saved."""

    def __init__(self, shown: Watch, watched: WatchedFiles, stopping: Stopping) -> None:
        self._shown, self._watched, self._stopping = shown, watched, stopping

    def look(self, run: Run) -> None:
        self._shown.look(run)
        if not self._stopping.asked and self._watched.pending():
            self._stopping.ask()

    def close(self) -> None:
        self._shown.close()


def _key(result: Result) -> tuple[str, str]:
    return result["target"], result["program"]


def _failed(before: Iterable[tuple[str, str]], own: Sequence[Result]) -> list[tuple[str, str]]:
    """Return the keys of earlier results to keep, because the analysis of their programs fails now.

    `own` are the new results of the file.
    """
    wrong = [_key(result) for result in own if result["guarantee"] is None]
    whole = {target for target, program in wrong if not program}  # the file cannot be read
    return [key for key in before if key in wrong or key[0] in whole]


def _heading(files: Sequence[str], *, first: bool) -> Iterator[Line]:
    if not first:
        yield Line("")
    names = files[0] if len(files) == 1 else f"{len(files)} files"
    yield Line(f"{time.strftime('%H:%M:%S')} {names}", "dim")


def _complain(problem: OptionError | InputError) -> None:
    if isinstance(problem, OptionError):
        error(problem.code, problem.option, problem.reason)
    else:
        error(problem.code, problem.file, problem.reason)


def result_lines(results: Sequence[Result]) -> Iterator[Line]:
    """Yield the bound of each result, its estimate, and the conditions of the bound."""
    several = len({result["target"] for result in results}) > 1
    for result in results:
        name = program_label(result) + (f" on {result['target']}" if several else "")
        yield Line(one_line(f"{name}: {brief(result)}"), "bold")
        if verdict_of(result) == "conditional":
            yield Line(f"  {exactness(result)}")


def change_lines(pairs: Sequence[Pair], limit: int) -> Iterator[Line]:
    """Yield the changes of programs since their previous complete results.

    `limit` is the maximum number of source lines for each program.
    """
    rows = [row for row in map(make_row, pairs) if _differs(row)]
    if not rows:
        yield Line("no bound or estimate has changed")
        return
    changes = [changed_lines(row.pair) for row in rows]
    yield from table(Report("previous save", "this save", rows, changes, [], [], limit))


def _differs(row: Row) -> bool:
    return change_of(row) != "same" or bool(also_changed(row))
