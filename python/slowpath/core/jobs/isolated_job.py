"""A single job in a worker process, for work other than analyses."""

from collections.abc import Callable, Iterator
from types import TracebackType

from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Message, Send
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.jobs.supervision import ProcessWorker, await_job

Work = Callable[[float | None, Stopping], Iterator[Message]]
"""A function that works within a number of seconds, if limited, and yields messages."""


class IsolatedJob:
    """Work in a process with limits on time and memory; a crash does not affect the command."""

    def __init__(self, work: Work, memory: int | None) -> None:
        """Prepare the process; `memory` is its limit in bytes."""
        self._worker = ProcessWorker([_job(work)], lambda: memory)

    def __enter__(self) -> "IsolatedJob":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self._worker.kill()

    def run(
        self,
        seconds: float | None,
        stopping: Stopping,
        take: Callable[[Message], None],
        look: Callable[[], None] = lambda: None,
    ) -> str | None:
        """Run the work and return the reason if it ended early.

        `take` gets the messages; `look` is called ten times a second.

        Raises:
            InputError: if the work cannot be done.
        """
        failed = list[InputError]()
        stopped = list[str]()

        def taken(message: Message) -> bool:
            match message:
                case ("done",):
                    return True
                case ("input", file, reason, more):
                    failed.append(InputError(file, reason, more))
                    return True
                case ("stopped", reason):
                    stopped.append(reason)
                    return True
            take(message)
            return False

        self._worker.start(0, seconds)
        ending = await_job(self._worker, seconds, stopping, taken, look)
        if failed:
            raise failed[0]
        if ending is not None and ending.defect:
            return f"internal error: {ending.reason}; please report it"
        if ending is not None:
            return ending.reason
        return stopped[0] if stopped else None


def _job(work: Work) -> Callable[[float | None, Send, Stopping], None]:
    def job(seconds: float | None, send: Send, stopping: Stopping) -> None:
        try:
            for message in work(seconds, stopping):
                send(message)
            send(("done",))
        except StoppedError as problem:
            send(("stopped", problem.reason))
        except InputError as problem:
            send(("input", problem.file, problem.reason, list(problem.more)))

    return job
