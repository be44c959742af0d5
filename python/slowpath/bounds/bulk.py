"""Analyses many programs at once in a pool of worker processes, perhaps on other machines.

The calling process compiles C sources and reads the files of options, which workers may not have.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from types import TracebackType
from typing import NamedTuple, Self

from slowpath.bounds.analyst import (
    TOTAL,
    Analyst,
    RunContext,
    Session,
    not_a_program,
    not_begun,
    renamed,
    stopped,
)
from slowpath.bounds.outcomes import Analysed, analysed_by
from slowpath.bounds.p4_terms import in_p4_terms
from slowpath.bounds.plan import Request, Task
from slowpath.bounds.progress import ProgressLines, Watcher
from slowpath.core import codes, engine
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.engine.analyses import Run
from slowpath.core.errors import Coded, UnavailableError
from slowpath.core.jobs import Stopping
from slowpath.core.jobs.pool import Pool, PoolObserver, StopRequested, Unfinished
from slowpath.core.programs.loading import KernelBtf, SerializedBtf
from slowpath.core.terminal import about_left


class Part(NamedTuple):
    """The target, metric and options of one request, in a form that can be sent to workers."""

    target: targets.Description
    metric: str
    options: analyses.Options


class Common(NamedTuple):
    """Data for all analyses in a pool, sent to each worker only once."""

    parts: tuple[Part, ...]
    btf: SerializedBtf
    concurrency: int  # maximum number of analyses on one machine, which share its memory


class Item(NamedTuple):
    """A program to analyse, in a form that can be sent to a worker of the pool."""

    part: int  # index in `Common.parts`
    file: str  # name in messages
    data: bytes
    program: objects.ProgramInfo | None


class Answer(NamedTuple):
    """The result of analysing a program, in a form that a worker can send back."""

    version: str  # of the worker's slowpath
    text: str  # the result as JSON
    detail: str  # its detail as JSON
    complete: bool = False  # as in `Outcome`


def part_of(request: Request, described_paths: int) -> Part:
    """Convert a request to a form that can be sent to workers.

    Results will have details for the first `described_paths` paths.
    """
    options = request.options._replace(path_details=described_paths)
    return Part(request.description, request.metric, options)


def item_of(part: int, task: Task) -> Item | None:
    """Convert a task to a form that can be sent to workers; return None if its file has no program.

    `part` is the index of the request in `Common.parts`.
    """
    if task.error is not None or task.data is None:
        return None
    return Item(part, task.file, task.data, task.program)


def needs_kernel(items: Sequence[Item]) -> bool:
    """Return true if one of the programs depends on the running kernel's BTF types."""
    return any(one.program is not None and one.program.needs_kernel for one in items)


_FILES = 4
"""Number of cached files; a few suffice, because the programs of a file follow each other."""
_TARGETS = 64
"""Number of cached targets."""


def analyse(common: Common, item: Item, stop_requested: StopRequested) -> Answer:
    """Analyse a program in a worker process. The answer may report a failure."""
    part = common.parts[item.part]
    target = _target(part.target)
    found = _object(item.file, item.data)
    task = Task(item.file, found, len(item.data), item.program, target.name, part.metric)
    options = part.options
    if options.memory_bytes is None:
        options = options._replace(memory_bytes=_memory(common.concurrency))
    stopping = Stopping()
    context = RunContext(stopping, lambda *_: StopWatcher(stop_requested, stopping))
    btf = _btf(common.btf)
    with Analyst([task], target, options, btf, context, always_process=True) as analyst:
        outcome = analyst.analyse(0, options.deadline_seconds)
    return Answer(engine.version(), outcome.text, json.dumps(outcome.detail), outcome.complete)


class StopWatcher(Watcher):
    """Passes the stop request of the worker pool on to the analysis that runs in this worker."""

    def __init__(self, stop_requested: StopRequested, stopping: Stopping) -> None:
        """Store the pool's request to stop, as a function, and the analysis's own stop request."""
        self._stop_requested, self._stopping = stop_requested, stopping

    def look(self, run: Run) -> None:  # noqa: ARG002 - a worker shows no progress
        """Request the end of the analysis if the pool was requested to stop."""
        if not self._stopping.asked and self._stop_requested():
            self._stopping.ask()


@lru_cache(_TARGETS)
def _target(described: targets.Description) -> targets.Target:
    return targets.target_of(described)


@lru_cache(_FILES)
def _object(file: str, data: bytes) -> objects.Object:
    return objects.read_object(file, data)


@lru_cache(1)
def _btf(sent: SerializedBtf) -> KernelBtf:
    return KernelBtf.restored(sent)


