"""Analysis of programs, usually in a worker process.

If the process dies, or does not stop in time, the result is the last one that it reported. A single
small program runs on a thread of this process instead (`slowpath.core.jobs.thread_worker`).
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from slowpath.bounds.outcomes import Analysed
from slowpath.bounds.plan import Plan, Request, Task, make_plan, retarget
from slowpath.bounds.progress import Watch, Watching
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.errors import InputError
from slowpath.core.jobs import Job, JobWorker, Message, Send
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.jobs.supervision import EarlyEnd, await_job
from slowpath.core.printable import json_line
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.schema.failed import NO_DETAIL, NO_FAILURE, failed_result
from slowpath.core.schema.results import Failure, Result

_SMALL = 1 << 16
"""Maximum size in bytes of a file whose single program is analysed in this process."""
_QUIET = 0.05
"""Minimum seconds between two reported bounds."""


class RunContext(NamedTuple):
    """Callbacks of the caller that waits for analyses."""

    stopping: Stopping  # stop request
    watching: Watching = Watch  # creates the progress display of each analysis
    meanwhile: Callable[[], None] = lambda: None  # called once while the first analysis runs


class Analyst:
    """Runner of analyses, one after the other, in a worker process or on a thread."""

    def __init__(  # noqa: PLR0913 - an analysis has many inputs
        self,
        tasks: Sequence[Task],
        target: targets.Target,
        options: analyses.Options,
        btf: KernelBtf,
        audience: RunContext,
        *,
        apart: bool = False,
    ) -> None:
        """Prepare the analyses without starting one. The metric comes from each task.

        With `apart`, a single small program runs in a worker process, too.
        """
        self.options = options
        self._tasks = tasks
        self._target = target
        self._btf = btf
        self._stopping = audience.stopping
        self._watching = audience.watching
        self._meanwhile: Callable[[], None] | None = audience.meanwhile
        self._most: tuple[int | None] | None = None  # computed on first use
        jobs = [self._job(task) for task in tasks]
        alone = len(tasks) == 1 and tasks[0].size <= _SMALL and not apart
        self._worker: JobWorker
        if alone:
            from slowpath.core.jobs.thread_worker import ThreadWorker

            self._worker = ThreadWorker(jobs)
        else:
            from slowpath.core.jobs.supervision import ProcessWorker

            self._worker = ProcessWorker(jobs, self._memory)

    def __enter__(self) -> "Analyst":
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()

    def _memory(self) -> int | None:
        """Return the memory limit of an analysis in bytes; None: no limit."""
        if self._most is None:
            from slowpath.core.jobs.memory import default_limit

            self._most = (self.options.memory_bytes or default_limit(),)
        return self._most[0]

    def analyse(self, number: int, seconds: float | None) -> analyses.Outcome:
        """Analyse a program, given by its number, within `seconds`.

        Raises:
            InputError: if the types of the kernel cannot be read.
        """
        task = self._tasks[number]
        run, done = analyses.Run(), list[tuple[str, str] | InputError | str]()
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
            return _cut(task, run, ending)
        match done:
            case [InputError() as problem]:
                raise problem
            case [(text, detail)]:
                return analyses.outcome(text, detail)
            case _:
                return defect(task, f"internal error: {done[0]}; please report it")

    def _job(self, task: Task) -> Job:
        """Return the job of the worker that analyses a program."""

        def job(seconds: float | None, send: Send, stopping: Stopping) -> None:
            try:
                for message in self._messages(task, seconds, stopping):
                    send(message)
            except InputError as problem:
                send(("input", problem.file, problem.reason, list(problem.more)))

        return job

    def _messages(
        self, task: Task, seconds: float | None, stopping: Stopping
    ) -> Iterator[analyses.Message]:
        if task.object is None:
            raise InputError(task.file, task.error or "cannot be read")
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
                continue  # there can be thousands of bounds, and only the last one counts
            last = now if message[0] == "bound" else last
            yield message
            if message[0] == "result":
                return
        yield ("failed", "the engine ended without a result")


def _cut(task: Task, run: analyses.Run, ending: EarlyEnd) -> analyses.Outcome:
    """Return the outcome of a killed or crashed analysis: the last result that it reported."""
    doing = run.stage or "reading the program"
    if ending.defect:
        return defect(task, f"internal error while {doing}: {ending.reason}; please report it")
    named = ending.reason if ending.reason in {"deadline", "interrupted"} else None
    why = f"{ending.reason} while {doing}"
    if run.so_far is None:
        return stopped(task, f"{why}: there is no bound yet", ending.reason)
    result: Result = json.loads(run.so_far)
    if result["guarantee"] is not None:
        result["guarantee"]["stopped"] = named or why
    news = run.news
    result["stats"] |= {"candidates": news.candidates, "nogoods": news.nogoods}
    return analyses.Outcome(result, json_line(result), NO_DETAIL)


def unreadable(task: Task, reason: str) -> analyses.Outcome:
    """Return the outcome of a file without a program."""
    return _failed(task, NO_FAILURE | {"what": reason})


def stopped(task: Task, message: str, reason: str) -> analyses.Outcome:
    """Return the outcome of a program whose analysis was stopped before it had a bound."""
    return _failed(task, NO_FAILURE | {"kind": "stopped", "what": message, "stopped": reason})


def defect(task: Task, message: str) -> analyses.Outcome:
    """Return the outcome of a program whose analysis failed."""
    return _failed(task, NO_FAILURE | {"kind": "defect", "what": message})


def _failed(task: Task, failure: Failure) -> analyses.Outcome:
    result = failed_result(task.file, task.target, task.metric, failure["what"])
    if task.program is not None:
        program = task.program
        result |= {"section": program.section, "program": program.name, "kind": program.kind}
    return analyses.Outcome(result, json_line(result), NO_DETAIL | {"failure": failure})


TOTAL = "total deadline"
"""Reason for programs that are not analysed because the time for all programs is over."""


class Session:
    """The programs of the requested files, and their analyses."""

    def __init__(self, request: Request, plan: Plan | None = None) -> None:
        """Read the files, compile C, and choose programs; or take the `plan` of another session.

        Raises:
            OptionError: if an option does not fit the kind of a file.
            InputError: if the types of a kernel cannot be read.
        """
        self.btf = KernelBtf(request.btf)
        self._request = request
        self.plan = make_plan(request) if plan is None else retarget(plan, request)

    def analyse(
        self, audience: RunContext, options: analyses.Options | None = None
    ) -> Iterator[Analysed]:
        """Analyse all programs; a stop request ends the work, but a failed program does not.

        `options` replaces the options of the request, except the metric.

        Raises:
            InputError: if the types of the running kernel cannot be read.
        """
        tasks, target, until = self.plan.tasks, self._request.target, self._request.until
        options = options or self._request.options
        with Analyst(tasks, target, options, self.btf, audience) as analyst:
            for number, task in enumerate(tasks):
                left = None if until is None else until - time.monotonic()
                outcome = _outcome(analyst, number, task, left, audience.stopping)
                yield Analysed(task, outcome.result, outcome.text, outcome.detail)


def _outcome(
    analyst: Analyst, number: int, task: Task, left: float | None, stopping: Stopping
) -> analyses.Outcome:
    """Return the outcome of a program if `left` seconds are left for all programs."""
    if stopping.asked:
        return not_begun(task, "interrupted")
    if task.error is not None:
        return not_a_program(task, task.error)
    if left is not None and left <= 0:
        return not_begun(task, TOTAL)
    seconds = analyst.options.deadline_seconds
    if left is None or (seconds is not None and seconds <= left):
        return analyst.analyse(number, seconds)
    return renamed(analyst.analyse(number, left), "deadline", TOTAL)


def not_a_program(task: Task, reason: str) -> analyses.Outcome:
    """Return the outcome of a file without a program, or that was not read in time."""
    return stopped(task, reason, TOTAL) if task.stopped else unreadable(task, reason)


def not_begun(task: Task, reason: str) -> analyses.Outcome:
    """Return the outcome of a program that was not analysed because all work ended before."""
    return stopped(task, f"{reason} before it was analysed", reason)


def renamed(outcome: analyses.Outcome, old: str, new: str) -> analyses.Outcome:
    """Return the outcome with another reason for its early end."""
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
