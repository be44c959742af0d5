"""Runs the analyses that find a program's guaranteed speed, usually in a worker process.

If the process dies or has to be killed, its last reported bound is the result. A single small
program is analysed on a thread of this process instead (`slowpath.core.jobs.supervision`).

The module also analyses programs again with other settings, such as fewer cores; it never
interpolates results.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from slowpath.bounds.caching import KeptOutcomes
from slowpath.bounds.outcomes import Analysed, analysed_by
from slowpath.bounds.p4_terms import in_p4_terms
from slowpath.bounds.plan import Plan, Request, Task, make_plan, retarget
from slowpath.bounds.progress import Watch, Watching
from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.errors import Coded, InputError, stopped_code
from slowpath.core.jobs import Job, JobWorker, Message, Send, Stopping
from slowpath.core.jobs.supervision import EarlyEnd, await_job
from slowpath.core.printable import json_line
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.schema.derived import NO_DETAIL, NO_FAILURE, failed_result
from slowpath.core.schema.results import Failure, Result

_SMALL = 1 << 16
"""Maximum size in bytes of a file whose single program is analysed in this process."""
_QUIET = 0.05
"""Minimum time between two bounds that a worker reports, in seconds."""


class RunContext(NamedTuple):
    """Callbacks through which a caller observes and stops analyses."""

    stopping: Stopping  # through which the caller can stop the analyses
    watching: Watching = Watch  # creates the progress display of each analysis
    meanwhile: Callable[[], None] = lambda: None  # called once, while the first analysis runs


class Analyst:
    """Runs analyses one after the other, in a worker process or on a thread."""

    def __init__(  # noqa: PLR0913 - an analysis has many inputs
        self,
        tasks: Sequence[Task],
        target: targets.Target,
        options: analyses.Options,
        btf: KernelBtf,
        context: RunContext,
        *,
        always_process: bool = False,
    ) -> None:
        """Prepare the analyses of `tasks`.

        Each program is analysed for the metric of its task; the metric in `options` is ignored.
        With `always_process`, even a single small program is analysed in a worker process.
        """
        self.options = options
        self.tasks = tasks
        self._target = target
        self._btf = btf
        self._stopping = context.stopping
        self._watching = context.watching
        self._meanwhile: Callable[[], None] | None = context.meanwhile
        self._memory_limit: tuple[int | None] | None = None  # computed on first use
        jobs = [self._job(task) for task in tasks]
        self._worker: JobWorker
        if len(tasks) == 1 and tasks[0].size <= _SMALL and not always_process:
            from slowpath.core.jobs.supervision import ThreadWorker

            self._worker = ThreadWorker(jobs)
        else:
            from slowpath.core.jobs.supervision import ProcessWorker

            self._worker = ProcessWorker(jobs, self._memory)

    def __enter__(self) -> "Analyst":
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()

    def _memory(self) -> int | None:
        """Return the memory limit of one analysis in bytes; None means no limit."""
        if self._memory_limit is None:
            from slowpath.core.jobs.memory import default_limit

            self._memory_limit = (self.options.memory_bytes or default_limit(),)
        return self._memory_limit[0]

    def analyse(self, number: int, seconds: float | None) -> analyses.Outcome:
        """Analyse `tasks[number]`; stop after `seconds` (None: no limit).

        Raises:
            InputError: if the types of the kernel cannot be read.
        """
        task = self.tasks[number]
        run, done = analyses.Run(), list[analyses.Answer | InputError | str]()
        watch = self._watching(task.label, task.metric, seconds)

        def take(message: Message) -> bool:
            if message[0] == "failed":
                done.append(message[1])
            elif message[0] == "input":
                done.append(InputError(*message[1:]))
            else:
                result = run.take(message)
                done.extend([] if result is None else [result])
            return bool(done)

        try:
            self._worker.start(number, seconds)
            if self._meanwhile is not None:
                self._meanwhile()
            self._meanwhile = None
            ending = await_job(self._worker, seconds, self._stopping, take, lambda: watch.look(run))
        finally:
            watch.close()
        if ending is not None:
            return _early_outcome(task, run, ending)
        match done:
            case [InputError() as problem]:
                raise problem
            case [analyses.Answer() as answer]:
                return analyses.outcome(answer)
            case _:
                text = f"internal error: {done[0]}; please report it"
                return defect(task, Coded(codes.INTERNAL_ERROR, text))

    def _job(self, task: Task) -> Job:
        """Return a function that analyses the task's program in a worker and sends messages."""

        def job(seconds: float | None, send: Send, stopping: Stopping) -> None:
            try:
                for message in self._messages(task, seconds, stopping):
                    send(message)
            except InputError as problem:
                send(("input", problem.code, problem.file, problem.reason, list(problem.further)))

        return job

    def _messages(
        self, task: Task, seconds: float | None, stopping: Stopping
    ) -> Iterator[analyses.Message]:
        if task.object is None:
            reason = task.error or _UNREADABLE
            raise InputError(reason.code, task.file, str(reason))
        number, btf = 0, None
        if task.program is not None:
            number = task.program.number
            btf = self._btf.for_program(needed=task.program.needs_kernel)
        options = self.options._replace(
            metric=task.metric,
            deadline_seconds=seconds,
            memory_bytes=self._memory(),
        )
        subject = objects.Subject(task.file, task.object, number, btf)
        last = 0.0
        for message in analyses.messages(subject, self._target, options, stopping):
            now = time.monotonic()
            if message[0] == "bound" and now - last < _QUIET:
                continue  # there can be thousands of bounds, of which only the last one counts
            last = now if message[0] == "bound" else last
            yield message
            if message[0] == "result":
                return
        yield ("failed", "the engine ended without a result")