@lru_cache(1)
def _memory(concurrency: int) -> int | None:
    """Return the memory limit in bytes of each of `concurrency` analyses on this machine.

    None means no limit.
    """
    from slowpath.core.jobs.memory import default_limit

    return default_limit(concurrency)


class BulkProgress:
    """A progress line for the analysis of many programs, which disappears when the work ends."""

    def __init__(self, count: int) -> None:
        """Start the progress line; `count` is the number of programs to analyse."""
        self._count = count
        self._shown = ProgressLines(f"{count} program{'s'[: count != 1]}")
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.clear()

    def look(self, done: int) -> None:
        """Show the number of finished programs."""
        self._shown.show(
            lambda elapsed: f"{done} analysed{self._left(done, elapsed)}",
            lambda elapsed: (
                f"{elapsed:.0f} s so far, {done} analysed{self._left(done, elapsed)}; "
                "Ctrl-C stops with the results so far"
            ),
        )

    def clear(self) -> None:
        """Clear the line, for example before the caller writes results to standard output."""
        self._shown.close()

    def _left(self, done: int, elapsed: float) -> str:
        return f", {about_left(elapsed / done * (self._count - done))}" if done else ""


_DIED = "worker died"


class Found(NamedTuple):
    """A result of `analyse_all`: an analysed program, and the index of its request."""

    part: int
    analysed: Analysed


def analyse_all(
    parts: Sequence[tuple[Request, Session]],
    pool: Pool,
    stopping: Stopping,
    described_paths: int,
) -> Iterator[Found]:
    """Analyse all programs of all requests in a pool; yield the results in order.

    For each program, the result has details of the `described_paths` slowest paths. A failure of a
    program does not stop the others.

    Raises:
        UnavailableError: if there are no workers, or they have another version of slowpath.
    """
    tasks = [(at, task) for at, (_, session) in enumerate(parts) for task in session.plan.tasks]
    wanted = tuple(part_of(request, described_paths) for request, _ in parts)
    kept = [session.kept(part.options) for part, (_, session) in zip(wanted, parts, strict=True)]
    known = [kept[at].find_answer(task) for at, task in tasks]
    items = [
        item_of(at, task) if earlier is None else None
        for (at, task), earlier in zip(tasks, known, strict=True)
    ]
    programs = [item for item in items if item is not None]
    common = Common(
        wanted,
        parts[0][1].btf.serialized(needed=needs_kernel(programs)),
        pool.concurrency,
    )
    conditions = _EndConditions(parts[0][0].until, stopping)
    with BulkProgress(len(programs)) as shown:
        observer = PoolObserver(conditions.hold, shown.look)
        with closing(pool.each(analyse, common, programs, observer)) as answers:
            for (at, task), earlier, item in zip(tasks, known, items, strict=True):
                if earlier is not None:
                    outcome = analyses.outcome(earlier)
                else:
                    outcome = conditions.outcome(task, None if item is None else next(answers))
                    if pool.is_local:
                        kept[at].keep(task, outcome)
                shown.clear()
                yield Found(at, in_p4_terms(analysed_by(task, outcome)))
    for one in kept:
        one.close()


class _EndConditions:
    """The conditions that end all analyses: the total deadline, or a stop request."""

    def __init__(self, until: float | None, stopping: Stopping) -> None:
        self._until, self._stopping = until, stopping
        self._reason = ""

    def hold(self) -> bool:
        """Return true if the analyses have to end now, and remember the reason."""
        if not self._reason and self._stopping.asked:
            self._reason = "interrupted"
        if not self._reason and self._until is not None and time.monotonic() >= self._until:
            self._reason = TOTAL
        return bool(self._reason)

    def outcome(self, task: Task, answer: Answer | Unfinished | None) -> analyses.Outcome:
        """Convert the worker's answer about a program to an outcome.

        `answer` is None if the task has no program, and `Unfinished` if the worker sent no result.

        Raises:
            UnavailableError: if the worker has another version of slowpath.
        """
        if isinstance(answer, Answer):
            _check_version(answer.version)
            outcome = analyses.outcome(analyses.Answer(answer.text, answer.detail, answer.complete))
            return renamed(outcome, "interrupted", TOTAL) if self._reason == TOTAL else outcome
        if answer is None:
            return not_a_program(task, task.error or Coded(codes.FILE_UNREADABLE, "cannot be read"))
        if answer.died:
            reason = (
                "no bound: the processes that analysed this program died repeatedly, perhaps for "
                "lack of memory; set a limit with --memory"
            )
            return stopped(task, reason, _DIED)
        return not_begun(task, self._reason)


def _check_version(version: str) -> None:
    own = engine.version()
    if version != own:
        reason = f"the workers of the cluster run slowpath {version}, but this machine runs {own}"
        raise UnavailableError(
            codes.WORKER_VERSION, f"{reason}; install the same version on the workers"
        )
