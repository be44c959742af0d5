"""Analyses programs, each in the worker process: a result whatever becomes of it.

Where the process does not end by itself, or dies, the result is the last one that it reported on
the way. One small program has no process of its own, see `companion`.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from slowpath.analysis.plan import Task
from slowpath.analysis.progress import Watch, Watching
from slowpath.cli.errors import InputError
from slowpath.cli.printable import json_line
from slowpath.engine import analyses, objects, targets
from slowpath.programs.kernel_btf import KernelBtf
from slowpath.schema.results import NO_DETAIL, NO_FAILURE, Failure, Result, failed_result
from slowpath.work.jobs import Doer, Job, Message, Send
from slowpath.work.stopping import Stopping
from slowpath.work.supervision import Ending, await_job

_SMALL = 1 << 16
"""Bytes of a file whose only program is analysed in this process."""
_QUIET = 0.05
"""Seconds between two bounds that are reported."""


class Audience(NamedTuple):
    """Who waits for analyses."""

    stopping: Stopping  # whether they are to end
    watching: Watching = Watch  # makes what looks at each of them
    meanwhile: Callable[[], None] = lambda: None  # is called once while the first one runs


class Analyst:
    """Analyses programs, one after the other, in a process of their own where there can be one."""

    def __init__(  # noqa: PLR0913 - what an analysis depends on
        self,
        tasks: Sequence[Task],
        target: targets.Target,
        options: analyses.Options,
        btf: KernelBtf,
        audience: Audience,
        *,
        apart: bool = False,
    ) -> None:
        """Nothing is started yet. The metric is that of each program.

        `apart` has a single program be done in a process of its own, too, however small.
        """
        self.options = options
        self._tasks = tasks
        self._target = target
        self._btf = btf
        self._stopping = audience.stopping
        self._watching = audience.watching
        self._meanwhile: Callable[[], None] | None = audience.meanwhile
        self._most: tuple[int | None] | None = None  # found out where it is needed
        jobs = [self._job(task) for task in tasks]
        alone = len(tasks) == 1 and tasks[0].size <= _SMALL and not apart
        self._worker: Doer
        if alone:
            from slowpath.work.companion import Companion

            self._worker = Companion(jobs)
        else:
            from slowpath.work.worker import Worker

            self._worker = Worker(jobs, self._memory)

    def __enter__(self) -> "Analyst":
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()

    def _memory(self) -> int | None:
        """How many bytes an analysis may take, as far as that is limited."""
        if self._most is None:
            from slowpath.work.memory import default_limit

            self._most = (self.options.memory_bytes or default_limit(),)
        return self._most[0]

    def analyse(self, number: int, seconds: float | None) -> analyses.Outcome:
        """Analyses a program within so much time.

        Raises:
            InputError: when the types of the kernel cannot be read.
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
        """The analysis of a program, for the worker."""

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
                continue  # they can come by the thousand, and the last one counts
            last = now if message[0] == "bound" else last
            yield message
            if message[0] == "result":
                return
        yield ("failed", "the engine ended without a result")


def _cut(task: Task, run: analyses.Run, ending: Ending) -> analyses.Outcome:
    """The result of an analysis that did not end by itself: what it reported last."""
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
    """The outcome of a file without a program."""
    return _failed(task, NO_FAILURE | {"what": reason})


def stopped(task: Task, message: str, reason: str) -> analyses.Outcome:
    """The outcome of a program that was stopped before it had a bound."""
    return _failed(task, NO_FAILURE | {"kind": "stopped", "what": message, "stopped": reason})


def defect(task: Task, message: str) -> analyses.Outcome:
    """The outcome of a program whose analysis failed."""
    return _failed(task, NO_FAILURE | {"kind": "defect", "what": message})


def _failed(task: Task, failure: Failure) -> analyses.Outcome:
    result = failed_result(task.file, task.target, task.metric, failure["what"])
    if task.program is not None:
        program = task.program
        result |= {"section": program.section, "program": program.name, "kind": program.kind}
    return analyses.Outcome(result, json_line(result), NO_DETAIL | {"failure": failure})