def _early_outcome(task: Task, run: analyses.Run, ending: EarlyEnd) -> analyses.Outcome:
    """Return the outcome of an analysis that was killed or crashed.

    If the analysis had reported bounds, the last one is the result.
    """
    stage = run.stage or "reading the program"
    if ending.defect:
        text = f"internal error while {stage}: {ending.reason}; please report it"
        return defect(task, Coded(codes.ENGINE_ENDED, text))
    named = ending.reason if ending.reason in {"deadline", "interrupted"} else None
    reason = f"{ending.reason} while {stage}"
    if run.partial_result is None:
        return stopped(task, f"{reason}: there is no bound yet", ending.reason)
    result: Result = json.loads(run.partial_result)
    if result["guarantee"] is not None:
        result["guarantee"]["stopped"] = named or reason
    progress = run.progress
    result["stats"] |= {"candidates": progress.candidates, "nogoods": progress.nogoods}
    return analyses.Outcome(result, json_line(result), NO_DETAIL)


_UNREADABLE = Coded(codes.FILE_UNREADABLE, "cannot be read")


def stopped(task: Task, message: str, reason: str) -> analyses.Outcome:
    """Return the outcome of a program whose analysis was stopped before it had found a bound.

    `message` is for the user; `reason` is the cause, such as `deadline`.
    """
    failure = NO_FAILURE | {"kind": "stopped", "what": message, "stopped": reason}
    return _failed(task, failure | {"code": stopped_code(reason)})


def defect(task: Task, message: Coded) -> analyses.Outcome:
    """Return the outcome of a program whose analysis failed because of an error in slowpath."""
    return _failed(task, NO_FAILURE | {"code": message.code, "kind": "defect", "what": message})


def _failed(task: Task, failure: Failure) -> analyses.Outcome:
    result = failed_result(
        task.file, task.target, task.metric, Coded(Code(failure["code"]), failure["what"])
    )
    if task.program is not None:
        program = task.program
        result |= {"section": program.section, "program": program.name, "kind": program.kind}
    return analyses.Outcome(result, json_line(result), NO_DETAIL | {"failure": failure})


TOTAL = "total deadline"
"""Reason of analyses that ended early, or did not start, because the total time was over."""


class Session:
    """The programs in all files of a request; `analyse` analyses them one after the other."""

    def __init__(self, request: Request, plan: Plan | None = None) -> None:
        """Read the files, compile C sources, and choose programs.

        If `plan` is given, take the programs that another session has read.

        Raises:
            OptionError: if an option does not fit the kind of a file.
            InputError: if the types of a kernel cannot be read.
        """
        self.btf = KernelBtf(request.btf)
        self._request = request
        self.plan = make_plan(request) if plan is None else retarget(plan, request)

    def analyse(
        self, context: RunContext, options: analyses.Options | None = None
    ) -> Iterator[Analysed]:
        """Analyse all programs one after the other, and yield their results.

        A failed program does not end the work; a stop request does. `options` replaces the options
        of the request, but not its metric.

        Raises:
            InputError: if the types of the running kernel cannot be read.
        """
        tasks, target, until = self.plan.tasks, self._request.target, self._request.until
        options = options or self._request.options
        kept = self.kept(options)
        with Analyst(tasks, target, options, self.btf, context) as analyst, closing(kept):
            for number, task in enumerate(tasks):
                left = None if until is None else until - time.monotonic()
                outcome = _outcome(analyst, kept, number, left, context.stopping)
                yield in_p4_terms(analysed_by(task, outcome))

    def kept(self, options: analyses.Options) -> KeptOutcomes:
        """Return the cached outcomes of earlier analyses with these options."""
        request = self._request
        cache = None if options.certificate else request.cache  # it has no certificates
        return KeptOutcomes(cache, request.description, options, self.btf)


def sessions_of(requests: Sequence[Request]) -> list[Session]:
    """Return a session for each request.

    All requests must have the same files, which are read only once.

    Raises:
        OptionError: if an option does not fit the kind of a file.
        InputError: if the types of a kernel cannot be read.
    """
    sessions = list[Session]()
    for request in requests:
        sessions.append(Session(request, sessions[0].plan if sessions else None))
    return sessions


