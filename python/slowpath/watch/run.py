"""Runs the command `slowpath watch`."""

import gc
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.configured import with_settings
from slowpath.bounds.outcomes import Analysed, ComplaintsByTarget, Unmatched
from slowpath.bounds.plan import Plan, Request, make_plan
from slowpath.bounds.progress import Watch, Watcher
from slowpath.bounds.run import check_requirement, requests_of
from slowpath.core import codes
from slowpath.core.command import Option
from slowpath.core.engine.analyses import Run
from slowpath.core.errors import ExitCode, InputError, OptionError
from slowpath.core.folders import expanded
from slowpath.core.inputs import NO_SUCH_FILE, STANDARD_INPUT
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.programs.headers import RecordingLoader
from slowpath.core.schema.results import Result
from slowpath.core.settings import find_settings
from slowpath.core.terminal import Line, error, note, out_lines
from slowpath.diff.pairs import match_programs
from slowpath.watch.files import WatchedFiles
from slowpath.watch.report import change_lines, result_lines

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
    """The state of the command: watched files, and the last good results."""

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
        """Analyse now, and again after each save, until a stop request.

        Raises:
            OptionError: if an option is invalid at the start.
            InputError: if an option's file cannot be read at the start.
        """
        due = set(self._find_programs())
        self._watched.follow(due)
        # An invalid option ends the command at the start, but not after a save.
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
        """Return the requests for all watched programs, with their present settings.

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
        """Return the programs that are affected by saves since the last call."""
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
        """Analyse programs, and print the results; return the files that are still to be analysed.

        Files remain if a save stops the analysis.
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
        """Print each remark on files once, not after each save."""
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
    """Shows the progress of an analysis, and stops it after a save."""

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
    """Return the keys of earlier results that remain, because their programs fail now."""
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