def _outcome(
    analyst: Analyst, kept: KeptOutcomes, number: int, left: float | None, stopping: Stopping
) -> analyses.Outcome:
    """Return the cached outcome of the program `tasks[number]`, or analyse the program.

    `left` is the number of seconds left for all programs; None means no limit. Without time left,
    the outcome says that the analysis was not started.
    """
    task = analyst.tasks[number]
    if stopping.asked:
        return not_begun(task, "interrupted")
    if task.error is not None:
        return not_a_program(task, task.error)
    if left is not None and left <= 0:
        return not_begun(task, TOTAL)
    known = kept.find(task)
    if known is not None:
        return known
    outcome = _analysed(analyst, number, left)
    kept.keep(task, outcome)
    return outcome


def _analysed(analyst: Analyst, number: int, left: float | None) -> analyses.Outcome:
    seconds = analyst.options.deadline_seconds
    if left is None or (seconds is not None and seconds <= left):
        return analyst.analyse(number, seconds)
    return renamed(analyst.analyse(number, left), "deadline", TOTAL)


def not_a_program(task: Task, reason: Coded) -> analyses.Outcome:
    """Return the outcome of a task without a program.

    The file has no program, or was not read in time.
    """
    if task.stopped:
        return stopped(task, reason, TOTAL)
    return _failed(task, NO_FAILURE | {"code": reason.code, "what": reason})


def not_begun(task: Task, reason: str) -> analyses.Outcome:
    """Return the outcome of a program whose analysis never started; `reason` is the cause."""
    return stopped(task, f"{reason} before it was analysed", reason)


def renamed(outcome: analyses.Outcome, old: str, new: str) -> analyses.Outcome:
    """Replace the reason `old` for the early end of an analysis by `new`.

    An outcome with another reason stays unchanged.
    """
    result, detail = outcome.result, outcome.detail
    ended = [
        part
        for part in (result["guarantee"], result["estimate"])
        if part is not None and part["stopped"] == old
    ]
    for part in ended:
        part["stopped"] = new
    if ended:
        return outcome._replace(text=json_line(result))
    failure = detail["failure"]
    if failure is not None and failure["stopped"] == old:
        message = failure["what"].replace(old, new, 1)
        result["error"] = message
        detail = detail | {"failure": failure | {"stopped": new, "what": message}}
        return outcome._replace(text=json_line(result), detail=detail)
    return outcome


CORES, LENGTH, ENTRIES = "cores", "longest packet", "map entries"
_LENGTHS = (64, 256, 1514)
_ENTRIES = (1, 1_000, 1_000_000)
_OTHER_SECONDS = 10.0
"""Maximum time of an analysis with another setting, in seconds.

If the time is over, the bound so far is the result.
"""


class Alternative(NamedTuple):
    """A result of a program after one setting was changed to `value`."""

    setting: str  # CORES, LENGTH or ENTRIES
    value: int
    result: Result


def alternatives(
    request: Request, session: Session, analysed: Sequence[Analysed], stopping: Stopping
) -> list[list[Alternative]]:
    """Analyse programs again with other settings: fewer cores, other packet lengths, fewer entries.

    Each analysed program of the session gets a list of results. The list is empty for a program
    without a complete analysis, because further analyses would take as long.

    Raises:
        InputError: if the types of the running kernel cannot be read.
    """
    found: list[list[Alternative]] = [[] for _ in analysed]
    numbers = [at for at, one in enumerate(analysed) if _is_complete(one.result)]
    if not numbers:
        return found
    tasks = [session.plan.tasks[at] for at in numbers]
    cores = max((analysed[at].result["cores"] or 0 for at in numbers), default=0)
    for setting, value in _settings(request, cores):
        changed = _changed(request, setting, value)
        part = Session(changed, session.plan._replace(tasks=tasks))
        for at, one in zip(numbers, part.analyse(RunContext(stopping)), strict=True):
            if one.result["guarantee"] is not None:
                found[at].append(Alternative(setting, value, one.result))
    return found


def _is_complete(result: Result) -> bool:
    guarantee = result["guarantee"]
    return guarantee is not None and guarantee["stopped"] is None


def _settings(request: Request, cores: int) -> Iterator[tuple[str, int]]:
    """Yield settings that affect results on the target, each with another value to try.

    `cores` is the number of cores in the first analysis.
    """
    halved = cores
    counts = list[int]()
    while halved > 1:
        halved //= 2
        counts.append(halved)
    yield from ((CORES, count) for count in reversed(counts))
    longest = request.options.mtu
    lengths = (length for length in _LENGTHS if longest is None or length < longest)
    yield from ((LENGTH, length) for length in lengths)
    if request.target.machine is not None:
        given = request.options.entries
        yield from ((ENTRIES, count) for count in _ENTRIES if count != given)


def _changed(request: Request, setting: str, value: int) -> Request:
    options = request.options._replace(paths=1, code=False, path_details=0)
    if setting == CORES:
        options = options._replace(cores=value)
    elif setting == LENGTH:
        options = options._replace(mtu=value)
    else:
        options = options._replace(entries=value, entries_of={})
    seconds = options.deadline_seconds
    limit = _OTHER_SECONDS if seconds is None else min(seconds, _OTHER_SECONDS)
    return request._replace(options=options._replace(deadline_seconds=limit))
